//! The scopes of the service: those that gate operations, and all that a token may carry. May use: nothing of this
//! crate.

/// Scopes that gate live operations (contract, chapter 3).
pub const GATING: [&str; 27] = [
    "projects.work_items:read",
    "projects.work_items:write",
    "projects.work_items.comments:read",
    "projects.work_items.comments:write",
    "projects.states:read",
    "projects.states:write",
    "projects.labels:read",
    "projects.labels:write",
    "projects.cycles:read",
    "projects.cycles:write",
    "projects.modules:read",
    "projects.modules:write",
    "projects.work_item_types:read",
    "projects.work_item_types:write",
    "projects.work_item_properties:read",
    "projects.work_item_properties:write",
    "projects.members:read",
    "workspaces.members:read",
    "workspaces.work_item_types:read",
    "workspaces.work_item_types:write",
    "workspaces.work_item_properties:read",
    "workspaces.work_item_properties:write",
    "workspaces.features:read",
    "workspaces.features:write",
    "workspaces.audit_logs:read",
    "read",
    "write",
];

/// Scopes that can be asked for but gate nothing in v2 (contract, chapter 3 and choice O83).
pub const DORMANT: [&str; 64] = [
    "projects:read",
    "projects:write",
    "projects.epics:read",
    "projects.epics:write",
    "projects.estimates:read",
    "projects.estimates:write",
    "projects.features:read",
    "projects.features:write",
    "projects.intakes:read",
    "projects.intakes:write",
    "projects.members:write",
    "projects.pages:read",
    "projects.pages:write",
    "projects.work_item_property_options:read",
    "projects.work_item_property_options:write",
    "projects.work_item_property_values:read",
    "projects.work_item_property_values:write",
    "projects.work_items.activities:read",
    "projects.work_items.attachments:read",
    "projects.work_items.attachments:write",
    "projects.work_items.links:read",
    "projects.work_items.links:write",
    "projects.work_items.worklogs:read",
    "projects.work_items.worklogs:write",
    "workspaces.members:write",
    "workspaces.group_sync:read",
    "workspaces.group_sync:write",
    "wiki.pages:read",
    "wiki.pages:write",
    "customers:read",
    "customers:write",
    "customers.properties:read",
    "customers.properties:write",
    "customers.property_values:read",
    "customers.property_values:write",
    "customers.requests:read",
    "customers.requests:write",
    "customers.work_items:read",
    "customers.work_items:write",
    "initiatives:read",
    "initiatives:write",
    "initiatives.epics:read",
    "initiatives.epics:write",
    "initiatives.labels:read",
    "initiatives.labels:write",
    "initiatives.projects:read",
    "initiatives.projects:write",
    "teamspaces:read",
    "teamspaces:write",
    "teamspaces.members:read",
    "teamspaces.members:write",
    "teamspaces.projects:read",
    "teamspaces.projects:write",
    "stickies:read",
    "stickies:write",
    "assets:read",
    "assets:write",
    "profile:read",
    "releases:read",
    "releases:write",
    "templates:read",
    "templates:write",
    "webhooks:read",
    "webhooks:write",
];

/// Every scope a token may carry, gating ones first.
pub fn all() -> impl Iterator<Item = &'static str> {
    GATING.into_iter().chain(DORMANT)
}

/// The scope nearest to `word` among `known`, when one is near enough to be meant.
pub fn nearest(word: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    /// Longest word, in bytes, for which a nearer one is looked for.
    const LONGEST: usize = 100;
    let likeness = |scope: &'static str| (strsim::normalized_damerau_levenshtein(word, scope), scope);
    let alike = known.filter(|_| word.len() <= LONGEST).map(likeness).filter(|(likeness, _)| *likeness > 0.6);
    alike.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, scope)| scope)
}
