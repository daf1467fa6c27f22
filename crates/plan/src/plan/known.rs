//! The resources that the program knows by name, because it does more with them than their mappings say. May use:
//! nothing of this crate.

use strum::{EnumIter, EnumString, IntoEnumIterator, IntoStaticStr};

/// The v1 path of one work item by its human key.
pub const BY_KEY: &str = "workspaces/{slug}/work-items/{identifier}/";

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

    /// The v1 path of its archived records, which v1 lists apart, by that of the others.
    pub fn archived(self, collection: &str) -> String {
        let name = self.name();
        collection.replace(&format!("/{name}/"), &format!("/archived-{name}/"))
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
