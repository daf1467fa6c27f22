//! The cost of the strict door for the head of a usual request, compared with all of hyper's work for the same request:
//! reading the head, calling a service, writing an answer without a body. Both work on the same bytes in memory, in
//! turns.
//!
//! `cargo bench --bench door` prints the time and the allocations of one request; with `-- --check` it also fails when
//! the door costs more than its limit.
//!
//! May use: the public interface of the crate.

use causeway::edge::door::{Gate, Limits, Verdicts, admit};
use causeway::load::{Asker, Memory};
use causeway::settings::Settings;
use http::{Request, Response};
use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::process::ExitCode;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Limits of `--check`: the time with the door divided by the time without it, and allocations of the door.
const MOST_TIME: f64 = 3.5;
const MOST_ALLOCATIONS: f64 = 6.5;
/// Requests of one turn, all on one connection.
const REQUESTS: u32 = 1_000;
/// Turns of each of the two, one after the other; the fastest are compared, and they are short so that some run
/// undisturbed.
const TURNS: usize = 500;

/// A head as the vendor's SDK sends it through a proxy.
const HEAD: &str = "GET /api/v2/workspaces/acme/projects/00000000-0000-4000-c000-000000000001/work-items/?per_page=50&order_by=-created_at HTTP/1.1\r\n\
    Host: gateway.example.com\r\n\
    User-Agent: python-requests/2.32.3\r\n\
    Accept-Encoding: gzip, deflate\r\n\
    Accept: application/json\r\n\
    Connection: keep-alive\r\n\
    Content-Type: application/json\r\n\
    X-Api-Key: 0123456789abcdef0123456789abcdef\r\n\
    X-Forwarded-For: 203.0.113.7\r\n\
    X-Forwarded-Proto: https\r\n\
    X-Request-Id: 5b0f6b1e-6a57-4a08-8f3e-6ad2a5a0a9b1\r\n\r\n";

/// A socket that delivers the next request when the last one is answered.
struct Feed {
    left: u32,
    /// Bytes of the present request that were read.
    read: usize,
    waiting: bool,
    reader: Option<Waker>,
}

impl AsyncRead for Feed {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.waiting {
            self.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        if self.left > 0 {
            let rest = &HEAD.as_bytes()[self.read..];
            let here = rest.len().min(buf.remaining());
            buf.put_slice(&rest[..here]);
            self.read += here;
            if here == rest.len() {
                (self.left, self.read, self.waiting) = (self.left - 1, 0, true);
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Feed {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.waiting = false;
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn feed() -> Feed {
    Feed { left: REQUESTS, read: 0, waiting: false, reader: None }
}

fn nothing() -> Result<Response<Empty<Bytes>>, Infallible> {
    Ok(Response::new(Empty::new()))
}

async fn bare() {
    let service = service_fn(|_: Request<Incoming>| async { nothing() });
    let served = Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(feed()), service).await;
    served.expect("every request is answered");
}

async fn with_door(settings: &Settings) {
    let verdicts = Verdicts::default();
    let room = Memory::unlimited().reservation(Asker::default());
    let gate = Gate::new(feed(), Limits::of(&settings.listen, 65_535), verdicts.clone(), room);
    let service = service_fn(|request: Request<Incoming>| {
        assert!(verdicts.of_next().is_none());
        let (mut parts, body) = request.into_parts();
        admit(&mut parts, settings.edge).expect("a request that is let in");
        drop(Request::from_parts(parts, body));
        async { nothing() }
    });
    let served = Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(gate), service).await;
    served.expect("every request is answered");
}

/// Time and allocations of one request of a turn.
struct Cost {
    time: Duration,
    allocations: f64,
}

fn cost(turn: impl FnOnce()) -> Cost {
    let (region, begun) = (Region::new(ALLOCATOR), Instant::now());
    turn();
    let (time, made) = (begun.elapsed() / REQUESTS, region.change());
    Cost { time, allocations: (made.allocations + made.reallocations) as f64 / f64::from(REQUESTS) }
}

fn fastest(turns: Vec<Cost>) -> Cost {
    turns.into_iter().min_by_key(|cost| cost.time).expect("a turn")
}

fn main() -> ExitCode {
    let check = std::env::args().any(|argument| argument == "--check");
    let settings = Settings::default();
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        without.push(cost(|| runtime.block_on(bare())));
        with.push(cost(|| runtime.block_on(with_door(&settings))));
    }
    let (without, with) = (fastest(without), fastest(with));
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    let ratio = with.time.as_secs_f64() / without.time.as_secs_f64();
    let more = with.allocations - without.allocations;
    println!("{:<24} {:>7.2} µs {:>7.1} allocations", "hyper", micros(without.time), without.allocations);
    println!("{:<24} {:>7.2} µs {:>7.1} allocations", "hyper behind the door", micros(with.time), with.allocations);
    println!("{:<24} {ratio:>7.2}    {more:>7.1} allocations more", "ratio");
    if check && (ratio > MOST_TIME || more > MOST_ALLOCATIONS) {
        eprintln!("the door costs more than {MOST_TIME} times hyper, or more than {MOST_ALLOCATIONS} allocations");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
