//! Slow clients, large heads, both versions of HTTP, and stopping. May use: `settings`, this folder.

use super::support::{Answer, Gateway, RawUpstream, patiently};
use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const SHORT: Duration = Duration::from_millis(200);

/// Checks whether the other side closes (or resets) the connection before the patience ends.
async fn closes(socket: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    let _ = patiently(socket.read_to_end(&mut rest)).await;
    rest.is_empty()
}

#[tokio::test]
async fn clients_that_never_finish_a_head_are_closed() {
    let gateway = Gateway::start(|settings| settings.listen.header_timeout = SHORT).await;
    for begun in ["", "G", "GET /api/v2/ok/ HTTP/1.1\r\nHost: x\r\nX-Slow: "] {
        let mut socket = gateway.connect().await;
        socket.write_all(begun.as_bytes()).await.unwrap();
        assert!(closes(&mut socket).await, "{begun}");
    }
}

#[tokio::test]
async fn dripping_bytes_does_not_help() {
    let gateway = Gateway::start(|settings| settings.listen.header_timeout = SHORT).await;
    let mut socket = gateway.connect().await;
    socket.write_all(b"GET /api/v2/ok/ HTTP/1.1\r\n").await.unwrap();
    let dripped = async {
        while socket.write_all(b"X-Drip: 1\r\n").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    patiently(dripped).await;
}

#[tokio::test]
async fn an_idle_connection_outlives_the_head_time_and_ends_at_the_idle_time() {
    let gateway = Gateway::start(|settings| {
        settings.listen.header_timeout = Duration::from_secs(2);
        settings.listen.idle_timeout = Duration::from_secs(4);
    })
    .await;
    let mut socket = gateway.connect().await;
    let since = Instant::now();
    let request = b"GET /api/v2/none/ HTTP/1.1\r\nHost: x\r\n\r\n";
    socket.write_all(request).await.unwrap();
    let mut answer = [0; 1024];
    assert!(patiently(socket.read(&mut answer)).await.unwrap() > 0);
    assert!(closes(&mut socket).await);
    assert!(since.elapsed() >= Duration::from_secs(3), "closed after {:?}", since.elapsed());
}

/// The refusal comes before the body was read, and the client continues to use the connection. The body follows after
/// the head, as most clients send it.
#[tokio::test]
async fn a_body_nobody_reads_does_not_cost_the_connection() {
    let gateway = Gateway::start(|_| {}).await;
    let mut socket = gateway.connect().await;
    for size in [1, 1000, 70_000, 3_000_000] {
        let head = format!("POST /api/v2/nothing/ HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n\r\n");
        socket.write_all(head.as_bytes()).await.unwrap();
        assert_eq!(next_status(&mut socket).await, 404, "the answer does not wait for the body");
        socket.write_all(&vec![b'x'; size]).await.unwrap();
        socket.write_all(b"GET /api/v2/none/ HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        assert_eq!(next_status(&mut socket).await, 204, "after {size} bytes");
    }
    let chunked = "POST /api/v2/nothing/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
    socket.write_all(chunked.as_bytes()).await.unwrap();
    assert_eq!(next_status(&mut socket).await, 404);
    socket.write_all(b"0\r\n\r\nGET /api/v2/none/ HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    assert_eq!(next_status(&mut socket).await, 204);
}

#[tokio::test]
async fn a_client_that_sends_far_too_much_can_still_read_the_refusal() {
    let gateway = Gateway::start(|_| {}).await;
    for (path, status) in [("/api/v2/nothing/", 404), ("/api/v2/echo/", 400)] {
        let mut socket = gateway.connect().await;
        let size = 40_000_000;
        let head = format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n\r\n");
        patiently(socket.write_all(head.as_bytes())).await.unwrap();
        patiently(socket.write_all(&vec![b'x'; size])).await.expect("the connection stays open");
        assert_eq!(next_status(&mut socket).await, status, "{path}");
    }
}

#[tokio::test]
async fn a_refused_request_gets_no_100_continue() {
    let gateway = Gateway::start(|_| {}).await;
    let mut socket = gateway.connect().await;
    let head = "POST /api/v2/nothing/ HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n";
    let begun = Instant::now();
    socket.write_all(head.as_bytes()).await.unwrap();
    assert_eq!(Answer::read(&mut socket).await.status(), 404, "the first answer is the last");
    assert!(begun.elapsed() < Duration::from_secs(9), "nobody waits for a body that will not come");
}

/// Returns the status of the next answer, whose body has a length.
async fn next_status(socket: &mut TcpStream) -> u16 {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(patiently(socket.read_u8()).await.expect("an answer"));
    }
    let head = String::from_utf8_lossy(&head).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().expect("a length"))];
    patiently(socket.read_exact(&mut body)).await.expect("its body");
    head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status")
}

#[tokio::test]
async fn heads_that_are_too_large_are_answered_431() {
    let gateway = Gateway::start(|settings| settings.listen.max_header_size = 8 * 1024).await;
    let large = gateway.ask("GET", "/api/v2/ok/", &format!("X-Large: {}\r\n", "x".repeat(9 * 1024))).await;
    assert_eq!(large.status(), 431);
    let many = gateway.ask("GET", "/api/v2/ok/", &"X-Many: 1\r\n".repeat(101)).await;
    assert_eq!(many.status(), 431);
}

#[tokio::test]
async fn http2_without_tls_works() {
    let gateway = Gateway::start(|_| {}).await;
    let client = Client::builder(TokioExecutor::new()).http2_only(true).build_http::<Empty<Bytes>>();
    for (method, length) in [("GET", 11), ("HEAD", 0)] {
        let request = http::Request::builder()
            .method(method)
            .uri(format!("http://{}/api/v2/ok/", gateway.address))
            .body(Empty::new())
            .unwrap();
        let answer = patiently(client.request(request)).await.unwrap();
        assert_eq!((answer.status().as_u16(), answer.version()), (200, http::Version::HTTP_2));
        assert_eq!(answer.headers()["content-length"], "11");
        assert_eq!(answer.into_body().collect().await.unwrap().to_bytes().len(), length);
    }
}

#[tokio::test]
async fn stopping_finishes_what_runs_and_accepts_nothing_more() {
    let mut gateway = Gateway::start(|_| {}).await;
    let mut running = gateway.connect().await;
    running.write_all(b"GET /api/v2/wait/ HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut idle = gateway.connect().await;
    patiently(gateway.script.began.notified()).await;
    gateway.stop();
    assert!(closes(&mut idle).await);
    let refused = async {
        while TcpStream::connect(gateway.address).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    patiently(refused).await;
    gateway.script.go_on.notify_one();
    assert_eq!(Answer::read(&mut running).await.status(), 200);
    gateway.ended().await;
}

#[tokio::test]
async fn the_drain_time_ends_what_hangs() {
    let mut gateway = Gateway::start(|settings| settings.listen.drain_time = SHORT).await;
    let mut hanging = gateway.connect().await;
    hanging.write_all(b"GET /api/v2/wait/ HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    patiently(gateway.script.began.notified()).await;
    gateway.stop();
    gateway.ended().await;
    assert!(closes(&mut hanging).await);
}

#[tokio::test]
async fn a_client_that_does_not_read_its_answer_is_closed() {
    let length = 64 * 1024 * 1024;
    let mut answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").into_bytes();
    answer.resize(answer.len() + length, b'x');
    let upstream = RawUpstream::answering(answer.leak()).await;
    let change = |settings: &mut crate::settings::Settings| settings.listen.send_timeout = SHORT;
    let gateway = Gateway::before(&upstream.address, change, None).await;
    let mut socket = gateway.connect().await;
    socket.write_all(b"GET /api/v1/x/ HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let _closed = patiently(upstream.closed.acquire()).await.unwrap();
}

/// Bytes held for clients without a complete request count as well: large unfinished heads, and connections of HTTP/2.
#[tokio::test]
async fn bytes_buffered_for_connections_count_as_memory() {
    const BUDGET: usize = 1024 * 1024;
    let gateway = Gateway::start(|settings| {
        settings.limits.memory = BUDGET;
        // No head that is counted ends before all have come.
        settings.listen.header_timeout = Duration::from_secs(60);
    })
    .await;
    let large = format!("GET /api/v2/ok/ HTTP/1.1\r\nHost: x\r\nX-Slow: {}", "x".repeat(60_000));
    let (mut held, mut refused) = (Vec::new(), 0);
    for _ in 0..40 {
        let before = gateway.memory.used();
        let mut socket = gateway.connect().await;
        socket.write_all(large.as_bytes()).await.unwrap();
        let arrived = async {
            while gateway.memory.used() < before + 60_000 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let mut status = [0; 12];
        tokio::select! {
            () = arrived => {}
            read = socket.read_exact(&mut status) => {
                read.unwrap();
                assert_eq!(status, *b"HTTP/1.1 503");
                refused += 1;
            }
        }
        assert!(gateway.memory.used() <= BUDGET);
        held.push(socket);
    }
    assert!((20..40).contains(&refused), "{refused} were refused");
    drop(held);
    let unused = async {
        while gateway.memory.used() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    patiently(unused).await;
    let mut preface = gateway.connect().await;
    preface.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
    let counted = async {
        while gateway.memory.used() < 65_535 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    patiently(counted).await;
}
