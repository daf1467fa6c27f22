//! Rules of resources and operations that the plain steps and some named functions enforce. May use: `mapping`, this
//! folder.

use super::known::Known;
use crate::mapping::{Feature, Special, Step};
use strum::IntoStaticStr;

/// The rules by their keys in the mappings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[expect(missing_docs, reason = "each is described in the reference of the mapping language")]
pub enum Rule {
    Unique,
    Exclusive,
    Requires,
    NeedsFeature,
    DetachChildren,
    May,
}

impl Rule {
    /// Checks whether operations with this step enforce the rule. A rule that no step enforces would have no effect.
    pub fn is_held_by(self, step: Step) -> bool {
        match (self, step) {
            (Self::Requires, Step::Special(special)) => {
                matches!(special, Special::CommentCreate | Special::CommentUpdate)
            }
            (Self::Requires, _) => true,
            (Self::Unique, Step::Special(special)) => {
                matches!(special, Special::CycleCreate | Special::CycleUpdate)
            }
            (Self::Unique | Self::Exclusive, step) => matches!(step, Step::Create | Step::Update),
            (Self::NeedsFeature, step) => matches!(step, Step::Create | Step::Special(Special::CycleCreate)),
            (Self::DetachChildren, step) => step == Step::Delete,
            (Self::May, step) => {
                matches!(step, Step::Update | Step::Delete | Step::Special(Special::CommentUpdate))
            }
        }
    }
}

impl Feature {
    /// Returns the name for people, capitalized for the beginning of a sentence.
    pub fn title(self) -> &'static str {
        match self {
            Self::Cycles => "Cycles",
            Self::Modules => "Modules",
        }
    }
}

/// A field with a rule about its values in all records of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectionRule {
    /// Index of the field.
    pub field: usize,
    /// Error detail for a client whose request breaks the rule.
    pub detail: String,
}

/// A live record of another resource that every operation of a resource needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Required {
    /// The work item whose id is in the path.
    WorkItem,
}

impl Required {
    /// Returns the resource of the record, and the path variable that holds the record's id.
    pub fn place(self) -> (Known, &'static str) {
        match self {
            Self::WorkItem => (Known::WorkItems, "work_item_id"),
        }
    }
}

/// The rule that only the author of a record and admins of the project may write to it, on top of the project's gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct May {
    /// Index of the field that holds the author.
    pub author: usize,
    /// Error detail for all other users.
    pub detail: String,
}
