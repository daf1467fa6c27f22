//! A v1 that records its requests byte for byte, and answers every request with `{}`.

use causeway::task::spawn;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";

/// One request as it was received.
#[derive(Debug, Clone)]
pub struct Received {
    /// From the request line to the empty line.
    pub head: String,
    /// The body; of a chunked one without the marks between its pieces.
    pub body: Vec<u8>,
}

/// The v1 of the table.
pub struct Recorder {
    base: String,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Recorder {
    /// Listens on a free port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let received: Arc<Mutex<Vec<Received>>> = Arc::default();
        let log = Arc::clone(&received);
        spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                spawn(converse(socket, Arc::clone(&log)));
            }
        });
        Self { base, received }
    }

    /// Its address.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Returns the requests since the last call.
    pub fn take(&self) -> Vec<Received> {
        std::mem::take(&mut self.received.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Reads the bytes behind a request as the next request, as a real server does: so a smuggled request shows. An
/// incomplete request is ignored.
async fn converse(mut socket: TcpStream, log: Arc<Mutex<Vec<Received>>>) {
    let mut bytes = Vec::new();
    loop {
        if let Some((request, length)) = first_request(&bytes) {
            bytes.drain(..length);
            log.lock().unwrap_or_else(PoisonError::into_inner).push(request);
            if socket.write_all(ANSWER).await.is_err() {
                return;
            }
            continue;
        }
        if !matches!(socket.read_buf(&mut bytes).await, Ok(1..)) {
            return;
        }
    }
}

/// Returns the first request in `bytes` and its length, when it is complete.
fn first_request(bytes: &[u8]) -> Option<(Received, usize)> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let (body, length) = match framing(&head) {
        Some(length) => (bytes.get(end..end + length)?.to_vec(), length),
        None => chunked(&bytes[end..])?,
    };
    Some((Received { head, body }, end + length))
}

/// Returns the length of the body; `None` for a chunked one.
fn framing(head: &str) -> Option<usize> {
    let lower = head.to_lowercase();
    if lower.contains("\r\ntransfer-encoding:") {
        return None;
    }
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length:"));
    Some(length.map_or(0, |length| length.trim().parse().expect("a length")))
}

fn chunked(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        let line = bytes.get(at..)?.windows(2).position(|two| two == b"\r\n")?;
        let size = std::str::from_utf8(&bytes[at..at + line]).expect("a size");
        let size = usize::from_str_radix(size, 16).expect("a size");
        at += line + 2;
        if size == 0 {
            let trailers = bytes[at - 2..].windows(4).position(|four| four == b"\r\n\r\n")?;
            return Some((body, at - 2 + trailers + 4));
        }
        body.extend_from_slice(bytes.get(at..at + size)?);
        at += size + 2;
    }
}
