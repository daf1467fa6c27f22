//! One change of a catalogue, and what it means for recorded values. May use: `v2`, this folder.

use super::model::Catalogue;
use crate::v2::time::Micros;
use uuid::Uuid;

/// Distance between neighbours in an order the service assigns.
pub(super) const STEP: f64 = 10_000.0;

/// A change being made: a copy of the catalogue, and what the store must do beside saving it.
#[derive(Debug)]
pub struct Edit {
    /// The catalogue as it will be.
    pub after: Catalogue,
    /// What the store must do in the same transaction, in this order.
    pub effects: Vec<Effect>,
    now: Micros,
}

/// What an edit means for work items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// The edit stands only if no work item has this type; else 409 `conflict` (14.1).
    TypeMustBeUnused(Uuid),
    /// All values of the property go.
    PropertyGone(Uuid),
    /// Values that point at one of these options of the property go.
    OptionsGone(Uuid, Vec<Uuid>),
    /// Values of the property on items of the type go (project detach, 14.5).
    Detached {
        /// The type.
        type_id: Uuid,
        /// The property.
        property: Uuid,
    },
    /// Each (project, type) that holds values of the property resolves anew; where that changes what is offered,
    /// values without a context, and option values the resolved context does not offer, go (15.14).
    Rescoped(Uuid),
}

impl Edit {
    /// Begins a change of `before` at `now`.
    pub fn begin(before: &Catalogue, now: Micros) -> Self {
        Self { after: before.clone(), effects: Vec::new(), now }
    }

    /// An instant for `created_at`, later than every one given out before by this edit (O20).
    pub fn stamp(&mut self) -> Micros {
        self.now += 1;
        self.now - 1
    }
}
