//! One exchange of a script: the expected request and its answer.
//!
//! May use: the recorded exchanges.

use super::recorded::recorded;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Holds answers back until the test opens it; clones are the same gate.
#[derive(Debug, Clone)]
pub struct Gate(Arc<watch::Sender<bool>>);

impl Default for Gate {
    fn default() -> Self {
        Self(Arc::new(watch::channel(false).0))
    }
}

impl Gate {
    /// Releases all waiting answers and all later ones.
    pub fn open(&self) {
        self.0.send_replace(true);
    }

    pub(super) async fn passed(&self) {
        let _ = self.0.subscribe().wait_for(|open| *open).await;
    }
}

/// The way in which the answer is sent.
#[derive(Debug, Clone)]
pub(super) enum Delivery {
    /// As valid HTTP.
    Whole,
    /// The connection is closed when the request has been read, without an answer.
    DropAfterReading,
    /// No `Content-Length`; the end of the connection is the end of the body.
    UntilClose,
    /// `Content-Length` is this many bytes larger than the sent body, then the connection is closed.
    ShortBy(usize),
}

/// How often an exchange is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Uses {
    Exactly(u32),
    Any,
}

/// One expected request and its answer.
#[derive(Debug, Clone)]
pub struct Exchange {
    pub(super) method: &'static str,
    pub(super) target: String,
    pub(super) key: Option<String>,
    pub(super) body: Option<Value>,
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) answer: Vec<u8>,
    pub(super) delivery: Delivery,
    pub(super) delay: Duration,
    pub(super) gate: Option<Gate>,
    pub(super) uses: Uses,
    pub(super) used: u32,
}

impl Exchange {
    /// A read of `target`: path below `/api/v1/`, with its query after `?` if it has one.
    pub fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    /// A create.
    pub fn post(target: &str) -> Self {
        Self::new("POST", target)
    }

    /// An update.
    pub fn patch(target: &str) -> Self {
        Self::new("PATCH", target)
    }

    /// A delete; answers 204 unless told otherwise.
    pub fn delete(target: &str) -> Self {
        Self { status: 204, headers: Vec::new(), answer: Vec::new(), ..Self::new("DELETE", target) }
    }

    /// An exchange that is answered with 200 `{}`.
    fn new(method: &'static str, target: &str) -> Self {
        Self {
            method,
            target: target.trim_start_matches("/api/v1/").to_owned(),
            key: None,
            body: None,
            status: 200,
            headers: json_type(),
            answer: b"{}".to_vec(),
            delivery: Delivery::Whole,
            delay: Duration::ZERO,
            gate: None,
            uses: Uses::Exactly(1),
            used: 0,
        }
    }

    /// The same exchange at another target.
    pub fn at(self, target: &str) -> Self {
        Self { target: target.trim_start_matches("/api/v1/").to_owned(), ..self }
    }

    /// Only requests with this key match; without it, any key does.
    pub fn key(self, key: &str) -> Self {
        Self { key: Some(key.into()), ..self }
    }

    /// Only requests with this JSON body match (compared as JSON); without it, any body does.
    pub fn body(self, body: Value) -> Self {
        Self { body: Some(body), ..self }
    }

    /// Answers with this status and JSON body.
    pub fn reply(self, status: u16, body: Value) -> Self {
        Self { status, headers: json_type(), answer: body.to_string().into_bytes(), ..self }
    }

    /// Answers with v1's answer of the recorded exchange `name` of `fixtures/v1/{file}.json`.
    pub fn recorded(self, file: &str, name: &str) -> Self {
        let record = recorded(file, name);
        let answer = match record.body {
            Value::Null => Vec::new(),
            Value::String(html) => html.into_bytes(),
            json => json.to_string().into_bytes(),
        };
        Self { status: record.status, headers: record.headers, answer, ..self }
    }

    /// Answers with this status and an HTML page.
    pub fn html(self, status: u16, page: &str) -> Self {
        let headers = vec![("content-type".into(), "text/html; charset=utf-8".into())];
        Self { status, headers, answer: page.as_bytes().to_vec(), ..self }
    }

    /// Answers with this status and these bytes, declared as JSON.
    pub fn raw(self, status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: json_type(), answer: body.into(), ..self }
    }

    /// Answers with JSON without its last `missing` bytes and with the correct length of the rest: only
    /// a parser notices.
    pub fn truncated_json(self, status: u16, body: Value, missing: usize) -> Self {
        let mut bytes = body.to_string().into_bytes();
        bytes.truncate(bytes.len() - missing);
        self.raw(status, bytes)
    }

    /// Answers with `bytes` bytes of well-formed JSON (a string).
    pub fn oversize(self, bytes: usize) -> Self {
        self.reply(200, Value::String("x".repeat(bytes.saturating_sub(2))))
    }

    /// Sends one more header with the answer.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Waits before answering. Prefer [`Exchange::held`], which does not depend on timing.
    pub fn delay(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// Answers when the gate is open.
    pub fn held(self, gate: &Gate) -> Self {
        Self { gate: Some(gate.clone()), ..self }
    }

    /// Reads the request and closes the connection without an answer.
    pub fn drop_after_reading(self) -> Self {
        Self { delivery: Delivery::DropAfterReading, ..self }
    }

    /// Announces `missing` bytes more than it sends, then closes the connection.
    pub fn wrong_length(self, missing: usize) -> Self {
        Self { delivery: Delivery::ShortBy(missing), ..self }
    }

    /// Sends the body without its length.
    pub fn without_length(self) -> Self {
        Self { delivery: Delivery::UntilClose, ..self }
    }

    /// Used exactly this often instead of once.
    pub fn times(self, times: u32) -> Self {
        Self { uses: Uses::Exactly(times), ..self }
    }

    /// Used any number of times, or never.
    pub fn repeated(self) -> Self {
        Self { uses: Uses::Any, ..self }
    }

    pub(super) fn is_open(&self) -> bool {
        match self.uses {
            Uses::Exactly(times) => self.used < times,
            Uses::Any => true,
        }
    }

    pub(super) fn is_unfinished(&self) -> bool {
        matches!(self.uses, Uses::Exactly(times) if self.used < times)
    }

    pub(super) fn matches(&self, seen: &Seen) -> bool {
        self.method == seen.method
            && self.target == seen.target
            && self.key.as_deref().is_none_or(|key| seen.key.as_deref() == Some(key))
            && self.body.as_ref().is_none_or(|body| seen.json().as_ref() == Some(body))
    }

    pub(super) fn describe(&self) -> String {
        let key = self.key.as_deref().unwrap_or("any key");
        let body = self.body.as_ref().map(|body| format!(" {body}")).unwrap_or_default();
        format!("{} {} ({key}){body} → {}, used {}×", self.method, self.target, self.status, self.used)
    }
}

fn json_type() -> Vec<(String, String)> {
    vec![("content-type".into(), "application/json".into())]
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Method.
    pub method: String,
    /// Path below `/api/v1/` with its query; the whole path when it is not below it.
    pub target: String,
    /// Value of `X-Api-Key`.
    pub key: Option<String>,
    /// All headers, names in lower case.
    pub headers: BTreeMap<String, String>,
    /// Body as received.
    pub body: Vec<u8>,
    /// Time of its arrival.
    pub at: Instant,
}

impl Seen {
    /// Returns the body as JSON, if it is JSON.
    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    pub(super) fn describe(&self) -> String {
        let key = self.key.as_deref().unwrap_or("no key");
        format!("{} {} ({key}) {}", self.method, self.target, String::from_utf8_lossy(&self.body))
    }
}
