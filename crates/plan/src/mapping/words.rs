//! The closed sets of words a mapping file may use as values.

use serde::Deserialize;

/// Where records live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceWord {
    /// Behind v1.
    V1,
    /// In the gateway's own store.
    Own,
}

/// A kind of record in the gateway's own store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordsWord {
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

/// Part of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SurfaceWord {
    /// The person behind the credential.
    User,
    /// Below a workspace.
    Workspace,
    /// Below a project.
    Project,
}

impl SurfaceWord {
    /// As a mapping writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Workspace => "workspace",
            Self::Project => "project",
        }
    }
}

/// Form of a v1 list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowsWord {
    /// The paging envelope.
    #[default]
    Paged,
    /// A bare array.
    Array,
}

/// A kind of write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteWord {
    /// POST on the collection.
    Create,
    /// PATCH of a record.
    Update,
    /// DELETE of a record.
    Delete,
}

/// A kind of value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeepWord {
    /// The overlay.
    Overlay,
    /// v1, and the overlay for what v1 refuses.
    OverlayIfRefused,
}

/// What a create does with a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnCreateWord {
    /// Sends it in a PATCH after the create.
    Patch,
    /// Takes it for the first record of a collection only.
    IfFirst,
}

/// How one record is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OneWord {
    /// In the complete list.
    #[default]
    Collection,
    /// At its own path.
    Record,
}

/// A part of a project that can be switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeatureWord {
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

/// A method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum MethodWord {
    /// Reads.
    Get,
    /// Creates or acts.
    Post,
    /// Updates.
    Patch,
    /// Deletes.
    Delete,
}

/// Form of a success.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerWord {
    /// A list envelope.
    Page,
    /// One record.
    Record,
    /// No body.
    Empty,
}

/// A work item type mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModeWord {
    /// Types per project.
    Project,
    /// Types per workspace.
    Workspace,
}

impl ModeWord {
    /// As a mapping writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::Workspace => "workspace",
        }
    }
}

/// How an operation is carried out.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum StepWord {
    /// Lists the records.
    ReadCollection,
    /// Shows one of them.
    ReadOne,
    /// Creates a record.
    Create,
    /// Updates one.
    Update,
    /// Deletes one.
    Delete,
    /// A named Rust function.
    Special(String),
    /// Declared, not working yet.
    Pending,
}

impl TryFrom<String> for StepWord {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        match word.as_str() {
            "read_collection" => Ok(Self::ReadCollection),
            "read_one" => Ok(Self::ReadOne),
            "create" => Ok(Self::Create),
            "update" => Ok(Self::Update),
            "delete" => Ok(Self::Delete),
            "pending" => Ok(Self::Pending),
            _ => match word.split_once(':') {
                Some(("special", name)) if !name.is_empty() => Ok(Self::Special(name.into())),
                _ => Err(format!(
                    "unknown step `{word}`; steps are read_collection, read_one, create, update, delete, pending \
                     and special:<name>"
                )),
            },
        }
    }
}
