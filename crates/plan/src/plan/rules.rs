//! Rules of resources and operations that the plain steps hold, and named functions too.

use super::known::Known;

/// A part of a project that can be switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// Cycles.
    Cycles,
    /// Modules.
    Modules,
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
    /// Told to who asks for what the rule forbids.
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

/// Who may write to a record, beside what the gate of the project asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum May {
    /// Who made it, and admins of the project.
    AuthorOrAdmin {
        /// Index of the field that holds the author.
        author: usize,
        /// Told to everybody else.
        detail: String,
    },
}

/// How one record is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReadOneBy {
    /// Found in the complete list.
    #[default]
    Collection,
    /// At its own path, where the list would cost more.
    Record,
}
