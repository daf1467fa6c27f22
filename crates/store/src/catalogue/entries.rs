//! Members of a body that are not single values: `options` as a whole, and the faults inside the other members. May
//! use: `v2`, this folder.

use super::entry::{self, Entry};
use super::entry_form::EntryForm;
use super::faults::{Faults, none, object, strings};
use crate::v2::body::Given;
use crate::v2::value::small_letters;
use serde_json::Value;
use std::collections::HashSet;
use uuid::Uuid;

/// Returns the faults inside the members of a body that are not single values, each member checked alone. An answer
/// about other faulty members adds them to be complete (O29). `form` says what `options` may hold.
pub fn faults_inside(given: &Given, form: EntryForm) -> Faults {
    let mut faults = Faults::default();
    strings(given, "default_value", &mut faults);
    entries(given, form, &mut faults);
    for name in ["settings", "validation_rules"] {
        object(given, name, &mut faults);
    }
    faults
}

/// Reads the `options` member, if sent: returns every readable entry and adds every fault to `faults`.
pub(super) fn entries(given: &Given, form: EntryForm, faults: &mut Faults) -> Option<Vec<Entry>> {
    let elements = match given.get("options")? {
        Value::Array(elements) => elements,
        _ => return none(faults, "options", "must be an array of objects"),
    };
    let mut read: Vec<Entry> = Vec::with_capacity(elements.len());
    let mut earlier = Earlier::default();
    for (index, element) in elements.iter().enumerate() {
        let Some(members) = element.as_object() else {
            faults.add(format!("options.{index}"), "must be an object");
            continue;
        };
        let entry = entry::read(index, members, form, faults);
        earlier.note(&entry, faults);
        read.push(entry);
    }
    Some(read)
}

/// Options named so far: their ids, and their names ignoring case.
#[derive(Default)]
struct Earlier {
    ids: HashSet<Uuid>,
    names: HashSet<String>,
}

impl Earlier {
    /// Adds a fault for an option that is named twice.
    fn note(&mut self, entry: &Entry, faults: &mut Faults) {
        let index = entry.index;
        if entry.id.is_some_and(|id| !self.ids.insert(id)) {
            faults.add(format!("options.{index}.id"), "is given more than once");
        }
        let name = entry.name.as_ref().map(|name| small_letters(name));
        if name.is_some_and(|name| !self.names.insert(name)) {
            faults.add(format!("options.{index}.name"), "is given more than once, ignoring case");
        }
    }
}

/// Counts the option names before the first name that equals an earlier one, ignoring case.
pub fn distinct_prefix_len<'n>(names: impl Iterator<Item = &'n str>) -> usize {
    let mut known = HashSet::new();
    names.take_while(|name| known.insert(small_letters(name))).count()
}

#[cfg(test)]
mod tests {
    use super::distinct_prefix_len;

    #[test]
    fn names_are_told_apart_by_more_than_letter_case() {
        for (names, apart) in
            [(&["a", "b", "c"][..], 3), (&["a", "b", "A", "c"], 2), (&["ΟΔΟΣ", "οδοσ"], 1), (&["οδος", "οδοσ"], 1)]
        {
            assert_eq!(distinct_prefix_len(names.iter().copied()), apart, "{names:?}");
        }
    }
}
