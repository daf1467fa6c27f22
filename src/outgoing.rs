//! HTTP clients of the commands and of the exporter of traces; requests to v1 use `hop` instead.
//!
//! May use: `json`.

use crate::json::SafeJson;
use reqwest::header::HeaderMap;
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, RequestBuilder};
use serde_json::Value;
use std::error::Error;
use std::time::{Duration, Instant};

/// Returns the builder of a client with `patience` as its time limit. The client follows no redirect, because a
/// redirect could send a key to another server.
pub fn client(patience: Duration) -> ClientBuilder {
    // Other code may have installed a provider already; any provider will do.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .redirect(Policy::none())
        .timeout(patience)
        .user_agent(concat!("causeway/", env!("CARGO_PKG_VERSION")))
}

/// Builds a client for the service at `base`. Without TLS it does not read the certificates of the machine, which would
/// take a while.
pub fn client_for(base: &str, patience: Duration) -> Result<Client, String> {
    let mut builder = client(patience);
    if base.starts_with("http://") {
        builder = builder.tls_certs_only([]);
    }
    builder.build().map_err(|fault| format!("the client could not be set up: {fault}"))
}

/// Lists the causes of a failure, the failure itself first and its last cause at the end. The first alone only says
/// that a request could not be sent.
pub fn causes(fault: &reqwest::Error) -> Vec<String> {
    std::iter::successors(Some(fault as &dyn Error), |error| (*error).source()).map(ToString::to_string).collect()
}

#[derive(Debug, Clone, Default)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    /// Null when there is no body or when it is not JSON.
    pub json: Value,
    pub took: Duration,
}

/// Sends `request`, with an API key and a JSON body if given.
pub async fn ask(
    mut request: RequestBuilder,
    key: Option<&str>,
    body: Option<&Value>,
) -> Result<Answer, reqwest::Error> {
    if let Some(key) = key {
        request = request.header("X-Api-Key", key);
    }
    if let Some(body) = body {
        request = request.header("Content-Type", "application/json").body(body.to_string());
    }
    let started = Instant::now();
    let answer = request.send().await?;
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    let SafeJson(json) = serde_json::from_slice(&answer.bytes().await?).unwrap_or_default();
    Ok(Answer { status, headers, json, took: started.elapsed() })
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the seconds in `Retry-After`.
    pub fn retry_after(&self) -> Option<u64> {
        self.header("Retry-After")?.parse().ok()
    }

    /// Returns a member of the body as text; empty when it is missing.
    pub fn text(&self, name: &str) -> &str {
        self.json[name].as_str().unwrap_or_default()
    }

    /// Checks whether a Causeway gateway has built this answer itself, and not passed it on.
    pub fn is_of_a_gateway(&self) -> bool {
        self.headers.contains_key("causeway-v1-calls")
    }

    /// Describes the answer in a few words.
    pub fn brief(&self) -> String {
        let errors = self.json["errors"].as_array().into_iter().flatten();
        let told: Vec<String> = errors
            .filter_map(|error| Some(format!("{}: {}", error["field"].as_str()?, error["message"].as_str()?)))
            .take(3)
            .collect();
        let detail = if told.is_empty() { self.text("detail").to_owned() } else { told.join("; ") };
        format!("{} {} {detail}", self.status, self.text("code")).trim().replace("  ", " ")
    }
}
