//! One change of a catalogue, and its effects on recorded values. May use: `v2`, this folder.

use super::model::Catalogue;
use crate::v2::time::Micros;
use uuid::Uuid;

/// Distance between neighbours in an order that the service assigns.
pub(super) const STEP: f64 = 10_000.0;

/// Detail of the refusal when a type that must be unused has work items.
pub const TYPE_IN_USE: &str = "The type is in use: there are work items of it.";

/// A change in progress: a copy of the catalogue, and the work that the store must do besides saving it.
#[derive(Debug)]
pub struct Edit {
    /// The catalogue after the change.
    pub after: Catalogue,
    /// Effects that the store must carry out in the same transaction, in this order.
    pub effects: Vec<Effect>,
    now: Micros,
}

/// An effect of an edit on work items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// The edit is valid only if no work item has this type; else 409 `conflict` (14.1), with [`TYPE_IN_USE`].
    TypeMustBeUnused(Uuid),
    /// All values of the property are deleted.
    PropertyGone(Uuid),
    /// Values that point at one of these options of the property are deleted.
    OptionsGone(Uuid, Vec<Uuid>),
    /// Values of the property on items of the type are deleted (project detach, 14.5).
    Detached {
        /// The type.
        type_id: Uuid,
        /// The property.
        property: Uuid,
    },
    /// Each (project, type) that holds values of the property is resolved again. Where the offered choices change,
    /// values without a context are deleted, and so are option values that the resolved context does not offer (15.14).
    Rescoped(Uuid),
}

impl Edit {
    /// Begins a change of `before` at `now`.
    pub fn begin(before: &Catalogue, now: Micros) -> Self {
        Self { after: before.clone(), effects: Vec::new(), now }
    }

    /// Returns an instant for `created_at`, later than every instant that this edit has returned before (O20).
    pub fn stamp(&mut self) -> Micros {
        self.now += 1;
        self.now - 1
    }
}
