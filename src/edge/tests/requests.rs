//! Effects of the layers on single requests. May use: `context`, `settings`, this folder.

use super::support::{Gateway, RawUpstream, patiently};
use crate::context::Context;
use crate::edge::{Notice, Notices, PassThrough, empty};
use crate::settings::{HttpAddress, Settings};
use bytes::Bytes;
use http::{HeaderMap, Method, Uri};
use http_body::Body as _;
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use std::sync::Arc;
use std::time::Duration;

#[tokio::test]
async fn a_success_is_json_and_says_what_it_cost() {
    let gateway = Gateway::start(|_| {}).await;
    let answer = gateway.get("/api/v2/ok/").await;
    assert_eq!((answer.status(), answer.body.as_slice()), (200, &b"{\"ok\":true}"[..]));
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(answer.header("causeway-v1-calls"), "2");
    assert!(answer.header("server-timing").starts_with("v1;dur=11.0;desc=\"2 calls\", total;dur="), "{answer:?}");
}

#[tokio::test]
async fn no_content_has_neither_body_nor_type() {
    let answer = Gateway::start(|_| {}).await.get("/api/v2/none/").await;
    assert_eq!((answer.status(), answer.body.len(), answer.header("content-type")), (204, 0, ""));
}

#[tokio::test]
async fn a_sane_request_id_is_echoed_and_any_other_replaced() {
    let gateway = Gateway::start(|_| {}).await;
    let echoed = gateway.ask("GET", "/api/v2/ok/", "X-Request-Id: abc-123\r\n").await;
    assert_eq!(echoed.header("x-request-id"), "abc-123");
    for id in ["", "has space", &"x".repeat(129), "caf\u{e9}"] {
        let answer = gateway.ask("GET", "/api/v2/none/", &format!("X-Request-Id: {id}\r\n")).await;
        assert_eq!(answer.header("x-request-id").len(), 36, "{id}");
    }
}

#[tokio::test]
async fn problems_carry_request_id_cost_and_the_address_the_client_used() {
    let gateway = Gateway::start(|_| {}).await;
    let answer = gateway.get("/api/v2/missing/").await;
    assert_eq!((answer.status(), answer.code().as_str()), (404, "resource_not_found"));
    assert_eq!((answer.header("causeway-v1-calls"), answer.header("x-request-id").len()), ("0", 36));
    assert!(String::from_utf8_lossy(&answer.body).contains("\"http://gw.example/errors/resource_not_found\""));
    let fixed = Gateway::start(|settings| settings.public.url = HttpAddress::parse("https://v2.example.com")).await;
    let body = fixed.get("/api/v2/missing/").await.body;
    assert!(String::from_utf8_lossy(&body).contains("\"https://v2.example.com/errors/"));
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    let gateway = Gateway::start(|_| {}).await;
    let answer = gateway.ask("HEAD", "/api/v2/ok/", "").await;
    assert_eq!((answer.status(), answer.header("content-length"), answer.body.len()), (200, "11", 0));
    let refused = gateway.ask("HEAD", "/api/v2/missing/", "").await;
    assert_eq!((refused.status(), refused.body.len()), (404, 0));
    assert!(refused.header("content-length").parse::<usize>().unwrap() > 0);
    assert_eq!(gateway.ask("HEAD", "/healthz", "").await.status(), 200);
}

/// Only HTTP/2 shows this: a client must end a stream that has bytes behind the answer to HEAD.
#[tokio::test]
async fn a_refused_head_of_the_pass_through_has_no_body_either() {
    let gateway = Gateway::start(|_| {}).await;
    let client = Client::builder(TokioExecutor::new()).http2_only(true).build_http::<Empty<Bytes>>();
    // Refused at the door, by the pass-through, and because v1 is not there.
    for (path, token, status) in
        [("/api/v1/%2e%2e/", "other", 400), ("/api/v1/x/", "own", 401), ("/api/v1/x/", "other", 503)]
    {
        let request = http::Request::head(format!("http://{}{path}", gateway.address))
            .header("authorization", format!("Bearer {token}"))
            .body(Empty::new())
            .unwrap();
        let answer = patiently(client.request(request)).await.unwrap();
        assert_eq!((answer.status().as_u16(), answer.version()), (status, http::Version::HTTP_2));
        assert_ne!(answer.headers()["content-length"], "0", "{status}");
        assert_eq!(answer.into_body().collect().await.unwrap().to_bytes().len(), 0, "{status}");
    }
}

struct Ended;

impl Notices for Ended {
    fn of(&self, _: &Method, _: &Uri, _: &HeaderMap) -> Option<Notice> {
        Some(Notice { gone: Some("It has ended.".into()), ..Notice::default() })
    }
}

#[tokio::test]
async fn head_of_an_operation_of_v1_that_has_ended_has_no_body() {
    let (settings, base) = (Settings::default(), HttpAddress::parse("http://127.0.0.1:1").unwrap());
    let mut way = PassThrough::new(&base, &settings.upstream, settings.public).unwrap();
    way.notices = Some(Arc::new(Ended));
    for (method, has_body) in [("HEAD", false), ("GET", true)] {
        let request = http::Request::builder().method(method).uri("/api/v1/x/").body(empty()).unwrap();
        let answer = way.forward(request, &Context::new("r", Duration::from_secs(5))).await.unwrap();
        assert_eq!((answer.status().as_u16(), !answer.body().is_end_stream()), (410, has_body), "{method}");
    }
}

#[tokio::test]
async fn an_unknown_method_gets_allow() {
    let answer = Gateway::start(|_| {}).await.ask("PUT", "/api/v2/ok/", "").await;
    assert_eq!((answer.code().as_str(), answer.header("allow")), ("method_not_allowed", "get, head, post"));
}

#[tokio::test]
async fn panics_are_internal_errors_and_the_gateway_goes_on() {
    let gateway = Gateway::start(|_| {}).await;
    for path in ["/api/v2/panic/", "/api/v2/panic-at-once/"] {
        let answer = gateway.get(path).await;
        assert_eq!((answer.status(), answer.code().as_str()), (500, "internal_error"));
        assert!(!String::from_utf8_lossy(&answer.body).contains("scripted"));
    }
    assert_eq!(gateway.get("/api/v2/ok/").await.status(), 200);
}

#[tokio::test]
async fn the_deadline_ends_what_hangs() {
    let gateway = Gateway::start(|settings| settings.limits.deadline = Duration::from_millis(100)).await;
    let answer = gateway.get("/api/v2/hang/").await;
    assert_eq!((answer.status(), answer.code().as_str()), (504, "deadline_exceeded"));
}

#[tokio::test]
async fn requests_beyond_the_concurrency_are_refused_but_health_checks_are_not() {
    let gateway = Gateway::start(|settings| settings.limits.concurrency = 1).await;
    let waiting = async {
        let answer = gateway.get("/api/v2/wait/").await;
        assert_eq!(answer.status(), 200);
    };
    let meanwhile = async {
        gateway.script.began.notified().await;
        let refused = gateway.get("/api/v2/ok/").await;
        assert_eq!((refused.status(), refused.code().as_str()), (503, "overloaded"));
        assert_eq!(refused.header("retry-after"), "1");
        assert_eq!(gateway.get("/healthz").await.status(), 200);
        assert_eq!(gateway.get("/readyz").await.status(), 200);
        gateway.script.go_on.notify_one();
    };
    tokio::join!(waiting, meanwhile);
    assert_eq!(gateway.get("/api/v2/ok/").await.status(), 200);
}

#[tokio::test]
async fn bodies_are_read_up_to_the_limit() {
    let gateway = Gateway::start(|_| {}).await;
    let post = async |body: &str| {
        let head = "POST /api/v2/echo/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n";
        gateway.exchange(&format!("{head}Content-Length: {}\r\n\r\n{body}", body.len())).await
    };
    assert_eq!(post("{\"a\":1}").await.body, b"{\"a\":1}");
    let refused = post(&"x".repeat(1025)).await;
    assert_eq!((refused.status(), refused.code().as_str()), (400, "validation_error"));
}

#[tokio::test]
async fn a_body_that_stops_arriving_is_a_validation_error() {
    let gateway = Gateway::start(|settings| settings.limits.body_pause = Duration::from_millis(100)).await;
    let head = "POST /api/v2/echo/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n";
    let answer = gateway.exchange(&format!("{head}Content-Length: 10\r\n\r\n12345")).await;
    assert_eq!((answer.status(), answer.code().as_str()), (400, "validation_error"));
}

#[tokio::test]
async fn an_upload_that_stops_in_the_middle_did_not_arrive_in_time() {
    let upstream = RawUpstream::answering(b"").await;
    let soon = |settings: &mut Settings| settings.limits.body_grace = Duration::from_millis(100);
    let gateway = Gateway::before(&upstream.address, soon, None).await;
    let head = "POST /api/v1/x/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 20000\r\n\r\n";
    let answer = gateway.exchange(&format!("{head}{}", "x".repeat(17_000))).await;
    assert_eq!((answer.status(), answer.code().as_str()), (400, "validation_error"));
    let text = String::from_utf8_lossy(&answer.body);
    assert!(text.contains("The request body did not arrive in time."), "{text}");
}

#[tokio::test]
async fn other_paths_are_not_found() {
    let gateway = Gateway::start(|_| {}).await;
    for path in ["/", "/api/", "/api/v1", "/api/v3/x/", "/healthz/"] {
        assert_eq!(gateway.get(path).await.code(), "resource_not_found", "{path}");
    }
    assert_eq!(gateway.ask("POST", "/healthz", "").await.code(), "method_not_allowed");
}

const PREFLIGHT: &str = "Origin: https://app.example.com\r\nAccess-Control-Request-Method: GET\r\n";

#[tokio::test]
async fn pages_of_configured_origins_may_call() {
    let allowed = "https://app.example.com";
    let gateway = Gateway::start(|settings| settings.cors.allowed_origins = vec![allowed.into()]).await;
    let preflight = gateway.ask("OPTIONS", "/api/v2/ok/", PREFLIGHT).await;
    assert_eq!((preflight.status(), preflight.header("access-control-allow-origin")), (204, allowed));
    assert!(preflight.header("access-control-allow-headers").contains("x-api-key"));
    for path in ["/api/v2/ok/", "/api/v2/missing/"] {
        let answer = gateway.ask("GET", path, &format!("Origin: {allowed}\r\n")).await;
        assert_eq!((answer.header("access-control-allow-origin"), answer.header("vary")), (allowed, "origin"));
    }
}

#[tokio::test]
async fn pages_of_other_origins_may_not() {
    let allowed = "https://other.example.com";
    let gateway = Gateway::start(|settings| settings.cors.allowed_origins = vec![allowed.into()]).await;
    let preflight = gateway.ask("OPTIONS", "/api/v2/ok/", PREFLIGHT).await;
    assert_eq!((preflight.status(), preflight.header("access-control-allow-origin")), (405, ""));
    let plain = gateway.ask("OPTIONS", "/api/v2/ok/", &format!("Origin: {allowed}\r\n")).await;
    assert_eq!(plain.status(), 405);
}

#[tokio::test]
async fn pages_are_asked_before_v2() {
    let answer = Gateway::start(|_| {}).await.get("/api/v2/docs/").await;
    assert_eq!((answer.status(), answer.body.as_slice()), (200, &b"<!doctype html>"[..]));
}
