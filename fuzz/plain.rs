//! Work items of v1 in the read shape of v2, once by a plain slow reference and once as the gateway does it in one
//! pass. Both must give the same bytes, or both refuse.
//!
//! May use: the public interface of the crate.

use causeway::translate::work_items::{self, Page};
use causeway::translate::work_items_text::{self, CustomFields};
use causeway::v2::time;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::fmt;
use uuid::Uuid;

/// Translates any answer of v1 both ways and compares the results.
pub fn translated(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    assert_eq!(item(text), reference_item(text), "{text}");
    assert_eq!(page(text), reference_page(text), "{text}");
}

/// Members of an object as they stand; a repeated member is here twice.
pub struct Members(pub Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Members;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        from.deserialize_map(Each)
    }
}

impl Members {
    /// Returns the member `name`; none unless it is there exactly once, with the right type.
    fn get<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        let mut found = self.0.iter().filter(|(known, _)| known == name);
        let (Some((_, value)), None) = (found.next(), found.next()) else { return None };
        serde_json::from_str(value.get()).ok()
    }

    /// The same for a member that may be missing.
    fn optional<T: DeserializeOwned>(&self, name: &str) -> Option<Option<T>> {
        let there = self.0.iter().any(|(known, _)| known == name);
        if there { self.get::<Option<T>>(name) } else { Some(None) }
    }
}

/// Returns the read shape of a v1 record; none when v1 cannot have meant it.
fn reference(row: &Members) -> Option<Value> {
    let instant = |name: &str| row.get::<String>(name).and_then(|text| time::read_instant(&text));
    let text = |name: &str| row.get::<Option<String>>(name);
    let day = |name: &str| text(name).filter(|day| day.as_deref().is_none_or(|day| time::read_date(day).is_some()));
    let priority: String = row.get("priority")?;
    if !["urgent", "high", "medium", "low", "none"].contains(&priority.as_str()) {
        return None;
    }
    // Checked, although v2 shows none of them.
    instant("updated_at")?;
    row.get::<f64>("sort_order")?;
    text("external_id")?;
    text("external_source")?;
    let number: i64 = row.get("sequence_id")?;
    let archived = match text("archived_at")? {
        Some(day) => {
            let begins = time::read_date(&day).and_then(|day| time::day_begins(day, "UTC"));
            Some(time::write(begins.or_else(|| time::read_instant(&day))?))
        }
        None => None,
    };
    Some(json!({
        "id": row.get::<Uuid>("id")?,
        "name": row.get::<String>("name")?,
        "identifier": format!("W\"B-{number}"),
        "sequence_id": number,
        "priority": priority,
        "state_id": row.get::<Uuid>("state")?,
        "type_id": null,
        "assignee_ids": each_once(row.get("assignees")?),
        "label_ids": each_once(row.get("labels")?),
        "parent_id": row.get::<Option<Uuid>>("parent")?,
        "start_date": day("start_date")?,
        "target_date": day("target_date")?,
        "is_draft": row.get::<bool>("is_draft")?,
        "archived_at": archived,
        "created_at": time::write(instant("created_at")?),
        "created_by_id": row.get::<Option<Uuid>>("created_by")?.unwrap_or_default(),
        "custom_fields": null,
    }))
}

/// Returns the ids in their order, each once. v1 can hold a label or an assignee twice.
fn each_once(ids: Vec<Uuid>) -> Vec<Uuid> {
    let mut kept = Vec::new();
    for id in ids {
        if !kept.contains(&id) {
            kept.push(id);
        }
    }
    kept
}

/// Returns a work item as the reference reads it; none when it refuses.
pub fn reference_item(text: &str) -> Option<String> {
    let row: Members = serde_json::from_str(text).ok()?;
    row.optional::<String>("description_html")?;
    row.optional::<Uuid>("estimate_point")?;
    reference(&row).map(|shape| shape.to_string())
}

/// Returns the number of work items on a page, and the page, as the reference reads it; none when it refuses.
pub fn reference_page(text: &str) -> Option<(usize, String)> {
    let page: Members = serde_json::from_str(text).ok()?;
    let rows: Vec<Members> = page.get("results")?;
    let rows: Vec<Value> = rows.iter().map(reference).collect::<Option<_>>()?;
    Some((page.get("total_count")?, Value::from(rows).to_string()))
}

fn written(item: &work_items::Item, out: &mut Vec<u8>) {
    work_items_text::write(out, item, "W\"B", None, CustomFields::Hidden, &[]);
}

/// Returns a work item as the gateway reads it; none when it refuses.
pub fn item(text: &str) -> Option<String> {
    let mut out = Vec::new();
    written(&work_items::read(text).ok()?, &mut out);
    Some(String::from_utf8(out).expect("JSON"))
}

/// Returns the number of work items on a page, and the page, as the gateway reads it; none when it refuses.
pub fn page(text: &str) -> Option<(usize, String)> {
    let Page { total, rows } = work_items::read_page(text).ok()?;
    let mut out = vec![b'['];
    for (index, row) in rows.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        written(row, &mut out);
    }
    out.push(b']');
    Some((total, String::from_utf8(out).expect("JSON")))
}
