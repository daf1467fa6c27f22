//! Request bodies: JSON, form-encoded and multipart, with the messages of v1's JSON reader. May use: this folder.

use indexmap::IndexMap;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::door::http::{Reply, form_pairs};

/// A value of a body's field.
#[derive(Debug, Clone)]
pub(crate) enum Datum {
    /// Plain JSON.
    Json(Value),
    /// A number too large for a float: v1 reads it as infinity (`errors_poison_float_overflow`).
    Infinite(f64),
    /// A text with a lone surrogate, refused per field (`errors_lone_surrogate`).
    Surrogate(String),
    /// The texts that a form sent under one name.
    Form(Vec<String>),
}

/// A parsed body.
#[derive(Debug)]
pub(crate) enum Body {
    /// An object; of duplicate keys the last one counts (`errors_duplicate_keys`).
    Object(IndexMap<String, Datum>),
    /// `null`.
    Null,
    /// Any other value, by v1's name for its type.
    Other(&'static str),
}

impl Body {
    /// The value sent under a name.
    pub(crate) fn get(&self, name: &str) -> Option<&Datum> {
        match self {
            Self::Object(fields) => fields.get(name),
            _ => None,
        }
    }

    /// Checks whether the name was sent with a value other than null.
    pub(crate) fn given(&self, name: &str) -> bool {
        !matches!(self.get(name), None | Some(Datum::Json(Value::Null)))
    }

    /// Returns the value as text if it is true in v1's language (Python): not null, empty, zero or false.
    pub(crate) fn truthy(&self, name: &str) -> Option<String> {
        let datum = self.get(name)?;
        let truthy = match datum {
            Datum::Json(Value::Null) => false,
            Datum::Json(Value::Bool(b)) => *b,
            Datum::Json(Value::Number(n)) => n.as_f64() != Some(0.0),
            Datum::Json(Value::String(s)) => !s.is_empty(),
            Datum::Json(Value::Array(a)) => !a.is_empty(),
            Datum::Json(Value::Object(o)) => !o.is_empty(),
            Datum::Infinite(_) | Datum::Surrogate(_) => true,
            Datum::Form(texts) => texts.last().is_some_and(|t| !t.is_empty()),
        };
        truthy.then(|| datum.text())
    }

    /// Whether the body is an array, on which some views fail.
    pub(crate) fn is_array(&self) -> bool {
        matches!(self, Self::Other("list"))
    }

    /// Reads a body of a content type.
    pub(crate) fn parse(raw: &[u8], content_type: Option<&str>) -> Result<Self, Reply> {
        if raw.is_empty() {
            return Ok(Self::Object(IndexMap::new()));
        }
        let full = content_type.unwrap_or_default();
        let kind = full.split(';').next().unwrap_or_default().trim();
        match kind.to_ascii_lowercase().as_str() {
            "application/json" => json_body(raw),
            "application/x-www-form-urlencoded" => Ok(Self::from_pairs(form_pairs(raw))),
            "multipart/form-data" => Ok(Self::from_pairs(multipart_pairs(raw, full))),
            _ => Err(Reply::detail(415, &format!("Unsupported media type \"{full}\" in request."))),
        }
    }

    fn from_pairs(pairs: Vec<(String, String)>) -> Self {
        let mut fields: IndexMap<String, Vec<String>> = IndexMap::new();
        for (name, value) in pairs {
            fields.entry(name).or_default().push(value);
        }
        Self::Object(fields.into_iter().map(|(name, values)| (name, Datum::Form(values))).collect())
    }
}

impl Datum {
    /// The value as v1's language prints it.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Json(value) => printed(value),
            Self::Infinite(number) if *number < 0.0 => "-inf".to_owned(),
            Self::Infinite(_) => "inf".to_owned(),
            Self::Surrogate(name) => name.clone(),
            Self::Form(texts) => texts.last().cloned().unwrap_or_default(),
        }
    }
}

/// A JSON value as v1's language prints it.
pub(crate) fn printed(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(list) => {
            let inner: Vec<String> = list.iter().map(quoted).collect();
            format!("[{}]", inner.join(", "))
        }
        Value::Object(map) => {
            let inner: Vec<String> = map.iter().map(|(k, v)| format!("'{k}': {}", quoted(v))).collect();
            format!("{{{}}}", inner.join(", "))
        }
    }
}

fn quoted(value: &Value) -> String {
    match value {
        Value::String(text) => format!("'{text}'"),
        other => printed(other),
    }
}

/// The name of a JSON value's type in v1's language.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "NoneType",
        Value::Bool(_) => "bool",
        Value::Number(n) if n.is_f64() => "float",
        Value::Number(_) => "int",
        Value::String(_) => "str",
        Value::Array(_) => "list",
        Value::Object(_) => "dict",
    }
}

fn json_body(raw: &[u8]) -> Result<Body, Reply> {
    let refuse = |message: String| Reply::detail(400, &format!("JSON parse error - {message}"));
    let text = std::str::from_utf8(raw).map_err(|error| {
        let at = error.valid_up_to();
        let why = match error.error_len() {
            None => "unexpected end of data",
            Some(1) if raw[at] & 0xC0 == 0x80 || raw[at] >= 0xF5 || raw[at] < 0xC2 => "invalid start byte",
            Some(_) => "invalid continuation byte",
        };
        let byte = raw[at];
        refuse(format!("'utf-8' codec can't decode byte 0x{byte:02x} in position {at}: {why}"))
    })?;
    if text.starts_with('\u{feff}') {
        return Err(refuse("Unexpected UTF-8 BOM (decode using utf-8-sig): line 1 column 1 (char 0)".to_owned()));
    }
    let whole: &RawValue = serde_json::from_str(text).map_err(|error| refuse(syntax_message(text, &error)))?;
    if whole.get().starts_with('{') {
        let raw_fields: IndexMap<String, &RawValue> =
            serde_json::from_str(text).map_err(|error| refuse(syntax_message(text, &error)))?;
        let fields = raw_fields.into_iter().map(|(name, value)| (name, datum(value.get()))).collect();
        return Ok(Body::Object(fields));
    }
    Ok(match datum(whole.get()) {
        Datum::Json(Value::Null) => Body::Null,
        Datum::Json(value) => Body::Other(type_name(&value)),
        Datum::Infinite(_) => Body::Other("float"),
        Datum::Surrogate(_) | Datum::Form(_) => Body::Other("str"),
    })
}

/// Reads one field's value. Values that a plain JSON reader rejects are recognised here.
fn datum(raw: &str) -> Datum {
    match serde_json::from_str(raw) {
        Ok(value) => Datum::Json(value),
        Err(_) => match raw.as_bytes().first() {
            Some(b'"') => Datum::Surrogate(lone_surrogate(raw)),
            // Deeper nesting than the reader allows (`errors_deep_json`): only the kind of the value matters.
            Some(b'[') => Datum::Json(Value::Array(vec![Value::Null])),
            Some(b'{') => Datum::Json(Value::Object(serde_json::Map::new())),
            Some(b'-') => Datum::Infinite(f64::NEG_INFINITY),
            _ => Datum::Infinite(f64::INFINITY),
        },
    }
}

/// The code point of the first lone surrogate escape, as `U+D800`.
fn lone_surrogate(raw: &str) -> String {
    let mut rest = raw;
    while let Some(at) = rest.find("\\u") {
        let code = rest.get(at + 2..at + 6).unwrap_or_default();
        let high = code.to_ascii_uppercase();
        rest = rest.get(at + 6..).unwrap_or_default();
        if ("D800".."DC00").contains(&high.as_str()) {
            let low = rest.strip_prefix("\\u").and_then(|r| r.get(..4)).unwrap_or_default().to_ascii_uppercase();
            if ("DC00".."E000").contains(&low.as_str()) {
                rest = rest.get(6..).unwrap_or_default();
                continue;
            }
            return format!("U+{high}");
        }
        if ("DC00".."E000").contains(&high.as_str()) {
            return format!("U+{high}");
        }
    }
    "U+D800".to_owned()
}

/// Returns v1's message for a syntax error at the place where reading failed (`errors_bad_json` and similar
/// recordings).
fn syntax_message(text: &str, error: &serde_json::Error) -> String {
    let line_start: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let byte =
        if error.is_eof() { text.len() } else { line_start + error.column().saturating_sub(1) }.min(text.len());
    let before = text.get(..byte).unwrap_or(text);
    let rest = text.get(byte..).unwrap_or_default();
    for literal in ["NaN", "Infinity", "-Infinity"] {
        // The reader may have stopped inside the word.
        let start = before.len().saturating_sub(literal.len());
        let window = text.get(start..).unwrap_or_default();
        if rest.starts_with(literal) || window.contains(literal) && !window.contains('"') {
            return format!("Out of range float values are not JSON compliant: '{literal}'");
        }
    }
    let char_at = before.chars().count();
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
    let place = format!("line {line} column {column} (char {char_at})");
    let message = error.to_string();
    let what = if message.contains("key must be a string")
        || message.contains("trailing comma") && rest.starts_with('}')
        || message.contains("EOF while parsing an object") && before.trim_end().ends_with(['{', ','])
    {
        "Expecting property name enclosed in double quotes"
    } else if message.contains("expected `:`") {
        "Expecting ':' delimiter"
    } else if message.contains("expected `,`") || message.contains("EOF while parsing an object") {
        "Expecting ',' delimiter"
    } else if message.contains("trailing characters") {
        "Extra data"
    } else if message.contains("EOF while parsing a string") {
        let start = text.rfind('"').unwrap_or_default();
        let chars = text[..start].chars().count();
        return format!("Unterminated string starting at: line {line} column {} (char {chars})", chars + 1);
    } else if message.contains("control character") {
        "Invalid control character at"
    } else if message.contains("invalid escape") {
        "Invalid \\escape"
    } else {
        "Expecting value"
    };
    format!("{what}: {place}")
}

/// The text parts of a multipart body (`errors_multipart_accepted`).
fn multipart_pairs(raw: &[u8], content_type: &str) -> Vec<(String, String)> {
    let boundary = content_type
        .split(';')
        .filter_map(|part| part.trim().strip_prefix("boundary="))
        .map(|b| b.trim_matches('"'))
        .next()
        .unwrap_or_default();
    let text = String::from_utf8_lossy(raw);
    let mark = format!("--{boundary}");
    text.split(mark.as_str())
        .skip(1)
        .filter_map(|part| {
            let (head, value) = part.strip_prefix("\r\n")?.split_once("\r\n\r\n")?;
            let name = head.split("name=\"").nth(1)?.split('"').next()?;
            let value = value.strip_suffix("\r\n").unwrap_or(value);
            Some((name.to_owned(), value.to_owned()))
        })
        .collect()
}
