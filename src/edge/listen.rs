//! Accepts connections (HTTP/1.1 and h2c) and lets running requests finish when told to stop.
//!
//! May use: `settings`, `telemetry`, `edge::connection`, `edge::door`, `edge::leftover`, `edge::stack`.

use super::body::{Body, watched};
use super::connection::{Clock, Peer, Timed};
use super::door::{Gate, Limits, Unreadable, Verdicts};
use super::leftover::read_on;
use super::stack::Stack;
use crate::settings::ListenSettings;
use crate::telemetry::field;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tower::ServiceExt;

/// Pause after a failed accept, so that running out of file descriptors does not become a busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);
/// Requests side by side on one HTTP/2 connection.
const HTTP2_STREAMS: u32 = 128;

/// How connections are served.
#[derive(Clone)]
struct Server {
    http: auto::Builder<TokioExecutor>,
    door: Limits,
}

/// Serves `stack` on `listener` until `shutdown` ends; then accepts nothing more, lets running requests
/// finish for at most the drain time and closes what is left.
///
/// # Errors
/// None at present: failures to accept are logged and accepting goes on.
pub async fn serve(
    listener: TcpListener,
    stack: Stack,
    settings: &ListenSettings,
    shutdown: impl Future,
) -> io::Result<()> {
    let server = server(settings);
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        tokio::select! {
            _ = &mut shutdown => break,
            Some(_) = connections.join_next() => {}
            (socket, peer) = accept(&listener) => {
                let clock = Clock::start(settings);
                connections.spawn(converse(server.clone(), socket, peer, stack.clone(), clock, graceful.watcher()));
            }
        }
    }
    drop(listener);
    drain(graceful, connections, settings.drain_time).await;
    Ok(())
}

fn server(settings: &ListenSettings) -> Server {
    let mut http = auto::Builder::new(TokioExecutor::new());
    http.http1()
        .timer(TokioTimer::new())
        .header_read_timeout(None)
        .max_buf_size(settings.max_header_size)
        .max_headers(settings.max_headers);
    http.http2()
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(settings.max_header_size).unwrap_or(u32::MAX))
        .max_concurrent_streams(HTTP2_STREAMS);
    Server { http, door: Limits::of(settings) }
}

async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) => {
                tracing::warn!({ field::CAUSE } = %error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Carries one connection to its end, to the end of its limits, or to the end of the drain.
async fn converse(
    server: Server,
    socket: TcpStream,
    peer: SocketAddr,
    stack: Stack,
    clock: Clock,
    watcher: Watcher,
) {
    if let Err(error) = socket.set_nodelay(true) {
        tracing::debug!({ field::CAUSE } = %error, "TCP_NODELAY could not be set");
    }
    let (requests, verdicts) = (clock.clone(), Verdicts::default());
    let gate = Gate::new(Timed::new(socket, clock.clone()), server.door, verdicts.clone());
    let service = hyper::service::service_fn(move |mut request: Request<Incoming>| {
        if let Some(refusal) = verdicts.of_next() {
            request.extensions_mut().insert(Unreadable(refusal));
        }
        answer(stack.clone(), request, peer, requests.clone())
    });
    let connection = watcher.watch(server.http.serve_connection(TokioIo::new(gate), service));
    tokio::select! {
        ended = connection => {
            if let Err(error) = ended {
                tracing::debug!({ field::PEER } = %peer, { field::CAUSE } = %error, "connection ended early");
            }
        }
        () = clock.expired() => tracing::debug!({ field::PEER } = %peer, "connection closed by a time limit"),
    }
}

async fn answer(
    stack: Stack,
    request: Request<Incoming>,
    peer: SocketAddr,
    clock: Clock,
) -> Result<Response<Body>, Infallible> {
    let running = clock.request();
    let mut request = read_on(request.map(super::body::incoming), &clock);
    request.extensions_mut().insert(Peer(peer));
    let response = stack.oneshot(request).await?;
    Ok(response.map(|body| watched(body, running)))
}

async fn drain(graceful: GracefulShutdown, mut connections: JoinSet<()>, time: Duration) {
    let left = graceful.count();
    tracing::info!(connections = left, "draining");
    if tokio::time::timeout(time, graceful.shutdown()).await.is_err() {
        tracing::warn!(connections = connections.len(), "drain time over, closing what is left");
    }
    connections.shutdown().await;
}
