//! Single questions over HTTP, answered without following anything, and in words when there is no answer.
//!
//! May use: `outgoing`.

use crate::outgoing;
use reqwest::header::HeaderMap;
use reqwest::{Client, ClientBuilder, RequestBuilder};
use serde_json::Value;
use std::error::Error;
use std::time::Duration;

/// Longest wait for one answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// An answer.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    /// The body; null when it is no JSON.
    pub(super) json: Value,
}

impl Answer {
    /// A header as text; empty when it is not there.
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// Whether a gateway of this kind has made it, and did not pass it on.
    pub(super) fn is_of_a_gateway(&self) -> bool {
        self.headers.contains_key("causeway-v1-calls")
    }

    /// Text member of the body.
    pub(super) fn text(&self, name: &str) -> &str {
        self.json[name].as_str().unwrap_or_default()
    }
}

/// Why there was no answer, and what to do.
pub(super) struct Silence {
    pub(super) found: String,
    pub(super) remedy: &'static str,
}

/// A client that follows nothing.
pub(super) fn client() -> Result<Client, String> {
    client_of(|builder| builder)
}

/// The same, changed by `change`.
pub(super) fn client_of(change: impl FnOnce(ClientBuilder) -> ClientBuilder) -> Result<Client, String> {
    change(outgoing::client(PATIENCE).no_proxy()).build().map_err(|fault| fault.to_string())
}

/// Sends a request and reads its answer.
pub(super) async fn ask(request: RequestBuilder) -> Result<Answer, Silence> {
    let answer = request.send().await.map_err(|fault| silence(&fault))?;
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    let body = answer.bytes().await.map_err(|fault| silence(&fault))?;
    Ok(Answer { status, headers, json: serde_json::from_slice(&body).unwrap_or_default() })
}

fn silence(fault: &reqwest::Error) -> Silence {
    let mut chain = Vec::new();
    let mut cause: Option<&dyn Error> = Some(fault);
    while let Some(error) = cause {
        chain.push(error.to_string());
        cause = error.source();
    }
    let text = chain.join(": ").to_ascii_lowercase();
    let is = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let last = chain.pop().unwrap_or_default();
    let (found, remedy) = if is(&["dns", "lookup", "resolve"]) {
        ("its name cannot be resolved", "correct the name, or the name server of this machine")
    } else if is(&["refused"]) {
        ("the connection is refused", "see whether it runs, and whether host and port are right")
    } else if is(&["certificate", "unknownissuer", "notvalidforname"]) {
        ("its certificate is not accepted", "renew it, or add its authority to those this machine trusts")
    } else if is(&["corrupt message", "invalidcontenttype", "wrong version", "tls", "handshake"]) {
        ("it does not speak TLS there", "write http:// in place of https://, or correct the port")
    } else if fault.is_timeout() {
        ("it does not answer in time", "see whether a firewall stands between, or whether it is overloaded")
    } else {
        ("the exchange breaks off", "see whether it speaks HTTP at this port")
    };
    Silence { found: format!("{found} ({last})"), remedy }
}
