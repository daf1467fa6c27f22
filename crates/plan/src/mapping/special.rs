//! The named functions for operations that no plain step can carry out. May use: nothing of this crate.

use strum::{EnumIter, EnumString, IntoEnumIterator, IntoStaticStr};

/// A step that the mapping language cannot express: one function of the program, named by a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[expect(missing_docs, reason = "each is described by the file in `run` that carries it out")]
pub enum Special {
    AuditLogsList,
    AuditLogsRetrieve,
    CommentCreate,
    CommentUpdate,
    CurrentUser,
    CycleCreate,
    CycleUpdate,
    ProjectMembers,
    TypesEnable,
    TypesImport,
    TypesMarkDefault,
    TypesSchema,
    WorkItemArchive,
    WorkItemCreate,
    WorkItemDelete,
    WorkItemLookup,
    WorkItemRetrieve,
    WorkItemUnarchive,
    WorkItemUpdate,
    WorkItemsList,
    WorkspaceMembers,
}

impl Special {
    /// Returns all of these functions.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::iter()
    }

    /// Checks whether the function works inside a project only.
    pub fn is_of_projects(self) -> bool {
        !matches!(
            self,
            Self::AuditLogsList
                | Self::AuditLogsRetrieve
                | Self::CurrentUser
                | Self::TypesEnable
                | Self::TypesImport
                | Self::TypesMarkDefault
                | Self::WorkItemLookup
                | Self::WorkspaceMembers
        )
    }

    /// Returns the name that mappings use.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
