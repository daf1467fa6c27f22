//! Traces: the header that v1 gets, the spans that a collector gets, and which callers may decide about recording.

use crate::support::captured::Captured;
use crate::support::gateway::{Gateway, WEB};
use crate::support::postgres::Database;
use crate::support::scripted::{Exchange, ScriptedV1};
use crate::support::wire::WireRequest;
use causeway::sandbox::Seed;
use causeway::task::spawn;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::sync::watch;

const ME: &str = "/api/v2/users/me/";
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

fn parent(sampled: &str) -> String {
    format!("00-{TRACE}-{SPAN}-{sampled}")
}

async fn v1() -> ScriptedV1 {
    let v1 = ScriptedV1::start().await;
    v1.expect(Exchange::get("users/me/").recorded("users", "users_me_admin").repeated());
    v1
}

/// A collector of OTLP over HTTP that keeps all spans.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<Value>>>);

impl Collector {
    async fn start() -> (Self, String) {
        let (collector, listener) = (Self::default(), TcpListener::bind("127.0.0.1:0").await.expect("a free port"));
        let address = format!("http://{}/v1/traces", listener.local_addr().expect("an address"));
        let kept = collector.clone();
        spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let kept = kept.clone();
                spawn(async move {
                    let mut buffer = Vec::new();
                    while let Some(request) = WireRequest::read(&mut stream, &mut buffer).await {
                        assert_eq!((request.method.as_str(), request.path()), ("POST", "/v1/traces"));
                        assert_eq!(request.header("content-type"), "application/json");
                        kept.0.lock().expect("spans").push(serde_json::from_slice(&request.body).expect("JSON"));
                        let answer =
                            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
                        stream.write_all(answer).await.expect("an answer");
                    }
                });
            }
        });
        (collector, address)
    }

    fn spans(&self) -> Vec<Value> {
        let batches = self.0.lock().expect("spans");
        let scopes = batches.iter().flat_map(|batch| batch["resourceSpans"].as_array().expect("resources"));
        let scopes = scopes.flat_map(|resource| resource["scopeSpans"].as_array().expect("scopes"));
        scopes.flat_map(|scope| scope["spans"].as_array().expect("spans")).cloned().collect()
    }

    /// Waits for a span of a request, and returns all spans so far.
    async fn request(&self) -> Vec<Value> {
        self.requests(1).await
    }

    /// The same for `wanted` requests.
    async fn requests(&self, wanted: usize) -> Vec<Value> {
        let come = async {
            while self.spans().iter().filter(|span| span["kind"] == 2).count() < wanted {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), come).await.expect("a span of the request");
        self.spans()
    }
}

fn attribute(span: &Value, name: &str) -> Value {
    let all = span["attributes"].as_array().expect("attributes");
    let found = all.iter().find(|attribute| attribute["key"] == name).map(|attribute| attribute["value"].clone());
    found.unwrap_or_else(|| panic!("no {name} in {span:#}"))
}

#[tokio::test]
async fn v1_is_told_the_trace_on_both_ways() {
    let v1 = v1().await;
    let gateway = Gateway::with(v1.base_url(), &[("cache.identity", "0s"), ("usage.count", "false")]).await;
    for path in [ME, "/api/v1/users/me/"] {
        let (sent, before) = (parent("01"), v1.seen().len());
        let headers = [("traceparent", sent.as_str()), ("tracestate", "vendor=1")];
        gateway.send_with("ada", "GET", path, None, &headers).await.expect(200);
        gateway.send_with("ada", "GET", path, None, &[]).await.expect(200);
        let broken = [("traceparent", "00-nothing"), ("tracestate", "vendor=1")];
        gateway.send_with("ada", "GET", path, None, &broken).await.expect(200);
        let seen = v1.seen().split_off(before);
        let told: Vec<&str> = seen.iter().map(|call| call.headers["traceparent"].as_str()).collect();
        assert_eq!(told.len(), 3, "{path}: {told:?}");
        // The stranger's flag is not passed on, but its trace id is.
        assert!(told[0].starts_with(&format!("00-{TRACE}-")) && told[0].ends_with("-00"), "{path}: {told:?}");
        assert!(!told[0].contains(SPAN), "a call is a span of its own: {told:?}");
        assert_eq!(seen[0].headers.get("tracestate").map(String::as_str), Some("vendor=1"), "{path}");
        for (told, call) in told[1..].iter().zip(&seen[1..]) {
            assert!(told.len() == 55 && !told.contains(TRACE) && told.ends_with("-00"), "{path}: {told:?}");
            assert_eq!(call.headers.get("tracestate"), None, "{path}");
        }
        assert_ne!(told[1][3..35], told[2][3..35]);
    }
}

#[tokio::test]
async fn a_collector_gets_the_request_and_its_steps() {
    let (v1, (collector, endpoint)) = (v1().await, Collector::start().await);
    let gateway = Gateway::with(v1.base_url(), &[("traces.endpoint", &endpoint), ("traces.one_in", "1")]).await;
    let headers = [("traceparent", &*parent("00")), ("user-agent", "tool/1.2"), ("x-request-id", "r-7")];
    gateway.send_with("ada", "GET", ME, None, &headers).await.expect(200);
    let told = v1.seen()[0].headers["traceparent"].clone();
    assert!(told.ends_with("-01"), "{told}");
    let spans = collector.request().await;
    let whole = spans.iter().find(|span| span["kind"] == 2).expect("the request");
    assert_eq!((&whole["traceId"], &whole["parentSpanId"]), (&TRACE.into(), &SPAN.into()), "{whole:#}");
    assert_eq!(whole["name"], "users_me_retrieve", "{whole:#}");
    assert_eq!(attribute(whole, "url.path")["stringValue"], ME);
    assert_eq!(attribute(whole, "causeway.request_id")["stringValue"], "r-7");
    assert_eq!(attribute(whole, "user_agent.name")["stringValue"], "tool/1.2");
    assert_eq!(attribute(whole, "http.response.status_code")["intValue"], "200");
    let call = spans.iter().find(|span| span["name"] == "GET v1").expect("the call to v1");
    assert_eq!(call["kind"], 3, "{call:#}");
    assert_eq!((&call["name"], &call["parentSpanId"]), (&"GET v1".into(), &whole["spanId"]), "{call:#}");
    assert_eq!(call["spanId"], told[36..52], "v1 was told the id of this step");
    assert_eq!(attribute(call, "url.path")["stringValue"], "/api/v1/users/me/");
    assert!(
        spans.iter().any(|span| span["name"] == "checks" && span["parentSpanId"] == whole["spanId"]),
        "{spans:#?}"
    );
    let text = serde_json::to_string(&spans).expect("JSON");
    assert!(!text.contains("\"ada\""), "no credential is in a trace: {text}");
}

/// A collector that refuses the first batch and answers the next one endlessly. Reports the number of its requests and,
/// once the connection has ended, the bytes of that answer that were read.
async fn troublesome() -> (watch::Receiver<(usize, Option<usize>)>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = format!("http://{}/v1/traces", listener.local_addr().expect("an address"));
    let (told, telling) = watch::channel((0, None));
    spawn(async move {
        let no = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        let (mut stream, _) = listener.accept().await.expect("a connection");
        WireRequest::read(&mut stream, &mut Vec::new()).await.expect("a batch");
        stream.write_all(no).await.expect("an answer");
        told.send_replace((1, None));
        drop(stream);
        let (mut stream, _) = listener.accept().await.expect("a connection");
        WireRequest::read(&mut stream, &mut Vec::new()).await.expect("a batch");
        let mut taken = 0;
        let mut piece = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n".to_vec();
        while taken < 64 << 20 && stream.write_all(&piece).await.is_ok() {
            taken += piece.len();
            piece = vec![b' '; 1 << 20];
        }
        told.send_replace((2, Some(taken)));
    });
    (telling, address)
}

#[tokio::test]
async fn a_collector_that_fails_is_told_and_takes_no_memory() {
    let (v1, (mut collector, endpoint)) = (v1().await, troublesome().await);
    let log = Captured::default();
    let _listening = log.listen();
    let gateway = Gateway::with(v1.base_url(), &[("traces.endpoint", &endpoint), ("traces.one_in", "1")]).await;
    let waiting = Duration::from_secs(30);
    for asked in [1, 2] {
        gateway.get("ada", ME).await.expect(200);
        let come = collector.wait_for(|told| told.0 == asked);
        tokio::time::timeout(waiting, come).await.expect("a batch in time").expect("a collector");
    }
    let taken = collector.borrow().1.expect("an answer");
    assert!(taken < 32 << 20, "{taken} bytes of an answer were taken");
    let again = async {
        while !log.text().contains("the collector takes traces again") {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(waiting, again).await.expect("a line of the log");
    let lines = log.text();
    let lost: Vec<&str> = lines.lines().filter(|line| line.contains("traces are lost")).collect();
    assert!(lost.len() == 1 && lost[0].contains("it answers 503"), "{lost:?}");
}

/// Returns the kinds of the statements that the store got for one request.
fn statements(spans: &[Value], request: &str) -> Vec<String> {
    let is_it =
        |span: &&Value| span["kind"] == 2 && attribute(span, "causeway.request_id")["stringValue"] == request;
    let whole = spans.iter().find(is_it).expect("the request");
    let of_store = spans.iter().filter(|span| span["name"].as_str().is_some_and(|name| name.ends_with(" store")));
    let mine = of_store.filter(|span| span["parentSpanId"] == whole["spanId"]);
    let told = mine.map(|span| {
        let word = |name| attribute(span, name)["stringValue"].as_str().expect("a word").to_owned();
        assert_eq!(span["kind"], 3, "{span:#}");
        assert_eq!(span["name"], format!("{} store", word("db.operation.name")));
        assert_eq!(span["attributes"].as_array().map(Vec::len), Some(2), "kind and database, and nothing else");
        format!("{} {}", word("db.system.name"), word("db.operation.name"))
    });
    told.collect()
}

#[tokio::test]
async fn statements_of_the_store_are_steps_without_what_they_say() {
    let (collector, endpoint) = Collector::start().await;
    let (secret, database) = ("very-private-name", Database::create().await);
    for (at, store) in ["sqlite::memory:".to_owned(), database.url()].iter().enumerate() {
        let all = [("traces.endpoint", endpoint.as_str()), ("traces.one_in", "1"), ("store.url", store)];
        let gateway = Gateway::sandboxed_with(Seed::Recorded, &all).await;
        let (path, body) = (format!("{WEB}/work-item-types/"), json!({"name": secret}));
        gateway.post("ada", &format!("{path}enable/"), json!({})).await.expect(200);
        let (writing, reading) = (format!("written-{at}"), format!("read-{at}"));
        let headers = [("x-request-id", writing.as_str()), ("idempotency-key", writing.as_str())];
        gateway.send_with("ada", "POST", &path, Some(&body), &headers).await.expect(201);
        let headers = [("x-request-id", reading.as_str())];
        gateway.send_with("ada", "GET", &path, None, &headers).await.expect(200);
        gateway.stop().await;
        let spans = collector.requests(3 * (at + 1)).await;
        let engine = if at == 0 { "sqlite" } else { "postgresql" };
        let (written, read) = (statements(&spans, &writing), statements(&spans, &reading));
        for kind in ["BEGIN", "INSERT", "SELECT", "COMMIT"] {
            assert!(written.contains(&format!("{engine} {kind}")), "{kind}: {written:?}");
        }
        assert!(!read.is_empty() && read.iter().all(|one| !one.ends_with("INSERT")), "{read:?}");
        let text = serde_json::to_string(&spans).expect("JSON");
        for word in [secret, "FROM", "VALUES", "\"ada\""] {
            assert!(!text.contains(word), "{word} is in a trace: {text}");
        }
    }
}

#[tokio::test]
async fn trusted_proxies_decide_and_a_collector_that_is_away_keeps_nobody() {
    let (v1, (collector, endpoint)) = (v1().await, Collector::start().await);
    let trusting =
        [("traces.endpoint", endpoint.as_str()), ("traces.one_in", "0"), ("trusted_proxies", "127.0.0.0/8")];
    let gateway = Gateway::with(v1.base_url(), &trusting).await;
    gateway.send_with("ada", "GET", ME, None, &[("x-request-id", "not-recorded")]).await.expect(200);
    let headers = [("traceparent", &*parent("01")), ("x-request-id", "recorded")];
    gateway.send_with("ada", "GET", ME, None, &headers).await.expect(200);
    let spans = collector.request().await;
    let requests: Vec<Value> =
        spans.iter().filter(|span| span["kind"] == 2).map(|span| attribute(span, "causeway.request_id")).collect();
    assert_eq!(requests, [json!({"stringValue": "recorded"})]);

    let away = [("traces.endpoint", "http://127.0.0.1:9/v1/traces"), ("traces.one_in", "1")];
    let gateway = Gateway::with(v1.base_url(), &away).await;
    for _ in 0..20 {
        gateway.get("ada", ME).await.expect(200);
    }
    gateway.stop().await;
}
