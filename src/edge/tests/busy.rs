//! Answers of a gateway whose workers are busy, or that has more connections than its limit. May use: this
//! folder.

use super::support::{Answer, Gateway, patiently};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Sends a request to `address` with blocking calls, so that all tasks on the test's runtime stop meanwhile. The
/// request is sent in the given pieces, with a short pause before each next one.
fn ask_blocking(address: SocketAddr, pieces: &[&str]) -> String {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    for piece in pieces {
        socket.write_all(piece.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut answer = String::new();
    socket.read_to_string(&mut answer).expect("an answer, and the end of the connection");
    answer
}

#[tokio::test]
async fn healthz_is_answered_while_every_worker_is_busy() {
    let gateway = Gateway::start(|_| {}).await;
    tokio::task::yield_now().await;
    let rest = " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    for pieces in [&["GET /healthz", rest][..], &["GET", " ", "/healthz", rest]] {
        let answer = ask_blocking(gateway.address, pieces);
        assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("{\"status\":\"alive\"}"), "{answer}");
        assert!(answer.contains("x-request-id"), "{answer}");
    }
}

#[tokio::test]
async fn a_connection_that_began_with_healthz_goes_on_with_anything() {
    let gateway = Gateway::start(|_| {}).await;
    let mut socket = gateway.connect().await;
    for path in ["healthz", "api/v2/ok/", "healthz"] {
        socket.write_all(format!("GET /{path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"}") {
            assert!(patiently(socket.read_buf(&mut answer)).await.unwrap() > 0);
        }
        assert!(answer.starts_with(b"HTTP/1.1 200"), "{path}");
    }
    socket.write_all(b"GET /api/v2/ok/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
    assert_eq!(Answer::read(&mut socket).await.status(), 200);
}

#[tokio::test]
async fn idle_connections_make_room_and_healthz_is_answered_beyond_all_room() {
    let gateway = Gateway::start(|settings| settings.listen.max_connections = 4).await;
    let mut idle = Vec::new();
    for _ in 0..12 {
        idle.push(gateway.connect().await);
        assert_eq!(gateway.get("/api/v2/ok/").await.status(), 200);
    }
    let mut busy = Vec::new();
    for _ in 0..4 {
        let mut socket = gateway.connect().await;
        let request = b"GET /api/v2/wait/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        socket.write_all(request).await.unwrap();
        patiently(gateway.script.began.notified()).await;
        busy.push(socket);
    }
    let refused = gateway.get("/api/v2/ok/").await;
    assert_eq!((refused.status(), refused.code().as_str()), (503, "overloaded"));
    assert_eq!(refused.header("retry-after"), "1");
    assert_eq!(gateway.get("/healthz").await.status(), 200);
    gateway.script.go_on.notify_waiters();
    for mut socket in busy {
        assert_eq!(Answer::read(&mut socket).await.status(), 200);
    }
    assert_eq!(gateway.get("/api/v2/ok/").await.status(), 200);
}
