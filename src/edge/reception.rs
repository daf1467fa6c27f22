//! Accepts connections on a thread and a runtime of its own, and answers `/healthz` there.
//!
//! A health probe must get an answer, however busy the workers are. So the first bytes of each connection are checked
//! before it goes to a worker: a connection that begins with a request for `/healthz` stays here. For other connections
//! this costs one switch to another thread each, and nothing for each request.
//!
//! May use: `load`, `settings`, `telemetry`, `edge::connection`, `edge::connections`, `edge::ending`, `edge::tls`,
//! `edge::workers`.

use super::connection::Clock;
use super::connections::{Connections, Open};
use super::ending::Ending;
use super::tls::is_tls;
use super::workers::{Arrival, Workers};
use crate::load::{Place, Pool, Share};
use crate::settings::ListenSettings;
use crate::telemetry::field;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// Pause after a failed accept, so that a lack of file descriptors does not cause a busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);
pub(super) const HEALTH: &str = "/healthz";
/// First bytes of a request for `/healthz`.
const BEGINNINGS: [&[u8]; 2] = [b"GET /healthz ", b"HEAD /healthz "];
/// First pause before the first bytes of an undecided connection are read again. Each pause is twice as long as the one
/// before; together they take a quarter of a second.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LAST_PAUSE: Duration = Duration::from_millis(256);
/// Connections beyond the limit whose first bytes are still checked, because they may ask for `/healthz`.
const SPARE: usize = 64;
/// Time for a connection beyond the limit to send its first bytes.
const SPARE_TIME: Duration = Duration::from_secs(1);
/// Time for accepted connections to send their first bytes once the gateway has stopped accepting.
const LAST_TIME: Duration = Duration::from_secs(1);
/// Answer to all other connections beyond the limit.
const TURNED_AWAY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n\
    Content-Type: application/problem+json\r\nCache-Control: no-store\r\nContent-Length: 137\r\n\r\n\
    {\"type\":\"about:blank\",\"title\":\"Overloaded\",\"status\":503,\"code\":\"overloaded\",\"detail\":\"More connections are open than the gateway takes.\"}";

/// Carries a connection to its end.
pub(super) type Carry = Arc<dyn Fn(Arrival) -> BoxFuture<'static, ()> + Send + Sync>;

/// Destinations of connections.
pub(super) struct Destinations {
    /// Whether connections must begin with TLS, except those that ask for `/healthz`.
    pub(super) needs_tls: bool,
    /// Carries connections that ask for `/healthz`.
    pub(super) healthy: Carry,
    /// Carry all other connections.
    pub(super) workers: Arc<Workers>,
    /// Builds the answer to clients that do not use TLS but should.
    pub(super) unprotected: Arc<dyn Fn() -> String + Send + Sync>,
}

/// The thread that accepts. It ends with the last request of the gateway.
pub(super) struct Reception {
    stop: Option<oneshot::Sender<()>>,
    closed: Option<oneshot::Receiver<()>>,
    /// Ends the connections of this thread when dropped.
    _release: oneshot::Sender<()>,
}

/// Data that the thread works with.
struct AcceptorState {
    connections: Connections,
    ending: Ending,
    spare: Pool,
    settings: ListenSettings,
    ways: Destinations,
}

impl Reception {
    /// Starts the thread, which accepts on `listener`.
    pub(super) fn open(
        listener: TcpListener,
        connections: Connections,
        ending: Ending,
        settings: &ListenSettings,
        ways: Destinations,
    ) -> io::Result<Self> {
        let listener = listener.into_std()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let (close, closed) = oneshot::channel();
        let (_release, released) = oneshot::channel::<()>();
        let spare = Pool::new(SPARE, Share(25));
        let desk = Arc::new(AcceptorState { connections, ending, spare, settings: settings.clone(), ways });
        std::thread::Builder::new().name("reception".into()).spawn(move || {
            runtime.block_on(async {
                if let Err(error) = receive(listener, desk, stopped).await {
                    tracing::error!({ field::CAUSE } = %error, "no connections can be accepted");
                }
                drop(close);
                let _ = released.await;
            });
        })?;
        Ok(Self { stop: Some(stop), closed: Some(closed), _release })
    }

    /// Stops accepting. Accepted connections have a moment to send their first bytes; silent connections are closed.
    pub(super) async fn close(&mut self) {
        drop(self.stop.take());
        if let Some(closed) = self.closed.take() {
            let _ = closed.await;
        }
    }
}

async fn receive(
    listener: std::net::TcpListener,
    desk: Arc<AcceptorState>,
    mut stopped: oneshot::Receiver<()>,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let mut waiting = JoinSet::new();
    loop {
        tokio::select! {
            _ = &mut stopped => {
                drop(listener);
                let heard = async { while waiting.join_next().await.is_some() {} };
                let _ = tokio::time::timeout(LAST_TIME, heard).await;
                return Ok(());
            }
            Some(_) = waiting.join_next() => {}
            (socket, peer) = accept(&listener) => {
                let clock = Clock::start(&desk.settings);
                match desk.connections.admit(peer.ip(), &clock) {
                    Some(open) => drop(waiting.spawn(welcome(desk.clone(), socket, peer, clock, open).boxed())),
                    None => match desk.spare.enter(desk.connections.asker(peer.ip())) {
                        Ok(place) => drop(waiting.spawn(beyond(desk.clone(), socket, peer, clock, place).boxed())),
                        Err(_) => desk.turn_away(&socket),
                    },
                }
            }
        }
    }
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

/// Kind of a connection, by its first bytes.
enum ConnectionKind {
    Health,
    Other,
    /// Something other than `/healthz`, without the TLS that it needs.
    Unprotected,
    /// The client left, or took too long.
    Nothing,
}

async fn wish(socket: &TcpStream, clock: &Clock, needs_tls: bool) -> ConnectionKind {
    let mut beginning = [0; 16];
    let mut pause = FIRST_PAUSE;
    loop {
        let peeked = tokio::select! {
            () = clock.expired() => return ConnectionKind::Nothing,
            peeked = socket.peek(&mut beginning) => peeked.unwrap_or(0),
        };
        match &beginning[..peeked] {
            [] => return ConnectionKind::Nothing,
            bytes if BEGINNINGS.iter().any(|health| bytes.starts_with(health)) => return ConnectionKind::Health,
            // This may still become a request for `/healthz`: some clients send the line in pieces. `peek` leaves the
            // bytes in the socket, so nothing signals more bytes, and only a timer can help.
            bytes if pause < LAST_PAUSE && BEGINNINGS.iter().any(|health| health.starts_with(bytes)) => {
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
            bytes if needs_tls && !is_tls(bytes) => return ConnectionKind::Unprotected,
            _ => return ConnectionKind::Other,
        }
    }
}

async fn welcome(desk: Arc<AcceptorState>, socket: TcpStream, peer: SocketAddr, clock: Clock, open: Open) {
    let (open, told) = (Some(open), desk.ending.listener());
    match wish(&socket, &clock, desk.ways.needs_tls).await {
        // Served on this thread, also after the gateway has stopped accepting.
        ConnectionKind::Health => {
            let arrival = Arrival { socket, peer, clock, open, told };
            drop(tokio::spawn((desk.ways.healthy)(arrival)));
        }
        ConnectionKind::Other => match socket.into_std() {
            Ok(socket) => desk.ways.workers.take(Arrival { socket, peer, clock, open, told }),
            Err(error) => tracing::warn!({ field::CAUSE } = %error, "a connection could not be handed over"),
        },
        ConnectionKind::Unprotected => say(&socket, (desk.ways.unprotected)().as_bytes()),
        ConnectionKind::Nothing => {}
    }
}

/// Handles a connection beyond the limit: it is closed unless it asks for `/healthz`.
async fn beyond(desk: Arc<AcceptorState>, socket: TcpStream, peer: SocketAddr, clock: Clock, place: Place) {
    match tokio::time::timeout(SPARE_TIME, wish(&socket, &clock, desk.ways.needs_tls)).await {
        Ok(ConnectionKind::Health) => {
            let told = desk.ending.listener();
            (desk.ways.healthy)(Arrival { socket, peer, clock, open: None, told }).await;
        }
        Ok(ConnectionKind::Other | ConnectionKind::Unprotected) => desk.turn_away(&socket),
        Ok(ConnectionKind::Nothing) | Err(_) => {}
    }
    drop(place);
}

impl AcceptorState {
    /// Sends the reason why there is no place. With TLS this is not possible, because TLS would have to begin first.
    fn turn_away(&self, socket: &TcpStream) {
        if !self.ways.needs_tls {
            say(socket, TURNED_AWAY);
        }
    }
}

/// Sends the reason why the connection is closed, as far as that is possible without waiting.
fn say(socket: &TcpStream, why: &[u8]) {
    let mut rest = [0; 4096];
    // Unread bytes would turn the answer into a reset of the connection.
    let _ = socket.try_read(&mut rest);
    let _ = socket.try_write(why);
}
