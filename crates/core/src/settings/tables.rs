//! Lists of tables, such as `[[retirement]]`, each table read strictly by one function.
//!
//! May use: `settings::source`.

use super::source::{self, Raw};
use std::collections::BTreeMap;

/// A table as it is written.
pub(super) type Table = BTreeMap<String, Raw>;

/// A list of tables, each read by one function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tables<T>(pub Vec<T>);

/// The tables of `raw`; in an environment variable or a flag it is the list as TOML writes it.
pub(super) fn tables<T>(raw: &Raw, one: fn(&Table) -> Option<T>) -> Option<Vec<T>> {
    match raw {
        Raw::List(tables) => tables
            .iter()
            .map(|raw| match raw {
                Raw::Table(table) => one(table),
                _ => None,
            })
            .collect(),
        Raw::Bare(text) => {
            let raw = source::inline(text).filter(|raw| !matches!(raw, Raw::Bare(_)))?;
            tables(&raw, one)
        }
        _ => None,
    }
}

/// Whether a table has no other members than these.
pub(super) fn known(table: &Table, keys: &[&str]) -> Option<()> {
    table.keys().all(|key| keys.contains(&key.as_str())).then_some(())
}

/// Absent stays absent, a faulty value makes the whole faulty.
pub(super) fn optional<T>(table: &Table, key: &str, one: impl Fn(&Raw) -> Option<T>) -> Option<Option<T>> {
    table.get(key).map_or(Some(None), |raw| one(raw).map(Some))
}

/// A text that is not empty.
pub(super) fn text(raw: &Raw) -> Option<&str> {
    match raw {
        Raw::Text(text) => Some(text.trim()).filter(|text| !text.is_empty()),
        _ => None,
    }
}

/// A list of texts that are not empty.
pub(super) fn texts(raw: &Raw) -> Option<Vec<String>> {
    match raw {
        Raw::List(names) => names.iter().map(|name| text(name).map(str::to_owned)).collect(),
        _ => None,
    }
}

/// True or false.
pub(super) fn flag(raw: &Raw) -> Option<bool> {
    match raw {
        Raw::Boolean(flag) => Some(*flag),
        _ => None,
    }
}
