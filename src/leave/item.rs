//! One work item in the target: compared with the recorded values here, and written.
//!
//! May use: `store` (equality of values), this folder.

use super::differences::short;
use super::side::Side;
use super::work::PassKind;
use crate::store::overlay_wins;
use reqwest::Method;
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// Wanted value of one property.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WantedValue {
    pub(super) name: String,
    /// Elements of the value; one element unless the property takes several.
    pub(super) elements: Vec<Value>,
    /// Whether the property takes several elements.
    pub(super) is_multi: bool,
    /// Whether elements are ids of records.
    pub(super) are_records: bool,
}

/// A work item to be made equal in the target.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub(super) own: Uuid,
    /// Id of its type here.
    pub(super) own_type: Option<Uuid>,
    pub(super) theirs: Uuid,
    pub(super) path: String,
    /// Name of the work item in messages.
    pub(super) name: String,
    /// Id in the target of the wanted type; `None` when the item has no type, or its type is not there.
    pub(super) type_id: Option<String>,
    /// Id of the type that the target's list shows for the item.
    pub(super) type_there: Option<String>,
    pub(super) values: Vec<WantedValue>,
    /// Fingerprint of the recorded type and values, and of the values that can be carried when those are not all.
    pub(super) digest: String,
    /// Whether this content was carried completely before.
    pub(super) is_done: bool,
    /// Whether the target's type and values may be changed.
    pub(super) may_change: bool,
}

impl Job {
    /// Counts the elements of all values.
    pub(super) fn elements(&self) -> usize {
        self.values.iter().map(|wanted| wanted.elements.len()).sum()
    }
}

/// Result for a work item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Alike,
    Written,
    /// The target has other values.
    Conflict(String),
    /// The target did not accept it, or still differs after the write.
    Refused(String),
}

/// Compares a work item with the target, and writes it when the pass writes.
pub(super) async fn settle(target: &Side, job: &Job, doing: PassKind) -> Result<Outcome, String> {
    if doing != PassKind::Looking && job.is_done {
        return Ok(Outcome::Alike);
    }
    let is_type_there = job.own_type.is_none() || job.type_id.is_some();
    if doing != PassKind::Carrying && !is_type_there {
        return Ok(match (&job.type_there, job.is_done) {
            (None, false) => Outcome::Written,
            _ => Outcome::Conflict(format!("{}: it has another type there", job.name)),
        });
    }
    if !is_type_there {
        return Ok(Outcome::Refused(format!("{}: the target has not taken its type", job.name)));
    }
    // An item without a type shows no values.
    let there = match &job.type_there {
        None => Map::from_iter([("custom_fields".to_owned(), json!({}))]),
        Some(_) => match target.get(&job.path).await? {
            answer if answer.status == 200 => answer.record(),
            answer => return Ok(Outcome::Refused(format!("{}: the target answered {}", job.name, answer.brief()))),
        },
    };
    let unlike = unlike(job, &there);
    if unlike.is_empty() {
        return Ok(Outcome::Alike);
    }
    let is_blank = job.type_there.is_none() && !job.is_done;
    if !(is_blank || job.may_change) {
        return Ok(Outcome::Conflict(format!("{}: {}", job.name, told(&unlike))));
    }
    if doing != PassKind::Carrying {
        return Ok(Outcome::Written);
    }
    let mut body = Map::new();
    let mut fields = Map::new();
    for one in &unlike {
        match &one.name {
            None => drop(body.insert("type_id".to_owned(), json!(job.type_id))),
            Some(name) => drop(fields.insert(name.clone(), one.wanted.clone())),
        }
    }
    if !fields.is_empty() {
        body.insert("custom_fields".to_owned(), Value::Object(fields));
    }
    let answer = target.write(Method::PATCH, &job.path, &Value::Object(body)).await?;
    if answer.status != 200 {
        return Ok(Outcome::Refused(format!("{}: the target refused it: {}", job.name, answer.brief())));
    }
    let after = self::unlike(job, &answer.record());
    match after.is_empty() {
        true => Ok(Outcome::Written),
        false => Ok(Outcome::Refused(format!("{}: {}", job.name, told(&after)))),
    }
}

/// A difference: the type (no name), or the value of a property.
#[derive(Debug, Clone, PartialEq)]
struct PropertyDifference {
    name: Option<String>,
    /// The wanted value, in the form in which it is written.
    wanted: Value,
    there: Value,
}

fn told(unlike: &[PropertyDifference]) -> String {
    let one = |one: &PropertyDifference| {
        let name = one.name.as_deref().map_or("type_id".to_owned(), |name| format!("custom_fields.{name}"));
        format!("{name} is {} here and {} there", short(&one.wanted), short(&one.there))
    };
    unlike.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn unlike(job: &Job, there: &Map<String, Value>) -> Vec<PropertyDifference> {
    let mut unlike = Vec::new();
    let type_there = there.get("type_id").cloned().unwrap_or_default();
    if type_there != json!(job.type_id) {
        unlike.push(PropertyDifference { name: None, wanted: json!(job.type_id), there: type_there });
    }
    let empty = Map::new();
    let fields = there.get("custom_fields").and_then(Value::as_object).unwrap_or(&empty);
    for wanted in &job.values {
        let shown = fields.get(&wanted.name).map_or(Value::Null, |entry| shown(entry, wanted.are_records));
        let written = match (wanted.is_multi, wanted.elements.first()) {
            (true, _) => Value::Array(wanted.elements.clone()),
            (false, Some(first)) => first.clone(),
            (false, None) => Value::Null,
        };
        if !overlay_wins(&written, &shown) {
            unlike.push(PropertyDifference { name: Some(wanted.name.clone()), wanted: written, there: shown });
        }
    }
    for (name, entry) in fields.iter().filter(|(name, _)| !job.values.iter().any(|wanted| wanted.name == **name)) {
        unlike.push(PropertyDifference {
            name: Some(name.clone()),
            wanted: Value::Null,
            there: shown(entry, false),
        });
    }
    unlike
}

/// Converts a value that was read into the form in which it is written.
fn shown(entry: &Value, are_records: bool) -> Value {
    match (&entry["value_detail"], are_records) {
        (Value::Array(details), true) => details.iter().map(|detail| detail["id"].clone()).collect(),
        (detail, true) => detail["id"].clone(),
        _ => entry["value"].clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(values: Vec<WantedValue>) -> Job {
        Job {
            own: Uuid::nil(),
            own_type: None,
            theirs: Uuid::nil(),
            path: String::new(),
            name: "WEB-1".into(),
            type_id: Some("t".into()),
            type_there: Some("t".into()),
            values,
            digest: String::new(),
            is_done: false,
            may_change: false,
        }
    }

    #[test]
    fn records_are_compared_by_id_and_the_rest_by_value() {
        let of = |name: &str, elements: Value, is_multi, are_records| WantedValue {
            name: name.into(),
            elements: elements.as_array().cloned().unwrap_or_default(),
            is_multi,
            are_records,
        };
        let wanted = vec![
            of("size", json!(["o1"]), false, true),
            of("tags", json!(["o1", "o2"]), true, true),
            of("cost", json!([3]), false, false),
        ];
        let mut there = json!({"type_id": "t", "custom_fields": {
            "size": {"value": "S", "value_detail": {"id": "o1", "name": "S"}},
            "tags": {"value": ["a", "b"], "value_detail": [{"id": "o1"}, {"id": "o2"}]},
            "cost": {"value": 3.0, "value_detail": null},
        }});
        let job = job(wanted);
        assert_eq!(unlike(&job, there.as_object().unwrap()), []);
        there["custom_fields"]["tags"]["value_detail"][1]["id"] = json!("o3");
        there["custom_fields"]["more"] = json!({"value": "x", "value_detail": null});
        there["type_id"] = json!(null);
        let found = unlike(&job, there.as_object().unwrap());
        let names: Vec<_> = found.iter().map(|one| one.name.as_deref()).collect();
        assert_eq!(names, [None, Some("tags"), Some("more")]);
        assert_eq!(found[2].wanted, Value::Null);
    }
}
