//! The gateway as a client uses it: built from settings, served on a free port, called over HTTP.
//!
//! `Gateway::before(&base_url)` stands in front of anything that speaks v1, scripted or sandbox;
//! `Gateway::sandboxed(seed)` brings its own sandbox.

use bytes::Bytes;
use causeway::app::{App, ReloadError, Reloader};
use causeway::context::Context;
use causeway::json::SafeJson;
use causeway::oauth::{AdminError, Minting, OAuth};
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::settings::{LoadArgs, Loaded, Settings};
use causeway::store::Store;
use causeway::store::oauth::GatewayKey;
use causeway::task::spawn;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Path of the first recorded project (`WEB`), below `/api/v2`.
pub const WEB: &str = "/api/v2/workspaces/acme/projects/00000000-0000-4000-c000-000000000001";

/// Settings without any limit of requests: a test may send all its requests at once with one credential.
pub const UNLIMITED: [(&str, &str); 5] = [
    ("limits.concurrency", "4096"),
    ("upstream.quota", "0"),
    ("upstream.service_quota", "0"),
    ("limits.rate.api_key", "0"),
    ("limits.rate.unauthenticated", "0"),
];

/// A gateway serving on a free port of this machine.
pub struct Gateway {
    base: String,
    operators: String,
    oauth: OAuth,
    reloader: Reloader,
    /// Its settings.
    given: Vec<(String, String)>,
    client: Client<HttpConnector, Full<Bytes>>,
    sandbox: Option<Sandbox>,
    /// The URL of its store, and the deployment that the store belongs to.
    store: (String, String),
    stop: Option<oneshot::Sender<()>>,
    serving: Option<JoinHandle<()>>,
}

/// The answer to a client.
#[derive(Debug, Clone)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Headers by lower-case name; of a repeated header the last value.
    pub headers: BTreeMap<String, String>,
    /// All headers, repeated ones included.
    pub all_headers: http::HeaderMap,
    /// Bytes of the body.
    pub bytes: Bytes,
    /// The body as JSON; null when it is not JSON.
    pub json: Value,
}

impl Answer {
    /// `Causeway-V1-Calls`.
    pub fn calls(&self) -> u32 {
        self.headers.get("causeway-v1-calls").and_then(|text| text.parse().ok()).expect("a count of v1 calls")
    }

    /// `code` of a problem, empty for a success.
    pub fn code(&self) -> &str {
        self.json.get("code").and_then(Value::as_str).unwrap_or_default()
    }

    /// Names of the fields in `errors`.
    pub fn error_fields(&self) -> Vec<&str> {
        let errors = self.json.get("errors").and_then(Value::as_array).into_iter().flatten();
        errors.filter_map(|error| error.get("field")?.as_str()).collect()
    }

    /// Asserts the status, showing the body when it differs.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.bytes));
        self
    }

    /// Asserts a problem with this status and code.
    #[track_caller]
    pub fn expect_problem(self, status: u16, code: &str) -> Self {
        let answer = self.expect(status);
        assert_eq!(answer.code(), code, "{}", answer.json);
        assert_eq!(answer.headers["content-type"], "application/problem+json");
        answer
    }

    /// Text member `name` of the body.
    #[track_caller]
    pub fn text(&self, name: &str) -> String {
        self.json[name].as_str().unwrap_or_else(|| panic!("no text `{name}` in {}", self.json)).to_owned()
    }

    /// Rows of a list.
    #[track_caller]
    pub fn data(&self) -> &Vec<Value> {
        self.json["data"].as_array().unwrap_or_else(|| panic!("no list: {}", self.json))
    }

    /// Member `name` of every row.
    #[track_caller]
    pub fn column(&self, name: &str) -> Vec<Value> {
        self.data().iter().map(|row| row[name].clone()).collect()
    }
}

/// Returns an address that no other test gets, and at which nothing listens yet.
pub fn reserved() -> (TcpSocket, SocketAddr) {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a free port");
    let address = socket.local_addr().expect("an address");
    (socket, address)
}

impl Gateway {
    /// A gateway in front of `base_url` that caches nothing.
    pub async fn before(base_url: &str) -> Self {
        Self::with(base_url, &[]).await
    }

    /// A gateway in front of `base_url`, with further settings (dotted name, value). By default, neither clients nor
    /// the calls to v1 are limited.
    pub async fn with(base_url: &str, settings: &[(&str, &str)]) -> Self {
        Self::at(reserved().0, base_url, settings).await
    }

    /// The same, at an address that was [`reserved`].
    pub async fn at(socket: TcpSocket, base_url: &str, settings: &[(&str, &str)]) -> Self {
        let mut all = vec![("upstream.base_url", base_url), ("store.url", "sqlite::memory:")];
        all.extend(UNLIMITED);
        all.extend_from_slice(settings);
        let given: Vec<_> = all.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let loaded = loaded(given.clone());
        let store = (loaded.settings.store.url.clone(), base_url.to_owned());
        let app = App::build_from(loaded).await.expect("a gateway");
        let (oauth, reloader) = (app.oauth().clone(), app.reloader());
        let operators = app.admin_address().map(|address| format!("http://{address}")).unwrap_or_default();
        let listener = socket.listen(1024).expect("a socket");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = spawn(async move {
            let shutdown = async move { drop(stopped.await) };
            app.serve(listener, shutdown).await.expect("serving");
        });
        let client = Client::builder(TokioExecutor::new()).build_http();
        Self {
            base,
            operators,
            oauth,
            reloader,
            given,
            client,
            sandbox: None,
            store,
            stop: Some(stop),
            serving: Some(serving),
        }
    }

    /// A gateway in front of a sandbox of its own.
    pub async fn sandboxed(seed: Seed) -> Self {
        Self::sandboxed_with(seed, &[]).await
    }

    /// A gateway in front of a sandbox of its own, with further settings.
    pub async fn sandboxed_with(seed: Seed, settings: &[(&str, &str)]) -> Self {
        let sandbox = Sandbox::new(Config { seed, ..Config::default() });
        let base_url = serve_sandbox(&sandbox).await;
        Self { sandbox: Some(sandbox), ..Self::with(&base_url, settings).await }
    }

    /// Returns the sandbox behind it.
    pub fn sandbox(&self) -> &Sandbox {
        self.sandbox.as_ref().expect("a sandbox")
    }

    /// Another handle on its store, which must be a file.
    pub async fn store(&self) -> Store {
        assert!(!self.store.0.contains(":memory:"), "a store in memory has one handle only");
        Store::open(&self.store.0, &self.store.1).await.expect("the gateway's store")
    }

    /// Changes its store, which must be a file, past the gateway.
    pub async fn change_store(&self, statement: &'static str) {
        sqlx::query(statement).execute(self.store().await.engine().pool()).await.expect(statement);
    }

    /// Makes the values that it keeps beside v1 a minute older, so that no read can be older than they are.
    pub async fn age_overlay(&self) {
        self.change_store("UPDATE overlay SET written_at = written_at - 60000000").await;
    }

    /// Returns the URL of its store.
    pub fn store_url(&self) -> &str {
        &self.store.0
    }

    /// The gateway's authorization server.
    pub fn oauth(&self) -> &OAuth {
        &self.oauth
    }

    /// Creates a gateway key as `causeway key mint` does.
    pub async fn mint(&self, v1_key: &str, wanted: Minting) -> Result<(GatewayKey, String), AdminError> {
        let context = Context::new("test", Duration::from_secs(30));
        let (row, key) = self.oauth.prepare_key(v1_key, wanted, &context).await?;
        self.oauth.keep_key(&row).await?;
        Ok((row, key))
    }

    /// Address of the gateway, without a path.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Reloads with further settings in addition to those of the start; returns the names of the settings that differ
    /// from the ones before.
    pub async fn reload(&self, settings: &[(&str, &str)]) -> Result<Vec<String>, ReloadError> {
        let further = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        self.reloader.reload(loaded(self.given.iter().cloned().chain(further).collect())).await
    }

    /// Address of its operators' listener, where `admin.listen` is set.
    pub fn operators(&self) -> &str {
        &self.operators
    }

    /// Returns the metrics as text. Needs the setting `admin.listen`.
    pub async fn metrics(&self) -> String {
        let request = Request::get(format!("{}/metrics", self.operators)).body(Full::new(Bytes::new()));
        let answer = self.request(request.expect("a request")).await.expect(200);
        String::from_utf8(answer.bytes.to_vec()).expect("UTF-8")
    }

    /// Waits until this many requests of v2 are being answered. Needs the setting `admin.listen`.
    pub async fn until_answering(&self, requests: usize) {
        let line = format!("causeway_places_taken{{pool=\"v2\"}} {requests}.0");
        let begun = Instant::now();
        loop {
            if self.metrics().await.lines().any(|told| told == line) {
                return;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{requests} requests have not come");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Stops the gateway and waits until it has drained.
    pub async fn stop(mut self) {
        self.end().await;
    }

    /// The same, for a gateway that is replaced.
    pub async fn end(&mut self) {
        drop(self.stop.take());
        if let Some(serving) = self.serving.take() {
            serving.await.expect("a clean stop");
        }
    }

    /// Sends a request; `path` begins with `/api/`.
    pub async fn send(&self, key: Option<&str>, method: &str, path: &str, body: Option<&Value>) -> Answer {
        self.sent(key, method, path, body, &[]).await
    }

    /// Sends a request with further headers.
    pub async fn send_with(
        &self,
        key: &str,
        method: &str,
        path: &str,
        body: Option<&Value>,
        headers: &[(&str, &str)],
    ) -> Answer {
        self.sent(Some(key), method, path, body, headers).await
    }

    /// Sends a request without a body and with no other credential than those in `headers`.
    pub async fn send_bare(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.sent(None, method, path, None, headers).await
    }

    async fn sent(
        &self,
        key: Option<&str>,
        method: &str,
        path: &str,
        body: Option<&Value>,
        headers: &[(&str, &str)],
    ) -> Answer {
        let mut request = Request::builder().method(Method::from_bytes(method.as_bytes()).expect("a method"));
        request = request.uri(format!("{}{path}", self.base));
        if let Some(key) = key {
            request = request.header("X-Api-Key", key);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let bytes = match body {
            Some(body) => {
                request = request.header("Content-Type", "application/json");
                Bytes::from(body.to_string())
            }
            None => Bytes::new(),
        };
        self.request(request.body(Full::new(bytes)).expect("a request")).await
    }

    /// Sends any request.
    pub async fn request(&self, request: Request<Full<Bytes>>) -> Answer {
        let response = self.client.request(request).await.expect("an answer");
        let (head, body) = response.into_parts();
        let bytes = body.collect().await.expect("a body").to_bytes();
        let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        Answer {
            status: head.status.as_u16(),
            headers: head.headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect(),
            all_headers: head.headers,
            json: serde_json::from_slice(&bytes).map(|SafeJson(json)| json).unwrap_or_default(),
            bytes,
        }
    }

    /// GET.
    pub async fn get(&self, key: &str, path: &str) -> Answer {
        self.send(Some(key), "GET", path, None).await
    }

    /// POST.
    pub async fn post(&self, key: &str, path: &str, body: Value) -> Answer {
        self.send(Some(key), "POST", path, Some(&body)).await
    }

    /// PATCH.
    pub async fn patch(&self, key: &str, path: &str, body: Value) -> Answer {
        self.send(Some(key), "PATCH", path, Some(&body)).await
    }

    /// DELETE.
    pub async fn delete(&self, key: &str, path: &str) -> Answer {
        self.send(Some(key), "DELETE", path, None).await
    }
}

fn loaded(overrides: Vec<(String, String)>) -> Loaded {
    let nothing = std::iter::empty::<(String, String)>();
    Settings::load_from(LoadArgs { file: None, env: nothing, overrides }).expect("settings")
}

/// Serves `sandbox` on a free port for the rest of the test and returns its address.
pub async fn serve_sandbox(sandbox: &Sandbox) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let base_url = format!("http://{}", listener.local_addr().expect("an address"));
    let sandbox = sandbox.clone();
    spawn(async move { sandbox.serve(listener, std::future::pending()).await });
    base_url
}
