//! The crowd of slow clients: each holds what it can get, in one of several ways, and comes again when it is sent away.

use crate::sockets::connect;
use crate::support::gateway::WEB;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;

/// Time from being sent away to coming again.
const PAUSE: Duration = Duration::from_millis(500);
/// Streams on one connection of HTTP/2.
const STREAMS: u32 = 100;

/// Ways of being slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// A body of v2 of which two bytes arrive.
    Body,
    /// The same on the pass-through.
    PassThrough,
    /// The same at the authorization server.
    Token,
    /// A head that does not end.
    Head,
    /// A connection without a request.
    Idle,
    /// An answer of some size that is not read.
    Unread,
    /// An answer of the pass-through that is not read.
    UnreadPassThrough,
    /// Streams of HTTP/2 whose bodies do not arrive.
    Streams,
}

impl Way {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Body,
        Self::PassThrough,
        Self::Token,
        Self::Head,
        Self::Idle,
        Self::Unread,
        Self::UnreadPassThrough,
        Self::Streams,
    ];

    /// What is sent, and then nothing more.
    fn opening(self) -> Vec<u8> {
        let request = |method: &str, path: &str, rest: &str| {
            format!("{method} {path} HTTP/1.1\r\nHost: gw.example\r\nX-Api-Key: bob\r\n{rest}").into_bytes()
        };
        let body = "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"";
        match self {
            Self::Body => request("POST", &format!("{WEB}/labels/"), body),
            Self::PassThrough => request("POST", "/api/v1/workspaces/acme/", body),
            Self::Token => request("POST", "/auth/o/token/", body),
            Self::Head => request("GET", "/api/v2/", "X-Slow: "),
            Self::Idle => Vec::new(),
            Self::Unread => request("GET", "/api/v2/docs/openapi.json", "\r\n").repeat(8),
            Self::UnreadPassThrough => request("GET", "/api/v1/users/me/", "\r\n").repeat(64),
            Self::Streams => streams(),
        }
    }
}

/// A connection of HTTP/2 with [`STREAMS`] requests that announce a body.
fn streams() -> Vec<u8> {
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend(frame(4, 0, 0, &[]));
    // Indexed `:method: POST` and `:scheme: http`, then literal `:path` and `:authority`.
    let mut head = vec![0x83, 0x86, 0x04, 14];
    head.extend(b"/auth/o/token/");
    head.extend([0x01, 1, b'x']);
    for stream in 0..STREAMS {
        bytes.extend(frame(1, 4, 2 * stream + 1, &head));
    }
    bytes
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a small frame").to_be_bytes();
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [&head, payload].concat()
}

/// What the crowd has done so far.
#[derive(Debug, Default)]
pub struct Deeds {
    /// Connections begun.
    pub connections: AtomicUsize,
    /// Bytes sent.
    pub sent: AtomicUsize,
}

/// `size` slow clients from the addresses 127.0.0.2 to 127.0.0.5; they go on until this is dropped.
pub fn crowd(gateway: SocketAddr, size: usize, ways: &[Way], deeds: &Arc<Deeds>) -> JoinSet<()> {
    let mut clients = JoinSet::new();
    for client in 0..size {
        let way = ways[client % ways.len()];
        let from = 2 + u8::try_from(client / ways.len() % 4).expect("one of four");
        clients.spawn(hold(gateway, from, way, Arc::clone(deeds)));
    }
    clients
}

async fn hold(gateway: SocketAddr, from: u8, way: Way, deeds: Arc<Deeds>) {
    let opening = way.opening();
    loop {
        if let Ok(mut socket) = connect(gateway, from).await {
            deeds.connections.fetch_add(1, Ordering::Relaxed);
            if socket.write_all(&opening).await.is_ok() {
                deeds.sent.fetch_add(opening.len(), Ordering::Relaxed);
                // Those who leave answers unread look for the end of the connection only.
                if matches!(way, Way::Unread | Way::UnreadPassThrough) {
                    while socket.write_all(b"").await.is_ok() && socket.take_error().is_ok_and(|e| e.is_none()) {
                        tokio::time::sleep(PAUSE).await;
                    }
                } else {
                    let _ = socket.read_to_end(&mut Vec::new()).await;
                }
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}
