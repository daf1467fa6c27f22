//! The resources that the program knows by name, because it does more with them than their mappings say. May use:
//! nothing of this crate.

use strum::{EnumIter, EnumString, IntoEnumIterator, IntoStaticStr};

/// A resource with oddities of its own. Everything else of the program treats all resources alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Known {
    /// Group work items; which ones, v1 tells of each cycle alone.
    Cycles,
    /// On work items, which carry ids of deleted ones for a while.
    Labels,
    /// Group work items as cycles do.
    Modules,
    /// Who can be named in a project.
    ProjectMembers,
    /// In which work items are.
    States,
    /// The work items themselves: index, human keys, types and values of their own.
    WorkItems,
}

impl Known {
    /// Last part of the v1 path of the work items in one of its records, for those that group work items.
    pub fn items(self) -> Option<&'static str> {
        match self {
            Self::Cycles => Some("cycle-issues/"),
            Self::Modules => Some("module-issues/"),
            _ => None,
        }
    }

    /// Each of them.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::iter()
    }

    /// Its name in the mappings.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
