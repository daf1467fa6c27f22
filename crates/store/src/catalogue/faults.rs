//! Members of a body: read by name, with every fault collected for one answer (O29).
//!
//! Members that an operation declares with a kind arrive checked; `options`, `default_value` and the free objects
//! arrive as sent and are judged here, with dotted names (O28). May use: `refusal`, `v2`.

pub(super) use crate::refusal::FieldErrors as Faults;
use crate::v2::body::Given;
use crate::v2::value::{read_uuid, small_letters, trimmed};
use serde_json::{Map, Value};
use std::collections::HashSet;
use uuid::Uuid;

/// Longest name, external id and external source.
pub(super) const LONGEST: usize = 255;

/// Adds the fault and goes on without the value.
fn none<T>(faults: &mut Faults, field: &str, message: impl Into<String>) -> Option<T> {
    faults.add(field, message);
    None
}

/// What is wrong inside the members of a body that are no single values, each looked at alone: for an answer
/// about other faulty members, so that it has all (O29). `form` says what `options` may hold.
pub fn faults_inside(given: &Given, form: EntryForm) -> Faults {
    let mut faults = Faults::default();
    strings(given, "default_value", &mut faults);
    entries(given, form, &mut faults);
    for name in ["settings", "validation_rules"] {
        object(given, name, &mut faults);
    }
    faults
}

/// Puts what was sent in place of what was there.
pub(super) fn take<T>(place: &mut T, sent: Option<T>) {
    if let Some(sent) = sent {
        *place = sent;
    }
}

/// A text member that was sent and is not null.
pub(super) fn text(given: &Given, name: &str) -> Option<String> {
    given.get(name).and_then(Value::as_str).map(str::to_owned)
}

/// A nullable text member: `None` when it was not sent.
pub(super) fn nullable_text(given: &Given, name: &str) -> Option<Option<String>> {
    given.get(name).map(|value| value.as_str().map(str::to_owned))
}

pub(super) fn flag(given: &Given, name: &str) -> Option<bool> {
    given.get(name).and_then(Value::as_bool)
}

/// A list of ids that was sent; its elements were checked with the body.
pub(super) fn ids(given: &Given, name: &str) -> Option<Vec<Uuid>> {
    let elements = given.get(name)?.as_array()?;
    Some(elements.iter().filter_map(|element| read_uuid(element.as_str()?)).collect())
}

/// A free object that was sent (O71); null is none (O8).
pub(super) fn object(given: &Given, name: &str, faults: &mut Faults) -> Option<Value> {
    match given.get(name)? {
        value @ Value::Object(_) => Some(value.clone()),
        _ => none(faults, name, "must be an object"),
    }
}

/// An array of strings that was sent.
pub(super) fn strings(given: &Given, name: &str, faults: &mut Faults) -> Option<Vec<String>> {
    let elements = match given.get(name)? {
        Value::Array(elements) => elements,
        _ => return none(faults, name, "must be an array of strings"),
    };
    let mut texts = Vec::with_capacity(elements.len());
    for (index, element) in elements.iter().enumerate() {
        match element.as_str() {
            Some(text) if !text.contains('\0') => texts.push(text.to_owned()),
            Some(_) => faults.add(format!("{name}.{index}"), "must not contain NUL characters"),
            None => faults.add(format!("{name}.{index}"), "must be a string"),
        }
    }
    Some(texts)
}

/// One entry of an `options` array, as far as it was sent.
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

/// Which members an entry may carry beside its name, text and flag; others change nothing (O6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryForm {
    /// Whether the property is new, so that an entry has a name and no id yet.
    is_new: bool,
    takes_pair: bool,
}

impl EntryForm {
    /// In a context: id or name, no external pair.
    pub const IN_CONTEXT: Self = Self { is_new: false, takes_pair: false };

    /// Inline with a property of this project, which takes an external pair; none for one of the workspace.
    pub fn inline(project: Option<Uuid>, is_new: bool) -> Self {
        Self { is_new, takes_pair: project.is_some() }
    }

    fn takes(self, member: &str) -> bool {
        match member {
            "id" => !self.is_new,
            "external_id" | "external_source" => self.takes_pair,
            other => ["name", "description", "is_default"].contains(&other),
        }
    }
}

/// Members of entries of `options` that change nothing.
pub fn ignored_inside(given: &Given, form: EntryForm) -> Vec<String> {
    let entries = given.get("options").and_then(Value::as_array).into_iter().flatten().enumerate();
    let objects = entries.filter_map(|(index, entry)| Some((index, entry.as_object()?)));
    let members = objects.flat_map(|(index, members)| members.keys().map(move |name| (index, name)));
    let ignored = members.filter(|(_, name)| !form.takes(name));
    ignored.map(|(index, name)| format!("options.{index}.{name}")).collect()
}

/// The `options` member, when it was sent: every readable entry, every fault of the others.
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
        let entry = entry(index, members, form, faults);
        earlier.note(&entry, faults);
        read.push(entry);
    }
    Some(read)
}

/// Options named so far: by id, and by name ignoring case.
#[derive(Default)]
struct Earlier {
    ids: HashSet<Uuid>,
    names: HashSet<String>,
}

impl Earlier {
    /// Blames an option that is named twice.
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

fn entry(index: usize, members: &Map<String, Value>, form: EntryForm, faults: &mut Faults) -> Entry {
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

/// Trimmed, not blank, not too long (O9).
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

/// Ids as one list in a message.
pub(super) fn listed(ids: &[Uuid]) -> String {
    ids.iter().map(Uuid::to_string).collect::<Vec<_>>().join(", ")
}
