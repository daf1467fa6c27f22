//! Translation of v2 bodies to v1 bodies: sends only keys that v1 is known to use (traps 14, 17, 18).
//!
//! May use: `v2`, `plan`.

use crate::plan::{Field, Keep, OnCreate, Resource};
use crate::v2::body::Given;
use serde_json::{Map, Value};

/// The members of a write, sorted by where they go.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Outgoing {
    /// Sent with the write itself, in v1 names.
    pub body: Map<String, Value>,
    /// Sent in a PATCH after a create, because v1 ignores it there (trap 22, `labels_create_full`). For a cycle, its
    /// dates, which take one PATCH each (trap 25).
    pub after_create: Map<String, Value>,
    /// Kept in the overlay, in v2 names.
    pub overlay: Map<String, Value>,
}

/// Sorts the members of a create.
pub fn create(resource: &Resource, given: &Given) -> Outgoing {
    let mut outgoing = Outgoing::default();
    for (field, v1, value) in writable(resource, given) {
        match (field.spec.keep, field.spec.on_create) {
            (Keep::Overlay, _) => outgoing.overlay.insert(field.name.clone(), value.clone()),
            (_, OnCreate::Patch) => outgoing.after_create.insert(v1.into(), value.clone()),
            (_, OnCreate::Send | OnCreate::IfFirst) => outgoing.body.insert(v1.into(), value.clone()),
        };
    }
    outgoing
}

/// Sorts the members of an update.
pub fn update(resource: &Resource, given: &Given) -> Outgoing {
    let mut outgoing = Outgoing::default();
    for (field, v1, value) in writable(resource, given) {
        match field.spec.keep {
            Keep::Overlay => outgoing.overlay.insert(field.name.clone(), value.clone()),
            Keep::V1 | Keep::OverlayIfRefused => outgoing.body.insert(v1.into(), value.clone()),
        };
    }
    outgoing
}

fn writable<'a>(resource: &'a Resource, given: &'a Given) -> impl Iterator<Item = (&'a Field, &'a str, &'a Value)> {
    given.iter().filter_map(|(name, value)| {
        let field = resource.field(name).filter(|field| !field.spec.read_only)?;
        Some((field, field.spec.v1.as_deref()?, value))
    })
}
