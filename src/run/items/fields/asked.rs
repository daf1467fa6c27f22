//! Type and custom values in the body of a work item, checked before anything is written (O34–O39). May use: what `run`
//! may use.

use super::digits::BodyFields;
use super::{records, types};
use crate::catalogue::values::{self, Placed, WrittenElement};
use crate::catalogue::{Applicable, Catalogue};
use crate::refusal::{FieldError, FieldErrors, Refusal};
use crate::run::job::InProject;
use crate::store::{Element, OwnWrite, TypeChange};
use crate::translate::html;
use crate::v2::body::Given;
use crate::v2::value::trimmed;
use serde_json::{Map, Value};
use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use uuid::Uuid;

/// The data of a body for the own store.
#[derive(Debug, Default)]
pub(in crate::run) struct Asked {
    pub own: OwnWrite,
    pub errors: FieldErrors,
    faulty: HashSet<Uuid>,
}

impl Asked {
    /// Adds an error about an element of a property.
    fn blame(&mut self, property: &Applicable, index: usize, message: String) {
        let name = &property.property.name;
        let field = match property.is_multi {
            true => format!("custom_fields.{name}.{index}"),
            false => format!("custom_fields.{name}"),
        };
        self.faulty.insert(property.property.id);
        self.errors.add(field, message);
    }
}

/// A value being checked: its property and its wanted elements.
struct CheckedValue {
    property: Arc<Applicable>,
    /// Whether the client sent it; otherwise it is a default, which is left out if it is not valid any more.
    sent: bool,
    wishes: Vec<Placed>,
}

/// Checks the sent type and values: for a create when `stored` is none, else for the item with that type.
///
/// # Errors
/// When a look-up fails; errors of the body are in the result.
pub(in crate::run) async fn ask(
    job: &InProject<'_>,
    given: &Given,
    stored: Option<Option<Uuid>>,
) -> Result<Asked, Refusal> {
    let fields = given.get("custom_fields").and_then(Value::as_object);
    let says_nothing = !given.contains_key("type") && !given.contains_key("type_id");
    if stored.is_some() && says_nothing && fields.is_none_or(Map::is_empty) {
        return Ok(Asked::default());
    }
    let (catalogue, project) = (job.definitions().await?, job.card.id);
    let mut asked = Asked::default();
    let type_id = match types::asked(&catalogue, project, given, stored.flatten()) {
        Ok(TypeChange::Set(type_id)) => {
            if type_id.is_some() || stored.is_some() {
                asked.own.type_id = TypeChange::Set(type_id);
            }
            type_id
        }
        Ok(TypeChange::Kept) => match stored {
            Some(kept) => kept,
            None => {
                let default = catalogue.default_type(project, job.mode(&catalogue)).map(|kind| kind.id);
                if default.is_some() {
                    asked.own.type_id = TypeChange::Set(default);
                }
                default
            }
        },
        Err(error) => {
            // The properties depend on the type, so values cannot be checked.
            asked.errors.push(error);
            return Ok(asked);
        }
    };
    let applicable = type_id.map(|id| catalogue.applicable(project, id)).unwrap_or_default();
    let applicable: Vec<_> = applicable.into_iter().map(Arc::new).collect();
    let body = job.call.body.as_deref().unwrap_or_default();
    let mut wished = wished(&catalogue, project, type_id, &applicable, (fields, body), &mut asked);
    if stored.is_none() {
        wished.extend(omitted(&applicable, fields));
    }
    keep(job, wished, &mut asked).await?;
    if stored.is_none() {
        require(&applicable, &mut asked);
    }
    Ok(asked)
}

/// Returns the values in the custom fields of a body, by property.
fn wished(
    catalogue: &Catalogue,
    project: Uuid,
    type_id: Option<Uuid>,
    applicable: &[Arc<Applicable>],
    (fields, body): (Option<&Map<String, Value>>, &[u8]),
    asked: &mut Asked,
) -> Vec<CheckedValue> {
    let Some(fields) = fields.filter(|fields| !fields.is_empty()) else { return Vec::new() };
    if catalogue.types_on_project(project).is_empty() {
        asked.errors.add("custom_fields", "custom properties are not switched on in this project");
        return Vec::new();
    }
    let (mut wished, sent) = (Vec::new(), BodyFields::of(body));
    let by_name: HashMap<&str, &Arc<Applicable>> =
        applicable.iter().rev().map(|one| (one.property.name.as_str(), one)).collect();
    let switched_off = LazyCell::new(|| type_id.map(|id| catalogue.switched_off(project, id)).unwrap_or_default());
    for (name, value) in fields {
        let field = format!("custom_fields.{name}");
        let Some(property) = by_name.get(name.as_str()).copied() else {
            let why = match type_id {
                Some(_) if switched_off.contains(name) => "is switched off (`is_active` is false)",
                Some(_) => "is no custom property of the work item's type",
                None => "cannot be set on a work item without a type",
            };
            asked.errors.add(field, why);
            continue;
        };
        match values::written(property, &sent.with_digits(property, value)) {
            Ok(wishes) => wished.push(CheckedValue { property: Arc::clone(property), sent: true, wishes }),
            Err(faults) => {
                asked.faulty.insert(property.property.id);
                asked.errors.extend(faults.into_iter().map(|(index, message)| match index {
                    Some(index) => FieldError::new(format!("{field}.{index}"), message),
                    None => FieldError::new(&field, message),
                }));
            }
        }
    }
    wished
}

/// Returns the defaults of the properties that a create leaves out.
fn omitted<'a>(
    applicable: &'a [Arc<Applicable>],
    fields: Option<&'a Map<String, Value>>,
) -> impl Iterator<Item = CheckedValue> + 'a {
    let sent = move |one: &Arc<Applicable>| fields.is_some_and(|fields| fields.contains_key(&one.property.name));
    let silent = applicable.iter().filter(move |one| !sent(one));
    let default = |one: &Arc<Applicable>| CheckedValue {
        property: Arc::clone(one),
        sent: false,
        wishes: values::defaults(one),
    };
    silent.map(default).filter(|wished| !wished.wishes.is_empty())
}

/// Returns the work items that a value names.
fn items_of(wished: &CheckedValue) -> Vec<&str> {
    let named = wished.wishes.iter().filter_map(|(_, wish)| match wish {
        WrittenElement::Item(named) => Some(named.as_str()),
        _ => None,
    });
    named.collect()
}

/// Looks up the records that values name, and stores the elements in `asked`.
async fn keep(job: &InProject<'_>, wished: Vec<CheckedValue>, asked: &mut Asked) -> Result<(), Refusal> {
    let named = wished.iter().flat_map(|one| &one.wishes).filter_map(|(_, wish)| match wish {
        WrittenElement::Person(named) => Some(named.clone()),
        _ => None,
    });
    let people = records::people(job, &named.collect::<Vec<_>>()).await?;
    let people = records::Named::of(&people);
    let (sent, defaults): (Vec<&CheckedValue>, Vec<&CheckedValue>) = wished.iter().partition(|one| one.sent);
    let [sent, defaults] = [sent, defaults].map(|some| some.into_iter().flat_map(items_of).collect());
    let items = records::items_named(job, sent, defaults).await?;
    for CheckedValue { property, sent, wishes } in wished {
        let mut seen = HashSet::new();
        let mut elements: Vec<Element> = Vec::with_capacity(wishes.len());
        for (index, wish) in wishes {
            let is_record = wish.is_record();
            match element(job, wish, property.is_multi, (&people, &items)).await? {
                Granted::Element(element) => {
                    // The same record, sent by id and by name, counts once.
                    if !is_record || seen.insert(element.value.to_string()) {
                        elements.push(element);
                    }
                }
                Granted::Nothing => {}
                Granted::Fault(_) if !sent => {}
                Granted::Fault(message) => asked.blame(&property, index, message),
            }
        }
        asked.own.values.push((property.property.id, elements));
    }
    Ok(())
}

/// Result of checking one element.
enum Granted {
    Element(Element),
    /// Nothing is stored: an empty text clears a value.
    Nothing,
    /// The error.
    Fault(String),
}

/// Checks one element; `people` and `items` are the records already looked up.
async fn element(
    job: &InProject<'_>,
    wish: WrittenElement,
    is_multi: bool,
    (people, items): (&records::Named<'_>, &HashMap<String, Uuid>),
) -> Result<Granted, Refusal> {
    let record = |id: Uuid, option| Granted::Element(Element { value: id.to_string().into(), option });
    Ok(match wish {
        WrittenElement::Plain(value) => Granted::Element(Element { value, option: None }),
        WrittenElement::Option(id) => record(id, Some(id)),
        WrittenElement::Html(text) => rich_text(job, text, is_multi).await?,
        WrittenElement::Person(named) => match people.find(&named) {
            Some(person) => record(person.id, None),
            None => Granted::Fault(format!("names no member of this project: {named}")),
        },
        WrittenElement::Item(named) => match items.get(named.as_str()) {
            Some(id) => record(*id, None),
            None => Granted::Fault(format!("names no live work item of this project: {named}")),
        },
    })
}

/// Sanitises rich text. An empty text clears a single value. A text that is empty only without its scripts, or that is
/// one empty text among others, is an error, because it would be lost silently.
async fn rich_text(job: &InProject<'_>, text: String, is_multi: bool) -> Result<Granted, Refusal> {
    if text.trim().is_empty() {
        return Ok(if is_multi { Granted::Fault("is empty".into()) } else { Granted::Nothing });
    }
    Ok(match job.sanitising(text.len(), move || html::sanitise(&text)).await? {
        Ok(kept) if kept.trim().is_empty() => Granted::Fault("has nothing in it that is kept".into()),
        Ok(kept) => {
            job.runner.rich_texts.note_clean(&kept);
            Granted::Element(Element { value: kept.into(), option: None })
        }
        Err(fault) => Granted::Fault(fault),
    })
}

/// Checks whether an element is a text of blanks only, which does not count as a required value.
fn is_blank(element: &Element) -> bool {
    element.value.as_str().is_some_and(|text| trimmed(text).is_empty())
}

/// Checks that a new item has all required values, from the body or by default (O39).
fn require(applicable: &[Arc<Applicable>], asked: &mut Asked) {
    for one in applicable.iter().filter(|one| one.is_required) {
        let field = format!("custom_fields.{}", one.property.name);
        let valued =
            asked.own.values.iter().any(|(id, elements)| *id == one.property.id && !elements.iter().all(is_blank));
        if !valued && !asked.faulty.contains(&one.property.id) {
            asked.errors.add(field, "is required");
        }
    }
    // A new item has no values to clear.
    asked.own.values.retain(|(_, elements)| !elements.is_empty());
}
