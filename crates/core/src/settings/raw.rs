//! Values of settings as written, each with its origin.
//!
//! May use: `settings::error`.

use super::error::Origin;
use std::collections::BTreeMap;
use std::fmt;

/// A value as written, before its type is known.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Raw {
    /// Text without a type: from the environment or a flag.
    Bare(String),
    /// A TOML string.
    Text(String),
    /// A TOML integer.
    Integer(i64),
    /// A TOML boolean.
    Boolean(bool),
    /// A TOML array.
    List(Vec<Raw>),
    /// A TOML table inside a list.
    Table(BTreeMap<String, Raw>),
    /// Any other TOML value, as written or by type.
    Other(String),
}

impl fmt::Display for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bare(text) | Self::Text(text) => write!(f, "\"{text}\""),
            Self::Integer(number) => write!(f, "{number}"),
            Self::Boolean(value) => write!(f, "{value}"),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(Self::to_string).collect();
                write!(f, "[{}]", items.join(", "))
            }
            Self::Table(members) => {
                let members: Vec<String> = members.iter().map(|(name, raw)| format!("{name} = {raw}")).collect();
                write!(f, "{{ {} }}", members.join(", "))
            }
            Self::Other(text) => f.write_str(text),
        }
    }
}

/// A value with its origin.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub raw: Raw,
    pub origin: Origin,
}

/// Values by dotted name.
pub(super) type Entries = BTreeMap<String, Entry>;
