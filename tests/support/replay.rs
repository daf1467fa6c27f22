//! Recorded exchanges: loading them, turning them into requests for another world, and comparing
//! answers. `fixtures/README.md` says what can be compared. Uses no part of the
//! crate, so that any test may replay against anything.
//!
//! The caller keeps one [`Replay`] per recordings file and, for each exchange, asks it for the
//! [`Replay::request`], gets an answer from anywhere, and passes it to [`Replay::compare`].

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use jiff::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Exchanges whose rows are ordered by random ids: compared as sets.
const ANY_ORDER: [&str; 2] = ["lists_order_id", "lists_order_desc_id"];
/// Answer headers that must agree word for word, if recorded.
const SAME_HEADERS: [&str; 10] = [
    "content-type",
    "content-encoding",
    "allow",
    "vary",
    "location",
    "access-control-allow-origin",
    "access-control-allow-credentials",
    "access-control-allow-headers",
    "access-control-allow-methods",
    "access-control-max-age",
];
/// Answer headers of which only the presence is compared.
const PRESENT_HEADERS: [&str; 2] = ["x-ratelimit-remaining", "x-ratelimit-reset"];

/// A recordings file.
#[derive(Debug, Deserialize)]
pub struct Recording {
    /// Its subject.
    pub area: String,
    /// When it was recorded.
    #[serde(deserialize_with = "timestamp")]
    pub recorded_at: Timestamp,
    /// The exchanges, in order.
    pub exchanges: Vec<Exchange>,
}

fn timestamp<'de, D: Deserializer<'de>>(source: D) -> Result<Timestamp, D::Error> {
    let text = String::deserialize(source)?;
    text.parse().map_err(D::Error::custom)
}

/// A recorded exchange.
#[derive(Debug, Deserialize)]
pub struct Exchange {
    /// Its name, unique over all files.
    pub name: String,
    /// The request.
    pub request: RecordedRequest,
    /// The response.
    pub response: RecordedResponse,
    /// The pause before it.
    #[serde(default)]
    pub after_wait: Option<Wait>,
}

/// A recorded request.
#[derive(Debug, Deserialize)]
pub struct RecordedRequest {
    /// The method.
    pub method: String,
    /// The path.
    pub path: String,
    /// The raw query.
    #[serde(default)]
    pub query: String,
    /// The headers; a null value means the header was not sent.
    #[serde(default)]
    pub headers: BTreeMap<String, Option<String>>,
    /// The body.
    #[serde(default)]
    pub body: Value,
    /// Whether a text body is raw bytes, written as Latin-1.
    #[serde(default)]
    pub body_is_raw: bool,
    /// Description of a body that is too large to store.
    #[serde(default)]
    pub body_generated: Option<Generated>,
}

/// A description of a large body.
#[derive(Debug, Deserialize)]
pub struct Generated {
    json_object: serde_json::Map<String, Value>,
    field: String,
    value: String,
}

/// A recorded response.
#[derive(Debug, Deserialize)]
pub struct RecordedResponse {
    /// The status.
    pub status: u16,
    /// The headers that were kept.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The body.
    #[serde(default)]
    pub body: Value,
}

/// A pause before an exchange.
#[derive(Debug, Deserialize)]
pub struct Wait {
    /// Its length.
    pub seconds: f64,
}

impl Exchange {
    /// Returns the pause before it.
    pub fn wait(&self) -> Duration {
        self.after_wait.as_ref().map_or(Duration::ZERO, |wait| Duration::from_secs_f64(wait.seconds))
    }
}

/// The path of a file below `fixtures`.
pub fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

/// Loads a recordings file of `fixtures/v1` by its name without ending.
pub fn load(area: &str) -> Recording {
    let path = fixture(&format!("v1/{area}.json"));
    let text = fs::read_to_string(&path).expect("a recordings file");
    serde_json::from_str(&text).expect("recordings in the known format")
}

/// Returns the exchanges that `fixtures/README.md` excuses, with their reasons: rows of the table that start with
/// a name in backquotes.
pub fn known_differences() -> BTreeMap<String, String> {
    let text = fs::read_to_string(fixture("README.md")).expect("fixtures/README.md");
    text.lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .filter_map(|line| {
            let (name, rest) = line.split_once("` |")?;
            let reason = rest.trim().trim_end_matches('|').trim();
            Some((name.to_owned(), reason.to_owned()))
        })
        .collect()
}

/// The replay of one file: the id of this world for each recorded id.
#[derive(Debug)]
pub struct Replay {
    recorded_at: Timestamp,
    ids: HashMap<String, String>,
}

impl Replay {
    /// Starts a replay.
    pub fn new(recording: &Recording) -> Self {
        Self { recorded_at: recording.recorded_at, ids: HashMap::new() }
    }

    /// Returns the request for this world: recorded ids are replaced by those of this world.
    pub fn request(&self, exchange: &Exchange) -> Request<Bytes> {
        let recorded = &exchange.request;
        let mut target = self.here(&recorded.path);
        if !recorded.query.is_empty() {
            target.push('?');
            target.push_str(&self.here(&recorded.query));
        }
        let mut builder = Request::builder().method(recorded.method.as_str()).uri(target);
        for (name, value) in &recorded.headers {
            if let Some(value) = value {
                builder = builder.header(name, value);
            }
        }
        builder.body(self.body(recorded)).expect("a valid request")
    }

    fn body(&self, recorded: &RecordedRequest) -> Bytes {
        if let Some(generated) = &recorded.body_generated {
            let mut object = generated.json_object.clone();
            object.insert(generated.field.clone(), large_text(&generated.value).into());
            return Bytes::from(Value::Object(object).to_string());
        }
        match &recorded.body {
            Value::Null => Bytes::new(),
            Value::String(text) if recorded.body_is_raw => {
                let text = self.here(text);
                Bytes::from(text.chars().map(|c| c as u8).collect::<Vec<u8>>())
            }
            body => Bytes::from(self.here(&body.to_string())),
        }
    }

    /// Replaces the recorded ids in a text.
    pub fn here(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(id) = rest.get(..36).filter(|id| is_id(id)) {
                out.push_str(self.ids.get(id).map_or(id, String::as_str));
                rest = &rest[36..];
            } else {
                let step = rest.chars().next().map_or(1, char::len_utf8);
                out.push_str(&rest[..step]);
                rest = &rest[step..];
            }
        }
        out
    }

    /// Compares an answer with the recorded one, learns which ids correspond, and returns the first
    /// difference.
    pub fn compare(&mut self, exchange: &Exchange, response: &Response<Bytes>) -> Result<(), String> {
        let recorded = &exchange.response;
        let body = plain_body(response);
        // Ids are learned even if something else differs, so that one difference does not cause more.
        let parsed: Value = serde_json::from_slice(&body).unwrap_or_else(|_| {
            if body.is_empty() { Value::Null } else { Value::String(String::from_utf8_lossy(&body).into_owned()) }
        });
        let any_order = ANY_ORDER.contains(&exchange.name.as_str());
        let same_body = if any_order { sorted_texts(&recorded.body) == sorted_texts(&parsed) } else { true };
        let body_result = if any_order {
            same_body.then_some(()).ok_or("other rows".to_owned())
        } else {
            self.same(&recorded.body, &parsed, "")
        };
        if response.status().as_u16() != recorded.status {
            return Err(format!(
                "status {} instead of {}: {}",
                response.status().as_u16(),
                recorded.status,
                short(&parsed)
            ));
        }
        self.same_headers(recorded, response.headers())?;
        body_result
    }

    fn same_headers(&self, recorded: &RecordedResponse, headers: &HeaderMap) -> Result<(), String> {
        let sent = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        for name in SAME_HEADERS {
            let there = recorded.headers.get(name).map(|value| self.here(value));
            if there.as_deref() != sent(name) {
                return Err(format!("{name}: {:?} instead of {there:?}", sent(name)));
            }
        }
        for name in PRESENT_HEADERS {
            if recorded.headers.contains_key(name) != headers.contains_key(name) {
                return Err(format!("{name}: only on one side"));
            }
        }
        let wait = |text: &str| text.parse::<i64>().ok();
        match (recorded.headers.get("retry-after").and_then(|text| wait(text)), sent("retry-after").and_then(wait))
        {
            (None, None) => Ok(()),
            (Some(there), Some(here)) if (there - here).abs() <= 5 => Ok(()),
            (there, here) => Err(format!("retry-after: {here:?} instead of {there:?}")),
        }
    }

    fn same(&mut self, there: &Value, here: &Value, path: &str) -> Result<(), String> {
        match (there, here) {
            (Value::Object(a), Value::Object(b)) => {
                for (key, value) in a {
                    let below = format!("{path}.{key}");
                    let Some(other) = b.get(key) else {
                        return Err(format!("{below} is missing"));
                    };
                    // A random icon, a clock reading, the content of a link's page.
                    let free = match key.as_str() {
                        "logo_props" => value.get("icon").is_some() && other.get("icon").is_some(),
                        "epoch" => value.is_number() && other.is_number(),
                        "metadata" => value.is_object() && other.is_object(),
                        _ => false,
                    };
                    if !free {
                        self.same(value, other, &below)?;
                    }
                }
                match b.keys().find(|key| !a.contains_key(*key)) {
                    Some(extra) => Err(format!("{path}.{extra} should not be there")),
                    None => Ok(()),
                }
            }
            (Value::Array(a), Value::Array(b)) => {
                for (index, (value, other)) in a.iter().zip(b).enumerate() {
                    self.same(value, other, &format!("{path}[{index}]"))?;
                }
                if a.len() == b.len() {
                    Ok(())
                } else {
                    Err(format!("{path}: {} rows instead of {}", b.len(), a.len()))
                }
            }
            (Value::String(a), Value::String(b)) => self.same_text(a, b, path),
            (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => Ok(()),
            (a, b) if a == b => Ok(()),
            (a, b) => Err(format!("{path}: {} instead of {}", short(b), short(a))),
        }
    }

    fn same_text(&mut self, there: &str, here: &str, path: &str) -> Result<(), String> {
        let differ = || Err(format!("{path}: {here:?} instead of {there:?}"));
        if is_id(there) && is_id(here) {
            if is_fixed(there) {
                return if there == here { Ok(()) } else { differ() };
            }
            return match self.ids.get(there) {
                Some(known) if known == here => Ok(()),
                Some(_) => differ(),
                None if self.ids.values().any(|taken| taken == here) => differ(),
                None => {
                    self.ids.insert(there.to_owned(), here.to_owned());
                    Ok(())
                }
            };
        }
        if let (Some((at, zone)), Some((_, other_zone))) = (instant(there), instant(here)) {
            let seconds = at.duration_since(self.recorded_at).as_secs().abs();
            // Set by the clock: any value is accepted, but the offset must agree.
            if seconds < 86_400 {
                return if zone == other_zone { Ok(()) } else { differ() };
            }
        }
        if let Some(size) = there.strip_prefix("<generated, ").and_then(|rest| rest.strip_suffix(" characters>")) {
            return if size == here.chars().count().to_string() { Ok(()) } else { differ() };
        }
        if self.here(there) == here { Ok(()) } else { differ() }
    }
}

/// Checks for ids that are the same in every world: those of the seed, and the one that exists nowhere.
fn is_fixed(id: &str) -> bool {
    id.starts_with("00000000-0000-4000-") || id.starts_with("deadbeef-")
}

fn is_id(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
        })
}

/// An instant and the text of its offset.
fn instant(text: &str) -> Option<(Timestamp, &str)> {
    let zone = text.strip_suffix('Z').map_or_else(
        || text.get(text.len().checked_sub(6)?..).filter(|zone| zone.starts_with(['+', '-'])),
        |_| Some("Z"),
    )?;
    let at: Timestamp = text.parse().ok()?;
    text.contains('T').then_some((at, zone))
}

fn sorted_texts(body: &Value) -> Vec<String> {
    let rows = body.get("results").and_then(Value::as_array);
    let mut texts: Vec<String> = rows.into_iter().flatten().map(Value::to_string).collect();
    texts.sort_unstable();
    texts
}

/// `literal + N times c + literal`.
fn large_text(recipe: &str) -> String {
    recipe
        .split(" + ")
        .map(|part| match part.split_once(" times ") {
            Some((count, text)) => text.repeat(count.parse().expect("a count")),
            None => part.to_owned(),
        })
        .collect()
}

/// The body, unpacked from gzip with stored blocks.
fn plain_body(response: &Response<Bytes>) -> Vec<u8> {
    let body = response.body();
    if response.headers().get("content-encoding").is_none() {
        return body.to_vec();
    }
    let mut out = Vec::new();
    let mut rest = body.get(10..).unwrap_or_default();
    while let [last, a, b, _, _, data @ ..] = rest {
        let length = usize::from(u16::from_le_bytes([*a, *b]));
        out.extend_from_slice(&data[..length]);
        rest = &data[length..];
        if *last == 1 {
            break;
        }
    }
    out
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(200) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
