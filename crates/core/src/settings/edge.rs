//! How strict the door is. May use: this folder.

use super::reader::Reader;
use super::source::Raw;
use super::value::Setting;
use strum::EnumString;

/// What becomes of headers whose names have underscores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum Underscores {
    /// The request is refused.
    #[default]
    Refuse,
    /// The request goes on without them.
    Drop,
}

impl Setting for Underscores {
    const FORM: &'static str = "\"refuse\" or \"drop\"";

    fn from_raw(raw: &Raw) -> Option<Self> {
        String::from_raw(raw)?.parse().ok()
    }
}

/// The door (`[edge]`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EdgeSettings {
    /// Headers whose names have underscores.
    pub underscores: Underscores,
    /// Whether answers of v2 are sent as gzip or zstd to clients that take it.
    pub compress: bool,
}

impl EdgeSettings {
    pub(super) fn read(from: &mut Reader) -> Self {
        Self { underscores: from.get("edge.underscores"), compress: from.get("edge.compress") }
    }
}
