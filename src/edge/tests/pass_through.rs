//! Messages across the pass-through, and its behaviour when v1 fails or the client leaves. May use: `settings`, this
//! folder.

use super::support::{Answer, Gateway, RawUpstream, patiently, until};
use crate::edge::WriteObserver;
use futures_util::future::BoxFuture;
use http::{HeaderMap, StatusCode};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

const PLAIN: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

async fn before(upstream: &RawUpstream) -> Gateway {
    Gateway::before(&upstream.address, |_| {}, None).await
}

#[tokio::test]
async fn the_request_arrives_as_it_was_sent() {
    let upstream = RawUpstream::answering(PLAIN).await;
    let gateway = Gateway::before(&format!("{}/prefix/", upstream.address), |_| {}, None).await;
    let answer = gateway
        .exchange(
            "PURGE /api/v1//a%3Bb/%c3%A4/x'y|z/?q=%20+'&&=%zz HTTP/1.1\r\nHost: gw.example\r\nConnection: close, X-Hop\r\n\
             X-Hop: 1\r\nX-Odd: a\r\nX-Odd: éb\r\nX-Api-Key: k\r\nContent-Length: 3\r\n\r\nabc",
        )
        .await;
    assert_eq!((answer.status(), answer.body.as_slice()), (200, &b"ok"[..]));
    let sent = upstream.only_request().to_lowercase();
    assert!(sent.starts_with("purge /prefix/api/v1//a%3bb/%c3%a4/x'y|z/?q=%20+'&&=%zz http/1.1\r\n"), "{sent}");
    for header in [
        &format!("host: {}", upstream.address.trim_start_matches("http://")),
        "x-odd: a",
        "x-odd: \u{e9}b",
        "x-api-key: k",
        "content-length: 3",
        "x-forwarded-for: 127.0.0.1",
        "x-forwarded-host: gw.example",
        "x-forwarded-proto: http",
    ] {
        assert!(sent.contains(&format!("\r\n{header}\r\n")), "{header} is missing in {sent}");
    }
    assert!(
        !sent.contains("x-hop") && !sent.contains("accept-encoding") && sent.ends_with("\r\n\r\nabc"),
        "{sent}"
    );
}

#[tokio::test]
async fn the_answer_arrives_as_it_was_sent() {
    let upstream = RawUpstream::answering(
        b"HTTP/1.1 418 Odd\r\nContent-Encoding: gzip\r\nX-Odd: a\r\nX-Odd: b\r\nConnection: X-Hop\r\nX-Hop: 1\r\n\
          Content-Length: 5\r\n\r\n\x1f\x8b\x00\xffz",
    )
    .await;
    let answer = before(&upstream).await.ask("GET", "/api/v1/x/", "Accept-Encoding: gzip\r\n").await;
    assert_eq!((answer.status(), answer.body.as_slice()), (418, &b"\x1f\x8b\x00\xffz"[..]));
    assert_eq!((answer.header("content-encoding"), answer.header("content-length")), ("gzip", "5"));
    assert!(answer.head.contains("x-odd: a\r\nx-odd: b\r\n") && !answer.head.contains("x-hop"), "{answer:?}");
    assert_eq!(answer.header("causeway-v1-calls"), "");
}

#[tokio::test]
async fn redirects_are_the_clients_business() {
    let upstream = RawUpstream::answering(
        b"HTTP/1.1 301 Moved\r\nLocation: http://elsewhere.example/x/\r\nContent-Length: 0\r\n\r\n",
    )
    .await;
    let answer = before(&upstream).await.get("/api/v1/x").await;
    assert_eq!((answer.status(), answer.header("location")), (301, "http://elsewhere.example/x/"));
    assert_eq!(upstream.received.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn head_keeps_its_length_and_options_go_through() {
    let upstream = RawUpstream::answering(b"HTTP/1.1 200 OK\r\nContent-Length: 77\r\n\r\n").await;
    let answer = before(&upstream).await.ask("HEAD", "/api/v1/x/", "").await;
    assert_eq!((answer.header("content-length"), answer.body.len()), ("77", 0));
    assert!(upstream.only_request().starts_with("HEAD "));
    let upstream = RawUpstream::answering(PLAIN).await;
    let gateway =
        Gateway::before(&upstream.address, |settings| settings.cors.allowed_origins = vec!["*".into()], None).await;
    let preflight = "Origin: https://app.example.com\r\nAccess-Control-Request-Method: GET\r\n";
    assert_eq!(gateway.ask("OPTIONS", "/api/v1/x/", preflight).await.body, b"ok");
    assert!(upstream.only_request().starts_with("OPTIONS "));
}

#[tokio::test]
async fn chunks_and_trailers_cross_both_ways() {
    let upstream = RawUpstream::answering(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n2\r\nab\r\n0\r\nX-Sum: 7\r\n\r\n",
    )
    .await;
    let answer = before(&upstream)
        .await
        .exchange(
            "POST /api/v1/x/ HTTP/1.1\r\nHost: x\r\nTE: trailers\r\nConnection: close, TE\r\nTransfer-Encoding: chunked\r\n\r\n\
             3\r\nabc\r\n0\r\n\r\n",
        )
        .await;
    let body = String::from_utf8_lossy(&answer.body).to_lowercase();
    assert!(body.starts_with("2\r\nab\r\n0\r\n") && body.contains("x-sum: 7"), "{answer:?}");
    let sent = upstream.only_request();
    assert!(sent.contains("te: trailers") && sent.contains("3\r\nabc\r\n0\r\n"), "{sent}");
}

#[tokio::test]
async fn an_answer_in_chunks_is_whole_whatever_length_it_names() {
    let upstream = RawUpstream::answering(
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    )
    .await;
    let answer = before(&upstream).await.get("/api/v1/x/").await;
    assert_eq!((answer.status(), answer.header("content-length")), (200, ""));
    assert_eq!(String::from_utf8_lossy(&answer.body), "5\r\nhello\r\n0\r\n\r\n");
}

#[tokio::test]
async fn an_answer_in_an_older_version_is_one_of_http_1_1() {
    let upstream = RawUpstream::answering(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    let answer = before(&upstream).await.get("/api/v1/x/").await;
    assert!(answer.head.starts_with("http/1.1 200 "), "{answer:?}");
}

#[tokio::test]
async fn a_v1_that_is_not_there_is_unavailable() {
    let answer = Gateway::start(|_| {}).await.get("/api/v1/x/").await;
    assert_eq!((answer.status(), answer.code().as_str()), (503, "upstream_unavailable"));
    assert_eq!(answer.header("retry-after"), "1");
}

#[tokio::test]
async fn a_v1_that_breaks_off_or_babbles_is_an_error() {
    let switching = b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: odd\r\n\r\n";
    for nonsense in [&b"HTTP/1.1 2"[..], b"SMTP ready\r\n\r\n", switching] {
        let upstream = RawUpstream::answering(nonsense).await;
        let answer = before(&upstream).await.get("/api/v1/x/").await;
        assert_eq!((answer.status(), answer.code().as_str()), (502, "upstream_error"));
    }
}

#[tokio::test]
async fn a_v1_that_says_nothing_times_out_and_the_deadline_does_not_apply() {
    let upstream = RawUpstream::answering(b"").await;
    let gateway = Gateway::before(
        &upstream.address,
        |settings| {
            settings.limits.deadline = Duration::from_millis(1);
            settings.upstream.pass_through_timeout = Duration::from_millis(300);
        },
        None,
    )
    .await;
    let answer = gateway.get("/api/v1/x/").await;
    assert_eq!((answer.status(), answer.code().as_str()), (504, "upstream_timeout"));
}

#[tokio::test]
async fn only_a_write_is_told_that_it_may_have_been_carried_out() {
    let silent = RawUpstream::answering(b"").await;
    let broken = RawUpstream::answering(b"HTTP/1.1 2").await;
    let (soon, late) = (Duration::from_millis(300), Duration::from_secs(60));
    for (upstream, wait, status, code) in
        [(silent, soon, 504, "upstream_timeout"), (broken, late, 502, "upstream_error")]
    {
        let waiting = |settings: &mut crate::settings::Settings| settings.upstream.pass_through_timeout = wait;
        let gateway = Gateway::before(&upstream.address, waiting, None).await;
        for method in ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"] {
            let answer = gateway.ask(method, "/api/v1/x/", "").await;
            assert_eq!(answer.status(), status, "{method}");
            if method == "HEAD" {
                continue;
            }
            assert_eq!(answer.code(), code, "{method}");
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            let told = text.contains("may have been carried out");
            assert_eq!(told, !matches!(method, "GET" | "OPTIONS"), "{method}: {text}");
            assert_eq!(told, text.contains("Look the record up"), "{method}: {text}");
        }
    }
}

#[tokio::test]
async fn paths_that_climb_out_are_refused() {
    let upstream = RawUpstream::answering(PLAIN).await;
    let answer = before(&upstream).await.get("/api/v1/%2e%2e/%2e%2e/admin/").await;
    assert_eq!((answer.status(), answer.code().as_str()), (400, "validation_error"));
    assert!(upstream.received.lock().unwrap().is_empty());
}

struct Observed {
    seen: Mutex<Vec<String>>,
    after: Semaphore,
}

impl Default for Observed {
    fn default() -> Self {
        Self { seen: Mutex::default(), after: Semaphore::new(0) }
    }
}

impl WriteObserver for Observed {
    fn is_refusal(&self, path: &str, status: StatusCode, headers: &HeaderMap) -> bool {
        path == "/api/v1/x/" && status == StatusCode::UNAUTHORIZED && headers.contains_key("x-early")
    }

    fn client_left(&self, path: &str) {
        self.seen.lock().unwrap().push(format!("left {path}"));
        self.after.add_permits(1);
    }

    fn after_write(&self, path: &str) -> BoxFuture<'static, ()> {
        self.seen.lock().unwrap().push(format!("after {path}"));
        self.after.add_permits(1);
        Box::pin(std::future::ready(()))
    }

    fn deleted(&self, path: &str) -> BoxFuture<'static, ()> {
        self.seen.lock().unwrap().push(format!("deleted {path}"));
        Box::pin(std::future::ready(()))
    }
}

/// Sends a request of each kind to a v1 at `address`, and returns what was observed.
async fn observed_before(address: &str) -> Vec<String> {
    let observed = Arc::new(Observed::default());
    let gateway = Gateway::before(address, |_| {}, Some(observed.clone())).await;
    for method in ["GET", "HEAD", "OPTIONS", "PATCH"] {
        gateway.ask(method, "/api/v1/x/?q", "").await;
    }
    let seen = observed.seen.lock().unwrap();
    seen.clone()
}

#[tokio::test]
async fn writes_are_observed_unless_v1_has_certainly_not_carried_them_out() {
    let early: &[u8] = b"HTTP/1.1 401 No\r\nX-Early: 1\r\nContent-Length: 0\r\n\r\n";
    let late: &[u8] = b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n";
    let broken: &[u8] = b"HTTP/1.1 2";
    for (answer, is_observed) in [(PLAIN, true), (early, false), (late, true), (broken, true)] {
        let seen = observed_before(&RawUpstream::answering(answer).await.address).await;
        assert_eq!(seen.first().map(String::as_str), is_observed.then_some("after /api/v1/x/"));
        assert_eq!(seen.len(), usize::from(is_observed));
    }
    assert!(observed_before("http://127.0.0.1:1").await.is_empty(), "nobody accepts the connection");
}

#[tokio::test]
async fn a_client_that_leaves_ends_a_read_and_gives_v1_some_time_for_a_write() {
    for method in ["GET", "DELETE"] {
        let upstream = RawUpstream::answering(b"").await;
        let observed = Arc::new(Observed::default());
        let soon =
            |settings: &mut crate::settings::Settings| settings.store.late_write = Duration::from_millis(200);
        let gateway = Gateway::before(&upstream.address, soon, Some(observed.clone())).await;
        let mut socket = gateway.connect().await;
        let head = format!("{method} /api/v1/x/ HTTP/1.1\r\nHost: x\r\n\r\n");
        socket.write_all(head.as_bytes()).await.unwrap();
        until(|| !upstream.received.lock().unwrap().is_empty()).await;
        drop(socket);
        let _closed = patiently(upstream.closed.acquire()).await.unwrap();
        if method == "DELETE" {
            let _after = patiently(observed.after.acquire_many(2)).await.unwrap();
            assert_eq!(*observed.seen.lock().unwrap(), ["left /api/v1/x/", "after /api/v1/x/"]);
        }
    }
}

#[tokio::test]
async fn a_write_whose_client_leaves_goes_on_until_v1_has_answered() {
    let (listener, address, _) = listening().await;
    let observed = Arc::new(Observed::default());
    let gateway = Gateway::before(&address, |_| {}, Some(observed.clone())).await;
    let mut client = gateway.connect().await;
    client.write_all(b"DELETE /api/v1/x/ HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let (mut v1, _) = patiently(listener.accept()).await.unwrap();
    assert!(patiently(v1.read(&mut [0; 4096])).await.unwrap() > 0);
    drop(client);
    let _left = patiently(observed.after.acquire()).await.unwrap();
    assert_eq!(*observed.seen.lock().unwrap(), ["left /api/v1/x/"], "v1 may still refuse it");
    v1.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
    let _answered = patiently(observed.after.acquire()).await.unwrap();
    assert_eq!(*observed.seen.lock().unwrap(), ["left /api/v1/x/", "after /api/v1/x/", "deleted /api/v1/x/"]);
}

#[tokio::test]
async fn a_write_whose_client_leaves_while_there_is_no_connection_was_not_carried_out() {
    let (listener, address, _) = listening().await;
    let observed = Arc::new(Observed::default());
    let short = |settings: &mut crate::settings::Settings| {
        settings.upstream.connect_timeout = Duration::from_millis(600);
    };
    // This v1 never begins with TLS.
    let gateway = Gateway::before(&address.replace("http", "https"), short, Some(observed.clone())).await;
    let mut client = gateway.connect().await;
    client.write_all(b"DELETE /api/v1/x/ HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let _v1 = patiently(listener.accept()).await.unwrap();
    drop(client);
    tokio::time::sleep(Duration::from_millis(900)).await;
    assert!(observed.seen.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_v1_that_falls_silent_in_the_middle_of_an_answer_is_left() {
    let (listener, address, _) = listening().await;
    let short = |settings: &mut crate::settings::Settings| {
        settings.upstream.pass_through_timeout = Duration::from_secs(2);
    };
    let gateway = Gateway::before(&address, short, None).await;
    let silent = async {
        let (mut v1, _) = listener.accept().await.unwrap();
        assert!(v1.read(&mut [0; 4096]).await.unwrap() > 0);
        v1.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab").await.unwrap();
        v1.read(&mut [0; 1]).await
    };
    let (answer, ended) = tokio::join!(gateway.get("/api/v1/x/"), patiently(silent));
    assert_eq!((answer.status(), answer.body.as_slice()), (200, &b"ab"[..]));
    assert!(!matches!(ended, Ok(1..)), "{ended:?}");
}

#[tokio::test]
async fn credentials_of_the_gateway_itself_do_not_go_through() {
    let upstream = RawUpstream::answering(PLAIN).await;
    let gateway = before(&upstream).await;
    let answer = gateway.ask("GET", "/api/v1/x/", "Authorization: Bearer own\r\n").await;
    assert_eq!((answer.status(), answer.code().as_str()), (401, "unauthorized"));
    assert!(upstream.received.lock().unwrap().is_empty());
    assert_eq!(gateway.ask("GET", "/api/v1/x/", "Authorization: Bearer other\r\n").await.status(), 200);
}

#[tokio::test]
async fn a_body_the_client_spoils_is_the_clients_fault() {
    let upstream = RawUpstream::answering(b"").await;
    let head = "POST /api/v1/x/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
    let answer = before(&upstream).await.exchange(&format!("{head}3\r\nabc\r\nnonsense\r\n")).await;
    assert_eq!((answer.status(), answer.code().as_str()), (400, "validation_error"));
}

#[tokio::test]
async fn nothing_goes_to_v1_before_a_small_body_is_there_or_the_beginning_of_a_larger_one() {
    for (size, before, then) in [(4, 2, 2), (20_000, 16_000, 384)] {
        let upstream = RawUpstream::answering(PLAIN).await;
        let gateway = self::before(&upstream).await;
        let mut socket = gateway.connect().await;
        let head =
            format!("POST /api/v1/x/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {size}\r\n\r\n");
        socket.write_all(head.as_bytes()).await.unwrap();
        socket.write_all(&vec![b'a'; before]).await.unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(upstream.connections.load(Ordering::SeqCst), 0, "{size}");
        socket.write_all(&vec![b'b'; then]).await.unwrap();
        until(|| upstream.connections.load(Ordering::SeqCst) > 0).await;
        socket.write_all(&vec![b'c'; size - before - then]).await.unwrap();
        assert_eq!(Answer::read(&mut socket).await.status(), 200);
        let sent = upstream.only_request();
        let body = ["a".repeat(before), "b".repeat(then), "c".repeat(size - before - then)].concat();
        assert!(sent.to_lowercase().contains(&format!("content-length: {size}\r\n")), "{sent}");
        assert!(sent.ends_with(&format!("\r\n\r\n{body}")), "{size}");
    }
}

#[tokio::test]
async fn a_body_that_never_begins_costs_v1_nothing() {
    let upstream = RawUpstream::answering(PLAIN).await;
    let soon = |settings: &mut crate::settings::Settings| settings.limits.body_grace = Duration::from_millis(100);
    let gateway = Gateway::before(&upstream.address, soon, None).await;
    let answer = gateway.ask("POST", "/api/v1/x/", "Content-Length: 4\r\n").await;
    assert_eq!((answer.status(), answer.code().as_str()), (400, "validation_error"));
    assert_eq!(upstream.connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_read_keeps_its_body_of_unknown_length() {
    for method in ["GET", "HEAD", "DELETE"] {
        let upstream = RawUpstream::answering(PLAIN).await;
        let head =
            format!("{method} /api/v1/x/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked");
        before(&upstream).await.exchange(&format!("{head}\r\n\r\n4\r\nbody\r\n0\r\n\r\n")).await;
        let sent = upstream.only_request().to_lowercase();
        assert!(sent.contains("transfer-encoding: chunked\r\n") && sent.contains("\r\n4\r\nbody\r\n"), "{sent}");
    }
}

#[tokio::test]
async fn a_body_without_a_piece_is_no_body() {
    let upstream = RawUpstream::answering(PLAIN).await;
    let head = "POST /api/v1/x/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(before(&upstream).await.exchange(&format!("{head}0\r\n\r\n")).await.status(), 200);
    let sent = upstream.only_request().to_lowercase();
    assert!(!sent.contains("transfer-encoding") && sent.ends_with("\r\n\r\n"), "{sent}");
}

/// Returns a listener for a v1, its address, and a count for its requests.
async fn listening() -> (TcpListener, String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    (listener, address, Arc::default())
}

/// Starts a v1 that answers the first request of a connection, and closes it at the second one; counts requests.
async fn closing() -> (String, Arc<AtomicUsize>) {
    let (listener, address, count) = listening().await;
    let requests = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let requests = Arc::clone(&requests);
            tokio::spawn(async move {
                for answer in [PLAIN, b""] {
                    let mut head = [0; 4096];
                    if socket.read(&mut head).await.is_ok_and(|read| read > 0) {
                        requests.fetch_add(1, Ordering::Relaxed);
                        let _ = socket.write_all(answer).await;
                    }
                }
            });
        }
    });
    (address, count)
}

#[tokio::test]
async fn a_read_whose_kept_connection_closes_is_sent_once_more() {
    let (address, requests) = closing().await;
    let gateway = Gateway::before(&address, |_| {}, None).await;
    for sent in [1, 3, 5] {
        assert_eq!(gateway.get("/api/v1/x/").await.status(), 200);
        assert_eq!(requests.load(Ordering::Relaxed), sent);
    }
}

#[tokio::test]
async fn a_write_is_sent_once_whatever_happens() {
    let upstream = RawUpstream::answering(b"HTTP/1.1 2").await;
    let answer = before(&upstream).await.ask("DELETE", "/api/v1/x/", "").await;
    assert_eq!((answer.status(), answer.code().as_str()), (502, "upstream_error"));
    upstream.only_request();
}

/// Starts a v1 that reads only the heads of requests, writes `answer`, and closes the connection while the body is still
/// being sent; counts requests.
async fn hasty(answer: &'static [u8]) -> (String, Arc<AtomicUsize>) {
    let (listener, address, count) = listening().await;
    let requests = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            requests.fetch_add(1, Ordering::Relaxed);
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(socket.read_u8().await.unwrap());
            }
            // The kernel resets a connection that is closed with unread bytes.
            assert!(socket.peek(&mut [0]).await.is_ok_and(|unread| unread > 0));
            socket.write_all(answer).await.unwrap();
        }
    });
    (address, count)
}

/// Uploads several MB, and reads the answer meanwhile.
async fn upload(gateway: &Gateway) -> Answer {
    const SIZE: usize = 4 * 1024 * 1024;
    let (mut reading, mut writing) = gateway.connect().await.into_split();
    let sending = async {
        let head =
            format!("POST /api/v1/x/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {SIZE}\r\n\r\n");
        writing.write_all(head.as_bytes()).await.unwrap();
        writing.write_all(&vec![b'a'; SIZE]).await
    };
    let (sent, answer) = tokio::join!(sending, Answer::read(&mut reading));
    sent.unwrap();
    answer
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_early_answer_to_an_upload_goes_through_although_v1_closes_the_connection() {
    let refused = b"HTTP/1.1 413 Too Large\r\nContent-Length: 9\r\nConnection: close\r\n\r\ntoo large";
    let (address, _) = hasty(refused).await;
    let gateway = Gateway::before(&address, |_| {}, None).await;
    for _ in 0..30 {
        let answer = upload(&gateway).await;
        assert_eq!((answer.status(), String::from_utf8_lossy(&answer.body)), (413, "too large".into()));
    }
}

#[tokio::test]
async fn an_upload_to_a_v1_that_closes_without_an_answer_is_sent_once_and_may_have_been_carried_out() {
    let (address, requests) = hasty(b"").await;
    let answer = upload(&Gateway::before(&address, |_| {}, None).await).await;
    assert_eq!((answer.status(), answer.code().as_str()), (502, "upstream_error"));
    assert!(String::from_utf8_lossy(&answer.body).contains("may have been carried out"), "{answer:?}");
    assert_eq!(requests.load(Ordering::Relaxed), 1);
}
