//! The people who may use an operation, and the data that needs no call of v1. May use: `plan`.

use crate::plan::{Known, Operation, Resource, Source, Special, Step, Surface};

pub(super) fn roles(operation: &Operation) -> &'static str {
    match (operation.surface, operation.method.writes(), operation.guests_may_write) {
        (Surface::User, ..) => "anyone with a good credential",
        (Surface::Workspace, false, _) => "members of the workspace; an operation may ask for more (403)",
        (Surface::Workspace, true, _) => "members of the workspace, as far as the operation lets them (403)",
        (Surface::Project, false, _) => {
            "members of the project, guests too; others get 404, or 403 for a public one"
        }
        (Surface::Project, true, true) => "members of the project, guests too as far as the operation lets them",
        (Surface::Project, true, false) => "members and admins of the project; guests get 403, others 404 or 403",
    }
}

/// Returns the data that can be answered without v1, with the settings for how long.
pub(super) fn kept(operation: &Operation, resource: &Resource) -> Vec<&'static str> {
    const COLLECTIONS: &str = "collections of v1 read lately (setting cache.collection)";
    let mut kept = Vec::new();
    if operation.surface != Surface::User || resource.source == Source::V1 {
        kept.push("who the credential belongs to (setting cache.identity)");
    }
    if operation.surface != Surface::User {
        kept.push("what it may see, as cards of project and workspace (setting cache.card)");
    }
    match (&operation.step, resource.is(Known::WorkItems) || resource.requires.is_some()) {
        (Step::Special(Special::WorkItemsList), _) => {
            kept.push("work items from the index, which is refreshed when older than index.freshness");
            kept.push(COLLECTIONS);
        }
        (_, true) => {
            kept.push("that an item lives, from a row of the index younger than index.freshness");
            kept.push(COLLECTIONS);
        }
        (Step::ReadCollection | Step::ReadOne | Step::Special(_), _) if resource.source == Source::V1 => {
            kept.push(COLLECTIONS);
        }
        (Step::Update, _) if resource.source == Source::V1 => {
            kept.push("the record to change, from its collection (setting cache.collection)")
        }
        _ => {}
    }
    if resource.source == Source::Own {
        kept.push("the records themselves: they are in the gateway's own store (setting store.url)");
    }
    kept
}
