//! A v2 of the deployment's own for tests: another gateway, behind a wire that records its requests and changes
//! answers for a test.
//!
//! May use: nothing of the crate.

use bytes::Bytes;
use causeway::task::spawn;
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Asked {
    pub method: Method,
    /// Path and query.
    pub path: String,
    pub headers: HeaderMap,
}

impl Asked {
    /// Returns a header as text; empty without it.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// Changes an answer; gets the request, its number, the status and the body.
pub type Edit = dyn Fn(&Asked, usize, &mut u16, &mut Value) + Send + Sync;

/// Status, media type and body by path and query.
type Memory = BTreeMap<String, (u16, HeaderValue, Bytes)>;

/// The wire. It lives as long as the test's runtime.
pub struct Planting {
    base_url: String,
    wire: Arc<Wire>,
}

struct Wire {
    behind: String,
    client: Client<HttpConnector, Full<Bytes>>,
    asked: Mutex<Vec<Asked>>,
    edit: Box<Edit>,
    /// Stored answers, when it answers repeated requests from memory.
    remembered: Option<Mutex<Memory>>,
}

impl Planting {
    /// A wire to the v2 at `behind`, whose JSON answers go through `edit`.
    pub async fn before(
        behind: &str,
        edit: impl Fn(&Asked, usize, &mut u16, &mut Value) + Send + Sync + 'static,
    ) -> Self {
        Self::new(behind, Box::new(edit), None).await
    }

    /// A wire that answers repeated requests from memory, and so costs next to nothing.
    pub async fn remembering(behind: &str) -> Self {
        Self::new(behind, Box::new(|_, _, _, _| {}), Some(Mutex::default())).await
    }

    async fn new(behind: &str, edit: Box<Edit>, remembered: Option<Mutex<Memory>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base_url = format!("http://{}", listener.local_addr().expect("an address"));
        let client = Client::builder(TokioExecutor::new()).build_http();
        let wire = Arc::new(Wire { behind: behind.to_owned(), client, asked: Mutex::default(), edit, remembered });
        let serving = Arc::clone(&wire);
        spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let wire = Arc::clone(&serving);
                let service = service_fn(move |request| Arc::clone(&wire).answer(request));
                let serving =
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(socket), service);
                spawn(serving);
            }
        });
        Self { base_url, wire }
    }

    /// A wire that changes nothing.
    pub async fn plain(behind: &str) -> Self {
        Self::before(behind, |_, _, _, _| {}).await
    }

    /// Its address.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Returns the requests with a key; the question whether it is a v2 has none.
    pub fn asked(&self) -> Vec<Asked> {
        let asked = self.wire.asked.lock().expect("no panic");
        asked.iter().filter(|asked| asked.headers.contains_key("x-api-key")).cloned().collect()
    }
}

impl Wire {
    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.expect("a body").to_bytes();
        let path = head.uri.path_and_query().expect("a path").to_string();
        let asked = Asked { method: head.method.clone(), path: path.clone(), headers: head.headers.clone() };
        let number = {
            let mut all = self.asked.lock().expect("no panic");
            all.push(asked.clone());
            all.len()
        };
        if let Some((status, media, body)) = self.known(&path) {
            let answer = Response::builder().status(status).header("content-type", media);
            return Ok(answer.body(Full::new(body)).expect("an answer"));
        }
        let mut onwards = Request::builder().method(head.method).uri(format!("{}{path}", self.behind));
        for (name, value) in head.headers.iter().filter(|(name, _)| *name != "host") {
            onwards = onwards.header(name, value);
        }
        let onwards = onwards.body(Full::new(body)).expect("a request");
        let (mut head, body) = self.client.request(onwards).await.expect("an answer").into_parts();
        let mut bytes = body.collect().await.expect("a body").to_bytes();
        if let Ok(mut json) = serde_json::from_slice::<Value>(&bytes) {
            let (before, mut status) = (json.clone(), head.status.as_u16());
            (self.edit)(&asked, number, &mut status, &mut json);
            head.status = http::StatusCode::from_u16(status).expect("a status");
            if json != before {
                bytes = Bytes::from(json.to_string());
                head.headers.insert("content-length", HeaderValue::from(bytes.len()));
            }
        }
        if let Some(remembered) = self.remembered.as_ref().filter(|_| asked.headers.contains_key("x-api-key")) {
            let media = head.headers["content-type"].clone();
            remembered.lock().expect("no panic").insert(path, (head.status.as_u16(), media, bytes.clone()));
        }
        Ok(Response::from_parts(head, Full::new(bytes)))
    }

    fn known(&self, path: &str) -> Option<(u16, HeaderValue, Bytes)> {
        self.remembered.as_ref()?.lock().expect("no panic").get(path).cloned()
    }
}
