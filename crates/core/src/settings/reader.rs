//! Reads typed settings out of the merged sources and collects every fault.
//!
//! Each part of the settings reads its own settings by name; a setting that no part reads is unknown. A faulty value is
//! reported and replaced by its default, so that one run reports all faults.
//!
//! May use: `settings::error`, `settings::flatten`, `settings::raw`, `settings::source`, `settings::tables`,
//! `settings::value`.

use super::error::{Origin, SettingFault, SettingsError};
use super::raw::{Entries, Entry, Raw};
use super::source;
use super::tables::{Row, Tables};
use super::value::{Secret, Setting, Size};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::time::Duration;

/// Declares a table of settings. After each setting comes the function that reads it; it may use the settings before
/// it.
macro_rules! settings {
    ($(#[$about:meta])* $table:ident { $($(#[$what:meta])* $name:ident: $type:ty = $read:expr,)* }) => {
        $(#[$about])*
        pub struct $table {
            $($(#[$what])* pub $name: $type,)*
        }

        impl $table {
            pub(in $crate::settings) fn read(from: &mut Reader, table: &str) -> Self {
                $(let $name = ($read)(from, &$crate::settings::flatten::dotted(table, stringify!($name)));)*
                Self { $($name),* }
            }
        }
    };
}
pub(super) use settings;

/// The setting that every deployment sets. Among settings with the same last part, this one is suggested.
const NEEDED: &str = "upstream.base_url";

/// The merged sources, with a record of the names that were read.
pub(super) struct Reader {
    defaults: Entries,
    given: Entries,
    asked: BTreeSet<String>,
    faults: Vec<SettingFault>,
    /// Secrets that were given as arguments.
    exposed: Vec<String>,
}

impl Reader {
    /// Merges `sources`, the strongest last, over the defaults.
    pub(super) fn new(sources: impl IntoIterator<Item = Entries>) -> Self {
        let given = sources.into_iter().flatten().collect();
        Self {
            defaults: source::defaults(),
            given,
            asked: BTreeSet::new(),
            faults: Vec::new(),
            exposed: Vec::new(),
        }
    }

    /// Reads the setting `key`, which has a default.
    pub(super) fn get<T: Setting>(&mut self, key: &str) -> T {
        self.get_where(key, T::FORM, |_| true)
    }

    /// Reads the setting `key`, which has a default. A value that `accept` rejects is a fault; its remedy is to write
    /// `form`.
    pub(super) fn get_where<T: Setting>(&mut self, key: &str, form: &str, accept: impl Fn(&T) -> bool) -> T {
        self.optional_where(key, form, accept).unwrap_or_else(|| self.default(key))
    }

    /// Reads the setting `key`, which has no default. An empty text counts as not set.
    pub(super) fn optional<T: Setting>(&mut self, key: &str) -> Option<T> {
        self.optional_where(key, T::FORM, |_| true)
    }

    /// Reads the setting `key`, which has no default. A value that `accept` rejects is a fault; its remedy is to write
    /// `form`.
    pub(super) fn optional_where<T: Setting>(
        &mut self,
        key: &str,
        form: &str,
        accept: impl Fn(&T) -> bool,
    ) -> Option<T> {
        self.asked.insert(key.to_owned());
        let entry = self.given.get(key).filter(|entry| !is_unset(entry))?;
        let value = T::from_raw(&entry.raw).filter(accept);
        if value.is_none() {
            self.faults.push(unusable(key, entry, form));
        }
        value
    }

    /// Reads the tables of the list `key`; none by default.
    pub(super) fn tables<T: Row>(&mut self, key: &str) -> Vec<T> {
        self.optional::<Tables<T>>(key).map_or_else(Vec::new, |tables| tables.0)
    }

    /// Reads the secret `key`, which has no default. Its name is noted when it comes from a flag.
    pub(super) fn secret(&mut self, key: &str) -> Option<Secret> {
        let value = self.optional(key);
        if value.is_some() && self.is_argument(key) {
            self.exposed.push(key.to_owned());
        }
        value
    }

    /// Returns the names of the secrets read so far that come from a flag.
    pub(super) fn exposed(&mut self, _: &str) -> Vec<String> {
        self.exposed.clone()
    }

    fn is_argument(&self, key: &str) -> bool {
        self.given.get(key).is_some_and(|entry| entry.origin == Origin::Flag)
    }

    /// Reads the secret `key`, which has no default and must not come from a flag: every user of the machine can read
    /// arguments.
    pub(super) fn secret_not_from_flag<T: Setting>(
        &mut self,
        key: &str,
        form: &str,
        accept: impl Fn(&T) -> bool,
    ) -> Option<T> {
        let value = self.optional_where(key, form, accept);
        if self.is_argument(key) {
            self.fault(
                key,
                "a secret must not be an argument, because everybody on the machine can read it",
                &format!("use the variable {}", source::variable(key)),
            );
        }
        value
    }

    /// Adds a fault of `key` that follows from the values of other settings.
    pub(super) fn fault(&mut self, key: &str, problem: &str, remedy: &str) {
        let origin = self.given.get(key).map(|entry| entry.origin.clone());
        let (setting, problem, remedy) = (key.to_owned(), problem.to_owned(), remedy.to_owned());
        self.faults.push(SettingFault { setting, origin, problem, remedy });
    }

    fn default<T: Setting>(&self, key: &str) -> T {
        let value = self.defaults.get(key).and_then(|entry| T::from_raw(&entry.raw));
        value.unwrap_or_else(|| panic!("config/causeway.toml must hold a valid default for {key}"))
    }

    /// Returns all values as written, defaults included.
    pub(super) fn values(&self) -> BTreeMap<String, String> {
        let all = self.defaults.iter().chain(&self.given);
        all.map(|(name, entry)| (name.clone(), entry.raw.to_string())).collect()
    }

    /// Returns the names read so far.
    #[cfg(test)]
    pub(super) fn asked(&self) -> &BTreeSet<String> {
        &self.asked
    }

    /// Ends reading. Returns `settings` when there is no fault, else all faults, unknown names included.
    pub(super) fn finish<T>(mut self, settings: T) -> Result<T, SettingsError> {
        let unknown = self.given.iter().filter(|(key, _)| !self.asked.contains(*key));
        let unknown: Vec<SettingFault> = unknown.map(|(key, entry)| self.unknown(key, entry)).collect();
        self.faults.extend(unknown);
        if self.faults.is_empty() { Ok(settings) } else { Err(SettingsError { faults: self.faults }) }
    }

    fn unknown(&self, key: &str, entry: &Entry) -> SettingFault {
        let remedy = match nearest(key, &self.asked) {
            Some(known) => format!("did you mean {}?", spelled(known, &entry.origin)),
            None => "remove it; config/causeway.toml lists all settings".to_owned(),
        };
        let origin = Some(entry.origin.clone());
        SettingFault { setting: key.to_owned(), origin, problem: "there is no such setting".into(), remedy }
    }
}

/// Checks whether the entry is an empty untyped or quoted text, which means "not set".
fn is_unset(entry: &Entry) -> bool {
    matches!(&entry.raw, Raw::Bare(text) | Raw::Text(text) if text.trim().is_empty())
}

fn unusable(key: &str, entry: &Entry, form: &str) -> SettingFault {
    let may_hold_a_secret = ["store.url", "shared.url", "admin.token", "upstream.service_key"].contains(&key)
        || key.starts_with("secrets.");
    // An address that contains a user name.
    let text = entry.raw.to_string();
    let names_somebody = text.split_once("://").is_some_and(|(_, rest)| rest.contains('@'));
    let problem = if may_hold_a_secret || names_somebody {
        "the value (not shown, it may hold a password) cannot be used".to_owned()
    } else {
        format!("{text} cannot be used")
    };
    let remedy = format!("write {form}");
    SettingFault { setting: key.to_owned(), origin: Some(entry.origin.clone()), problem, remedy }
}

/// Returns `key` in the spelling of the source from which the misspelt name came.
fn spelled(key: &str, origin: &Origin) -> String {
    match origin {
        Origin::Environment(_) => source::variable(key),
        _ => format!("`{key}`"),
    }
}

/// Returns the known name nearest to `key`: first a name with the same last part (a name in the wrong section), then
/// the name with the most similar spelling.
fn nearest<'a>(key: &str, known: &'a BTreeSet<String>) -> Option<&'a String> {
    let last = |name: &str| name.rsplit('.').next().map(str::to_owned);
    let misplaced = known.iter().filter(|name| last(name) == last(key)).min_by_key(|name| *name != NEEDED);
    misplaced.or_else(|| most_similar(key, known))
}

/// Minimum similarity (0 to 1) at which a word counts as a misspelling of another.
const SIMILAR: f64 = 0.6;

/// Returns the name in `known` that is most similar to `word`, if one is similar enough.
pub fn most_similar<K: AsRef<str>>(word: &str, known: impl IntoIterator<Item = K>) -> Option<K> {
    let scored =
        known.into_iter().map(|known| (strsim::normalized_damerau_levenshtein(word, known.as_ref()), known));
    let similar = scored.filter(|(score, _)| *score >= SIMILAR);
    similar.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known)
}

/// Reads a whole number within a range.
pub(super) fn whole(range: RangeInclusive<usize>) -> impl Fn(&mut Reader, &str) -> usize {
    let form = format!("a whole number from {} to {}", range.start(), range.end());
    move |from, key| from.get_where(key, &form, |number| range.contains(number))
}

pub(super) fn at_once(from: &mut Reader, key: &str) -> usize {
    whole(1..=1_000_000)(from, key)
}

/// Reads a size that must not be zero.
pub(super) fn some_bytes(from: &mut Reader, key: &str) -> usize {
    let form = "a size above zero such as 4096, \"64KiB\", \"1MiB\" or \"2GiB\"";
    from.get_where(key, form, |size: &Size| size.0 > 0).0
}

/// Reads a duration that must not be zero.
pub(super) fn positive(from: &mut Reader, key: &str) -> Duration {
    let form = "a duration above zero, such as \"30s\", of at most \"87600h\" (ten years)";
    from.get_where(key, form, |time: &Duration| !time.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_another_word_is_not() {
        let known = ["states", "labels", "cycles"];
        assert_eq!(most_similar("lables", known), Some("labels"));
        assert_eq!(most_similar("webhooks", known), None);
    }
}
