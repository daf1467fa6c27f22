//! A gateway on a free port in front of a scripted v2 and a scripted v1, and raw exchanges with it. May use:
//! `context`, `load`, `refusal`, `settings`, `tally`, `v2`, this folder.

use crate::context::Context;
use crate::edge::{
    Body, Condition, Pages, PassThrough, Readiness, Stack, Surface, V2Answer, V2Service, WriteObserver,
};
use crate::edge::{full, read_body, serve, stack};
use crate::load::{Memory, Share};
use crate::refusal::Refusal;
use crate::settings::{HttpAddress, Settings};
use crate::v2::Reply;
use futures_util::future::BoxFuture;
use http::{HeaderMap, Method, Request, Response};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore, oneshot};
use tokio::task::JoinHandle;

/// Time after which a test gives up; no test depends on being faster.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Bytes of the answer to `large`.
pub const LARGE: usize = 8 * 1024 * 1024;

/// A v2 that answers by the last part of the path.
#[derive(Default)]
pub struct Script {
    /// Notified when `wait` has begun.
    pub began: Notify,
    /// Lets `wait` continue.
    pub go_on: Notify,
}

impl V2Service for Arc<Script> {
    fn answer(&self, request: Request<Body>, context: Context) -> BoxFuture<'static, Result<V2Answer, Refusal>> {
        let script = self.clone();
        let path = request.uri().path().to_owned();
        assert!(path != "/api/v2/panic-at-once/", "scripted panic at once");
        Box::pin(async move { script.play(&path, request, &context).await.map(V2Answer::Reply) })
    }
}

/// Ready as soon as it runs.
impl Readiness for Script {
    fn ready(&self) -> BoxFuture<'static, Result<Condition, Refusal>> {
        Box::pin(std::future::ready(Ok(Condition { status: "ready", ..Condition::default() })))
    }
}

impl Script {
    async fn play(&self, path: &str, request: Request<Body>, context: &Context) -> Result<Reply, Refusal> {
        if !matches!(*request.method(), Method::GET | Method::POST) {
            return Err(Refusal::MethodNotAllowed { allow: vec!["GET", "POST"] });
        }
        match path.trim_start_matches("/api/v2/") {
            "ok/" => {
                context.meter.record(Duration::from_millis(5));
                context.meter.record(Duration::from_millis(6));
                Ok(Reply::json(200, "{\"ok\":true}"))
            }
            "large/" => Ok(Reply::json(200, vec![b' '; LARGE])),
            "none/" => Ok(Reply::no_content()),
            "panic/" => panic!("scripted panic"),
            "hang/" => std::future::pending().await,
            "wait/" => {
                self.began.notify_one();
                self.go_on.notified().await;
                Ok(Reply::json(200, "{}"))
            }
            "echo/" => Ok(Reply::json(200, read_body(request.into_body(), 1024).await?)),
            _ => Err(Refusal::not_found()),
        }
    }
}

/// A page below the v2 prefix.
struct OnePage;

impl Pages for OnePage {
    fn has(&self, path: &str) -> bool {
        path == "/api/v2/docs/"
    }

    fn answer(&self, _: Request<Body>, _: Context) -> BoxFuture<'static, Result<Response<Body>, Refusal>> {
        Box::pin(std::future::ready(Ok(Response::new(full("<!doctype html>")))))
    }
}

/// Refuses requests with a token that looks like one of the gateway.
fn no_gateway_tokens(headers: &HeaderMap) -> Result<(), Refusal> {
    let own = headers.get("authorization").is_some_and(|value| value == "Bearer own");
    if own { Err(Refusal::Unauthorized { detail: "Not for v1.".into() }) } else { Ok(()) }
}

/// A running gateway; it stops on request or when dropped.
pub struct Gateway {
    pub address: SocketAddr,
    pub script: Arc<Script>,
    pub memory: Memory,
    stop: Option<oneshot::Sender<()>>,
    served: JoinHandle<std::io::Result<()>>,
}

impl Gateway {
    /// Starts a gateway with the default settings, changed by `change`, and without a v1.
    pub async fn start(change: impl FnOnce(&mut Settings)) -> Self {
        Self::before("http://127.0.0.1:1", change, None).await
    }

    /// Starts a gateway in front of `upstream`.
    pub async fn before(
        upstream: &str,
        change: impl FnOnce(&mut Settings),
        observer: Option<Arc<dyn WriteObserver>>,
    ) -> Self {
        let mut settings = Settings::default();
        change(&mut settings);
        let script = Arc::new(Script::default());
        let memory = Memory::new(settings.limits.memory, Share(settings.limits.share));
        let stack = surface(&settings, upstream, script.clone(), observer, memory.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let held = memory.clone();
        let served =
            tokio::spawn(async move { serve(listener, stack, &settings, held, None, stopped).await.map(drop) });
        Self { address, script, memory, stop: Some(stop), served }
    }

    /// Tells the gateway to stop, without waiting.
    pub fn stop(&mut self) {
        self.stop = None;
    }

    /// Waits until the gateway has stopped.
    pub async fn ended(self) {
        patiently(self.served).await.unwrap().unwrap();
    }

    /// Sends `request` on a connection of its own, and reads the answer until the connection ends.
    pub async fn exchange(&self, request: &str) -> Answer {
        let mut socket = self.connect().await;
        socket.write_all(request.as_bytes()).await.unwrap();
        Answer::read(&mut socket).await
    }

    /// Sends GET `path` on a connection of its own.
    pub async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "").await
    }

    /// Sends a request without a body; `headers` are complete lines.
    pub async fn ask(&self, method: &str, path: &str, headers: &str) -> Answer {
        self.exchange(&format!(
            "{method} {path} HTTP/1.1\r\nHost: gw.example\r\nConnection: close\r\n{headers}\r\n"
        ))
        .await
    }

    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }
}

fn surface(
    settings: &Settings,
    upstream: &str,
    script: Arc<Script>,
    observer: Option<Arc<dyn WriteObserver>>,
    memory: Memory,
) -> Stack {
    let base = HttpAddress::parse(upstream).unwrap();
    let mut pass_through = PassThrough::new(&base, &settings.upstream, settings.public.clone()).unwrap();
    pass_through.admit = no_gateway_tokens;
    pass_through.late_write = settings.store.late_write;
    if let Some(observer) = observer {
        pass_through.observer = observer;
    }
    let surface = Surface {
        readiness: Arc::clone(&script) as Arc<dyn Readiness>,
        v2: Arc::new(script),
        pages: vec![Arc::new(OnePage)],
        pass_through,
        counting: None,
        traces: None,
        requests: Arc::new(crate::tally::Requests::new(Vec::new())),
    };
    stack(settings, surface, memory)
}

/// An answer as it was received.
#[derive(Debug)]
pub struct Answer {
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    /// Reads until the other side closes.
    pub async fn read(socket: &mut (impl AsyncRead + Unpin)) -> Self {
        let mut bytes = Vec::new();
        patiently(socket.read_to_end(&mut bytes)).await.unwrap();
        Self::split(bytes)
    }

    fn split(bytes: Vec<u8>) -> Self {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").map_or(bytes.len(), |at| at + 4);
        Self { head: String::from_utf8_lossy(&bytes[..end]).to_lowercase(), body: bytes[end..].to_vec() }
    }

    pub fn status(&self) -> u16 {
        self.head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
    }

    /// Returns the value of a header (everything in lower case); `""` when it is missing.
    pub fn header(&self, name: &str) -> &str {
        let line = self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        line.unwrap_or("")
    }

    /// Returns the code of the problem in the body.
    pub fn code(&self) -> String {
        assert_eq!(self.header("content-type"), "application/problem+json", "{self:?}");
        let problem: serde_json::Value = serde_json::from_slice(&self.body).unwrap();
        assert_eq!(problem["status"], self.status());
        problem["code"].as_str().unwrap().to_owned()
    }
}

/// A v1 that reads one request per connection, stores it, and always answers the same bytes.
pub struct RawUpstream {
    pub address: String,
    pub received: Arc<Mutex<Vec<String>>>,
    /// Number of connections that the gateway has made.
    pub connections: Arc<AtomicUsize>,
    /// A permit for each exchange that the gateway ended before it was answered.
    pub closed: Arc<Semaphore>,
}

impl RawUpstream {
    /// Starts a v1 that answers `answer`; when that is empty, it never answers.
    pub async fn answering(answer: &'static [u8]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let (connections, closed) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
        let (log, accepted, ended) = (received.clone(), connections.clone(), closed.clone());
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                accepted.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(answer_once(socket, answer, log.clone(), ended.clone()));
            }
        });
        Self { address, received, connections, closed }
    }

    /// Returns the only request that was received.
    pub fn only_request(&self) -> String {
        let received = self.received.lock().unwrap();
        assert_eq!(received.len(), 1, "{received:?}");
        received[0].clone()
    }
}

async fn answer_once(mut socket: TcpStream, answer: &[u8], log: Arc<Mutex<Vec<String>>>, ended: Arc<Semaphore>) {
    let mut request = Vec::new();
    while !is_complete(&request) {
        if socket.read_buf(&mut request).await.unwrap_or(0) == 0 {
            break;
        }
    }
    log.lock().unwrap().push(String::from_utf8_lossy(&request).into_owned());
    if !answer.is_empty() && socket.write_all(answer).await.is_ok() {
        return;
    }
    let _ = socket.read_to_end(&mut request).await;
    ended.add_permits(1);
}

/// Checks whether a request head has arrived completely, and for chunked bodies the last chunk.
fn is_complete(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    match text.split_once("\r\n\r\n") {
        Some((head, body)) if head.to_lowercase().contains("transfer-encoding: chunked") => body.contains("0\r\n"),
        Some((head, body)) => body.len() >= content_length(head),
        None => false,
    }
}

fn content_length(head: &str) -> usize {
    let lower = head.to_lowercase();
    let value = lower.lines().find_map(|line| line.strip_prefix("content-length: ").map(str::to_owned));
    value.and_then(|value| value.parse().ok()).unwrap_or(0)
}

/// Returns the result of `work`; gives up only after a very long time.
pub async fn patiently<F: Future>(work: F) -> F::Output {
    tokio::time::timeout(PATIENCE, work).await.expect("the test has waited long enough")
}

/// Waits until `done` returns true.
pub async fn until(done: impl Fn() -> bool) {
    let waiting = async {
        while !done() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    patiently(waiting).await;
}
