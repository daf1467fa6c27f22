//! Field validation with v1's messages. A [`Form`] collects the messages of all fields, so that one
//! answer names them all (`states_create_many_errors`). Uses the bodies and value readers only.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use crate::door::body::{Body, Datum, printed, type_name};
use crate::door::http::Reply;
use crate::forms::values;
use crate::records::table::Id;

/// What was sent for a field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Sent<T> {
    /// The key was left out (or refused; the form remembers why).
    Absent,
    /// Null, where that is allowed.
    Null,
    /// A valid value.
    Is(T),
}

impl<T> Sent<T> {
    /// The value, if one was sent.
    pub(crate) fn value(self) -> Option<T> {
        match self {
            Self::Is(value) => Some(value),
            _ => None,
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
    /// A text that must be there and have something in it.
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
    /// A form for creating a record; refuses bodies that are not objects.
    pub(crate) fn create(body: &'b Body) -> Result<Self, Reply> {
        Self::new(body, false)
    }

    /// A form for updating a record: nothing is required.
    pub(crate) fn update(body: &'b Body) -> Result<Self, Reply> {
        Self::new(body, true)
    }

    /// A form for either.
    pub(crate) fn new(body: &'b Body, partial: bool) -> Result<Self, Reply> {
        match body {
            Body::Object(_) => Ok(Self { body, partial, errors: Map::new() }),
            Body::Null => Err(Reply::non_field("No data provided")),
            Body::Other(kind) => {
                Err(Reply::non_field(&format!("Invalid data. Expected a dictionary, but got {kind}.")))
            }
        }
    }

    /// Ends the field checks: 400 with all messages if there are any.
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

    fn fetch(&mut self, name: &str, required: bool, null: bool) -> Sent<&'b Datum> {
        match self.body.get(name) {
            None => {
                if required && !self.partial {
                    self.refuse(name, "This field is required.");
                }
                Sent::Absent
            }
            Some(Datum::Json(Value::Null)) => {
                if null {
                    return Sent::Null;
                }
                self.refuse(name, NOT_NULL);
                Sent::Absent
            }
            Some(datum) => Sent::Is(datum),
        }
    }

    /// A text, trimmed at both ends; numbers count as text (`states_create_number_name`).
    pub(crate) fn text(&mut self, name: &str, rules: Text) -> Sent<String> {
        let datum = match self.fetch(name, rules.required, rules.null) {
            Sent::Is(datum) => datum,
            Sent::Null => return Sent::Null,
            Sent::Absent => return Sent::Absent,
        };
        let raw = match datum {
            Datum::Json(Value::String(text)) => text.clone(),
            Datum::Json(Value::Number(number)) => number.to_string(),
            Datum::Surrogate(code) => {
                self.refuse(name, &format!("Surrogate characters are not allowed: {code}."));
                return Sent::Absent;
            }
            Datum::Form(_) | Datum::Infinite(_) => datum.text(),
            Datum::Json(_) => {
                self.refuse(name, "Not a valid string.");
                return Sent::Absent;
            }
        };
        let text = raw.trim();
        if text.is_empty() && !rules.blank {
            self.refuse(name, "This field may not be blank.");
            return Sent::Absent;
        }
        let mut fine = true;
        if let Some(max) = rules.max
            && text.chars().count() > max
        {
            let message = format!("Ensure this field has no more than {max} characters.");
            self.refuse(name, &message);
            fine = false;
        }
        if text.contains('\0') {
            self.refuse(name, "Null characters are not allowed.");
            fine = false;
        }
        if fine { Sent::Is(text.to_owned()) } else { Sent::Absent }
    }

    /// One of several texts, case-sensitive (`items_create_priority_upper`).
    pub(crate) fn choice(&mut self, name: &str, choices: &[&'static str]) -> Sent<&'static str> {
        let Sent::Is(datum) = self.fetch(name, false, false) else {
            return Sent::Absent;
        };
        let text = datum.text();
        match choices.iter().find(|choice| **choice == text) {
            Some(choice) => Sent::Is(choice),
            None => {
                self.refuse(name, &format!("\"{text}\" is not a valid choice."));
                Sent::Absent
            }
        }
    }

    /// A time zone v1 knows; abbreviations are refused (`cycles_create_abbreviated_timezone`).
    pub(crate) fn zone(&mut self, name: &str) -> Sent<String> {
        let Sent::Is(datum) = self.fetch(name, false, false) else {
            return Sent::Absent;
        };
        let text = datum.text();
        if include_str!("zones.txt").lines().any(|zone| zone == text) {
            return Sent::Is(text);
        }
        self.refuse(name, &format!("\"{text}\" is not a valid choice."));
        Sent::Absent
    }

    /// A yes or no.
    pub(crate) fn flag(&mut self, name: &str) -> Sent<bool> {
        let Sent::Is(datum) = self.fetch(name, false, false) else {
            return Sent::Absent;
        };
        match datum.text().to_ascii_lowercase().as_str() {
            "true" | "t" | "yes" | "y" | "on" | "1" => Sent::Is(true),
            "false" | "f" | "no" | "n" | "off" | "0" => Sent::Is(false),
            _ => {
                self.refuse(name, "Must be a valid boolean.");
                Sent::Absent
            }
        }
    }

    /// A number with a fraction. Infinity is let through, as v1 does
    /// (`errors_poison_float_overflow`).
    pub(crate) fn float(&mut self, name: &str) -> Sent<f64> {
        let Sent::Is(datum) = self.fetch(name, false, false) else {
            return Sent::Absent;
        };
        let number = match datum {
            Datum::Json(Value::Number(number)) => number.as_f64(),
            Datum::Json(Value::Bool(flag)) => Some(f64::from(u8::from(*flag))),
            Datum::Json(Value::String(text)) => values::float(text),
            Datum::Infinite(number) => Some(*number),
            Datum::Form(_) => values::float(&datum.text()),
            _ => None,
        };
        number.map_or_else(
            || {
                self.refuse(name, "A valid number is required.");
                Sent::Absent
            },
            Sent::Is,
        )
    }

    /// A whole number within bounds.
    pub(crate) fn whole(&mut self, name: &str, null: bool, least: i64, most: i64) -> Sent<i64> {
        let datum = match self.fetch(name, false, null) {
            Sent::Is(datum) => datum,
            Sent::Null => return Sent::Null,
            Sent::Absent => return Sent::Absent,
        };
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
            None => {
                self.refuse(name, "A valid integer is required.");
                Sent::Absent
            }
            Some(number) if number > i128::from(most) => {
                let message = format!("Ensure this value is less than or equal to {most}.");
                self.refuse(name, &message);
                Sent::Absent
            }
            Some(number) if number < i128::from(least) => {
                let message = format!("Ensure this value is greater than or equal to {least}.");
                self.refuse(name, &message);
                Sent::Absent
            }
            Some(number) => Sent::Is(i64::try_from(number).unwrap_or(most)),
        }
    }

    /// A calendar day; instants are refused (`items_create_datetime_as_date`).
    pub(crate) fn day(&mut self, name: &str) -> Sent<Date> {
        let datum = match self.fetch(name, false, true) {
            Sent::Is(datum) => datum,
            Sent::Null => return Sent::Null,
            Sent::Absent => return Sent::Absent,
        };
        let day = match datum {
            Datum::Json(Value::String(text)) => values::day(text),
            Datum::Form(_) => values::day(&datum.text()),
            _ => None,
        };
        day.map_or_else(
            || {
                self.refuse(name, "Date has wrong format. Use one of these formats instead: YYYY-MM-DD.");
                Sent::Absent
            },
            Sent::Is,
        )
    }

    /// An instant; without an offset it is read in the caller's zone
    /// (`cycles_patch_naive_date_by_kim`).
    pub(crate) fn instant(&mut self, name: &str, zone: &TimeZone) -> Sent<Timestamp> {
        let datum = match self.fetch(name, false, true) {
            Sent::Is(datum) => datum,
            Sent::Null => return Sent::Null,
            Sent::Absent => return Sent::Absent,
        };
        let instant = match datum {
            Datum::Json(Value::String(text)) => values::instant(text, zone),
            Datum::Form(_) => values::instant(&datum.text(), zone),
            _ => None,
        };
        instant.map_or_else(
            || {
                self.refuse(name, DATETIME_FORMAT);
                Sent::Absent
            },
            Sent::Is,
        )
    }

    /// The id of another record.
    pub(crate) fn relation(
        &mut self,
        name: &str,
        required: bool,
        null: bool,
        exists: impl Fn(Id) -> bool,
    ) -> Sent<Id> {
        let datum = match self.fetch(name, required, null) {
            Sent::Is(datum) => datum,
            Sent::Null => return Sent::Null,
            Sent::Absent => return Sent::Absent,
        };
        match key(datum, exists) {
            Ok(id) => Sent::Is(id),
            Err(message) => {
                self.refuse(name, &message);
                Sent::Absent
            }
        }
    }

    /// A list of ids of other records; messages go by position (`errors_400_nested_field`).
    pub(crate) fn relations(&mut self, name: &str, exists: impl Fn(Id) -> bool) -> Sent<Vec<Id>> {
        let Sent::Is(datum) = self.fetch(name, false, false) else {
            return Sent::Absent;
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
                let message = format!("Expected a list of items but got type \"{kind}\".");
                self.refuse(name, &message);
                return Sent::Absent;
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
            return Sent::Is(ids);
        }
        self.errors.insert(name.to_owned(), Value::Object(wrong));
        Sent::Absent
    }
}

/// Reads one id and checks that the record exists; a deleted one counts as unknown.
fn key(datum: &Datum, exists: impl Fn(Id) -> bool) -> Result<Id, String> {
    let text = match datum {
        Datum::Json(Value::Null) => return Err(NOT_NULL.to_owned()),
        Datum::Json(Value::Bool(_)) => {
            return Err("Incorrect type. Expected pk value, received bool.".to_owned());
        }
        // A number is read as the id with that value, which nobody has (`labels_create_parent_number`).
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
