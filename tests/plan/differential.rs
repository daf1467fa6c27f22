//! Work items in one pass against a plain slow reference: every answer that was recorded of a v1, and what damage can
//! make of it, is translated by both. They have to say the same bytes, or both refuse.

use crate::support::random::Random;
use crate::support::replay::{Recording, fixture};
use causeway::translate::work_items::{self, Page};
use causeway::translate::work_items_text::{self, CustomFields};
use causeway::v2::time;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::fmt;
use uuid::Uuid;

/// Members of an object as they stand, doubled ones twice.
struct Members(Vec<(String, Box<RawValue>)>);

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
    /// The member `name`; none unless it is there once, in its form.
    fn get<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        let mut found = self.0.iter().filter(|(known, _)| known == name);
        let (Some((_, value)), None) = (found.next(), found.next()) else { return None };
        serde_json::from_str(value.get()).ok()
    }

    /// The same for one that may be missing.
    fn optional<T: DeserializeOwned>(&self, name: &str) -> Option<Option<T>> {
        let there = self.0.iter().any(|(known, _)| known == name);
        if there { self.get::<Option<T>>(name) } else { Some(None) }
    }
}

/// The read shape of a v1 record; none when v1 cannot mean it.
fn reference(row: &Members) -> Option<Value> {
    let instant = |name: &str| row.get::<String>(name).and_then(|text| time::read_instant(&text));
    let day = |name: &str| row.get::<Option<String>>(name);
    let priority: String = row.get("priority")?;
    if !["urgent", "high", "medium", "low", "none"].contains(&priority.as_str()) {
        return None;
    }
    // Read, though v2 shows none of them.
    instant("updated_at")?;
    row.get::<f64>("sort_order")?;
    day("external_id")?;
    day("external_source")?;
    let number: i64 = row.get("sequence_id")?;
    let archived = day("archived_at")?.map(|day| {
        let begins = time::read_date(&day).and_then(|day| time::day_begins(day, "UTC"));
        begins.or_else(|| time::read_instant(&day)).map_or(day, time::write)
    });
    Some(json!({
        "id": row.get::<Uuid>("id")?,
        "name": row.get::<String>("name")?,
        "identifier": format!("W\"B-{number}"),
        "sequence_id": number,
        "priority": priority,
        "state_id": row.get::<Uuid>("state")?,
        "type_id": null,
        "assignee_ids": row.get::<Vec<Uuid>>("assignees")?,
        "label_ids": row.get::<Vec<Uuid>>("labels")?,
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

fn reference_item(text: &str) -> Option<String> {
    let row: Members = serde_json::from_str(text).ok()?;
    row.optional::<String>("description_html")?;
    row.optional::<Uuid>("estimate_point")?;
    reference(&row).map(|shape| shape.to_string())
}

fn reference_page(text: &str) -> Option<(usize, String)> {
    let page: Members = serde_json::from_str(text).ok()?;
    let rows: Vec<Members> = page.get("results")?;
    let rows: Vec<Value> = rows.iter().map(reference).collect::<Option<_>>()?;
    Some((page.get("total_count")?, Value::from(rows).to_string()))
}

fn written(item: &work_items::Item, out: &mut Vec<u8>) {
    work_items_text::write(out, item, "W\"B", None, CustomFields::Hidden, &Map::new());
}

fn item(text: &str) -> Option<String> {
    let mut out = Vec::new();
    written(&work_items::read(text).ok()?, &mut out);
    Some(String::from_utf8(out).expect("JSON"))
}

fn page(text: &str) -> Option<(usize, String)> {
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

/// Any place between two characters.
fn position(text: &str, random: &mut Random) -> usize {
    let mut at = random.below(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// What damage, or a v1 that writes its JSON in another way, can make of an answer.
fn damaged(text: &str, random: &mut Random) -> String {
    let at = position(text, random);
    let (before, after) = text.split_at(at);
    let member = |value: &str| text.replacen('{', &format!("{{{value},"), 1);
    match random.below(12) {
        0 => before.to_owned(),
        1 => format!("{before}{}", after.chars().skip(1).collect::<String>()),
        2 => format!("{before}\\ud800{after}"),
        3 => text.replace('a', "\\u0061"),
        4 => member("\"sequence_id\":7"),
        5 => member(&format!("\"more\":{}{}", "[".repeat(300), "]".repeat(300))),
        6 => member("\"more\":1e400,\"more\":\"\\ud83d\\ude00\""),
        7 => text.replacen(":null", ":123456789012345678901234567890", 1 + random.below(3)),
        8 => text.replacen("\"", "\"\\u0000", 1 + random.below(40)),
        9 => format!("{text}{}", ["", " ", "x", "{}", "\n"][random.below(5)]),
        10 => text.replacen("false", ["true", "0", "null"][random.below(3)], 1),
        _ => reordered(text),
    }
}

/// The members of an object, the last first.
fn reordered(text: &str) -> String {
    let Ok(Members(mut members)) = serde_json::from_str::<Members>(text) else { return text.to_owned() };
    members.reverse();
    let members: Vec<String> =
        members.iter().map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), value.get())).collect();
    format!("{{{}}}", members.join(","))
}

#[test]
fn one_pass_says_what_the_plain_reference_says() {
    let mut random = Random::new(13);
    let (mut answers, mut items, mut pages) = (0, 0, 0);
    for entry in std::fs::read_dir(fixture("v1")).expect("the recordings") {
        let text = std::fs::read_to_string(entry.expect("a file").path()).expect("a file");
        let Ok(recording) = serde_json::from_str::<Recording>(&text) else { continue };
        for exchange in &recording.exchanges {
            answers += 1;
            let body = exchange.response.body.to_string();
            let rows = exchange.response.body["results"].as_array().into_iter().flatten();
            let mut texts: Vec<String> = rows.take(3).map(Value::to_string).chain([body]).collect();
            for index in 0..texts.len() {
                texts.extend((0..24).map(|_| damaged(&texts[index].clone(), &mut random)).collect::<Vec<_>>());
            }
            for text in texts {
                let (said, expected) = (item(&text), reference_item(&text));
                items += usize::from(said.is_some());
                assert_eq!(said, expected, "{}: {text}", exchange.name);
                let (said, expected) = (page(&text), reference_page(&text));
                pages += usize::from(said.is_some());
                assert_eq!(said, expected, "{}: {text}", exchange.name);
            }
        }
    }
    assert!(answers > 1_500 && items > 1_000 && pages > 100, "{answers} answers, {items} items, {pages} pages");
}
