//! One entry of `options`, read with every fault in it. May use: `v2`, this folder.

use super::entry_form::EntryForm;
use super::faults::{Faults, LONGEST, none};
use crate::v2::value::{read_uuid, trimmed};
use serde_json::{Map, Value};
use uuid::Uuid;

/// One entry of an `options` array; members that were not sent are `None`.
#[derive(Debug, Clone, Default)]
pub(super) struct Entry {
    /// Place in the array.
    pub(super) index: usize,
    pub(super) id: Option<Uuid>,
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) is_default: Option<bool>,
    pub(super) external_id: Option<Option<String>>,
    pub(super) external_source: Option<Option<String>>,
}

pub(super) fn read(index: usize, members: &Map<String, Value>, form: EntryForm, faults: &mut Faults) -> Entry {
    let at = |member: &str| format!("options.{index}.{member}");
    let mut entry = Entry { index, ..Entry::default() };
    let mut id_sent = false;
    if let (Some(value), true) = (members.get("id"), !form.is_new) {
        id_sent = true;
        entry.id = value.as_str().and_then(read_uuid);
        if entry.id.is_none() {
            faults.add(at("id"), "must be a UUID");
        }
    }
    match members.get("name") {
        Some(value) => entry.name = read_name(&at("name"), value, faults),
        None if !id_sent && form.is_new => faults.add(at("name"), "is required"),
        None if !id_sent => faults.add(at("name"), "is required, unless `id` is given"),
        None => {}
    }
    if let Some(value) = members.get("description") {
        entry.description = read_string(&at("description"), value, usize::MAX, faults);
    }
    if let Some(value) = members.get("is_default") {
        entry.is_default = value.as_bool();
        if entry.is_default.is_none() {
            faults.add(at("is_default"), "must be true or false");
        }
    }
    if form.takes_pair {
        entry.external_id = external(members, "external_id", &at("external_id"), faults);
        entry.external_source = external(members, "external_source", &at("external_source"), faults);
    }
    entry
}

fn external(members: &Map<String, Value>, name: &str, field: &str, faults: &mut Faults) -> Option<Option<String>> {
    match members.get(name)? {
        Value::Null => Some(None),
        value => Some(read_string(field, value, LONGEST, faults).map(|text| trimmed(&text).to_owned())),
    }
}

/// Reads a name and trims it; it must not be blank or too long (O9).
fn read_name(field: &str, value: &Value, faults: &mut Faults) -> Option<String> {
    let name = trimmed(&read_string(field, value, usize::MAX, faults)?).to_owned();
    if name.is_empty() {
        return none(faults, field, "must not be blank");
    }
    if name.chars().count() > LONGEST {
        return none(faults, field, format!("must not be longer than {LONGEST} characters"));
    }
    Some(name)
}

fn read_string(field: &str, value: &Value, longest: usize, faults: &mut Faults) -> Option<String> {
    match value.as_str() {
        None => none(faults, field, "must be a string"),
        Some(text) if text.contains('\0') => none(faults, field, "must not contain NUL characters"),
        Some(text) if text.chars().count() > longest => {
            none(faults, field, format!("must not be longer than {longest} characters"))
        }
        Some(text) => Some(text.to_owned()),
    }
}
