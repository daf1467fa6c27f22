//! Lists of tables, such as `[[retirement]]`. One function reads each table strictly.
//!
//! May use: `settings::flatten`, `settings::raw`, `settings::value`.

use super::flatten;
use super::raw::Raw;
use super::value::Setting;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::collections::BTreeMap;

/// A table as written.
pub(super) type Table = BTreeMap<String, Raw>;

/// The value of one table of a list.
pub(super) trait Row: Sized {
    /// The form of a list of such tables, as the end of a sentence that begins with "write …".
    const FORM: &'static str;

    /// Reads `table`; `None` when it does not have the right form.
    fn of(table: &Table) -> Option<Self>;
}

/// A list of tables.
pub(super) struct Tables<T>(pub Vec<T>);

impl<T: Row> Setting for Tables<T> {
    const FORM: &'static str = T::FORM;

    /// In an environment variable or a flag, the list is written as TOML.
    fn from_raw(raw: &Raw) -> Option<Self> {
        match raw {
            Raw::Bare(text) => tables(&flatten::inline(text)?, T::of),
            raw => tables(raw, T::of),
        }
        .map(Self)
    }
}

/// Reads the tables of a list.
pub(super) fn tables<T>(raw: &Raw, one: fn(&Table) -> Option<T>) -> Option<Vec<T>> {
    let Raw::List(tables) = raw else { return None };
    let one = |raw: &Raw| if let Raw::Table(table) = raw { one(table) } else { None };
    tables.iter().map(one).collect()
}

/// Checks that a table has no other members than `keys`.
pub(super) fn known(table: &Table, keys: &[&str]) -> Option<()> {
    table.keys().all(|key| keys.contains(&key.as_str())).then_some(())
}

/// Reads an optional member: `Some(None)` when it is absent, `None` when its value is faulty.
pub(super) fn optional<T>(table: &Table, key: &str, one: impl Fn(&Raw) -> Option<T>) -> Option<Option<T>> {
    table.get(key).map_or(Some(None), |raw| one(raw).map(Some))
}

/// Reads a text that is not empty.
pub(super) fn text(raw: &Raw) -> Option<&str> {
    match raw {
        Raw::Text(text) => Some(text.trim()).filter(|text| !text.is_empty()),
        _ => None,
    }
}

/// Reads a list of texts that are not empty.
pub(super) fn texts(raw: &Raw) -> Option<Vec<String>> {
    match raw {
        Raw::List(names) => names.iter().map(|name| text(name).map(str::to_owned)).collect(),
        _ => None,
    }
}

/// Reads true or false.
pub(super) fn flag(raw: &Raw) -> Option<bool> {
    match raw {
        Raw::Boolean(flag) => Some(*flag),
        _ => None,
    }
}

/// Reads an instant, or a date, which means the beginning of the day in UTC. A time without a zone is refused.
pub(super) fn instant(raw: &Raw) -> Option<Timestamp> {
    let written = match raw {
        Raw::Text(text) | Raw::Other(text) => text.trim(),
        _ => return None,
    };
    // A longer text that can be read as a date has a time, which would be lost.
    let date = || written.parse::<Date>().ok().filter(|_| written.len() == "2027-01-31".len());
    written.parse().ok().or_else(|| Some(date()?.to_zoned(TimeZone::UTC).ok()?.timestamp()))
}
