//! Work items: v1's record as a typed value. `work_items_text` writes its v2 read shape.
//!
//! Lists, the index and single reads all use an [`Item`], so that the same code writes a row from the index and a row
//! from v1.
//!
//! May use: `v1` (objects), `v2` (time), this folder.

use super::Fault;
use super::ids::each_once;
use crate::v1::{Object, present};
use crate::v2::time::{self, Micros};
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::fmt;
use uuid::Uuid;

/// Number of rows for which memory is reserved when a page is read.
const USUAL_PAGE: usize = 128;

/// Declares [`Item`] with its members under v1's names, and the fields to request from v1.
macro_rules! item {
    (id: $($(#[$about:meta])* $name:ident: $kind:ty,)*) => {
        /// A work item as v1 shows it, instants in UTC.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        pub struct Item {
            /// Id.
            pub id: Uuid,
            $($(#[$about])* pub $name: $kind,)*
            /// SHA-256 of the description; none in rows that were read without it. Such rows have no version.
            #[serde(default, rename = "description_html", deserialize_with = "digest", skip_serializing)]
            pub description: Option<[u8; 32]>,
            /// Estimate; only in rows read with the description.
            #[serde(default, skip_serializing)]
            pub estimate_point: Option<Uuid>,
            /// The points that v1 had before estimates; only in rows read with the description. v2 does not show them.
            #[serde(default, skip_serializing)]
            pub point: Option<f64>,
        }

        /// An [`Item`] as lists show it. Members that are read only for the version are ignored, whether v1 sends
        /// them or not.
        #[derive(Deserialize)]
        struct Listed {
            id: Uuid,
            $($(#[$about])* $name: $kind,)*
        }

        impl From<Listed> for Item {
            fn from(listed: Listed) -> Self {
                let Listed { id, $($name,)* } = listed;
                Self { id, $($name,)* description: None, estimate_point: None, point: None }
            }
        }

        /// Fields requested from v1 for an [`Item`]: all that v2 shows, filters or orders by, and no
        /// `description_html`.
        pub const FIELDS: &str = concat!("fields=id" $(, ",", stringify!($name))*);

        /// Fields requested from v1 for one whole [`Item`], from which its version can be computed. v2 shows no
        /// description, but a change of it makes another version.
        pub const WHOLE: &str =
            concat!("fields=id" $(, ",", stringify!($name))*, ",description_html,estimate_point,point");
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
    /// State; the nil UUID where v1 has none.
    #[serde(deserialize_with = "or_nil")]
    state: Uuid,
    /// Parent, if any.
    #[serde(deserialize_with = "present")]
    parent: Option<Uuid>,
    /// Assigned people.
    #[serde(deserialize_with = "distinct")]
    assignees: Vec<Uuid>,
    /// Applied labels, each once. v1 may hold one twice, when two writes at the same time each add it.
    #[serde(deserialize_with = "distinct")]
    labels: Vec<Uuid>,
    /// Planned start, `YYYY-MM-DD`.
    #[serde(deserialize_with = "day")]
    start_date: Option<String>,
    /// Planned end, `YYYY-MM-DD`.
    #[serde(deserialize_with = "day")]
    target_date: Option<String>,
    /// Always false in what v1 shows (trap 53).
    is_draft: bool,
    /// A day. Always null in reads (trap 53), set in the answer to an archiving PATCH.
    #[serde(deserialize_with = "day_or_instant")]
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
    /// Returns its members in v1 names, without those that are read only for the version.
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
    /// Returns the word in v1 and v2.
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

/// Reads an instant of v1, for records that are read in part.
///
/// # Errors
/// The text is no instant.
pub fn instant<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Micros, D::Error> {
    struct Text;
    impl Visitor<'_> for Text {
        type Value = Micros;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an instant")
        }
        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Micros, E> {
            time::read_instant(text).ok_or_else(|| E::custom("not an instant"))
        }
    }
    deserializer.deserialize_str(Text)
}

/// Reads an id, or the nil UUID for null.
fn or_nil<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Uuid, D::Error> {
    present(deserializer).map(|id: Option<Uuid>| id.unwrap_or_default())
}

/// Reads ids in their order, each once.
fn distinct<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Uuid>, D::Error> {
    Vec::deserialize(deserializer).map(each_once)
}

/// Reads a day, which is shown unchanged.
fn day<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    checked(deserializer, time::is_date)
}

/// Reads a day or an instant.
fn day_or_instant<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    checked(deserializer, |text| time::is_date(text) || time::read_instant(text).is_some())
}

fn checked<'de, D: Deserializer<'de>>(deserializer: D, is: fn(&str) -> bool) -> Result<Option<String>, D::Error> {
    let text: Option<String> = present(deserializer)?;
    match text {
        Some(text) if !is(&text) => Err(serde::de::Error::custom("not a date")),
        text => Ok(text),
    }
}

/// Reads a text as its hash. Null counts as an empty text.
fn digest<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<[u8; 32]>, D::Error> {
    let text = Option::<std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
    Ok(Some(Sha256::digest(text.unwrap_or_default().as_bytes()).into()))
}

/// Encodes everything of an item except `updated_at`, which v1 moves once more after its answer without a change (trap
/// 56). `project` is its identifier. The bytes are equal for the same version, and for no other one. None when the item
/// was read without its description.
pub fn version_of(item: &Item, project: &str) -> Option<Vec<u8>> {
    let description = item.description?;
    let mut item = Item { updated_at: 0, ..item.clone() };
    item.assignees.sort_unstable();
    item.labels.sort_unstable();
    let (estimate, point) = (item.estimate_point, item.point);
    postcard::to_stdvec(&(project, item, description, estimate, point)).ok()
}

/// Reads one v1 record.
///
/// # Errors
/// A member is missing or of another type.
pub fn read(row: &str) -> Result<Item, Fault> {
    let item = serde_json::from_str(row).map_err(|fault| Fault(format!("a work item is not readable: {fault}")));
    item.map(|Object(item)| item)
}

/// A page of v1.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// Number of rows of the whole list.
    pub total: usize,
    /// Rows of the page, in v1's order.
    pub rows: Vec<Item>,
}

/// Reads a page of v1.
///
/// # Errors
/// The text is no page, and as [`read`].
pub fn read_page(text: &str) -> Result<Page, Fault> {
    #[derive(Deserialize)]
    struct Read {
        total_count: usize,
        #[serde(deserialize_with = "rows")]
        results: Vec<Item>,
    }
    let Object(page): Object<Read> =
        serde_json::from_str(text).map_err(|fault| Fault(format!("a page is not readable: {fault}")))?;
    Ok(Page { total: page.total_count, rows: page.results })
}

/// Reads the rows of a page. Each becomes an [`Item`] at once, because a second list would have to be moved again.
fn rows<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Item>, D::Error> {
    struct Rows;
    impl<'de> Visitor<'de> for Rows {
        type Value = Vec<Item>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of work items")
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<Item>, A::Error> {
            let mut rows = Vec::with_capacity(list.size_hint().unwrap_or(USUAL_PAGE));
            while let Some(Object(row)) = list.next_element::<Object<Listed>>()? {
                rows.push(row.into());
            }
            Ok(rows)
        }
    }
    deserializer.deserialize_seq(Rows)
}

/// Reads the members of an answer of v1.
///
/// # Errors
/// As [`read`].
pub fn read_members(members: &Map<String, Value>) -> Result<Item, Fault> {
    Item::deserialize(members).map_err(|fault| Fault(format!("a work item is not readable: {fault}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(changes: Value) -> Map<String, Value> {
        let mut row = json!({"id": Uuid::from_u128(1), "name": "n", "sequence_id": 1, "priority": "none",
            "state": Uuid::from_u128(2), "parent": null, "assignees": [], "labels": [], "start_date": null,
            "target_date": null, "is_draft": false, "archived_at": null, "created_at": "2026-01-01T00:00:00Z",
            "updated_at": "2026-01-01T00:00:00Z", "created_by": null, "sort_order": 1.0, "external_id": null,
            "external_source": null});
        let row = row.as_object_mut().expect("an object");
        row.extend(changes.as_object().cloned().unwrap_or_default());
        row.clone()
    }

    #[test]
    fn a_label_that_v1_holds_twice_is_there_once() {
        let [a, b, c] = [3, 4, 5].map(Uuid::from_u128);
        let read = read_members(&row(json!({"labels": [b, a, b, c, a], "assignees": [c, c]}))).expect("an item");
        assert_eq!((read.labels, read.assignees), (vec![b, a, c], vec![c]));
    }

    #[test]
    fn an_item_may_have_no_state() {
        let page = json!({"total_count": 1, "results": [row(json!({"state": null}))]});
        let page = read_page(&page.to_string()).expect("a page");
        assert_eq!(page.rows[0].state, Uuid::nil());
        let mut without = row(json!({}));
        without.remove("state");
        assert!(read_members(&without).is_err());
    }
}
