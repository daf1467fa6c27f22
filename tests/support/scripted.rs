//! A scripted v1: a test double over real HTTP that answers exactly what a test has told it to.
//!
//! ```ignore
//! let v1 = ScriptedV1::start().await;
//! v1.expect(Exchange::get("users/me/").key("ada").recorded("users", "users_me_admin"));
//! v1.expect(Exchange::post("workspaces/acme/projects/…/labels/").body(json!({"name": "bug"})).reply(201, json!({…})));
//! … let the gateway talk to `v1.base_url()` …
//! v1.finish();
//! ```
//!
//! Every exchange is used exactly once unless it says otherwise ([`Exchange::times`],
//! [`Exchange::repeated`]). [`ScriptedV1::finish`] fails with a readable report when a call came that was
//! not in the script or an exchange was not used; a double that is dropped without `finish` does the
//! same. Exchanges may be used in any order, or in the order given with [`ScriptedV1::in_order`].
//! A call that matches nothing is answered 599, so that the code under test cannot take it for v1.

use super::recorded::recorded;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
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
    /// Lets everything through that waits now or comes later.
    pub fn open(&self) {
        self.0.send_replace(true);
    }

    async fn passed(&self) {
        let _ = self.0.subscribe().wait_for(|open| *open).await;
    }
}

/// How the answer goes over the wire.
#[derive(Debug, Clone)]
enum Delivery {
    /// As HTTP wants it.
    Whole,
    /// The connection is closed when the request has been read; nothing is answered.
    DropAfterReading,
    /// No `Content-Length`; the end of the connection is the end of the body.
    UntilClose,
    /// `Content-Length` says this many bytes more than are sent, then the connection is closed.
    ShortBy(usize),
}

/// How often an exchange is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Uses {
    Exactly(u32),
    Any,
}

/// One expected request and its answer.
#[derive(Debug, Clone)]
pub struct Exchange {
    method: &'static str,
    target: String,
    key: Option<String>,
    body: Option<Value>,
    status: u16,
    headers: Vec<(String, String)>,
    answer: Vec<u8>,
    delivery: Delivery,
    delay: Duration,
    gate: Option<Gate>,
    uses: Uses,
    used: u32,
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

    /// Without more words: answered 200 `{}`.
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

    /// Answers what v1 answered in the recorded exchange `name` of `fixtures/v1/{file}.json`.
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

    /// Answers with this status and these bytes, said to be JSON.
    pub fn raw(self, status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: json_type(), answer: body.into(), ..self }
    }

    /// Answers with JSON whose last `missing` bytes are cut off, the length of the rest being right: only
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

    /// Promises `missing` bytes more than are sent, then closes the connection.
    pub fn wrong_length(self, missing: usize) -> Self {
        Self { delivery: Delivery::ShortBy(missing), ..self }
    }

    /// Sends the body without saying how long it is.
    pub fn without_length(self) -> Self {
        Self { delivery: Delivery::UntilClose, ..self }
    }

    /// Used exactly this often instead of once.
    pub fn times(self, times: u32) -> Self {
        Self { uses: Uses::Exactly(times), ..self }
    }

    /// Used any number of times, also never.
    pub fn repeated(self) -> Self {
        Self { uses: Uses::Any, ..self }
    }

    fn is_open(&self) -> bool {
        match self.uses {
            Uses::Exactly(times) => self.used < times,
            Uses::Any => true,
        }
    }

    fn is_unfinished(&self) -> bool {
        matches!(self.uses, Uses::Exactly(times) if self.used < times)
    }

    fn matches(&self, seen: &Seen) -> bool {
        self.method == seen.method
            && self.target == seen.target
            && self.key.as_deref().is_none_or(|key| seen.key.as_deref() == Some(key))
            && self.body.as_ref().is_none_or(|body| seen.json().as_ref() == Some(body))
    }

    fn describe(&self) -> String {
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
}

impl Seen {
    /// The body as JSON, if it is.
    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    fn describe(&self) -> String {
        let key = self.key.as_deref().unwrap_or("no key");
        format!("{} {} ({key}) {}", self.method, self.target, String::from_utf8_lossy(&self.body))
    }
}

#[derive(Default)]
struct Script {
    exchanges: Vec<Exchange>,
    in_order: bool,
    dropped_connections: u32,
    seen: Vec<Seen>,
    unexpected: Vec<String>,
    finished: bool,
}

impl Script {
    /// The exchange for a request, marked as used.
    fn take(&mut self, seen: Seen) -> Option<Exchange> {
        self.seen.push(seen.clone());
        let in_order = self.in_order;
        let mut open = self.exchanges.iter_mut().filter(|exchange| exchange.is_open());
        let found =
            if in_order { open.next().filter(|next| next.matches(&seen)) } else { open.find(|e| e.matches(&seen)) };
        match found {
            Some(exchange) => {
                exchange.used += 1;
                Some(exchange.clone())
            }
            None => {
                self.unexpected.push(seen.describe());
                None
            }
        }
    }

    fn report(&self) -> Option<String> {
        let unused: Vec<_> =
            self.exchanges.iter().filter(|e| e.is_unfinished()).map(|e| format!("  {}", e.describe())).collect();
        let unexpected: Vec<_> = self.unexpected.iter().map(|line| format!("  {line}")).collect();
        if unused.is_empty() && unexpected.is_empty() {
            return None;
        }
        let order: Vec<_> = self.seen.iter().map(|seen| format!("  {}", seen.describe())).collect();
        let list = |title: &str, lines: &[String]| format!("{title}:\n{}\n", lines.join("\n"));
        Some(format!(
            "the script of v1 was not followed\n{}{}{}",
            list("calls that are not in the script", &unexpected),
            list("exchanges that were not used", &unused),
            list("all calls in order", &order)
        ))
    }
}

/// The double. Lives as long as the test's runtime.
pub struct ScriptedV1 {
    base_url: String,
    script: Arc<Mutex<Script>>,
}

impl ScriptedV1 {
    /// Listens on a free port of this machine.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base_url = format!("http://{}", listener.local_addr().expect("an address"));
        let script: Arc<Mutex<Script>> = Arc::default();
        tokio::spawn(accept(listener, Arc::clone(&script)));
        Self { base_url, script }
    }

    /// Exchanges must be used in the order in which they are expected.
    pub fn in_order(self) -> Self {
        self.script().in_order = true;
        self
    }

    /// Base URL for the settings of the code under test.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Adds an exchange to the script; also possible while calls are coming in.
    pub fn expect(&self, exchange: Exchange) -> &Self {
        self.script().exchanges.push(exchange);
        self
    }

    /// The next `connections` connections are closed before anything is read from them.
    pub fn drop_before_reading(&self, connections: u32) {
        self.script().dropped_connections += connections;
    }

    /// Everything that arrived, in order.
    pub fn seen(&self) -> Vec<Seen> {
        self.script().seen.clone()
    }

    /// Number of calls that arrived.
    pub fn calls(&self) -> usize {
        self.script().seen.len()
    }

    /// Waits until this many calls have arrived; with [`Exchange::held`] a test can act while v1 is
    /// "thinking". Gives up after 10 s.
    pub async fn until_called(&self, calls: usize) {
        let arrived = async {
            while self.calls() < calls {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(10), arrived).await;
        assert!(waited.is_ok(), "v1 was called {} times, not {calls}", self.calls());
    }

    /// Fails with a report unless the script was followed to the end.
    #[track_caller]
    pub fn finish(self) {
        let report = {
            let mut script = self.script();
            script.finished = true;
            script.report()
        };
        if let Some(report) = report {
            panic!("{report}");
        }
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ScriptedV1 {
    fn drop(&mut self) {
        let report = (!self.script().finished).then(|| self.script().report()).flatten();
        if let Some(report) = report.filter(|_| !std::thread::panicking()) {
            panic!("{report}");
        }
    }
}

/// A base URL at which nobody listens: connections to it are refused.
pub async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    format!("http://{}", listener.local_addr().expect("an address"))
}

async fn accept(listener: TcpListener, script: Arc<Mutex<Script>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let drop_it = {
            let mut script = script.lock().unwrap_or_else(PoisonError::into_inner);
            let drop_it = script.dropped_connections > 0;
            script.dropped_connections -= u32::from(drop_it);
            drop_it
        };
        if !drop_it {
            tokio::spawn(serve(stream, Arc::clone(&script)));
        }
    }
}

/// Serves one connection until it ends: HTTP/1.1 with kept-alive connections and bodies by length.
async fn serve(mut stream: TcpStream, script: Arc<Mutex<Script>>) {
    let mut buffer = Vec::new();
    while let Some(seen) = read_request(&mut stream, &mut buffer).await {
        let exchange = script.lock().unwrap_or_else(PoisonError::into_inner).take(seen);
        let exchange = exchange.unwrap_or_else(|| {
            Exchange::get("").reply(599, serde_json::json!({"error": "this call is not in the script"}))
        });
        tokio::time::sleep(exchange.delay).await;
        if let Some(gate) = &exchange.gate {
            gate.passed().await;
        }
        if !send(&mut stream, &exchange).await {
            return;
        }
    }
}

/// Whether the connection stays open.
async fn send(stream: &mut TcpStream, exchange: &Exchange) -> bool {
    let missing = match exchange.delivery {
        Delivery::DropAfterReading => return false,
        Delivery::ShortBy(missing) => missing,
        Delivery::Whole | Delivery::UntilClose => 0,
    };
    let mut head = format!("HTTP/1.1 {} Scripted\r\n", exchange.status);
    for (name, value) in &exchange.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let with_length = !matches!(exchange.delivery, Delivery::UntilClose);
    if with_length && exchange.status != 204 {
        head.push_str(&format!("content-length: {}\r\n", exchange.answer.len() + missing));
    }
    head.push_str("\r\n");
    let sent = async {
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(&exchange.answer).await?;
        stream.flush().await
    };
    sent.await.is_ok() && missing == 0 && with_length
}

async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Seen> {
    let head_end = loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        fill(stream, buffer).await?;
    };
    let head = String::from_utf8_lossy(&buffer[..head_end]).into_owned();
    let mut lines = head.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, target) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length: usize = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let end = head_end + 4 + length;
    while buffer.len() < end {
        fill(stream, buffer).await?;
    }
    let body = buffer[head_end + 4..end].to_vec();
    buffer.drain(..end);
    let target = target.strip_prefix("/api/v1/").map(str::to_owned).unwrap_or(target);
    Some(Seen { method, target, key: headers.get("x-api-key").cloned(), headers, body })
}

async fn fill(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<()> {
    let mut chunk = [0; 16 * 1024];
    let read = stream.read(&mut chunk).await.ok().filter(|read| *read > 0)?;
    buffer.extend_from_slice(&chunk[..read]);
    Some(())
}
