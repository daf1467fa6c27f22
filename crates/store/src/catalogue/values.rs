//! Values of custom properties: which values may be written, how a value is kept, how it is read (O36, O37).
//!
//! A value is kept raw, one JSON scalar for each element. Each read interprets it with the current kind of the
//! property, because the kind may change (O67). A value that stands for a record (an option, a person, a work item) is
//! kept as its id. The caller must find such records, so [`written`] returns them as a [`WrittenElement`].
//!
//! May use: `v2`, this folder.

use super::choices::{Choices, Named};
use super::decimals;
use super::model::{Property, PropertyType, RelationType};
use super::resolution::Applicable;
use super::text_forms::{is_email, is_url, reads_as_email, reads_as_url};
use crate::v2::time;
use crate::v2::value::{read_uuid, trimmed};
use serde_json::{Number, Value};
use std::collections::HashSet;
use uuid::Uuid;

/// Longest text of one value.
const LONGEST: usize = 1024 * 1024;

/// Kind of values; for relations it includes the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// Any text.
    Text,
    /// An absolute http(s) URL.
    Url,
    /// An e-mail address.
    Email,
    /// A reference to a file, kept and echoed (O40).
    Reference,
    /// The id of a release. v1 has no releases, so it is kept and echoed (O37, O40).
    Release,
    /// A number.
    Decimal,
    /// True or false.
    Boolean,
    /// An instant.
    Datetime,
    /// An option.
    Option,
    /// A person of the project.
    Person,
    /// A work item.
    Item,
    /// Rich text.
    Html,
    /// Computed; never written.
    Formula,
}

impl ValueKind {
    /// Returns the kind of a property's values.
    pub fn of(property: &Property) -> Self {
        match (property.property_type, property.relation_type) {
            (PropertyType::Text, _) => Self::Text,
            (PropertyType::Url, _) => Self::Url,
            (PropertyType::Email, _) => Self::Email,
            (PropertyType::File, _) => Self::Reference,
            (PropertyType::Relation, Some(RelationType::Release)) => Self::Release,
            (PropertyType::Decimal, _) => Self::Decimal,
            (PropertyType::Boolean, _) => Self::Boolean,
            (PropertyType::Datetime, _) => Self::Datetime,
            (PropertyType::Option, _) => Self::Option,
            (PropertyType::Relation, Some(RelationType::User)) => Self::Person,
            (PropertyType::Relation, Some(RelationType::RichText)) => Self::Html,
            (PropertyType::Relation, _) => Self::Item,
            (PropertyType::Formula, _) => Self::Formula,
        }
    }
}

/// One element as written, before its record is looked up.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum WrittenElement {
    /// Kept as it is.
    Plain(Value),
    /// An option of the property.
    Option(Uuid),
    /// A person, by id or address.
    Person(String),
    /// A work item, by id or human key.
    Item(String),
    /// Rich text, to be sanitised.
    Html(String),
}

impl WrittenElement {
    /// Checks whether it names a record, of which a value has each only once.
    pub fn is_record(&self) -> bool {
        matches!(self, Self::Option(_) | Self::Person(_) | Self::Item(_))
    }
}

/// An element with its place in the array that was sent.
pub type Placed = (usize, WrittenElement);

/// Returns the elements that `value` writes to a property, each with its place in the array; none for null and `[]`,
/// which clear it (O38). A number that lost digits when it was parsed as JSON arrives as its text.
///
/// # Errors
/// The messages, each with the index of the faulty element if there is one.
pub fn written(applicable: &Applicable, value: &Value) -> Result<Vec<Placed>, Vec<(Option<usize>, String)>> {
    let kind = ValueKind::of(&applicable.property);
    if kind == ValueKind::Formula {
        return Err(vec![(None, "is computed and cannot be written".into())]);
    }
    let choices = Choices::of(applicable.options.iter().map(|offered| &*offered.option));
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(elements) if elements.is_empty() => Ok(Vec::new()),
        Value::Array(elements) if applicable.is_multi => {
            let (mut wishes, mut faults, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
            for (index, element) in elements.iter().enumerate() {
                match one(kind, &choices, element) {
                    // A set of records holds each record once. The others keep their places, for later errors.
                    Ok(wish) if wish.is_record() && !seen.insert(wish.clone()) => {}
                    Ok(wish) => wishes.push((index, wish)),
                    Err(message) => faults.push((Some(index), message)),
                }
            }
            if faults.is_empty() { Ok(wishes) } else { Err(faults) }
        }
        Value::Array(_) => Err(vec![(None, "takes a single value, not an array".into())]),
        _ if applicable.is_multi => Err(vec![(None, "takes an array of values".into())]),
        single => one(kind, &choices, single).map(|wish| vec![(0, wish)]).map_err(|message| vec![(None, message)]),
    }
}

/// Returns the elements of an item whose request gives none, each with its place; skips default texts that cannot be
/// read.
pub fn defaults(applicable: &Applicable) -> Vec<Placed> {
    let kind = ValueKind::of(&applicable.property);
    let texts = applicable.default_value.iter().map(|text| Value::String(text.clone()));
    let choices = Choices::of(applicable.options.iter().map(|offered| &*offered.option));
    let wishes = texts.enumerate().filter_map(|(index, text)| Some((index, one(kind, &choices, &text).ok()?)));
    wishes.take(if applicable.is_multi { usize::MAX } else { 1 }).collect()
}

/// Reads one element. The records that it may name are not looked up yet.
pub(super) fn one(kind: ValueKind, choices: &Choices, value: &Value) -> Result<WrittenElement, String> {
    match kind {
        ValueKind::Option => option(choices, text(value)?),
        ValueKind::Person => Ok(WrittenElement::Person(trimmed(text(value)?).to_owned())),
        ValueKind::Item => Ok(WrittenElement::Item(trimmed(text(value)?).to_owned())),
        ValueKind::Html => Ok(WrittenElement::Html(text(value)?.to_owned())),
        ValueKind::Formula => Err("is computed and cannot be written".into()),
        ValueKind::Text | ValueKind::Url | ValueKind::Email | ValueKind::Reference | ValueKind::Release => {
            let text = text(value)?;
            let is_good = match kind {
                ValueKind::Url => is_url(text),
                ValueKind::Email => is_email(text),
                _ => true,
            };
            plain(kind, value).filter(|_| is_good).map(WrittenElement::Plain).ok_or_else(|| form(kind).into())
        }
        ValueKind::Decimal | ValueKind::Boolean | ValueKind::Datetime => {
            let too_long = || kind == ValueKind::Decimal && value.as_str().is_some_and(decimals::is_number);
            let why = || if too_long() { decimals::TOO_LONG } else { form(kind) };
            // A timestamp has no blanks around it; a text that became one may have them (O67).
            let is_padded = kind == ValueKind::Datetime && value.as_str().is_some_and(|text| text.trim() != text);
            let kept = plain(kind, value).filter(|_| !is_padded);
            kept.map(WrittenElement::Plain).ok_or_else(|| why().into())
        }
    }
}

fn text(value: &Value) -> Result<&str, String> {
    let text = value.as_str().ok_or("must be a string")?;
    if text.contains('\0') {
        return Err("must not contain NUL characters".into());
    }
    if text.len() > LONGEST {
        return Err(format!("must not be longer than {LONGEST} bytes"));
    }
    Ok(text)
}

fn option(choices: &Choices, text: &str) -> Result<WrittenElement, String> {
    if let Some(id) = read_uuid(text) {
        return if choices.has(id) {
            Ok(WrittenElement::Option(id))
        } else {
            Err(format!("{id} is no option offered here"))
        };
    }
    match choices.named(text) {
        Named::One(id) => Ok(WrittenElement::Option(id)),
        Named::Nothing => Err(format!("{text:?} is no option offered here; use the id of an option")),
        Named::Several(_) => Err(format!("{text:?} names several options; use the id")),
    }
}

fn form(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::Url => "must be an absolute http or https URL",
        ValueKind::Email => "must be an e-mail address",
        ValueKind::Release => "must be the id of a release",
        ValueKind::Decimal => "must be a number",
        ValueKind::Boolean => "must be true or false",
        ValueKind::Datetime => "must be an ISO 8601 timestamp or a date",
        _ => "must be a string",
    }
}

/// Converts a raw element to a value of this kind, in the form in which it is kept and read; `None` if unreadable.
/// Records and rich text are not checked here.
pub fn plain(kind: ValueKind, raw: &Value) -> Option<Value> {
    match kind {
        ValueKind::Text | ValueKind::Reference | ValueKind::Html => as_text(raw).map(Value::String),
        ValueKind::Url => as_text(raw).filter(|text| reads_as_url(text)).map(Value::String),
        ValueKind::Email => as_text(raw).filter(|text| reads_as_email(text)).map(Value::String),
        ValueKind::Decimal => number(raw).map(Value::Number),
        ValueKind::Boolean => flag(raw).map(Value::Bool),
        ValueKind::Datetime => instant(raw.as_str()?).map(Value::String),
        ValueKind::Release => record(raw).map(|id| Value::String(id.to_string())),
        ValueKind::Option | ValueKind::Person | ValueKind::Item | ValueKind::Formula => None,
    }
}

/// Returns the id of the record that a raw element stands for.
pub fn record(raw: &Value) -> Option<Uuid> {
    raw.as_str().and_then(read_uuid)
}

fn as_text(raw: &Value) -> Option<String> {
    match raw {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

/// Reads a number, or the decimal notation of a number that can be kept with all its digits.
fn number(raw: &Value) -> Option<Number> {
    match raw {
        Value::Number(number) => Some(number.clone()),
        Value::String(text) => decimals::read(text),
        _ => None,
    }
}

fn flag(raw: &Value) -> Option<bool> {
    match raw {
        Value::Bool(flag) => Some(*flag),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Some(true),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

/// Converts to UTC; a bare date becomes its first instant (O23).
fn instant(text: &str) -> Option<String> {
    time::read(text.trim())?.in_zone("UTC").map(time::write)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn raw_values_are_understood_with_the_kind_of_today() {
        for (kind, raw, read) in [
            (ValueKind::Text, json!(12.5), json!("12.5")),
            (ValueKind::Text, json!(true), json!("true")),
            (ValueKind::Decimal, json!("12.5"), json!(12.5)),
            (ValueKind::Decimal, json!(" -3 "), json!(-3)),
            (ValueKind::Decimal, json!(7), json!(7)),
            (ValueKind::Decimal, json!("12345678901234567890"), json!(12_345_678_901_234_567_890_u64)),
            (ValueKind::Boolean, json!("True"), json!(true)),
            (ValueKind::Datetime, json!("2026-03-01"), json!("2026-03-01T00:00:00.000000Z")),
            (ValueKind::Datetime, json!(" 2026-03-01 "), json!("2026-03-01T00:00:00.000000Z")),
            (ValueKind::Datetime, json!("2026-03-01T02:00:00+02:00"), json!("2026-03-01T00:00:00.000000Z")),
            (ValueKind::Datetime, json!("0001-01-01"), json!("0001-01-01T00:00:00.000000Z")),
            (ValueKind::Datetime, json!("9999-12-31"), json!("9999-12-31T00:00:00.000000Z")),
            (ValueKind::Url, json!("HTTPS://x.test/a?b"), json!("HTTPS://x.test/a?b")),
            (ValueKind::Email, json!("a@b"), json!("a@b")),
            (
                ValueKind::Release,
                json!("0197C0DE-0000-7000-8000-000000000001"),
                json!("0197c0de-0000-7000-8000-000000000001"),
            ),
        ] {
            assert_eq!(plain(kind, &raw), Some(read), "{kind:?} {raw}");
        }
        for (kind, raw) in [
            (ValueKind::Decimal, json!("twelve")),
            (ValueKind::Decimal, json!("inf")),
            (ValueKind::Decimal, json!("NaN")),
            (ValueKind::Decimal, json!("1e999")),
            (ValueKind::Decimal, json!("")),
            (ValueKind::Decimal, json!(true)),
            (ValueKind::Boolean, json!(1)),
            (ValueKind::Boolean, json!("yes")),
            (ValueKind::Datetime, json!("soon")),
            (ValueKind::Datetime, json!(20260301)),
            (ValueKind::Url, json!("ftp://x")),
            (ValueKind::Url, json!("/relative")),
            (ValueKind::Url, json!("https://")),
            (ValueKind::Email, json!("nobody")),
            (ValueKind::Release, json!("r-1")),
            (ValueKind::Release, json!(1)),
            (ValueKind::Text, json!({})),
        ] {
            assert_eq!(plain(kind, &raw), None, "{kind:?} {raw}");
        }
    }
}
