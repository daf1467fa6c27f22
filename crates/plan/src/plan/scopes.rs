//! The scopes of the service: those that gate operations, and all others that a token may carry. Each has one plain
//! sentence that tells the person who grants it what it allows. May use: nothing of this crate.

/// Scopes that gate live operations (contract, chapter 3).
const GATING: [(&str, &str); 27] = [
    ("projects.work_items:read", "See the work items of your projects."),
    ("projects.work_items:write", "Create, change, archive and delete work items."),
    ("projects.work_items.comments:read", "See the comments on work items."),
    ("projects.work_items.comments:write", "Write, change and delete comments in your name."),
    ("projects.states:read", "See the states of your projects."),
    ("projects.states:write", "Create, change and delete states."),
    ("projects.labels:read", "See the labels of your projects."),
    ("projects.labels:write", "Create, change and delete labels."),
    ("projects.cycles:read", "See the cycles of your projects."),
    ("projects.cycles:write", "Create, change and delete cycles."),
    ("projects.modules:read", "See the modules of your projects."),
    ("projects.modules:write", "Create, change and delete modules."),
    ("projects.work_item_types:read", "See the work item types of your projects."),
    ("projects.work_item_types:write", "Create, change and delete work item types of projects."),
    ("projects.work_item_properties:read", "See the custom properties of your projects."),
    ("projects.work_item_properties:write", "Create, change and delete custom properties of projects."),
    ("projects.members:read", "See who is a member of your projects."),
    ("workspaces.members:read", "See who is a member of your workspaces."),
    ("workspaces.work_item_types:read", "See the work item types of your workspaces."),
    ("workspaces.work_item_types:write", "Create, change and delete work item types of workspaces."),
    ("workspaces.work_item_properties:read", "See the custom properties of your workspaces."),
    ("workspaces.work_item_properties:write", "Create, change and delete custom properties of workspaces."),
    ("workspaces.features:read", "See which features your workspaces use."),
    ("workspaces.features:write", "Switch features of your workspaces on and off."),
    ("workspaces.audit_logs:read", "Read the audit log of your workspaces."),
    ("read", "See everything you can see, your name and address included."),
    ("write", "Create, change and delete everything you can."),
];

/// Scopes that can be asked for but gate nothing in v2 (contract, chapter 3 and choice O83).
const DORMANT: [(&str, &str); 64] = [
    ("projects:read", "See your projects."),
    ("projects:write", "Create, change and delete projects."),
    ("projects.epics:read", "See epics."),
    ("projects.epics:write", "Create, change and delete epics."),
    ("projects.estimates:read", "See estimates."),
    ("projects.estimates:write", "Create, change and delete estimates."),
    ("projects.features:read", "See which features projects use."),
    ("projects.features:write", "Switch features of projects on and off."),
    ("projects.intakes:read", "See intake requests."),
    ("projects.intakes:write", "Create, change and delete intake requests."),
    ("projects.members:write", "Add, change and remove members of projects."),
    ("projects.pages:read", "See pages of projects."),
    ("projects.pages:write", "Create, change and delete pages of projects."),
    ("projects.work_item_property_options:read", "See the options of custom properties."),
    ("projects.work_item_property_options:write", "Change the options of custom properties."),
    ("projects.work_item_property_values:read", "See the values of custom properties."),
    ("projects.work_item_property_values:write", "Change the values of custom properties."),
    ("projects.work_items.activities:read", "See the history of work items."),
    ("projects.work_items.attachments:read", "See files attached to work items."),
    ("projects.work_items.attachments:write", "Attach and remove files of work items."),
    ("projects.work_items.links:read", "See links of work items."),
    ("projects.work_items.links:write", "Add, change and remove links of work items."),
    ("projects.work_items.worklogs:read", "See the time logged on work items."),
    ("projects.work_items.worklogs:write", "Log time on work items."),
    ("workspaces.members:write", "Add, change and remove members of workspaces."),
    ("workspaces.group_sync:read", "See how groups are synchronised."),
    ("workspaces.group_sync:write", "Change how groups are synchronised."),
    ("wiki.pages:read", "See wiki pages."),
    ("wiki.pages:write", "Create, change and delete wiki pages."),
    ("customers:read", "See customers."),
    ("customers:write", "Create, change and delete customers."),
    ("customers.properties:read", "See the properties of customers."),
    ("customers.properties:write", "Change the properties of customers."),
    ("customers.property_values:read", "See the property values of customers."),
    ("customers.property_values:write", "Change the property values of customers."),
    ("customers.requests:read", "See requests of customers."),
    ("customers.requests:write", "Create, change and delete requests of customers."),
    ("customers.work_items:read", "See which work items belong to customers."),
    ("customers.work_items:write", "Change which work items belong to customers."),
    ("initiatives:read", "See initiatives."),
    ("initiatives:write", "Create, change and delete initiatives."),
    ("initiatives.epics:read", "See the epics of initiatives."),
    ("initiatives.epics:write", "Change the epics of initiatives."),
    ("initiatives.labels:read", "See the labels of initiatives."),
    ("initiatives.labels:write", "Change the labels of initiatives."),
    ("initiatives.projects:read", "See the projects of initiatives."),
    ("initiatives.projects:write", "Change the projects of initiatives."),
    ("teamspaces:read", "See team spaces."),
    ("teamspaces:write", "Create, change and delete team spaces."),
    ("teamspaces.members:read", "See the members of team spaces."),
    ("teamspaces.members:write", "Change the members of team spaces."),
    ("teamspaces.projects:read", "See the projects of team spaces."),
    ("teamspaces.projects:write", "Change the projects of team spaces."),
    ("stickies:read", "See your sticky notes."),
    ("stickies:write", "Create, change and delete your sticky notes."),
    ("assets:read", "See uploaded files."),
    ("assets:write", "Upload, change and delete files."),
    ("profile:read", "See your profile."),
    ("releases:read", "See releases."),
    ("releases:write", "Create, change and delete releases."),
    ("templates:read", "See templates."),
    ("templates:write", "Create, change and delete templates."),
    ("webhooks:read", "See webhooks."),
    ("webhooks:write", "Create, change and delete webhooks."),
];

/// Returns every scope that a token may carry, gating scopes first.
pub fn all() -> impl Iterator<Item = &'static str> {
    GATING.into_iter().chain(DORMANT).map(|(scope, _)| scope)
}

/// Checks whether a scope gates live operations.
pub fn is_gating(scope: &str) -> bool {
    GATING.iter().any(|(known, _)| *known == scope)
}

/// Returns the sentence for a scope, or the scope's name when it has no sentence.
pub fn sentence(scope: &str) -> String {
    let sentence = |known: &[(&str, &'static str)]| Some(known.iter().find(|(known, _)| *known == scope)?.1);
    match (sentence(&GATING), sentence(&DORMANT)) {
        (None, Some(dormant)) => {
            format!("{} (no effect in this version of the service).", dormant.trim_end_matches('.'))
        }
        (gating, _) => gating.unwrap_or(scope).to_owned(),
    }
}

/// Returns the scope in `known` that is nearest to `word`, if one is similar enough.
pub fn nearest(word: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    /// Longest word, in bytes, for which a similar scope is searched.
    const LONGEST: usize = 100;
    let likeness = |scope: &'static str| (strsim::normalized_damerau_levenshtein(word, scope), scope);
    let alike = known.filter(|_| word.len() <= LONGEST).map(likeness).filter(|(likeness, _)| *likeness > 0.6);
    alike.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, scope)| scope)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scope_has_one_sentence() {
        for name in all() {
            let sentence = sentence(name);
            assert!(sentence.ends_with('.') && sentence.matches(". ").count() == 0, "{name}");
            assert_eq!(sentence.contains("no effect"), !is_gating(name), "{name}");
        }
    }
}
