//! Kinds of values. May use: nothing of this crate.

use strum::EnumString;

/// The kind of value that a field, parameter or body member holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum Kind {
    /// Text.
    String,
    /// A UUID in text.
    Uuid,
    /// An e-mail address in text.
    Email,
    /// `YYYY-MM-DD`.
    Date,
    /// ISO 8601 date and time.
    DateTime,
    /// A whole number.
    Integer,
    /// A finite number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A JSON object.
    Object,
    /// Any JSON.
    Any,
}

impl Kind {
    /// Returns `type` in the contract's tables.
    pub fn contract_type(self) -> &'static str {
        match self {
            Self::String | Self::Uuid | Self::Email | Self::Date | Self::DateTime => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Object => "object",
            Self::Any => "any",
        }
    }

    /// Returns `format` in the contract's tables.
    pub fn contract_format(self) -> Option<&'static str> {
        match self {
            Self::Uuid => Some("uuid"),
            Self::Email => Some("email"),
            Self::Date => Some("date"),
            Self::DateTime => Some("date-time"),
            _ => None,
        }
    }
}

/// One value or several of a [`Kind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// A single value.
    One(Kind),
    /// A JSON array (body members, fields); `None` for elements of no stated kind.
    Array(Option<Kind>),
    /// One query parameter holding comma-separated elements.
    Csv(Kind),
}
