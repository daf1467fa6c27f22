//! Words a mapping file may use about an operation. May use: nothing of this crate.

use serde::Deserialize;
use strum::{Display, EnumString, IntoStaticStr};

/// A part of a project that can be switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Feature {
    /// Cycles.
    Cycles,
    /// Modules.
    Modules,
}

/// The users who may write to a record, on top of the project's gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhoWord {
    /// The author of the record, and admins of the project.
    AuthorOrAdmin,
}

/// The methods that operations use.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Display, EnumString, IntoStaticStr,
)]
#[serde(rename_all = "UPPERCASE")]
#[strum(serialize_all = "UPPERCASE")]
pub enum Method {
    /// Reads.
    Get,
    /// Creates or acts.
    Post,
    /// Updates partially.
    Patch,
    /// Deletes.
    Delete,
}

impl Method {
    /// Returns the word on the wire.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Checks whether the operation changes something.
    pub fn writes(self) -> bool {
        self != Self::Get
    }
}

/// Form of a success.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// A list envelope.
    Page,
    /// One record.
    Record,
    /// 204, or a success without a body.
    Empty,
}

/// The mode of work item types that a write needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum TypeMode {
    /// Types are managed per project.
    Project,
    /// Types are managed per workspace.
    Workspace,
}

impl TypeMode {
    /// Returns the word as a mapping writes it.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
