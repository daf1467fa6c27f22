//! Words a mapping file may use about a field or a value. May use: nothing of this crate.

use serde::Deserialize;
use strum::IntoStaticStr;

/// A kind of value, or one of the two lists of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
#[expect(missing_docs, reason = "each is described in the reference of the mapping language")]
pub enum TypeWord {
    String,
    Uuid,
    Email,
    Date,
    DateTime,
    Integer,
    Number,
    Boolean,
    Object,
    Any,
    Csv,
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
