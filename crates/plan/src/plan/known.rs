//! The resources that the program knows by name, because it does more with them than their mappings say. May use:
//! nothing of this crate.

use strum::{EnumIter, EnumString, IntoEnumIterator, IntoStaticStr};

/// The v1 path of one work item by its human key.
pub const BY_KEY: &str = "workspaces/{slug}/work-items/{identifier}/";

/// Checks whether a character can stand in the project part of a human key in a path: all that v1 allows in identifiers
/// (`projects_create_special_identifier`) but the slash, which would end the part of v1's path.
pub fn is_in_key(c: char) -> bool {
    !c.is_control() && c != '/' && !"&+,:;$^}{*=?@#|'<>.()%!-".contains(c)
}

/// A resource with special behaviour. The program treats all other resources alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Known {
    /// Cycles, which group work items. v1 lists the work items of one cycle at a time only.
    Cycles,
    /// Labels of work items. A work item keeps the id of a deleted label for a while.
    Labels,
    /// Modules, which group work items as cycles do.
    Modules,
    /// Members of a project: the users who can be named in it.
    ProjectMembers,
    /// States of work items.
    States,
    /// Work items. They have an index, human keys, and types and values of their own.
    WorkItems,
}

impl Known {
    /// Returns the last part of v1's path to the work items of one record, for resources that group work items.
    pub fn items(self) -> Option<&'static str> {
        match self {
            Self::Cycles => Some("cycle-issues/"),
            Self::Modules => Some("module-issues/"),
            _ => None,
        }
    }

    /// Returns v1's path of the archived records, which v1 lists separately, from the path of the live records.
    pub fn archived(self, collection: &str) -> String {
        let name = self.name();
        collection.replace(&format!("/{name}/"), &format!("/archived-{name}/"))
    }

    /// Returns all of these resources.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::iter()
    }

    /// Returns the name of the resource in the mappings.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
