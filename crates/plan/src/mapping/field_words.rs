//! Words a mapping file may use about a field or a value. May use: nothing of this crate.

use serde::Deserialize;
use strum::IntoStaticStr;

/// A kind of value, or one of the two kinds of lists.
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

/// The place that holds the value of a field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// v1; the default.
    #[default]
    #[serde(skip)]
    V1,
    /// The overlay: v1 shows the field but never takes a value.
    Overlay,
    /// v1; for a value that v1 refuses, the overlay.
    OverlayIfRefused,
}

/// The way in which a create treats a field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnCreate {
    /// Sends it with the create; the default.
    #[default]
    #[serde(skip)]
    Send,
    /// Sends it in a PATCH after the create, because v1 ignores it in a create (trap 22).
    Patch,
    /// v1 sets it depending on the existing records (trap 22); a value sent counts for the first record only.
    IfFirst,
}
