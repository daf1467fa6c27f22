//! Words that a mapping file may use about a resource. The set is closed, as everywhere in the mappings. May use:
//! nothing of this crate.

use serde::Deserialize;
use strum::IntoStaticStr;

/// The place where records live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Behind v1.
    V1,
    /// In the gateway's own store.
    Own,
}

impl Source {
    /// Returns the word as a mapping writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::Own => "own",
        }
    }
}

/// A kind of record in the gateway's own store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnRecords {
    /// Work item types.
    Types,
    /// Custom properties.
    Properties,
    /// Choices of a property.
    Options,
    /// Contexts of a property.
    Contexts,
    /// Properties on a type.
    Attachments,
    /// The one features record of a workspace.
    Features,
}

/// The part of the service that a path belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Surface {
    /// The person behind the credential.
    User,
    /// Below a workspace.
    Workspace,
    /// Below a project.
    Project,
}

impl Surface {
    /// Returns the word as a mapping writes it.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Form of a v1 list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rows {
    /// The paging envelope with `results`.
    #[default]
    Paged,
    /// A bare array, complete in one answer (rosters).
    Array,
}

/// A kind of write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteKind {
    /// POST on the collection. The default only until the file's word is read, which is required.
    #[default]
    Create,
    /// PATCH of a record.
    Update,
    /// DELETE of a record.
    Delete,
}

/// The way to read one record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadOneBy {
    /// In the complete list.
    #[default]
    Collection,
    /// At its own path, where the list would cost more calls.
    Record,
}
