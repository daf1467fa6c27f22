//! `custom_fields` of the read shape: values with the records behind them (O36). May use: what `run` may use.

use super::records;
use crate::catalogue::values::{self, ValueKind};
use crate::catalogue::{Applicable, PropertyOption};
use crate::refusal::Refusal;
use crate::run::job::InProject;
use crate::store::{Element, ItemValues};
use crate::translate::members::Person;
use crate::translate::work_items::Item;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};
use uuid::Uuid;

/// Records behind the values of one item, and its rich texts.
struct ValueRecords {
    people: HashMap<Uuid, Person>,
    items: HashMap<Uuid, Item>,
    /// Readable rich texts, by property.
    rich_texts: HashMap<Uuid, Vec<String>>,
    identifier: String,
}

/// Returns the `values` of an item by property name, for properties that apply to its type and have a readable value.
/// Needs no call of v1 unless a value refers to a person or a work item.
pub(in crate::run) async fn custom_fields(
    job: &InProject<'_>,
    type_id: Option<Uuid>,
    values: &ItemValues,
) -> Result<Map<String, Value>, Refusal> {
    let Some(type_id) = type_id else { return Ok(Map::new()) };
    let applicable = job.definitions().await?.applicable(job.card.id, type_id);
    if applicable.is_empty() {
        return Ok(Map::new());
    }
    let mut behind = behind(job, &applicable, values).await?;
    let mut shown = Map::new();
    for one in &applicable {
        let Some(elements) = values.get(&one.property.id) else { continue };
        let options: HashMap<Uuid, &PropertyOption> =
            one.options.iter().map(|offered| (offered.option.id, &*offered.option)).collect();
        let read: Vec<(Value, Value)> = match behind.rich_texts.remove(&one.property.id) {
            Some(texts) => texts.into_iter().map(|text| (text.into(), Value::Null)).collect(),
            None => elements.iter().filter_map(|element| read(one, &options, element, &behind)).collect(),
        };
        if let Some(entry) = entry(one, read) {
            shown.insert(one.property.name.clone(), entry);
        }
    }
    Ok(shown)
}

fn entry(one: &Applicable, read: Vec<(Value, Value)>) -> Option<Value> {
    let has_records = read.iter().any(|(_, detail)| !detail.is_null());
    let mut read = read.into_iter();
    let (value, detail) = if one.is_multi {
        let (values, details): (Vec<Value>, Vec<Value>) = read.unzip();
        if values.is_empty() {
            return None;
        }
        (Value::Array(values), if has_records { Value::Array(details) } else { Value::Null })
    } else {
        // A property that took several values once shows the first.
        read.next()?
    };
    Some(json!({"id": one.property.id, "value": value, "value_detail": detail}))
}

/// Looks up the records that the values refer to: all people at once and all work items at once.
async fn behind(
    job: &InProject<'_>,
    applicable: &[Applicable],
    values: &ItemValues,
) -> Result<ValueRecords, Refusal> {
    let ids = |wanted: ValueKind| -> HashSet<Uuid> {
        let of_kind = applicable.iter().filter(|one| ValueKind::of(&one.property) == wanted);
        let elements = of_kind.filter_map(|one| values.get(&one.property.id)).flatten();
        elements.filter_map(|element| values::record(&element.value)).collect()
    };
    let wanted = ids(ValueKind::Person);
    let people = records::people(job, &wanted.iter().map(Uuid::to_string).collect::<Vec<_>>()).await?;
    let people = people.iter().filter(|person| wanted.contains(&person.id));
    Ok(ValueRecords {
        people: people.map(|person| (person.id, person.clone())).collect(),
        items: records::items(job, &ids(ValueKind::Item)).await?,
        rich_texts: rich_texts(job, applicable, values).await?,
        identifier: job.card.identifier.clone(),
    })
}

/// Returns the rich texts that may be shown, by property.
async fn rich_texts(
    job: &InProject<'_>,
    applicable: &[Applicable],
    values: &ItemValues,
) -> Result<HashMap<Uuid, Vec<String>>, Refusal> {
    let (mut owners, mut texts) = (Vec::new(), Vec::new());
    for one in applicable.iter().filter(|one| ValueKind::of(&one.property) == ValueKind::Html) {
        for element in values.get(&one.property.id).into_iter().flatten() {
            if let Some(Value::String(text)) = values::plain(ValueKind::Html, &element.value) {
                owners.push(one.property.id);
                texts.push(text);
            }
        }
    }
    let mut shown: HashMap<Uuid, Vec<String>> = HashMap::new();
    if texts.is_empty() {
        return Ok(shown);
    }
    let texts = job.runner.rich_texts.shown(texts, &job.runner.heavy, &job.call.ctx).await?;
    for (owner, text) in owners.into_iter().zip(texts) {
        shown.entry(owner).or_default().extend(text);
    }
    Ok(shown)
}

/// Returns value and detail of one element, which is no rich text; none when it does not fit the present kind of the
/// property, or its record is not visible any more.
fn read(
    one: &Applicable,
    options: &HashMap<Uuid, &PropertyOption>,
    element: &Element,
    behind: &ValueRecords,
) -> Option<(Value, Value)> {
    let kind = ValueKind::of(&one.property);
    let detail = |id: Uuid, name: &str, logo: Value| json!({"id": id, "name": name, "logo_props": logo});
    match kind {
        ValueKind::Option => {
            let id = values::record(&element.value)?;
            let option = options.get(&id)?;
            Some((option.name.clone().into(), detail(id, &option.name, option.logo_props.clone())))
        }
        ValueKind::Person => {
            let id = values::record(&element.value)?;
            let person = behind.people.get(&id)?;
            let name = person.display_name.as_deref().unwrap_or_default();
            Some((name.into(), detail(id, name, json!({}))))
        }
        ValueKind::Item => {
            let item = behind.items.get(&values::record(&element.value)?)?;
            let key = format!("{}-{}", behind.identifier, item.sequence_id);
            Some((key.into(), detail(item.id, &item.name, json!({}))))
        }
        ValueKind::Formula | ValueKind::Html => None,
        _ => Some((values::plain(kind, &element.value)?, Value::Null)),
    }
}
