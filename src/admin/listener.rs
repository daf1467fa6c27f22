//! Accepts the operators' connections (HTTP/1.1), and passes each admitted request to its page.
//!
//! May use: `html`, `settings`, `task`, `telemetry`, `admin::door`, `admin::page`, `admin::token`.

use super::door::Door;
use super::page::{AdminPage, home, see_other, text};
use super::token::Token;
use crate::html::{self, INLINE};
use crate::settings::AdminSettings;
use crate::task::spawn;
use crate::telemetry::field;
use bytes::Bytes;
use futures_util::FutureExt;
use http::header::CONTENT_LENGTH;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::RwLock;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

/// Most concurrent connections; operators are few.
const CONNECTIONS: usize = 64;
/// Longest life of a connection; clients open another.
const LIFE: Duration = Duration::from_secs(600);
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Time limit to read a body and answer.
const TIME: Duration = Duration::from_secs(30);
const LARGEST_HEAD: usize = 64 * 1024;
const LARGEST_BODY: usize = 64 * 1024;
/// Pause after a failed accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// Pause before another attempt to bind an address that is in use.
const TAKEN_PAUSE: Duration = Duration::from_millis(50);

/// Reason why the operators' listener cannot start.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    #[error("admin.listen {address} cannot be used: {cause}; choose another address or port")]
    Listen { address: SocketAddr, cause: io::Error },
}

/// The listener; it ends when dropped.
pub struct Admin {
    address: SocketAddr,
    shown: CurrentSite,
    _accepting: AbortOnDropHandle<()>,
}

/// The present rules and pages; they may change while the listener runs.
type CurrentSite = Arc<RwLock<Arc<Site>>>;

struct Site {
    door: Door,
    pages: Vec<Arc<dyn AdminPage>>,
}

impl Admin {
    /// Starts the listener; none when `settings` name no address. Every request gets 503 until [`Admin::show`]. When
    /// the address is in use, waits for it until `patience` is over: the process before this one may still have it.
    pub async fn open(
        settings: &AdminSettings,
        token: Option<Token>,
        patience: Duration,
    ) -> Result<Option<Self>, AdminError> {
        let Some(address) = settings.listen else { return Ok(None) };
        let door = Door::new(settings, token, address.ip().to_canonical().is_loopback());
        let unusable = |cause| AdminError::Listen { address, cause };
        let listener = bound(address, patience).await.map_err(unusable)?;
        let address = listener.local_addr().map_err(unusable)?;
        let shown: CurrentSite = Arc::new(RwLock::new(Arc::new(Site { door, pages: Vec::new() })));
        let _accepting = AbortOnDropHandle::new(spawn(accept(listener, shown.clone())));
        Ok(Some(Self { address, shown, _accepting }))
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Exchanges the pages, the rules of `settings` and the `token`; the address stays.
    pub fn show(&self, settings: &AdminSettings, token: Option<Token>, pages: Vec<Arc<dyn AdminPage>>) {
        let door = Door::new(settings, token, self.address.ip().to_canonical().is_loopback());
        *self.shown.write() = Arc::new(Site { door, pages });
    }
}

/// Binds `address`; retries until `patience` is over while it is in use.
async fn bound(address: SocketAddr, patience: Duration) -> io::Result<TcpListener> {
    let end = Instant::now() + patience;
    let mut told = false;
    loop {
        match TcpListener::bind(address).await {
            Err(fault) if fault.kind() == io::ErrorKind::AddrInUse && Instant::now() < end => {}
            outcome => return outcome,
        }
        if !told {
            tracing::info!(%address, "admin.listen is taken, perhaps by the gateway before this one: waiting for it");
            told = true;
        }
        tokio::time::sleep(TAKEN_PAUSE).await;
    }
}

/// Connection that was accepted.
struct Accepted {
    task: AbortHandle,
    /// Whether one of its requests was admitted.
    admitted: Arc<AtomicBool>,
}

/// Makes a place for another connection. When all are taken, closes the oldest connection on which no request was
/// admitted: strangers must not keep operators away. Returns false when there is none.
fn make_place(open: &mut Vec<Accepted>) -> bool {
    open.retain(|known| !known.task.is_finished());
    if open.len() < CONNECTIONS {
        return true;
    }
    let stranger = open.iter().position(|known| !known.admitted.load(Ordering::Relaxed));
    if let Some(stranger) = stranger {
        open.remove(stranger).task.abort();
    }
    stranger.is_some()
}

async fn accept(listener: TcpListener, shown: CurrentSite) {
    let (mut connections, mut open) = (JoinSet::new(), Vec::new());
    loop {
        tokio::select! {
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                // Without a place the connection is closed at once.
                Ok((socket, _)) => if make_place(&mut open) {
                    let admitted = Arc::<AtomicBool>::default();
                    let task = connections.spawn(converse(socket, shown.clone(), Arc::clone(&admitted)).boxed());
                    open.push(Accepted { task, admitted });
                },
                Err(error) => {
                    tracing::warn!({ field::CAUSE } = %error, "an operator's connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

async fn converse(socket: TcpStream, shown: CurrentSite, admitted: Arc<AtomicBool>) {
    let service = hyper::service::service_fn(move |request| {
        let (site, admitted) = (Arc::clone(&shown.read()), Arc::clone(&admitted));
        async move { Ok::<_, Infallible>(answer(&site, &admitted, request).await.map(Full::new)) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(LARGEST_HEAD);
    let connection = http.serve_connection(TokioIo::new(socket), service);
    match tokio::time::timeout(LIFE, connection).await {
        Ok(Ok(())) | Err(_) => {}
        Ok(Err(error)) => tracing::debug!({ field::CAUSE } = %error, "an operator's connection ended early"),
    }
}

async fn answer(site: &Site, admitted: &AtomicBool, request: Request<Incoming>) -> Response<Bytes> {
    let (mut head, body) = request.into_parts();
    let (method, path) = (head.method.clone(), head.uri.path().to_owned());
    let mut response = match site.door.refusal(&head) {
        Some(refused) => {
            let status = refused.status().as_u16();
            tracing::info!({ field::STATUS } = status, { field::PATH } = path, "an operator's request was refused");
            refused
        }
        None => {
            admitted.store(true, Ordering::Relaxed);
            if method == Method::HEAD {
                head.method = Method::GET;
            }
            let late = || text(StatusCode::SERVICE_UNAVAILABLE, "The page took too long.\n");
            let answered = tokio::time::timeout(TIME, led(site, head, body)).await;
            answered.unwrap_or_else(|_| late())
        }
    };
    if method == Method::POST {
        let status = response.status().as_u16();
        tracing::info!({ field::STATUS } = status, { field::PATH } = path, "an operator's change");
    }
    // Headers that a page has set itself stay.
    html::guard(response.headers_mut(), INLINE, "'self'");
    if method == Method::HEAD {
        let length = response.body().len();
        response.headers_mut().insert(CONTENT_LENGTH, length.into());
        *response.body_mut() = Bytes::new();
    }
    response
}

/// Passes the request to the page that has its path.
async fn led(site: &Site, head: http::request::Parts, body: Incoming) -> Response<Bytes> {
    if site.pages.is_empty() {
        return text(StatusCode::SERVICE_UNAVAILABLE, "The gateway is starting.\n");
    }
    let path = head.uri.path();
    if path == "/" {
        return home(&site.pages);
    }
    let Some(page) = site.pages.iter().find(|page| has(page.path(), path)) else {
        let beginning = site.pages.iter().find(|page| page.path().strip_suffix('/') == Some(path));
        return match beginning {
            Some(page) => see_other(page.path()),
            None => text(StatusCode::NOT_FOUND, "There is no such page; / lists all.\n"),
        };
    };
    match Limited::new(body, LARGEST_BODY).collect().await {
        Ok(body) => page.answer(Request::from_parts(head, body.to_bytes())).await,
        Err(_) => text(StatusCode::PAYLOAD_TOO_LARGE, "The request is too large or broke off.\n"),
    }
}

fn has(own: &str, path: &str) -> bool {
    own == path || (own.ends_with('/') && path.starts_with(own))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    async fn starting() -> Admin {
        let settings = AdminSettings { listen: Some("127.0.0.1:0".parse().unwrap()), ..AdminSettings::default() };
        Admin::open(&settings, None, Duration::ZERO).await.unwrap().unwrap()
    }

    async fn connect(admin: &Admin) -> TcpStream {
        TcpStream::connect(admin.address()).await.unwrap()
    }

    /// Sends a request for `path` to a gateway that is starting, which must answer it as a whole.
    async fn ask(socket: &mut TcpStream, path: &str) {
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"is starting.\n") {
            assert_ne!(socket.read_buf(&mut answer).await.unwrap(), 0, "{path}: closed");
        }
        assert!(answer.starts_with(b"HTTP/1.1 503 "), "{path}: {}", String::from_utf8_lossy(&answer));
    }

    #[tokio::test]
    async fn nothing_is_said_to_be_missing_before_the_gateway_has_started() {
        let admin = starting().await;
        for path in ["/", "/metrics"] {
            ask(&mut connect(&admin).await, path).await;
        }
    }

    #[tokio::test]
    async fn silent_connections_keep_no_operator_away() {
        let admin = starting().await;
        let mut before = connect(&admin).await;
        ask(&mut before, "/metrics").await;
        let mut silent = Vec::new();
        for _ in 0..2 * CONNECTIONS {
            silent.push(connect(&admin).await);
        }
        ask(&mut connect(&admin).await, "/metrics").await;
        ask(&mut before, "/metrics").await;
        drop(silent);
    }
}
