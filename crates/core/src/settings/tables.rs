//! Lists of tables, such as `[[retirement]]`, each table read strictly by one function.
//!
//! May use: `settings::flatten`, `settings::raw`, `settings::value`.

use super::flatten;
use super::raw::Raw;
use super::value::Setting;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::collections::BTreeMap;

/// A table as it is written.
pub(super) type Table = BTreeMap<String, Raw>;

/// What one table of a list says.
pub(super) trait Row: Sized {
    /// How a list of such tables is written, completing "write …".
    const FORM: &'static str;

    /// What `table` says, when it has the right form.
    fn of(table: &Table) -> Option<Self>;
}

/// A list of tables.
pub(super) struct Tables<T>(pub Vec<T>);

impl<T: Row> Setting for Tables<T> {
    const FORM: &'static str = T::FORM;

    /// In an environment variable or a flag it is the list as TOML writes it.
    fn from_raw(raw: &Raw) -> Option<Self> {
        match raw {
            Raw::Bare(text) => tables(&flatten::inline(text)?, T::of),
            raw => tables(raw, T::of),
        }
        .map(Self)
    }
}

/// The tables of a list.
pub(super) fn tables<T>(raw: &Raw, one: fn(&Table) -> Option<T>) -> Option<Vec<T>> {
    let Raw::List(tables) = raw else { return None };
    let one = |raw: &Raw| if let Raw::Table(table) = raw { one(table) } else { None };
    tables.iter().map(one).collect()
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

/// An instant, or a date for the beginning of its day in UTC. A time without its zone is neither.
pub(super) fn instant(raw: &Raw) -> Option<Timestamp> {
    let written = match raw {
        Raw::Text(text) | Raw::Other(text) => text.trim(),
        _ => return None,
    };
    // Longer ones that can be read as a date have a time, which would be dropped.
    let date = || written.parse::<Date>().ok().filter(|_| written.len() == "2027-01-31".len());
    written.parse().ok().or_else(|| Some(date()?.to_zoned(TimeZone::UTC).ok()?.timestamp()))
}
