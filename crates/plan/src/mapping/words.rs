//! The closed sets of words a mapping file may use as values. May use: nothing of this crate.

use serde::Deserialize;
use strum::{Display, EnumString, IntoStaticStr};

/// Where records live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Behind v1.
    V1,
    /// In the gateway's own store.
    Own,
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

/// What part of the service a path belongs to.
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
    /// As a mapping writes it.
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
    /// POST on the collection; stands where a file has to say which one, until it was read.
    #[default]
    Create,
    /// PATCH of a record.
    Update,
    /// DELETE of a record.
    Delete,
}

/// A kind of value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum TypeWord {
    /// Text.
    String,
    /// A UUID.
    Uuid,
    /// An e-mail address.
    Email,
    /// A date.
    Date,
    /// A date with a time.
    DateTime,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// A JSON object.
    Object,
    /// Any JSON.
    Any,
    /// One parameter with comma-separated elements.
    Csv,
    /// A JSON array.
    Array,
}

/// Who holds the value of a field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// v1, which no file has to say.
    #[default]
    #[serde(skip)]
    V1,
    /// The overlay: v1 shows the field but never takes a value.
    Overlay,
    /// v1, and the overlay for a value that v1 refuses.
    OverlayIfRefused,
}

/// What a create does with a field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnCreate {
    /// Sends it with the create, which no file has to say.
    #[default]
    #[serde(skip)]
    Send,
    /// v1 ignores it in a create; it follows in a PATCH (trap 22).
    Patch,
    /// v1 sets it by the records that are there (trap 22); a value sent counts for the first record only.
    IfFirst,
}

/// How one record is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadOneBy {
    /// Found in the complete list.
    #[default]
    Collection,
    /// At its own path, where the list would cost more.
    Record,
}

/// A part of a project that can be switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Feature {
    /// Cycles.
    Cycles,
    /// Modules.
    Modules,
}

/// Who may write to a record, beside what the gate of the project asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhoWord {
    /// Who made it, and admins of the project.
    AuthorOrAdmin,
}

/// The methods operations use.
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
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Whether the operation changes something.
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

/// Work item type mode a write needs.
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
    /// As a mapping writes it.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
