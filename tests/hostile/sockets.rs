//! Clients on bare sockets that choose their own address: all of 127.0.0.0/8 is this machine.

use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// Time after which a test gives up; nothing depends on being faster.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// An answer as it was received.
#[derive(Debug)]
pub struct Answer {
    /// Status, 0 when the connection ended without an answer.
    pub status: u16,
    /// All received bytes; shown when a test fails.
    #[allow(dead_code)]
    pub text: String,
}

/// Connects to `gateway` from 127.0.0.`from`.
///
/// # Errors
/// The error of the socket.
pub async fn connect(gateway: SocketAddr, from: u8) -> std::io::Result<TcpStream> {
    connect_with_window(gateway, from, None).await
}

/// The same, with a receive buffer of `window` bytes.
///
/// # Errors
/// The error of the socket.
pub async fn connect_with_window(gateway: SocketAddr, from: u8, window: Option<u32>) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    if let Some(window) = window {
        socket.set_recv_buffer_size(window)?;
    }
    socket.bind(SocketAddr::from(([127, 0, 0, from], 0)))?;
    socket.connect(gateway).await
}

/// Connects from 127.0.0.`from` and sends `bytes`.
pub async fn begun(gateway: SocketAddr, from: u8, bytes: &str) -> TcpStream {
    let mut socket = connect(gateway, from).await.expect("a connection");
    socket.write_all(bytes.as_bytes()).await.expect("bytes sent");
    socket
}

/// Sends `request`, which ends the connection, from 127.0.0.`from`, and reads to the end.
pub async fn exchange(gateway: SocketAddr, from: u8, request: &str) -> Answer {
    let mut socket = begun(gateway, from, request).await;
    read(&mut socket).await
}

/// Waits for the beginning of an answer and returns its status, 0 when the connection ended without one.
pub async fn answered(socket: &mut (impl AsyncRead + Unpin)) -> u16 {
    let mut bytes = [0; 64];
    let length = patiently(socket.read(&mut bytes)).await.unwrap_or(0);
    status(&String::from_utf8_lossy(&bytes[..length]))
}

/// Reads until the other side closes.
pub async fn read(socket: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    // A connection that is reset has ended, too.
    let _ = patiently(socket.read_to_end(&mut bytes)).await;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Answer { status: status(&text), text }
}

/// Returns the status at the beginning of an answer, 0 when there is none.
fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}

/// Returns the result of `work`; gives up only after a very long time.
pub async fn patiently<F: Future>(work: F) -> F::Output {
    tokio::time::timeout(PATIENCE, work).await.expect("the test has waited long enough")
}
