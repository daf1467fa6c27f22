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
//! A call that matches nothing is answered 599, which the code under test cannot take for an answer of v1.

use super::exchange::Delivery;
pub use super::exchange::{Exchange, Gate, Seen};
use super::wire::WireRequest;
use causeway::task::spawn;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

#[derive(Default)]
struct Script {
    exchanges: Vec<Exchange>,
    in_order: bool,
    dropped_connections: u32,
    /// Number of requests of which a byte has arrived.
    begun: usize,
    /// Number of requests that ended in their middle.
    broken_off: usize,
    seen: Vec<Seen>,
    unexpected: Vec<String>,
    finished: bool,
}

impl Script {
    /// Returns the exchange for a request and marks it as used.
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
        spawn(accept(listener, Arc::clone(&script)));
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

    /// Closes the next `connections` connections before anything is read from them.
    pub fn drop_before_reading(&self, connections: u32) {
        self.script().dropped_connections += connections;
    }

    /// Returns all requests so far, in order.
    pub fn seen(&self) -> Vec<Seen> {
        self.script().seen.clone()
    }

    /// Number of calls that arrived.
    pub fn calls(&self) -> usize {
        self.script().seen.len()
    }

    /// Waits until this many calls have arrived; with [`Exchange::held`] a test can act while v1 is
    /// "thinking". Gives up after a minute.
    pub async fn until_called(&self, calls: usize) {
        self.until_counted("calls", calls, |script| script.seen.len()).await;
    }

    /// Waits until the beginning of this many requests has arrived, whole ones included.
    pub async fn until_begun(&self, requests: usize) {
        self.until_counted("requests that began", requests, |script| script.begun).await;
    }

    /// Waits until this many requests have ended in their middle.
    pub async fn until_broken_off(&self, requests: usize) {
        self.until_counted("requests that were broken off", requests, |script| script.broken_off).await;
    }

    async fn until_counted(&self, what: &str, wanted: usize, count: fn(&Script) -> usize) {
        let counted = || count(&self.script());
        let arrived = async {
            while counted() < wanted {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(60), arrived).await;
        assert!(waited.is_ok(), "v1 had {} {what}, not {wanted}", counted());
    }

    /// Ends the script: neither earlier nor later calls are judged.
    pub fn abandon(&self) {
        self.script().finished = true;
    }

    /// Fails with a report unless every exchange of the script was used.
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
        // Two statements: the lock of the first must be gone when the second takes it.
        let finished = self.script().finished;
        let report = if finished { None } else { self.script().report() };
        if let Some(report) = report.filter(|_| !std::thread::panicking()) {
            panic!("{report}");
        }
    }
}

/// A base URL at which nothing listens: connections to it are refused.
pub async fn nobody() -> String {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a free port");
    let base_url = format!("http://{}", socket.local_addr().expect("an address"));
    // The address stays taken for the rest of the run.
    std::mem::forget(socket);
    base_url
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
            spawn(serve(stream, Arc::clone(&script)));
        }
    }
}

/// Serves one connection until it ends: HTTP/1.1 with kept-alive connections and bodies by length.
async fn serve(mut stream: TcpStream, script: Arc<Mutex<Script>>) {
    let mut buffer = Vec::new();
    while !buffer.is_empty() || stream.peek(&mut [0]).await.is_ok_and(|bytes| bytes > 0) {
        script.lock().unwrap_or_else(PoisonError::into_inner).begun += 1;
        let Some(seen) = read_request(&mut stream, &mut buffer).await else {
            script.lock().unwrap_or_else(PoisonError::into_inner).broken_off += 1;
            return;
        };
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

/// Sends the answer and returns whether the connection stays open.
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
    let WireRequest { method, target, headers, body } = WireRequest::read(stream, buffer).await?;
    let headers: BTreeMap<String, String> = headers.into_iter().collect();
    let target = target.strip_prefix("/api/v1/").map(str::to_owned).unwrap_or(target);
    Some(Seen { method, target, key: headers.get("x-api-key").cloned(), headers, body, at: Instant::now() })
}
