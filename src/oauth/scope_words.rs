//! What each scope means, in one plain sentence for the person who is asked to allow it.
//!
//! May use: `plan::scopes` (tests: that no scope is without words).

/// Scope and sentence, in the order of `plan::scopes`.
const WORDS: [(&str, &str); 91] = [
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
    ("projects:read", "See your projects (no effect in this version of the service)."),
    ("projects:write", "Create, change and delete projects (no effect in this version of the service)."),
    ("projects.epics:read", "See epics (no effect in this version of the service)."),
    ("projects.epics:write", "Create, change and delete epics (no effect in this version of the service)."),
    ("projects.estimates:read", "See estimates (no effect in this version of the service)."),
    ("projects.estimates:write", "Create, change and delete estimates (no effect in this version of the service)."),
    ("projects.features:read", "See which features projects use (no effect in this version of the service)."),
    (
        "projects.features:write",
        "Switch features of projects on and off (no effect in this version of the service).",
    ),
    ("projects.intakes:read", "See intake requests (no effect in this version of the service)."),
    (
        "projects.intakes:write",
        "Create, change and delete intake requests (no effect in this version of the service).",
    ),
    (
        "projects.members:write",
        "Add, change and remove members of projects (no effect in this version of the service).",
    ),
    ("projects.pages:read", "See pages of projects (no effect in this version of the service)."),
    (
        "projects.pages:write",
        "Create, change and delete pages of projects (no effect in this version of the service).",
    ),
    (
        "projects.work_item_property_options:read",
        "See the options of custom properties (no effect in this version of the service).",
    ),
    (
        "projects.work_item_property_options:write",
        "Change the options of custom properties (no effect in this version of the service).",
    ),
    (
        "projects.work_item_property_values:read",
        "See the values of custom properties (no effect in this version of the service).",
    ),
    (
        "projects.work_item_property_values:write",
        "Change the values of custom properties (no effect in this version of the service).",
    ),
    (
        "projects.work_items.activities:read",
        "See the history of work items (no effect in this version of the service).",
    ),
    (
        "projects.work_items.attachments:read",
        "See files attached to work items (no effect in this version of the service).",
    ),
    (
        "projects.work_items.attachments:write",
        "Attach and remove files of work items (no effect in this version of the service).",
    ),
    ("projects.work_items.links:read", "See links of work items (no effect in this version of the service)."),
    (
        "projects.work_items.links:write",
        "Add, change and remove links of work items (no effect in this version of the service).",
    ),
    (
        "projects.work_items.worklogs:read",
        "See the time logged on work items (no effect in this version of the service).",
    ),
    ("projects.work_items.worklogs:write", "Log time on work items (no effect in this version of the service)."),
    (
        "workspaces.members:write",
        "Add, change and remove members of workspaces (no effect in this version of the service).",
    ),
    ("workspaces.group_sync:read", "See how groups are synchronised (no effect in this version of the service)."),
    (
        "workspaces.group_sync:write",
        "Change how groups are synchronised (no effect in this version of the service).",
    ),
    ("wiki.pages:read", "See wiki pages (no effect in this version of the service)."),
    ("wiki.pages:write", "Create, change and delete wiki pages (no effect in this version of the service)."),
    ("customers:read", "See customers (no effect in this version of the service)."),
    ("customers:write", "Create, change and delete customers (no effect in this version of the service)."),
    ("customers.properties:read", "See the properties of customers (no effect in this version of the service)."),
    (
        "customers.properties:write",
        "Change the properties of customers (no effect in this version of the service).",
    ),
    (
        "customers.property_values:read",
        "See the property values of customers (no effect in this version of the service).",
    ),
    (
        "customers.property_values:write",
        "Change the property values of customers (no effect in this version of the service).",
    ),
    ("customers.requests:read", "See requests of customers (no effect in this version of the service)."),
    (
        "customers.requests:write",
        "Create, change and delete requests of customers (no effect in this version of the service).",
    ),
    (
        "customers.work_items:read",
        "See which work items belong to customers (no effect in this version of the service).",
    ),
    (
        "customers.work_items:write",
        "Change which work items belong to customers (no effect in this version of the service).",
    ),
    ("initiatives:read", "See initiatives (no effect in this version of the service)."),
    ("initiatives:write", "Create, change and delete initiatives (no effect in this version of the service)."),
    ("initiatives.epics:read", "See the epics of initiatives (no effect in this version of the service)."),
    ("initiatives.epics:write", "Change the epics of initiatives (no effect in this version of the service)."),
    ("initiatives.labels:read", "See the labels of initiatives (no effect in this version of the service)."),
    ("initiatives.labels:write", "Change the labels of initiatives (no effect in this version of the service)."),
    ("initiatives.projects:read", "See the projects of initiatives (no effect in this version of the service)."),
    (
        "initiatives.projects:write",
        "Change the projects of initiatives (no effect in this version of the service).",
    ),
    ("teamspaces:read", "See team spaces (no effect in this version of the service)."),
    ("teamspaces:write", "Create, change and delete team spaces (no effect in this version of the service)."),
    ("teamspaces.members:read", "See the members of team spaces (no effect in this version of the service)."),
    ("teamspaces.members:write", "Change the members of team spaces (no effect in this version of the service)."),
    ("teamspaces.projects:read", "See the projects of team spaces (no effect in this version of the service)."),
    ("teamspaces.projects:write", "Change the projects of team spaces (no effect in this version of the service)."),
    ("stickies:read", "See your sticky notes (no effect in this version of the service)."),
    ("stickies:write", "Create, change and delete your sticky notes (no effect in this version of the service)."),
    ("assets:read", "See uploaded files (no effect in this version of the service)."),
    ("assets:write", "Upload, change and delete files (no effect in this version of the service)."),
    ("profile:read", "See your profile (no effect in this version of the service)."),
    ("releases:read", "See releases (no effect in this version of the service)."),
    ("releases:write", "Create, change and delete releases (no effect in this version of the service)."),
    ("templates:read", "See templates (no effect in this version of the service)."),
    ("templates:write", "Create, change and delete templates (no effect in this version of the service)."),
    ("webhooks:read", "See webhooks (no effect in this version of the service)."),
    ("webhooks:write", "Create, change and delete webhooks (no effect in this version of the service)."),
];

/// The sentence for a scope; its name for one that has none.
pub fn of(scope: &str) -> &str {
    WORDS.iter().find(|(name, _)| *name == scope).map_or(scope, |(_, sentence)| *sentence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::scopes::{self, DORMANT};

    #[test]
    fn every_scope_has_one_sentence() {
        let names: Vec<&str> = WORDS.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, scopes::all().collect::<Vec<_>>());
        for (name, sentence) in WORDS {
            assert!(sentence.ends_with('.') && sentence.matches(". ").count() == 0, "{name}");
            assert_eq!(sentence.contains("no effect"), DORMANT.contains(&name), "{name}");
        }
    }
}
