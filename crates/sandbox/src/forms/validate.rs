//! Field validation with v1's messages. A [`Form`] collects the messages of all fields, so that one answer has all
//! of them (`states_create_many_errors`). May use: `door`, `records`, this folder.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use crate::door::body::{Body, Datum, printed, type_name};
use crate::door::http::Reply;
use crate::forms::values;
use crate::records::table::Id;

/// The value that was sent for a field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SentValue<T> {
    /// The key was left out (or rejected; the form keeps the reason).
    Absent,
    /// Null, where that is allowed.
    Null,
    /// A valid value.
    Is(T),
}

impl<T> SentValue<T> {
    /// The value, if one was sent.
    pub(crate) fn value(self) -> Option<T> {
        match self {
            Self::Is(value) => Some(value),
            _ => None,
        }
    }

    /// Replaces the value, if one was sent.
    fn map<U>(self, change: impl FnOnce(T) -> U) -> SentValue<U> {
        match self {
            Self::Is(value) => SentValue::Is(change(value)),
            Self::Null => SentValue::Null,
            Self::Absent => SentValue::Absent,
        }
    }

    /// Borrows the value, if one was sent.
    pub(crate) fn as_ref(&self) -> Option<&T> {
        match self {
            Self::Is(value) => Some(value),
            _ => None,
        }
    }

    /// Writes a value into a required field.
    pub(crate) fn store(self, place: &mut T) {
        if let Self::Is(value) = self {
            *place = value;
        }
    }

    /// Writes a value or null into an optional field.
    pub(crate) fn store_optional(self, place: &mut Option<T>) {
        match self {
            Self::Absent => {}
            Self::Null => *place = None,
            Self::Is(value) => *place = Some(value),
        }
    }
}

/// The rules of a text field.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text {
    max: Option<usize>,
    required: bool,
    blank: bool,
    null: bool,
}

impl Text {
    /// A text that is required and must not be blank.
    pub(crate) const REQUIRED: Self = Self { max: Some(255), required: true, blank: false, null: false };
    /// A text that may be empty but not null.
    pub(crate) const BLANK: Self = Self { max: Some(255), required: false, blank: true, null: false };
    /// A text that may be empty or null.
    pub(crate) const NULL: Self = Self { max: Some(255), required: false, blank: true, null: true };

    /// The same with another limit.
    pub(crate) const fn max(mut self, max: usize) -> Self {
        self.max = Some(max);
        self
    }

    /// The same without a limit.
    pub(crate) const fn long(mut self) -> Self {
        self.max = None;
        self
    }
}

const NOT_NULL: &str = "This field may not be null.";
const DATE_FORMAT: &str = "Date has wrong format. Use one of these formats instead: YYYY-MM-DD.";
const DATETIME_FORMAT: &str =
    "Datetime has wrong format. Use one of these formats instead: YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z].";

/// A body under validation.
#[derive(Debug)]
pub(crate) struct Form<'b> {
    body: &'b Body,
    partial: bool,
    errors: Map<String, Value>,
}

impl<'b> Form<'b> {
    /// Creates a form for creating a record. Rejects bodies that are not objects.
    pub(crate) fn create(body: &'b Body) -> Result<Self, Reply> {
        Self::new(body, false)
    }

    /// Creates a form for updating a record: no field is required.
    pub(crate) fn update(body: &'b Body) -> Result<Self, Reply> {
        Self::new(body, true)
    }

    /// Creates a form for a create, or for an update (`partial`).
    pub(crate) fn new(body: &'b Body, partial: bool) -> Result<Self, Reply> {
        match body {
            Body::Object(_) => Ok(Self { body, partial, errors: Map::new() }),
            Body::Null => Err(Reply::non_field("No data provided")),
            Body::Other(kind) => {
                Err(Reply::non_field(&format!("Invalid data. Expected a dictionary, but got {kind}.")))
            }
        }
    }

    /// Ends the field checks. Returns a 400 with all messages if there are any.
    pub(crate) fn finish(self) -> Result<(), Reply> {
        if self.errors.is_empty() { Ok(()) } else { Err(Reply::fields(self.errors)) }
    }

    /// Notes a message about a field.
    pub(crate) fn refuse(&mut self, name: &str, message: &str) {
        let messages = self.errors.entry(name.to_owned()).or_insert_with(|| json!([]));
        if let Value::Array(list) = messages {
            list.push(Value::from(message));
        }
    }

    fn fetch(&mut self, name: &str, required: bool, null: bool) -> SentValue<&'b Datum> {
        match self.body.get(name) {
            None => {
                if required && !self.partial {
                    self.refuse(name, "This field is required.");
                }
                SentValue::Absent
            }
            Some(Datum::Json(Value::Null)) => {
                if null {
                    return SentValue::Null;
                }
                self.refuse(name, NOT_NULL);
                SentValue::Absent
            }
            Some(datum) => SentValue::Is(datum),
        }
    }

    /// Reads the value sent for a field. A value that cannot be read is rejected with the message of `value`.
    fn read<T>(
        &mut self,
        name: &str,
        required: bool,
        null: bool,
        value: impl FnOnce(&Datum) -> Result<T, String>,
    ) -> SentValue<T> {
        match self.fetch(name, required, null).map(value) {
            SentValue::Is(Ok(value)) => SentValue::Is(value),
            SentValue::Is(Err(message)) => {
                self.refuse(name, &message);
                SentValue::Absent
            }
            SentValue::Null => SentValue::Null,
            SentValue::Absent => SentValue::Absent,
        }
    }

    /// Reads a text, trimmed at both ends; numbers count as text (`states_create_number_name`).
    pub(crate) fn text(&mut self, name: &str, rules: Text) -> SentValue<String> {
        let sent = self.read(name, rules.required, rules.null, |datum| {
            let text = match datum {
                Datum::Json(Value::String(text)) => values::stripped(text).to_owned(),
                Datum::Json(Value::Number(number)) => number.to_string(),
                Datum::Surrogate(code) => return Err(format!("Surrogate characters are not allowed: {code}.")),
                Datum::Form(_) | Datum::Infinite(_) => values::stripped(&datum.text()).to_owned(),
                Datum::Json(_) => return Err("Not a valid string.".to_owned()),
            };
            if text.is_empty() && !rules.blank {
                return Err("This field may not be blank.".to_owned());
            }
            Ok(text)
        });
        let SentValue::Is(text) = &sent else {
            return sent;
        };
        let too_long = rules.max.filter(|&max| text.chars().count() > max);
        let has_nul = text.contains('\0');
        if let Some(max) = too_long {
            self.refuse(name, &format!("Ensure this field has no more than {max} characters."));
        }
        if has_nul {
            self.refuse(name, "Null characters are not allowed.");
        }
        if too_long.is_some() || has_nul { SentValue::Absent } else { sent }
    }

    /// Reads one of several texts, case-sensitive (`items_create_priority_upper`).
    pub(crate) fn choice(&mut self, name: &str, choices: &[&'static str]) -> SentValue<&'static str> {
        self.read(name, false, false, |datum| {
            let text = datum.text();
            let choice = choices.iter().find(|choice| **choice == text);
            choice.copied().ok_or_else(|| no_choice(&text))
        })
    }

    /// Reads a time zone that v1 knows; abbreviations are rejected (`cycles_create_abbreviated_timezone`).
    pub(crate) fn zone(&mut self, name: &str) -> SentValue<String> {
        self.read(name, false, false, |datum| {
            let text = datum.text();
            let known = include_str!("zones.txt").lines().any(|zone| zone == text);
            if known { Ok(text) } else { Err(no_choice(&text)) }
        })
    }

    /// Reads a boolean.
    pub(crate) fn flag(&mut self, name: &str) -> SentValue<bool> {
        self.read(name, false, false, |datum| match datum.text().to_ascii_lowercase().as_str() {
            "true" | "t" | "yes" | "y" | "on" | "1" => Ok(true),
            "false" | "f" | "no" | "n" | "off" | "0" => Ok(false),
            _ => Err("Must be a valid boolean.".to_owned()),
        })
    }

    /// Reads a number with a fraction. Infinity is accepted, as in v1
    /// (`errors_poison_float_overflow`).
    pub(crate) fn float(&mut self, name: &str) -> SentValue<f64> {
        self.read(name, false, false, |datum| {
            let number = match datum {
                Datum::Json(Value::Number(number)) => number.as_f64(),
                Datum::Json(Value::Bool(flag)) => Some(f64::from(u8::from(*flag))),
                Datum::Json(Value::String(text)) => values::float(text),
                Datum::Infinite(number) => Some(*number),
                Datum::Form(_) => values::float(&datum.text()),
                _ => None,
            };
            number.ok_or_else(|| "A valid number is required.".to_owned())
        })
    }

    /// Reads a whole number within bounds.
    pub(crate) fn whole(&mut self, name: &str, null: bool, least: i64, most: i64) -> SentValue<i64> {
        self.read(name, false, null, |datum| {
            let text = datum.text();
            let digits = text
                .split_once('.')
                .filter(|(_, zeros)| zeros.trim_end().bytes().all(|b| b == b'0'))
                .map_or(text.as_str(), |(digits, _)| digits);
            let number = match datum {
                Datum::Json(Value::Array(_) | Value::Object(_) | Value::Bool(_)) => None,
                _ => values::whole(digits),
            };
            match number {
                None => Err("A valid integer is required.".to_owned()),
                Some(number) if number > i128::from(most) => {
                    Err(format!("Ensure this value is less than or equal to {most}."))
                }
                Some(number) if number < i128::from(least) => {
                    Err(format!("Ensure this value is greater than or equal to {least}."))
                }
                Some(number) => Ok(i64::try_from(number).unwrap_or(most)),
            }
        })
    }

    /// Reads a calendar day; instants are rejected (`items_create_datetime_as_date`).
    pub(crate) fn day(&mut self, name: &str) -> SentValue<Date> {
        self.read(name, false, true, |datum| {
            let text = written(datum).and_then(|text| values::day(&text));
            text.ok_or_else(|| DATE_FORMAT.to_owned())
        })
    }

    /// Reads an instant. Without an offset it is in the caller's zone
    /// (`cycles_patch_naive_date_by_kim`).
    pub(crate) fn instant(&mut self, name: &str, zone: &TimeZone) -> SentValue<Timestamp> {
        self.read(name, false, true, |datum| {
            let instant = written(datum).and_then(|text| values::instant(&text, zone));
            instant.ok_or_else(|| DATETIME_FORMAT.to_owned())
        })
    }

    /// Reads the id of another record.
    pub(crate) fn relation(
        &mut self,
        name: &str,
        required: bool,
        null: bool,
        exists: impl Fn(Id) -> bool,
    ) -> SentValue<Id> {
        self.read(name, required, null, |datum| key(datum, exists))
    }

    /// Reads a list of ids of other records; messages are keyed by position (`errors_400_nested_field`).
    pub(crate) fn relations(&mut self, name: &str, exists: impl Fn(Id) -> bool) -> SentValue<Vec<Id>> {
        let SentValue::Is(datum) = self.fetch(name, false, false) else {
            return SentValue::Absent;
        };
        let entries: Vec<Datum> = match datum {
            Datum::Json(Value::Array(list)) => list.iter().cloned().map(Datum::Json).collect(),
            Datum::Form(texts) => texts.iter().map(|text| Datum::Json(Value::from(text.as_str()))).collect(),
            other => {
                let kind = match other {
                    Datum::Json(value) => type_name(value),
                    Datum::Infinite(_) => "float",
                    _ => "str",
                };
                self.refuse(name, &format!("Expected a list of items but got type \"{kind}\"."));
                return SentValue::Absent;
            }
        };
        let mut ids = Vec::new();
        let mut wrong = Map::new();
        for (index, entry) in entries.iter().enumerate() {
            match key(entry, &exists) {
                Ok(id) if ids.contains(&id) => {}
                Ok(id) => ids.push(id),
                Err(message) => {
                    wrong.insert(index.to_string(), json!([message]));
                }
            }
        }
        if wrong.is_empty() {
            return SentValue::Is(ids);
        }
        self.errors.insert(name.to_owned(), Value::Object(wrong));
        SentValue::Absent
    }
}

fn no_choice(text: &str) -> String {
    format!("\"{text}\" is not a valid choice.")
}

/// The text of a field for which only texts are accepted.
fn written(datum: &Datum) -> Option<String> {
    matches!(datum, Datum::Json(Value::String(_)) | Datum::Form(_)).then(|| datum.text())
}

/// Reads one id and checks that the record exists; a deleted record counts as unknown.
fn key(datum: &Datum, exists: impl Fn(Id) -> bool) -> Result<Id, String> {
    let text = match datum {
        Datum::Json(Value::Null) => return Err(NOT_NULL.to_owned()),
        Datum::Json(Value::Bool(_)) => {
            return Err("Incorrect type. Expected pk value, received bool.".to_owned());
        }
        // A number is read as the id with that value, which no record has (`labels_create_parent_number`).
        Datum::Json(value @ Value::Number(_)) => {
            return Err(format!("Invalid pk \"{}\" - object does not exist.", printed(value)));
        }
        other => other.text(),
    };
    match values::id(&text) {
        None => Err(format!("“{text}” is not a valid UUID.")),
        Some(id) if exists(id) => Ok(id),
        Some(_) => Err(format!("Invalid pk \"{text}\" - object does not exist.")),
    }
}
