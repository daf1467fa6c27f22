//! The v2 read shape of a work item, written straight into the answer.
//!
//! May use: `v2` (time), `work_items`.

use super::work_items::Item;
use crate::v2::time::{self, Micros};
use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;
use uuid::fmt::Hyphenated;

/// About what an item takes as text, in bytes.
pub const USUAL_SIZE: usize = 768;

/// `custom_fields` of the read shape: null on lists and archive verbs, an object on single items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CustomFields<'c> {
    /// Null.
    Hidden,
    /// The values by property name.
    Shown(&'c Map<String, Value>),
}

/// What stands before the value of a member that is not the first.
macro_rules! key {
    ($name:literal) => {
        concat!(",\"", $name, "\":")
    };
}

/// Appends the v2 read shape, keys in the contract's order. `project` is the identifier of the project, `type_id` comes
/// from the gateway's own store alone (trap 31), `added` are the keys that `expand` adds.
pub fn write(
    out: &mut Vec<u8>,
    item: &Item,
    project: &str,
    type_id: Option<Uuid>,
    custom_fields: CustomFields<'_>,
    added: &Map<String, Value>,
) {
    let mut to = Members { out };
    to.id("{\"id\":", item.id);
    to.text(key!("name"), &item.name);
    to.identifier(key!("identifier"), project, item.sequence_id);
    to.json(key!("sequence_id"), &item.sequence_id);
    to.plain(key!("priority"), item.priority.as_str());
    to.id(key!("state_id"), item.state);
    to.id_or_null(key!("type_id"), type_id);
    to.ids(key!("assignee_ids"), &item.assignees);
    to.ids(key!("label_ids"), &item.labels);
    to.id_or_null(key!("parent_id"), item.parent);
    to.json(key!("start_date"), &item.start_date);
    to.json(key!("target_date"), &item.target_date);
    to.json(key!("is_draft"), &item.is_draft);
    to.json(key!("archived_at"), &item.archived_at.as_deref().map(archived_instant));
    to.instant(key!("created_at"), item.created_at);
    to.id(key!("created_by_id"), item.created_by.unwrap_or_default());
    match custom_fields {
        CustomFields::Hidden => to.json(key!("custom_fields"), &()),
        CustomFields::Shown(values) => to.json(key!("custom_fields"), values),
    }
    for (name, value) in added {
        to.json(&format!(",\"{name}\":"), value);
    }
    out.push(b'}');
}

/// Members of an object, one after the other. Each method takes what stands before the value, complete.
struct Members<'o> {
    out: &'o mut Vec<u8>,
}

impl Members<'_> {
    fn json(&mut self, key: &str, value: &(impl Serialize + ?Sized)) {
        self.out.extend_from_slice(key.as_bytes());
        json(self.out, value);
    }

    fn text(&mut self, key: &str, text: &str) {
        self.json(key, text);
    }

    /// A text in which nothing has to be escaped.
    fn plain(&mut self, key: &str, text: &str) {
        self.out.extend_from_slice(key.as_bytes());
        self.out.push(b'"');
        self.out.extend_from_slice(text.as_bytes());
        self.out.push(b'"');
    }

    fn instant(&mut self, key: &str, micros: Micros) {
        self.out.extend_from_slice(key.as_bytes());
        self.out.push(b'"');
        time::write_to(self.out, micros);
        self.out.push(b'"');
    }

    fn id(&mut self, key: &str, id: Uuid) {
        self.out.extend_from_slice(key.as_bytes());
        quoted_id(self.out, id);
    }

    fn id_or_null(&mut self, key: &str, id: Option<Uuid>) {
        self.out.extend_from_slice(key.as_bytes());
        match id {
            Some(id) => quoted_id(self.out, id),
            None => self.out.extend_from_slice(b"null"),
        }
    }

    fn ids(&mut self, key: &str, ids: &[Uuid]) {
        self.out.extend_from_slice(key.as_bytes());
        self.out.push(b'[');
        for (index, id) in ids.iter().enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            quoted_id(self.out, *id);
        }
        self.out.push(b']');
    }

    /// The key that people use: `WEB-7`.
    fn identifier(&mut self, key: &str, project: &str, number: i64) {
        self.text(key, project);
        // The closing quotation mark comes after the number.
        self.out.pop();
        self.out.push(b'-');
        json(self.out, &number);
        self.out.push(b'"');
    }
}

fn quoted_id(out: &mut Vec<u8>, id: Uuid) {
    let mut text = [b'"'; Hyphenated::LENGTH + 2];
    id.hyphenated().encode_lower(&mut text[1..=Hyphenated::LENGTH]);
    out.extend_from_slice(&text);
}

fn json(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    // Memory cannot refuse what is written, and these values have no form that JSON does not have.
    let written = serde_json::to_writer(out, value);
    debug_assert!(written.is_ok(), "{written:?}");
}

/// v1 keeps the day of archiving only (trap 53); v2 shows its first instant.
fn archived_instant(day: &str) -> String {
    let micros =
        time::read_date(day).and_then(|day| time::day_begins(day, "UTC")).or_else(|| time::read_instant(day));
    micros.map_or_else(|| day.to_owned(), time::write)
}
