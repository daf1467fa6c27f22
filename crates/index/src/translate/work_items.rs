//! Work items: v1's record as a typed value, and the v2 read shape made from it.
//!
//! Lists, the index and single reads all pass an [`Item`] around, so that a row from the index and a row from
//! v1 are written by the same code.
//!
//! May use: `v2` (time), this folder.

use super::Fault;
use crate::v2::time::{self, Micros};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// Declares [`Item`] with its members as v1 names them, and what v1 is asked for.
macro_rules! item {
    (id: $($(#[$about:meta])* $name:ident: $kind:ty,)*) => {
        /// A work item as v1 shows it, instants in UTC.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        pub struct Item {
            /// Id.
            pub id: Uuid,
            $($(#[$about])* pub $name: $kind,)*
            /// SHA-256 of the description; none in rows that were read without it, which have no version.
            #[serde(default, rename = "description_html", deserialize_with = "digest", skip_serializing)]
            pub description: Option<[u8; 32]>,
            /// Estimate, where the description is there.
            #[serde(default, skip_serializing)]
            pub estimate_point: Option<Uuid>,
        }

        /// What is asked of v1 for an [`Item`]: everything v2 shows, filters or orders by, and no `description_html`.
        pub const FIELDS: &str = concat!("fields=id" $(, ",", stringify!($name))*);

        /// What is asked of v1 for one whole [`Item`], from which its version can be told: v2 shows no description,
        /// but its change makes another version.
        pub const WHOLE: &str = concat!("fields=id" $(, ",", stringify!($name))*, ",description_html,estimate_point");
    };
}

item! {
    id:
    /// Title.
    name: String,
    /// Number within the project.
    sequence_id: i64,
    /// Priority.
    priority: Priority,
    /// State.
    state: Uuid,
    /// Parent, if any.
    #[serde(deserialize_with = "present")]
    parent: Option<Uuid>,
    /// Assigned people.
    assignees: Vec<Uuid>,
    /// Applied labels.
    labels: Vec<Uuid>,
    /// Planned start, `YYYY-MM-DD`.
    #[serde(deserialize_with = "present")]
    start_date: Option<String>,
    /// Planned end, `YYYY-MM-DD`.
    #[serde(deserialize_with = "present")]
    target_date: Option<String>,
    /// Always false in what v1 shows (trap 53).
    is_draft: bool,
    /// A day; always null in reads (trap 53), set in the answer to an archiving PATCH.
    #[serde(deserialize_with = "present")]
    archived_at: Option<String>,
    /// Creation.
    #[serde(deserialize_with = "instant")]
    created_at: Micros,
    /// Last change.
    #[serde(deserialize_with = "instant")]
    updated_at: Micros,
    /// Creator.
    #[serde(deserialize_with = "present")]
    created_by: Option<Uuid>,
    /// Ordering weight.
    sort_order: f64,
    /// Correlation value.
    #[serde(deserialize_with = "present")]
    external_id: Option<String>,
    /// Origin of the correlation value.
    #[serde(deserialize_with = "present")]
    external_source: Option<String>,
}

impl Item {
    /// Its members in v1 names, but those that are read for its version alone.
    pub fn members(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(members)) => members,
            _ => Map::new(),
        }
    }
}

/// Priorities, in their semantic order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// First.
    Urgent,
    /// Second.
    High,
    /// Third.
    Medium,
    /// Fourth.
    Low,
    /// Unprioritised, last.
    None,
}

impl Priority {
    /// The word on both sides.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Urgent => "urgent",
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
            Self::None => "none",
        }
    }
}

/// State groups in their semantic order (contract 7.3).
pub const GROUPS: [&str; 6] = ["backlog", "unstarted", "started", "completed", "cancelled", "triage"];

/// A member that may be null but not missing: an answer of v1 without it is no whole record.
///
/// # Errors
/// What the value's own type says.
pub fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)
}

/// An instant of v1, for records read in part.
///
/// # Errors
/// Any other text.
pub fn instant<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Micros, D::Error> {
    let text = String::deserialize(deserializer)?;
    time::read_instant(&text).ok_or_else(|| serde::de::Error::custom("not an instant"))
}

/// The hash of a text, or of its absence.
fn digest<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<[u8; 32]>, D::Error> {
    let text = Option::<std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
    Ok(Some(Sha256::digest(text.unwrap_or_default().as_bytes()).into()))
}

/// Everything of an item but what moves without anybody changing it: v1 moves `updated_at` once more after its answer
/// (trap 56). `identifier` is that of the project. None when the item was read without its description.
pub fn version_text(item: &Item, project: &str) -> Option<Value> {
    let description = item.description?;
    let mut item = Item { updated_at: 0, ..item.clone() };
    item.assignees.sort_unstable();
    item.labels.sort_unstable();
    Some(json!([project, item.members(), description, item.estimate_point]))
}

/// Reads one v1 record.
///
/// # Errors
/// A member missing or of another type.
pub fn read(row: &str) -> Result<Item, Fault> {
    serde_json::from_str(row).map_err(|fault| Fault(format!("a work item is not readable: {fault}")))
}

/// Reads the members of an answer of v1.
///
/// # Errors
/// As [`read`].
pub fn read_members(members: &Map<String, Value>) -> Result<Item, Fault> {
    Item::deserialize(members).map_err(|fault| Fault(format!("a work item is not readable: {fault}")))
}

/// `custom_fields` of the read shape: null on lists and archive verbs, an object on single items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CustomFields<'c> {
    /// Null.
    Hidden,
    /// The values by property name.
    Shown(&'c Map<String, Value>),
}

/// The v2 read shape, keys in the contract's order. `project` is the identifier of the project, `type_id`
/// comes from the gateway's own store alone (trap 31).
pub fn write(
    item: &Item,
    project: &str,
    type_id: Option<Uuid>,
    custom_fields: CustomFields<'_>,
) -> Map<String, Value> {
    let custom_fields = match custom_fields {
        CustomFields::Hidden => Value::Null,
        CustomFields::Shown(values) => Value::Object(values.clone()),
    };
    let shape = json!({
        "id": item.id,
        "name": item.name,
        "identifier": format!("{project}-{}", item.sequence_id),
        "sequence_id": item.sequence_id,
        "priority": item.priority.as_str(),
        "state_id": item.state,
        "type_id": type_id,
        "assignee_ids": item.assignees,
        "label_ids": item.labels,
        "parent_id": item.parent,
        "start_date": item.start_date,
        "target_date": item.target_date,
        "is_draft": item.is_draft,
        "archived_at": item.archived_at.as_deref().map(archived_instant),
        "created_at": time::write(item.created_at),
        "created_by_id": item.created_by.unwrap_or_default(),
        "custom_fields": custom_fields,
    });
    match shape {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// v1 keeps the day of archiving only (trap 53); v2 shows its first instant.
fn archived_instant(day: &str) -> String {
    let micros =
        time::read_date(day).and_then(|day| time::day_begins(day, "UTC")).or_else(|| time::read_instant(day));
    micros.map_or_else(|| day.to_owned(), time::write)
}
