//! Content of the log: one line per request, causes, and no secrets. May use: `settings`, `telemetry`, this
//! folder.

use super::support::{Gateway, RawUpstream, patiently};
use crate::settings::{LogFormat, LogSettings, Settings};
use crate::telemetry;
use serde_json::Value;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tracing::subscriber::DefaultGuard;
use tracing::{Dispatch, Level};

/// The log of this test's thread, as text.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Write::write(&mut *self.0.lock().unwrap(), bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn begin() -> (Self, (DefaultGuard, Dispatch)) {
        // With a single subscriber, `tracing` caches for an event what the first thread decides. A thread without a
        // subscriber would disable the event for ever. With two subscribers both are asked each time.
        let elsewhere = tracing_subscriber::fmt().with_writer(io::sink).with_max_level(Level::TRACE).finish();
        let elsewhere = Dispatch::new(elsewhere);
        let log = Self::default();
        let writer = log.clone();
        let settings = LogSettings { format: LogFormat::Json, ..Settings::default().log };
        let (subscriber, _) = telemetry::subscriber(&settings, move || writer.clone());
        (log, (tracing::subscriber::set_default(subscriber), elsewhere))
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// Waits for the first line with `message`: a line is written after its answer was sent.
    async fn line(&self, message: &str) -> Value {
        let found = async {
            loop {
                let text = self.text();
                let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
                if let Some(line) = lines.find(|line| line["message"] == message) {
                    return line;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        patiently(found).await
    }
}

#[tokio::test]
async fn each_request_leaves_one_line_without_secrets() {
    let (log, _guard) = Log::begin();
    let gateway = Gateway::start(|_| {}).await;
    let headers = "X-Api-Key: secret-key\r\nAuthorization: Bearer secret-token\r\nX-Request-Id: r-1\r\n";
    gateway.ask("GET", "/api/v2/ok/?search=secret-word", headers).await;
    let line = log.line("request").await;
    assert_eq!((&line["method"], &line["path"]), (&"GET".into(), &"/api/v2/ok/".into()));
    assert_eq!((&line["status"], &line["v1_calls"], &line["bytes"]), (&200.into(), &2.into(), &11.into()));
    assert_eq!((&line["request_id"], &line["peer"]), (&"r-1".into(), &"127.0.0.1".into()));
    assert_eq!((&line["complete"], &line["v1_ms"]), (&true.into(), &11.into()));
    assert!(line["duration_ms"].is_u64() && line["trace_id"].as_str().is_some_and(|id| id.len() == 32), "{line}");
    assert!(line.get("owner").is_none() && line["level"] == "INFO", "{line}");
    assert!(!log.text().contains("secret"), "{}", log.text());
}

#[tokio::test]
async fn a_passed_request_cost_one_call_and_a_refused_one_none() {
    let upstream = RawUpstream::answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    for (path, status, calls, source) in
        [("/api/v1/x/", 200, 1, "v1"), ("/api/v1/a%2Fb/", 400, 0, "none"), ("/api/v1/../x/", 400, 0, "none")]
    {
        let (log, _guard) = Log::begin();
        let gateway = Gateway::before(&upstream.address, |_| {}, None).await;
        let answer = gateway.get(path).await;
        assert_eq!((answer.header("causeway-v1-calls"), answer.header("server-timing")), ("", ""), "{path}");
        let line = log.line("request").await;
        assert_eq!((&line["status"], &line["v1_calls"]), (&status.into(), &calls.into()), "{line}");
        assert!(line["v1_ms"].is_u64() && line["source"] == source, "{line}");
    }
    let (log, _guard) = Log::begin();
    let unreachable = Gateway::start(|_| {}).await;
    unreachable.get("/api/v1/x/").await;
    let line = log.line("request").await;
    assert_eq!((&line["status"], &line["v1_calls"], &line["source"]), (&503.into(), &1.into(), &"v1".into()));
}

#[tokio::test]
async fn causes_are_logged_under_the_request_id() {
    let (log, _guard) = Log::begin();
    Gateway::start(|_| {}).await.ask("GET", "/api/v2/panic/", "X-Request-Id: r-2\r\n").await;
    let line = log.line("request refused").await;
    assert_eq!((&line["request_id"], &line["code"]), (&"r-2".into(), &"internal_error".into()));
    assert_eq!(line["cause"], "panic: scripted panic");
}

#[tokio::test]
async fn failed_and_slow_requests_are_logged_as_warnings() {
    let (log, _guard) = Log::begin();
    Gateway::start(|_| {}).await.ask("GET", "/api/v2/panic/", "").await;
    let line = log.line("request").await;
    assert_eq!((&line["level"], &line["status"]), (&"WARN".into(), &500.into()));
    let (log, _guard) = Log::begin();
    let gateway = Gateway::start(|settings| settings.log.slow = Duration::from_nanos(1)).await;
    gateway.ask("GET", "/api/v2/ok/", "").await;
    let line = log.line("request").await;
    assert_eq!((&line["level"], &line["status"]), (&"WARN".into(), &200.into()));
}

#[tokio::test]
async fn a_client_that_left_is_logged_as_499() {
    let (log, _guard) = Log::begin();
    let gateway = Gateway::start(|_| {}).await;
    let mut socket = gateway.connect().await;
    socket.write_all(b"GET /api/v2/wait/ HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    patiently(gateway.script.began.notified()).await;
    drop(socket);
    let line = log.line("request").await;
    assert_eq!((&line["status"], &line["complete"]), (&499.into(), &false.into()));
}
