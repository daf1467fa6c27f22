//! Type and custom values in the body of a work item, judged before anything is written (O34–O39). May use: what `run`
//! may use.

use super::digits::Sent;
use super::{records, types};
use crate::catalogue::values::{self, Wish};
use crate::catalogue::{Applicable, Catalogue};
use crate::refusal::{FieldError, FieldErrors, Refusal};
use crate::run::job::InProject;
use crate::store::{Element, OwnWrite, TypeChange};
use crate::translate::html;
use crate::v2::body::Given;
use crate::v2::value::trimmed;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use uuid::Uuid;

/// What a body asks of the own store.
#[derive(Debug, Default)]
pub(in crate::run) struct Asked {
    pub own: OwnWrite,
    pub errors: FieldErrors,
    faulty: HashSet<Uuid>,
}

impl Asked {
    /// Says what is wrong with an element of a property.
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

/// A value on its way: its property, the field to blame, the elements wished for.
struct Wished {
    property: Arc<Applicable>,
    /// Sent by the client; else a default, which may not hold any more and is then left out.
    sent: bool,
    wishes: Vec<Wish>,
}

/// Judges what was sent: for a create when `stored` is none, else for the item whose type it tells.
///
/// # Errors
/// When a look-up fails; faults of the body are in the answer.
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
            // The properties depend on the type, so nothing can be said about values.
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

/// What was sent in the custom fields of a body, by property.
fn wished(
    catalogue: &Catalogue,
    project: Uuid,
    type_id: Option<Uuid>,
    applicable: &[Arc<Applicable>],
    (fields, body): (Option<&Map<String, Value>>, &[u8]),
    asked: &mut Asked,
) -> Vec<Wished> {
    let Some(fields) = fields.filter(|fields| !fields.is_empty()) else { return Vec::new() };
    if catalogue.types_on_project(project).is_empty() {
        asked.errors.add("custom_fields", "custom properties are not switched on in this project");
        return Vec::new();
    }
    let (mut wished, sent) = (Vec::new(), Sent::of(body));
    let by_name: HashMap<&str, &Arc<Applicable>> =
        applicable.iter().rev().map(|one| (one.property.name.as_str(), one)).collect();
    for (name, value) in fields {
        let field = format!("custom_fields.{name}");
        let Some(property) = by_name.get(name.as_str()).copied() else {
            let why = match type_id {
                Some(_) => "is no custom property of the work item's type",
                None => "cannot be set on a work item without a type",
            };
            asked.errors.add(field, why);
            continue;
        };
        match values::written(property, &sent.with_digits(property, value)) {
            Ok(wishes) => wished.push(Wished { property: Arc::clone(property), sent: true, wishes }),
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

/// Defaults of what a create does not say.
fn omitted<'a>(
    applicable: &'a [Arc<Applicable>],
    fields: Option<&'a Map<String, Value>>,
) -> impl Iterator<Item = Wished> + 'a {
    let sent = move |one: &Arc<Applicable>| fields.is_some_and(|fields| fields.contains_key(&one.property.name));
    let silent = applicable.iter().filter(move |one| !sent(one));
    let default =
        |one: &Arc<Applicable>| Wished { property: Arc::clone(one), sent: false, wishes: values::defaults(one) };
    silent.map(default).filter(|wished| !wished.wishes.is_empty())
}

/// What a property is to name of work items.
fn items_of(wished: &Wished) -> Vec<&str> {
    let named = wished.wishes.iter().filter_map(|wish| match wish {
        Wish::Item(named) => Some(named.as_str()),
        _ => None,
    });
    named.collect()
}

/// Looks up what values stand for, and keeps them.
async fn keep(job: &InProject<'_>, wished: Vec<Wished>, asked: &mut Asked) -> Result<(), Refusal> {
    let named = wished.iter().flat_map(|one| &one.wishes).filter_map(|wish| match wish {
        Wish::Person(named) => Some(named.clone()),
        _ => None,
    });
    let people = records::people(job, &named.collect::<Vec<_>>()).await?;
    let people = records::Named::of(&people);
    let (sent, defaults): (Vec<&Wished>, Vec<&Wished>) = wished.iter().partition(|one| one.sent);
    let [sent, defaults] = [sent, defaults].map(|some| some.into_iter().flat_map(items_of).collect());
    let items = records::items_named(job, sent, defaults).await?;
    for Wished { property, sent, wishes } in wished {
        let mut seen = HashSet::new();
        let mut elements: Vec<Element> = Vec::with_capacity(wishes.len());
        for (index, wish) in wishes.into_iter().enumerate() {
            let is_record = matches!(wish, Wish::Option(_) | Wish::Person(_) | Wish::Item(_));
            match element(job, wish, property.is_multi, (&people, &items)).await? {
                Granted::Element(element) => {
                    // The same record under its id and its name is still one.
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

/// What comes of a wish.
enum Granted {
    Element(Element),
    /// Nothing is kept: an empty text clears a value.
    Nothing,
    /// What is wrong with it.
    Fault(String),
}

/// What comes of a wish; records are among those that were looked up.
async fn element(
    job: &InProject<'_>,
    wish: Wish,
    is_multi: bool,
    (people, items): (&records::Named<'_>, &HashMap<String, Uuid>),
) -> Result<Granted, Refusal> {
    let record = |id: Uuid, option| Granted::Element(Element { value: id.to_string().into(), option });
    Ok(match wish {
        Wish::Plain(value) => Granted::Element(Element { value, option: None }),
        Wish::Option(id) => record(id, Some(id)),
        Wish::Html(text) => rich_text(job, text, is_multi).await?,
        Wish::Person(named) => match people.find(&named) {
            Some(person) => record(person.id, None),
            None => Granted::Fault(format!("names no member of this project: {named}")),
        },
        Wish::Item(named) => match items.get(named.as_str()) {
            Some(id) => record(*id, None),
            None => Granted::Fault(format!("names no live work item of this project: {named}")),
        },
    })
}

/// Rich text as it is kept; none for one that is empty, which clears a single value. What is empty only without its
/// scripts, or stands empty among others, would be lost without a word, so it is a fault.
async fn rich_text(job: &InProject<'_>, text: String, is_multi: bool) -> Result<Granted, Refusal> {
    if text.trim().is_empty() {
        return Ok(if is_multi { Granted::Fault("is empty".into()) } else { Granted::Nothing });
    }
    Ok(match job.sanitising(text.len(), move || html::sanitise(&text)).await? {
        Ok(kept) if kept.trim().is_empty() => Granted::Fault("has nothing in it that is kept".into()),
        Ok(kept) => Granted::Element(Element { value: kept.into(), option: None }),
        Err(fault) => Granted::Fault(fault),
    })
}

/// Whether an element is a text of nothing but blanks, which is no value where one is needed.
fn is_blank(element: &Element) -> bool {
    element.value.as_str().is_some_and(|text| trimmed(text).is_empty())
}

/// A new item has the values it must have from what was sent, or by default (O39).
fn require(applicable: &[Arc<Applicable>], asked: &mut Asked) {
    for one in applicable.iter().filter(|one| one.is_required) {
        let field = format!("custom_fields.{}", one.property.name);
        let valued =
            asked.own.values.iter().any(|(id, elements)| *id == one.property.id && !elements.iter().all(is_blank));
        if !valued && !asked.faulty.contains(&one.property.id) {
            asked.errors.add(field, "is required");
        }
    }
    // Nothing to clear on what is new.
    asked.own.values.retain(|(_, elements)| !elements.is_empty());
}
