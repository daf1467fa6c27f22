//! Rules of resources and operations that the plain steps hold, and named functions too. May use: `mapping`, this
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
    /// Whether operations with this step hold the rule. One that nobody holds would be declared in vain.
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
    /// Name for people, at the beginning of a sentence.
    pub fn title(self) -> &'static str {
        match self {
            Self::Cycles => "Cycles",
            Self::Modules => "Modules",
        }
    }
}

/// A field whose value says something about all records of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneOfAll {
    /// Index of the field.
    pub field: usize,
    /// Told to a client that asks for what the rule forbids.
    pub detail: String,
}

/// A live record of another resource that every operation of a resource needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Required {
    /// The work item whose id is in the path.
    WorkItem,
}

impl Required {
    /// The resource it is of, and the variable of the path that holds its id.
    pub fn place(self) -> (Known, &'static str) {
        match self {
            Self::WorkItem => (Known::WorkItems, "work_item_id"),
        }
    }
}

/// Who may write to a record, beside what the gate of the project asks: who made it, and admins of the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct May {
    /// Index of the field that holds the author.
    pub author: usize,
    /// Told to everybody else.
    pub detail: String,
}
