//! The v2 read shape of a work item, written directly into the answer.
//!
//! May use: `v2` (time), `work_items`.

use super::text_members::Members;
use super::work_items::Item;
use crate::v2::time;
use serde_json::{Map, Value};
use std::sync::Arc;
use uuid::Uuid;

/// Usual size of an item as text, in bytes.
pub const USUAL_SIZE: usize = 768;

/// `custom_fields` of the read shape: null on lists and archive operations, an object on single items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CustomFields<'c> {
    /// Null.
    Hidden,
    /// The values by property name.
    Shown(&'c Map<String, Value>),
}

/// The keys that `expand` adds to one item, in their order.
pub type Added = Vec<(String, Expanded)>;

/// A value that `expand` adds, as JSON. Many items may refer to one record, so it is written once and shared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expanded {
    /// A record, or null.
    One(Arc<str>),
    /// An array of records.
    Many(Vec<Arc<str>>),
}

impl Expanded {
    /// Returns the approximate number of bytes of its text.
    pub fn size(&self) -> usize {
        match self {
            Self::One(record) => record.len(),
            Self::Many(records) => records.iter().map(|record| record.len() + 1).sum(),
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::One(record) => out.extend_from_slice(record.as_bytes()),
            Self::Many(records) => {
                out.push(b'[');
                for (index, record) in records.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    out.extend_from_slice(record.as_bytes());
                }
                out.push(b']');
            }
        }
    }
}

/// The text before the value of a member that is not the first.
macro_rules! key {
    ($name:literal) => {
        concat!(",\"", $name, "\":")
    };
}

/// Appends the v2 read shape, with keys in the contract's order. `project` is the identifier of the project. `type_id`
/// comes only from the gateway's own store (trap 31). `added` are the keys that `expand` adds.
pub fn write(
    out: &mut Vec<u8>,
    item: &Item,
    project: &str,
    type_id: Option<Uuid>,
    custom_fields: CustomFields<'_>,
    added: &[(String, Expanded)],
) {
    let mut to = Members { out };
    to.id("{\"id\":", item.id);
    to.json(key!("name"), &item.name);
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
        to.out.extend_from_slice(format!(",\"{name}\":").as_bytes());
        value.write(to.out);
    }
    out.push(b'}');
}

/// Returns the first instant of the day of archiving. v1 keeps only the day (trap 53).
fn archived_instant(day: &str) -> String {
    let micros =
        time::read_date(day).and_then(|day| time::day_begins(day, "UTC")).or_else(|| time::read_instant(day));
    micros.map_or_else(|| day.to_owned(), time::write)
}
