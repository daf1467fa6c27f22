//! The ways to carry out an operation. May use: this folder.

use super::special::Special;
use serde::Deserialize;
use strum::{EnumString, IntoStaticStr};

/// The way to carry out an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, EnumString, IntoStaticStr)]
#[serde(try_from = "String")]
#[strum(serialize_all = "snake_case")]
pub enum Step {
    /// Lists the records. The gateway filters, orders and pages them.
    ReadCollection,
    /// Shows one record.
    ReadOne,
    /// Creates a record.
    Create,
    /// Updates a record.
    Update,
    /// Deletes a record.
    Delete,
    /// One named Rust function.
    #[strum(disabled)]
    Special(Special),
    /// Declared, but not implemented yet.
    Pending,
}

impl Step {
    /// Returns the word as mappings write it.
    pub fn word(self) -> String {
        match self {
            Self::Special(special) => format!("special:{}", special.name()),
            step => <&str>::from(step).into(),
        }
    }
}

impl TryFrom<String> for Step {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        match word.split_once(':') {
            Some(("special", name)) if !name.is_empty() => {
                let special = name.parse().map_err(|_| format!("the program has no special step `{name}`"));
                special.map(Self::Special)
            }
            _ => word.parse().map_err(|_| {
                format!(
                    "unknown step `{word}`; steps are read_collection, read_one, create, update, delete, pending \
                     and special:<name>"
                )
            }),
        }
    }
}
