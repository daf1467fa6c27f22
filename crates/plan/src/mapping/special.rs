//! The named functions that carry out what no plain step can. May use: nothing of this crate.

use strum::{EnumIter, EnumString, IntoEnumIterator, IntoStaticStr};

/// What the mapping language cannot say: each is one function of the program, and each is named by a mapping.
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
    /// Each of them.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::iter()
    }

    /// Whether it works inside a project only.
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

    /// As mappings name it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
