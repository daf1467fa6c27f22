//! Accepts connections (HTTP/1.1 and HTTP/2, plain or with TLS), and lets running requests finish at shutdown.
//!
//! May use: `boxed`, `load`, `refusal`, `settings`, `telemetry`, `edge::body`, `edge::connection`,
//! `edge::connections`, `edge::descriptors`, `edge::door`, `edge::ending`, `edge::leftover`, `edge::outgoing`,
//! `edge::public_base`, `edge::reception`, `edge::stack`, `edge::tls`, `edge::workers`.

use super::body::Body;
use super::connection::{Clock, Peer, Timed};
use super::connections::Connections;
use super::descriptors::affordable;
use super::door::{Gate, Limits, Unreadable, Verdicts};
use super::ending::Ending;
use super::leftover::read_on;
use super::outgoing::{HTTP2_PIECE, outgoing};
use super::public_base::Encrypted;
use super::reception::{Carry, Destinations, HEALTH, Reception};
use super::stack::Stack;
use super::tls::{Tls, speak_tls};
use super::workers::{Arrival, Converse, Handed, Workers};
use crate::boxed::boxed;
use crate::load::Memory;
use crate::refusal::Refusal;
use crate::settings::{ListenSettings, Settings};
use crate::telemetry::field;
use futures_util::FutureExt;
use http::header::CONNECTION;
use http::{HeaderValue, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;

/// Most concurrent requests on one HTTP/2 connection.
const HTTP2_STREAMS: u32 = 128;
/// Flow-control window in bytes of an HTTP/2 connection and of each of its streams: the bytes that a client can make
/// the gateway hold before they are read. It is the smallest initial value of the protocol.
const HTTP2_WINDOW: u32 = 65_535;
/// Measured bytes of buffers and tables of an HTTP/2 connection with the maximum number of streams.
const HTTP2_TABLES: u32 = 96 * 1024;
/// Bytes that may wait to be sent on an HTTP/2 stream.
const HTTP2_UNSENT: usize = 64 * 1024;
/// Streams that a client may open and cancel before the gateway has read them; with more the connection ends.
const HTTP2_CANCELLED: usize = 20;
/// Frames of a connection that may arrive for streams that were ended early, or that end a stream by another fault.
/// Honest clients cause next to none (`leftover`), but the count lasts as long as the connection.
const HTTP2_FAULTS: usize = 16 * 1024;

#[derive(Clone)]
struct Server {
    http: auto::Builder<TokioExecutor>,
    door: Limits,
    connections: Connections,
    memory: Memory,
    /// TLS of the connections; none when they are plain.
    tls: Option<Tls>,
}

/// Serves `stack` on `listener` until `shutdown` ends. Then it stops accepting, lets running requests finish for at
/// most the drain time, and closes the rest. The bytes that connections hold count in `memory`. With `tls`, only
/// `/healthz` is answered without TLS.
///
/// # Errors
/// When the threads that accept and carry connections cannot be started. Failures to accept are logged, and accepting
/// continues.
pub async fn serve(
    listener: TcpListener,
    stack: Stack,
    settings: &Settings,
    memory: Memory,
    tls: Option<Tls>,
    shutdown: impl Future,
) -> io::Result<Served> {
    let most = affordable(settings.listen.max_connections);
    if most < settings.listen.max_connections {
        tracing::warn!(most, "fewer connections than listen.max_connections: the process may open too few files");
    }
    let ending = Ending::default();
    let connections = Connections::new(most, settings, stack.traffic());
    let needs_tls = tls.is_some();
    let server = server(&settings.listen, connections.clone(), memory, tls);
    let healthy = carry_health_probes(Server { tls: None, ..server.clone() }, stack.clone(), needs_tls);
    let workers = Arc::new(Workers::start(&carrying(server, stack.clone()))?);
    let unprotected = Arc::new(move || speak_tls(stack.public_url().as_deref()));
    let ways = Destinations { needs_tls, healthy, workers: Arc::clone(&workers), unprotected };
    let mut reception = Reception::open(listener, connections, ending.clone(), &settings.listen, ways)?;
    shutdown.await;
    reception.close().await;
    drain(&ending, &workers, settings.listen.drain_time).await;
    workers.end().await;
    Ok(Served { _workers: workers, _reception: reception })
}

/// Threads that must outlive the connections: tasks that requests have started run on them until this is dropped.
pub struct Served {
    _workers: Arc<Workers>,
    _reception: Reception,
}

fn carrying(server: Server, stack: Stack) -> Converse {
    Arc::new(move |handed: Handed| {
        let (server, stack) = (server.clone(), stack.clone());
        let conversation = async move {
            if let Some(arrival) = handed.arrive() {
                converse(server, arrival, stack, OffWorker::Nothing).await;
            }
        };
        conversation.boxed()
    })
}

/// Carries connections whose first request is `/healthz`, on the runtime that accepted them. Any other request on such
/// a connection is run by the workers as usual, or is rejected when it needs TLS.
fn carry_health_probes(server: Server, stack: Stack, needs_tls: bool) -> Carry {
    let off_worker = match needs_tls {
        true => OffWorker::Refused,
        false => OffWorker::Workers(Handle::current()),
    };
    Arc::new(move |arrival| converse(server.clone(), arrival, stack.clone(), off_worker.clone()).boxed())
}

/// Handling of requests that are not answered on the runtime of their connection.
#[derive(Clone)]
enum OffWorker {
    /// There are no such requests.
    Nothing,
    /// The workers answer all requests but `/healthz`.
    Workers(Handle),
    /// All requests but `/healthz` are rejected, because they need TLS.
    Refused,
}

fn server(settings: &ListenSettings, connections: Connections, memory: Memory, tls: Option<Tls>) -> Server {
    let mut http = auto::Builder::new(TokioExecutor::new());
    http.http1()
        .timer(TokioTimer::new())
        .header_read_timeout(None)
        .max_buf_size(settings.max_header_size)
        .max_headers(settings.max_headers);
    http.http2()
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(settings.max_header_size).unwrap_or(u32::MAX))
        .max_concurrent_streams(HTTP2_STREAMS)
        .initial_stream_window_size(HTTP2_WINDOW)
        .initial_connection_window_size(HTTP2_WINDOW)
        .max_send_buf_size(HTTP2_UNSENT)
        .max_pending_accept_reset_streams(HTTP2_CANCELLED)
        .max_local_error_reset_streams(HTTP2_FAULTS);
    Server { http, door: Limits::of(settings, HTTP2_WINDOW + HTTP2_TABLES), connections, memory, tls }
}

/// Carries one connection until it ends, until a limit closes it, or until the drain time is over.
async fn converse(server: Server, arrival: Arrival, stack: Stack, off_worker: OffWorker) {
    let Arrival { socket, peer, clock, open, mut told } = arrival;
    if let Err(error) = socket.set_nodelay(true) {
        tracing::debug!({ field::CAUSE } = %error, "TCP_NODELAY could not be set");
    }
    let encrypted = server.tls.as_ref().map(|_| Encrypted);
    let socket = match &server.tls {
        None => Either::Left(socket),
        Some(tls) => match protected(tls, socket, peer, &clock).await {
            Some(begun) => Either::Right(begun),
            None => return,
        },
    };
    let (requests, verdicts) = (clock.clone(), Verdicts::default());
    let room = server.memory.reservation(server.connections.asker(peer.ip()));
    let gate = Gate::new(Timed::new(socket, clock.clone()), server.door, verdicts.clone(), room);
    let service = hyper::service::service_fn(move |mut request: Request<Incoming>| {
        if let Some(refusal) = verdicts.of_next() {
            request.extensions_mut().insert(Unreadable(refusal));
        }
        if let Some(encrypted) = encrypted {
            request.extensions_mut().insert(encrypted);
        }
        let (stack, clock, off_worker) = (stack.clone(), requests.clone(), off_worker.clone());
        // The future of each request has its own allocation, made when the request is first polled and freed when it is
        // answered. An HTTP/2 client begins a hundred requests at once, and each exists from the arrival of its head;
        // most are rejected when they are first polled.
        async move { boxed(|| answer(stack, request, peer, clock, off_worker)).await }
    });
    let mut connection = std::pin::pin!(server.http.serve_connection(TokioIo::new(gate), service));
    let mut expired = std::pin::pin!(clock.expired());
    let mut ending = std::pin::pin!(told.wait(&clock));
    let mut ends = false;
    loop {
        tokio::select! {
            // Arrived bytes are read before the stop signal is handled; else a request that came in time would be lost.
            biased;
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!({ field::PEER } = %peer, { field::CAUSE } = %error, "connection ended early");
                }
                break;
            }
            () = ending.as_mut(), if !ends => {
                ends = true;
                connection.as_mut().graceful_shutdown();
            }
            () = expired.as_mut() => {
                tracing::debug!({ field::PEER } = %peer, "connection closed by a limit");
                break;
            }
        }
    }
    drop(open);
}

/// Begins TLS; returns none when the connection ended meanwhile. The time limit for a request head applies here too,
/// and a connection that is given up for another one ends here as well.
async fn protected(tls: &Tls, socket: TcpStream, peer: SocketAddr, clock: &Clock) -> Option<TlsStream<TcpStream>> {
    let begun = tokio::select! {
        begun = tls.begin(socket) => begun,
        () = clock.expired() => return None,
    };
    if let Err(error) = &begun {
        tracing::debug!({ field::PEER } = %peer, { field::CAUSE } = %error, "TLS did not begin");
    }
    begun.ok()
}

async fn answer(
    stack: Stack,
    request: Request<Incoming>,
    peer: SocketAddr,
    clock: Clock,
    off_worker: OffWorker,
) -> Result<Response<Body>, Infallible> {
    let running = clock.request();
    let (mut request, rest) = read_on(request.map(super::body::incoming), &clock);
    request.extensions_mut().insert(Peer(peer));
    let mut response = match off_worker {
        OffWorker::Workers(workers) if request.uri().path() != HEALTH => {
            carried_out(&workers, async move { stack.answer(request).await }).await
        }
        OffWorker::Refused if request.uri().path() != HEALTH => {
            let refusal = Refusal::invalid("This address speaks TLS only: write https:// for http://.");
            request.extensions_mut().insert(Unreadable(refusal));
            stack.answer(request).await
        }
        _ => stack.answer(request).await,
    };
    rest.come().await;
    if running.is_last {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let largest = if clock.is_http2() { HTTP2_PIECE } else { usize::MAX };
    Ok(outgoing(response, running, largest))
}

/// Runs `work` on `workers` and returns its response. The work is cancelled when the caller stops waiting.
async fn carried_out(
    workers: &Handle,
    work: impl Future<Output = Response<Body>> + Send + 'static,
) -> Response<Body> {
    let mut tasks = JoinSet::new();
    tasks.spawn_on(work.boxed(), workers);
    match tasks.join_next().await {
        Some(Ok(response)) => response,
        // `work` catches panics itself, so a task is only cancelled when the gateway stops.
        Some(Err(_)) | None => {
            let mut response = Response::new(super::body::empty());
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            response
        }
    }
}

async fn drain(ending: &Ending, workers: &Workers, time: Duration) {
    tracing::info!(connections = ending.left(), "draining");
    if tokio::time::timeout(time, ending.end()).await.is_err() {
        tracing::warn!(connections = workers.carried(), "drain time over, closing what is left");
    }
}
