//! A v1 with one kind of record more than the sandbox has: plain records in projects and in workspaces, with no rules.
//!
//! Everything else goes on to the sandbox. May use: `tests/support`.

use crate::support::gateway::serve_sandbox;
use crate::support::wire::WireRequest;
use bytes::Bytes;
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::task::spawn;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Map, Value, json};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

/// The v1. It lives as long as the test's runtime.
pub struct MoreV1 {
    base_url: String,
    inner: Arc<Inner>,
}

struct Inner {
    /// Last part of the paths of its collections.
    name: &'static str,
    sandbox: String,
    client: Client<HttpConnector, Full<Bytes>>,
    modules_off: AtomicBool,
    /// How many records were ever made.
    made: AtomicUsize,
    /// Every record with the path of its collection, the newest first.
    records: Mutex<Vec<(String, Map<String, Value>)>>,
}

impl MoreV1 {
    /// Starts a v1 with collections at `…/NAME/`.
    pub async fn with(name: &'static str) -> Self {
        let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
        let sandbox = serve_sandbox(&sandbox).await;
        let client = Client::builder(TokioExecutor::new()).build_http();
        let (modules_off, made) = (AtomicBool::new(false), AtomicUsize::new(0));
        let inner = Inner { name, sandbox, client, modules_off, made, records: Mutex::default() };
        let (inner, listener) = (Arc::new(inner), TcpListener::bind("127.0.0.1:0").await.expect("a free port"));
        let base_url = format!("http://{}", listener.local_addr().expect("an address"));
        let serving = Arc::clone(&inner);
        spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                spawn(serve(stream, Arc::clone(&serving)));
            }
        });
        Self { base_url, inner }
    }

    /// Returns its address for the gateway.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Switches modules off in every project.
    pub fn switch_modules_off(&self) {
        self.inner.modules_off.store(true, Ordering::SeqCst);
    }

    /// Creates a record past the gateway.
    pub fn make(&self, place: &str, body: Value) {
        self.inner.make(&format!("/api/v1/{place}"), body);
    }

    /// Returns the stored values of `member`, with the name of each record.
    pub fn held(&self, member: &str) -> Vec<(String, Value)> {
        let records = self.inner.records.lock().expect("a lock");
        let row = |record: &Map<String, Value>| {
            (
                record["name"].as_str().unwrap_or_default().to_owned(),
                record.get(member).cloned().unwrap_or_default(),
            )
        };
        let mut held: Vec<_> = records.iter().map(|(_, record)| row(record)).collect();
        held.sort_by(|a, b| a.0.cmp(&b.0));
        held
    }
}

async fn serve(mut stream: TcpStream, inner: Arc<Inner>) -> Option<()> {
    let mut buffer = Vec::new();
    loop {
        let request = WireRequest::read(&mut stream, &mut buffer).await?;
        let (status, body) = match inner.own(&request) {
            Some(answer) => answer,
            None => inner.passed_on(&request).await,
        };
        let head = format!(
            "HTTP/1.1 {status} Answer\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.ok()?;
        stream.write_all(&body).await.ok()?;
    }
}

impl Inner {
    fn make(&self, place: &str, body: Value) -> Map<String, Value> {
        let mut records = self.records.lock().expect("a lock");
        let number = self.made.fetch_add(1, Ordering::SeqCst);
        let mut record = json!({
            "id": format!("00000000-0000-4000-f000-{number:012}"),
            "created_at": format!("2026-01-01T00:00:{number:02}.000000Z"),
            "default": false,
            "created_by": null,
        });
        let record = record.as_object_mut().expect("an object");
        record.extend(body.as_object().cloned().unwrap_or_default());
        records.insert(0, (place.to_owned(), record.clone()));
        record.clone()
    }

    /// Returns the answer when the request is about the collections that the sandbox lacks.
    fn own(&self, request: &WireRequest) -> Option<(u16, Vec<u8>)> {
        let path = request.path();
        let place = &path[..path.find(&format!("/{}/", self.name))? + self.name.len() + 2];
        let id = path[place.len()..].trim_end_matches('/');
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let json = |status: u16, value: Value| Some((status, value.to_string().into_bytes()));
        if request.method == "POST" {
            return json(201, self.make(place, body).into());
        }
        let mut records = self.records.lock().expect("a lock");
        let found = records.iter().position(|(at, record)| at == place && record["id"] == id);
        match (request.method.as_str(), found) {
            ("GET", _) if id.is_empty() => {
                let rows: Vec<_> = records.iter().filter(|(at, _)| at == place).map(|(_, row)| row).collect();
                json(200, json!({ "total_count": rows.len(), "next_page_results": false, "results": rows }))
            }
            (_, None) => json(404, json!({ "error": "The requested resource does not exist." })),
            ("PATCH", Some(at)) => {
                records[at].1.extend(body.as_object().cloned().unwrap_or_default());
                json(200, records[at].1.clone().into())
            }
            ("DELETE", Some(at)) => {
                records.remove(at);
                Some((204, Vec::new()))
            }
            (_, Some(at)) => json(200, records[at].1.clone().into()),
        }
    }

    async fn passed_on(&self, request: &WireRequest) -> (u16, Vec<u8>) {
        let mut onward = Request::builder().method(request.method.as_str());
        onward = onward.uri(format!("{}{}", self.sandbox, request.target));
        for (name, value) in
            request.headers.iter().filter(|(name, _)| name == "x-api-key" || name == "content-type")
        {
            onward = onward.header(name, value);
        }
        let onward = onward.body(Full::new(Bytes::from(request.body.clone()))).expect("a request");
        let (head, body) = self.client.request(onward).await.expect("an answer").into_parts();
        let body = body.collect().await.expect("a body").to_bytes();
        let text = String::from_utf8_lossy(&body).into_owned();
        let off = self.modules_off.load(Ordering::SeqCst);
        let text = if off { text.replace("\"module_view\":true", "\"module_view\":false") } else { text };
        (head.status.as_u16(), text.into_bytes())
    }
}
