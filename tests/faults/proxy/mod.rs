//! A proxy between the gateway and the embedded v1 that injects faults by seed, before and after v1 carries a
//! request out, and records the truth: what v1 executed for which request.
//!
//! ```ignore
//! let proxy = Proxy::before(sandbox, seed).await;
//! … let the gateway talk to `proxy.base_url()`; each of its v1 calls carries the request id of the client …
//! let did = proxy.did("request-7");
//! ```
//!
//! May use: the sandbox of the crate, `tests/support`.

mod kinds;
mod shapes;
mod wires;

use causeway::task::spawn;
pub use kinds::{KINDS, When};

use crate::support::random::Random;
use crate::support::wire::WireRequest as Call;
use bytes::Bytes;
use causeway::sandbox::Sandbox;
use http::Request;
use kinds::{Form, Shape};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::net::{TcpListener, TcpStream};
use wires::After;

/// Number of v1 records that are kept, to be shown in place of others.
const KEPT: usize = 200;

/// An answer as it is sent.
#[derive(Debug, Clone)]
pub struct Answer {
    method: String,
    status: u16,
    content_type: Option<&'static str>,
    gzip: bool,
    retry_after: Option<u32>,
    body: Vec<u8>,
    /// The announced length, when it is not that of the body.
    announced: Option<u64>,
}

/// The calls that v1 got for one request of a client.
#[derive(Debug, Clone, Default)]
pub struct Did {
    /// The faults it met, as positions in [`KINDS`].
    pub faults: Vec<usize>,
    /// Writes that v1 carried out: method, path, answer.
    pub executed: Vec<(String, String, Value)>,
    /// Writes that arrived at the proxy, executed or not: method, path and body.
    pub arrived: Vec<(String, String, Vec<u8>)>,
}

struct State {
    random: Random,
    percent: usize,
    did: HashMap<String, Did>,
    records: Vec<Value>,
    injected: BTreeMap<usize, usize>,
}

/// The proxy. It lives as long as the test's runtime.
pub struct Proxy {
    base_url: String,
    state: Arc<Mutex<State>>,
}

impl Proxy {
    /// Starts a proxy before this v1; it injects nothing until [`Proxy::inject`].
    pub async fn before(sandbox: &Sandbox, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base_url = format!("http://{}", listener.local_addr().expect("an address"));
        let state = Arc::new(Mutex::new(State {
            random: Random::new(seed),
            percent: 0,
            did: HashMap::new(),
            records: Vec::new(),
            injected: BTreeMap::new(),
        }));
        let (sandbox, shared) = (sandbox.clone(), Arc::clone(&state));
        spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                spawn(serve(stream, sandbox.clone(), Arc::clone(&shared)));
            }
        });
        Self { base_url, state }
    }

    /// Returns the address that the gateway uses for v1.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Lets `percent` percent of the later calls meet a fault.
    pub fn inject(&self, percent: usize) {
        lock(&self.state).percent = percent;
    }

    /// Returns the calls made for the request with this id.
    pub fn did(&self, request: &str) -> Did {
        lock(&self.state).did.get(request).cloned().unwrap_or_default()
    }

    /// Returns how often each kind was injected.
    pub fn injected(&self) -> BTreeMap<usize, usize> {
        lock(&self.state).injected.clone()
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Checks whether the call may change something at v1.
fn is_write(call: &Call) -> bool {
    call.method != "GET"
}

async fn serve(mut stream: TcpStream, sandbox: Sandbox, state: Arc<Mutex<State>>) -> Option<()> {
    let mut buffer = Vec::new();
    loop {
        let call = Call::read(&mut stream, &mut buffer).await?;
        let fault = pick(&state, &call);
        let executes = fault.is_none_or(|fault| KINDS[fault].when == When::After);
        let real = if executes { execute(&sandbox, &state, &call) } else { unexecuted(&call) };
        let after = match fault {
            None => wires::send(&mut stream, &real).await.ok()?,
            Some(fault) => answer(&mut stream, &state, &call, fault, &real).await?,
        };
        if matches!(after, After::Ends) {
            return None;
        }
    }
}

/// Picks the fault for this call, if any.
fn pick(state: &Mutex<State>, call: &Call) -> Option<usize> {
    let mut state = lock(state);
    if is_write(call) {
        let arrived = (call.method.clone(), call.path().to_owned(), call.body.clone());
        state.did.entry(call.header("x-request-id").to_owned()).or_default().arrived.push(arrived);
    }
    let percent = state.percent;
    if !state.random.chance(percent) {
        return None;
    }
    let kind = state.random.below(KINDS.len());
    // A fault that takes as long as the gateway's deadline comes seldom.
    (!KINDS[kind].is_slow() || state.random.chance(8)).then_some(kind)
}

async fn answer(
    stream: &mut TcpStream,
    state: &Mutex<State>,
    call: &Call,
    fault: usize,
    real: &Answer,
) -> Option<After> {
    let page = |status: u16| Answer {
        status,
        content_type: Some("text/html"),
        retry_after: matches!(status, 429 | 503).then_some(1),
        body: format!("<h1>{status}</h1>").into_bytes(),
        ..real.clone()
    };
    let json = |status: u16, body: &str| Answer {
        content_type: Some("application/json"),
        body: body.as_bytes().to_vec(),
        ..page(status)
    };
    let throttle = r#"{"error_code": 5900, "error_message": "RATE_LIMIT_EXCEEDED"}"#;
    let changed = match KINDS[fault].form {
        Form::Page(status) => Some(page(status)),
        Form::Json(status, body) => Some(json(status, body)),
        Form::OwnThrottle => Some(Answer { retry_after: Some(1), ..json(429, throttle) }),
        Form::Wire(_) => None,
        Form::Shape(shape) => match reshaped(state, call, shape, real) {
            Some(changed) => Some(changed),
            // The kind does not apply to this answer.
            None => return wires::send(stream, real).await.ok(),
        },
    };
    note(state, call, fault);
    match (changed, KINDS[fault].form) {
        (None, Form::Wire(wire)) => wires::fail(stream, wire, real).await.ok(),
        (changed, _) => wires::send(stream, changed.as_ref().unwrap_or(real)).await.ok(),
    }
}

fn reshaped(state: &Mutex<State>, call: &Call, shape: Shape, real: &Answer) -> Option<Answer> {
    let mut state = lock(state);
    let State { random, records, .. } = &mut *state;
    let is_person = call.path().ends_with("/users/me/") || call.path().ends_with("/members/");
    shapes::apply(shape, real, random, records, is_person)
}

fn note(state: &Mutex<State>, call: &Call, fault: usize) {
    let mut state = lock(state);
    *state.injected.entry(fault).or_default() += 1;
    state.did.entry(call.header("x-request-id").to_owned()).or_default().faults.push(fault);
}

fn unexecuted(call: &Call) -> Answer {
    Answer {
        method: call.method.clone(),
        status: 502,
        content_type: Some("application/json"),
        gzip: false,
        retry_after: None,
        body: b"{}".to_vec(),
        announced: None,
    }
}

fn execute(sandbox: &Sandbox, state: &Mutex<State>, call: &Call) -> Answer {
    let mut request = Request::builder().method(call.method.as_str()).uri(call.target.as_str());
    for (name, value) in &call.headers {
        request = request.header(name, value);
    }
    let request = request.body(Bytes::from(call.body.clone())).expect("a request");
    let (head, body) = sandbox.handle(request).into_parts();
    let shown: Value = serde_json::from_slice(&body).unwrap_or_default();
    let mut state = lock(state);
    if is_write(call) && head.status.is_success() {
        let executed = (call.method.clone(), call.path().to_owned(), shown.clone());
        state.did.entry(call.header("x-request-id").to_owned()).or_default().executed.push(executed);
    }
    if shown.get("id").is_some() && state.records.len() < KEPT {
        state.records.push(shown);
    }
    let is_json = head.headers.get("content-type").is_some_and(|kind| kind == "application/json");
    Answer {
        status: head.status.as_u16(),
        content_type: is_json.then_some("application/json"),
        body: body.to_vec(),
        ..unexecuted(call)
    }
}
