//! What each scope means, in one plain sentence for the person who is asked to allow it.
//!
//! May use: `plan::scopes`.

use crate::plan::scopes::DORMANT;

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

/// The sentence for a scope; its name for one that has none.
pub fn of(scope: &str) -> String {
    let sentence = WORDS.iter().find(|(name, _)| *name == scope).map_or(scope, |(_, sentence)| *sentence);
    match DORMANT.contains(&scope) {
        true => format!("{} (no effect in this version of the service).", sentence.trim_end_matches('.')),
        false => sentence.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::scopes;

    #[test]
    fn every_scope_has_one_sentence() {
        let names: Vec<&str> = WORDS.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, scopes::all().collect::<Vec<_>>());
        for name in names {
            let sentence = of(name);
            assert!(sentence.ends_with('.') && sentence.matches(". ").count() == 0, "{name}");
            assert_eq!(sentence.contains("no effect"), DORMANT.contains(&name), "{name}");
        }
    }
}
