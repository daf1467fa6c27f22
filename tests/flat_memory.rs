//! Flat memory: 100 MB up and 100 MB down through the pass-through, and (with LONG_TESTS=1) the export of an
//! audit log of a million entries.
//!
//! The tests have a process of their own and run one after the other, so that the peak of resident memory is theirs.
//! The receiving sides pause, so that a gateway that reads ahead without bounds would show in both measures: the
//! resident memory, and the bytes that have been sent but not received.

#[path = "support/mod.rs"]
mod support;

use bytes::Bytes;
use causeway::context::Context;
use causeway::edge::{
    Body, BodyError, Condition, PassThrough, Readiness, Surface, V2Answer, V2Service, serve, stack,
};
use causeway::load::{Memory, Share};
use causeway::refusal::Refusal;
use causeway::settings::{HttpAddress, Settings};
use causeway::store::{AuditStart, Store};
use causeway::task::spawn;
use futures_util::future::BoxFuture;
use futures_util::stream;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use support::audit::{ACME, fill, oldest_first};
use tokio::net::TcpListener;
use tokio::sync::Mutex;

const PIECE: usize = 64 * 1024;
const TOTAL: usize = 1600 * PIECE;
/// Bytes between two pauses of the receiver.
const PAUSE_EVERY: usize = 160 * PIECE;
/// Bound far below the size of a transfer and far above the buffers of the sockets.
const MOST_IN_FLIGHT: usize = 48 * 1024 * 1024;
const MOST_GROWTH: usize = 48 * 1024 * 1024;

/// Bytes sent and received, and the greatest difference seen.
#[derive(Default)]
struct Flight {
    sent: AtomicUsize,
    received: AtomicUsize,
    most: AtomicUsize,
}

impl Flight {
    fn send(&self) {
        let sent = self.sent.fetch_add(PIECE, Ordering::SeqCst) + PIECE;
        let under_way = sent.saturating_sub(self.received.load(Ordering::SeqCst));
        self.most.fetch_max(under_way, Ordering::SeqCst);
    }

    async fn receive(&self, mut body: Incoming) -> usize {
        let mut paused = 0;
        while let Some(frame) = body.frame().await {
            let size = frame.unwrap().data_ref().map_or(0, Bytes::len);
            let received = self.received.fetch_add(size, Ordering::SeqCst) + size;
            if received / PAUSE_EVERY > paused {
                paused = received / PAUSE_EVERY;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
        self.received.load(Ordering::SeqCst)
    }

    /// Returns a body of [`TOTAL`] bytes that counts the bytes taken from it.
    fn body(self: &Arc<Self>) -> Body {
        let (flight, piece) = (self.clone(), Bytes::from(vec![b'x'; PIECE]));
        let frames = (0..TOTAL / PIECE).map(move |_| {
            flight.send();
            Ok::<_, BodyError>(Frame::data(piece.clone()))
        });
        StreamBody::new(stream::iter(frames)).boxed_unsync()
    }

    fn assert_bounded(&self, what: &str) {
        let most = self.most.load(Ordering::SeqCst);
        assert!(most < MOST_IN_FLIGHT, "{what}: {most} bytes under way at once");
    }
}

/// Stand-in for v2, which this test does not use.
struct NoV2;

impl V2Service for NoV2 {
    fn answer(&self, _request: Request<Body>, _context: Context) -> BoxFuture<'static, Result<V2Answer, Refusal>> {
        Box::pin(std::future::ready(Err(Refusal::not_found())))
    }
}

impl Readiness for NoV2 {
    fn ready(&self) -> BoxFuture<'static, Result<Condition, Refusal>> {
        Box::pin(std::future::ready(Ok(Condition { status: "ready", ..Condition::default() })))
    }
}

/// Starts a v1 that receives uploads (POST) and sends downloads (GET).
async fn start_v1(up: Arc<Flight>, down: Arc<Flight>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (up, down) = (up.clone(), down.clone());
            let service = hyper::service::service_fn(move |request| answer_v1(request, up.clone(), down.clone()));
            spawn(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(socket), service));
        }
    });
    address
}

async fn answer_v1(
    request: Request<Incoming>,
    up: Arc<Flight>,
    down: Arc<Flight>,
) -> Result<Response<Body>, Infallible> {
    if request.method() == http::Method::GET {
        return Ok(Response::new(down.body()));
    }
    let received = up.receive(request.into_body()).await;
    Ok(Response::new(causeway::edge::full(received.to_string())))
}

async fn start_gateway(upstream: &str) -> String {
    let settings = Settings::default();
    let base = HttpAddress::parse(upstream).unwrap();
    let pass_through = PassThrough::new(&base, &settings.upstream, settings.public.clone()).unwrap();
    let surface = Surface {
        v2: Arc::new(NoV2),
        pages: Vec::new(),
        pass_through,
        readiness: Arc::new(NoV2),
        counting: None,
        traces: None,
        requests: Arc::new(causeway::tally::Requests::new(Vec::new())),
    };
    let memory = Memory::new(settings.limits.memory, Share(settings.limits.share));
    let stack = stack(&settings, surface, memory.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    spawn(async move { serve(listener, stack, &settings, memory, None, std::future::pending::<()>()).await });
    address
}

static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());

/// Resets the kernel's peak of memory and returns the resident memory.
fn starting_memory() -> usize {
    std::fs::write("/proc/self/clear_refs", "5").expect("the peak can be forgotten");
    memory("VmRSS:")
}

/// Returns a line of `/proc/self/status` in bytes.
fn memory(name: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_whitespace().find_map(|word| word.parse::<usize>().ok()).unwrap() * 1024
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_transfers_stream_both_ways() {
    let _turn = ONE_AT_A_TIME.lock().await;
    let before = starting_memory();
    let (up, down) = (Arc::new(Flight::default()), Arc::new(Flight::default()));
    let gateway = start_gateway(&start_v1(up.clone(), down.clone()).await).await;
    let client = Client::builder(TokioExecutor::new()).build_http::<Body>();
    let address = format!("{gateway}/api/v1/file/");

    let upload = client.request(Request::post(&address).body(up.body()).unwrap()).await.unwrap();
    assert_eq!(upload.into_body().collect().await.unwrap().to_bytes(), TOTAL.to_string());
    let download = client.request(Request::get(&address).body(causeway::edge::empty()).unwrap()).await.unwrap();
    assert_eq!(down.receive(download.into_body()).await, TOTAL);

    up.assert_bounded("upload");
    down.assert_bounded("download");
    let growth = memory("VmHWM:").saturating_sub(before);
    assert!(growth < MOST_GROWTH, "resident memory grew by {growth} bytes");
    println!(
        "most under way: {} up, {} down; memory grew by {growth}",
        up.most.load(Ordering::SeqCst),
        down.most.load(Ordering::SeqCst)
    );
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_million_audit_entries_are_exported_page_by_page() {
    if std::env::var_os("LONG_TESTS").is_none_or(|value| value != "1") {
        return;
    }
    const ENTRIES: usize = 1_000_000;
    let _turn = ONE_AT_A_TIME.lock().await;
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("store.db").display());
    let store = Store::open(&url, "https://tracker.example").await.unwrap();
    fill(&store, ENTRIES).await;
    store.close().await;
    let store = Store::open(&url, "https://tracker.example").await.unwrap();
    let before = starting_memory();
    let (mut query, mut seen, mut last) = (oldest_first(), 0, None);
    loop {
        let page = store.audit_page(ACME, &query).await.unwrap().read().unwrap();
        seen += page.rows.len();
        for row in &page.rows {
            let place = Some((row.created_at, row.id));
            assert!(last < place, "nothing twice, nothing out of order");
            last = place;
        }
        let Some((at, id)) = last.filter(|_| page.more) else { break };
        query.start = AuditStart::After(at, id);
    }
    assert_eq!(seen, ENTRIES);
    let growth = memory("VmHWM:").saturating_sub(before);
    assert!(growth < MOST_GROWTH, "resident memory grew by {growth} bytes");
    println!("{ENTRIES} entries; memory grew by {growth}");
}
