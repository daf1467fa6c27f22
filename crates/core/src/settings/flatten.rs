//! Converts TOML to settings by dotted name.
//!
//! May use: `settings::error`, `settings::raw`.

use super::error::{Origin, SettingFault, SettingsError};
use super::raw::{Entries, Entry, Raw};
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub(super) fn not_toml(path: &Path, text: &str, error: &toml::de::Error) -> SettingsError {
    let offset = error.span().map_or(0, |span| span.start);
    SettingFault {
        setting: path.display().to_string(),
        origin: Some(file_origin(path, text, offset)),
        problem: format!("not valid TOML: {}", error.message()),
        remedy: "correct the line".into(),
    }
    .into()
}

pub(super) fn file_origin(path: &Path, text: &str, offset: usize) -> Origin {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    Origin::File { path: path.to_owned(), line }
}

pub(super) fn flatten(text: &str, origin: impl Fn(usize) -> Origin) -> Result<Entries, toml::de::Error> {
    let table = DeTable::parse(text)?;
    let mut entries = Entries::new();
    flatten_table("", table.get_ref(), &origin, &mut entries);
    Ok(entries)
}

fn flatten_table(prefix: &str, table: &DeTable<'_>, origin: &dyn Fn(usize) -> Origin, into: &mut Entries) {
    for (key, value) in table {
        let name = dotted(prefix, key.get_ref());
        match value.get_ref() {
            DeValue::Table(inner) => flatten_table(&name, inner, origin, into),
            _ => {
                into.insert(name, Entry { raw: raw(value), origin: origin(key.span().start) });
            }
        }
    }
}

/// Returns the dotted name of `key` in `table`. `table` is empty for a key outside of all tables.
pub(super) fn dotted(table: &str, key: &str) -> String {
    if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") }
}

/// Parses a value from the environment or a flag that is written as TOML.
pub(super) fn inline(text: &str) -> Option<Raw> {
    let line = format!("value = {text}");
    let table = DeTable::parse(&line).ok()?;
    let members = table.get_ref();
    if members.len() != 1 {
        return None;
    }
    members.iter().next().map(|(_, value)| raw(value))
}

fn raw(value: &Spanned<DeValue<'_>>) -> Raw {
    match value.get_ref() {
        DeValue::String(text) => Raw::Text(text.to_string()),
        DeValue::Boolean(value) => Raw::Boolean(*value),
        DeValue::Array(items) => Raw::List(items.iter().map(raw).collect()),
        DeValue::Table(members) => {
            Raw::Table(members.iter().map(|(name, value)| (name.get_ref().to_string(), raw(value))).collect())
        }
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or_else(|_| Raw::Other(number.as_str().to_owned()), Raw::Integer),
        DeValue::Datetime(date) => Raw::Other(date.to_string()),
        other => Raw::Other(format!("a {}", other.type_str())),
    }
}
