//! A client of a gateway. May use: `outgoing`.

use crate::outgoing::{self, Answer};
use reqwest::{Client, Method};
use serde_json::Value;
use std::time::Duration;

/// Time limit for one answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// Most waits for a request that is answered with `Retry-After`.
const WAITS: usize = 3;

/// A running gateway, and the key for requests to it.
#[derive(Debug, Clone)]
pub struct Gateway {
    http: Client,
    pub(super) base: String,
    key: Option<String>,
}

impl Answer {
    pub(super) fn code(&self) -> &str {
        self.text("code")
    }

    pub(super) fn rows(&self) -> &[Value] {
        self.json["data"].as_array().map(Vec::as_slice).unwrap_or_default()
    }
}

impl Gateway {
    /// Creates a client for the gateway at `base`.
    pub fn new(base: &str, key: Option<String>) -> Result<Self, String> {
        let http = outgoing::client_for(base, PATIENCE)?;
        Ok(Self { http, base: base.trim_end_matches('/').to_owned(), key })
    }

    /// Returns the same client without any credential.
    pub(super) fn bare(&self) -> Self {
        Self { key: None, ..self.clone() }
    }

    /// Sends a GET; waits and retries while the answer asks for that.
    pub(super) async fn get(&self, target: &str) -> Result<Answer, String> {
        self.send_patiently("GET", target, None).await
    }

    /// Sends a request; waits and retries while the answer asks for that.
    pub(super) async fn send_patiently(
        &self,
        method: &str,
        target: &str,
        body: Option<&Value>,
    ) -> Result<Answer, String> {
        for _ in 0..WAITS {
            let answer = self.send(method, target, body).await?;
            match answer.retry_after().filter(|_| matches!(answer.status, 429 | 503)) {
                Some(seconds) => tokio::time::sleep(Duration::from_secs(seconds).min(PATIENCE)).await,
                None => return Ok(answer),
            }
        }
        self.send(method, target, body).await
    }

    /// Sends a request.
    pub async fn send(&self, method: &str, target: &str, body: Option<&Value>) -> Result<Answer, String> {
        let word = Method::from_bytes(method.as_bytes()).map_err(|_| format!("{method} is no method"))?;
        let request = self.http.request(word, format!("{}{target}", self.base));
        outgoing::ask(request, self.key.as_deref(), body).await.map_err(|fault| {
            let fault = outgoing::causes(&fault.without_url()).join(": ");
            format!("{} gave no answer to {method} {target}: {fault}; check --against", self.base)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_silence_is_told_with_its_cause() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("https://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = tokio::io::AsyncWriteExt::write_all(&mut stream, b"HTTP/1.1 400 Plain\r\n\r\n").await;
            }
        });
        let gateway = Gateway::new(&base, Some("secret".into())).unwrap();
        let told = gateway.send("GET", "/x/", None).await.unwrap_err();
        assert!(told.contains("gave no answer to GET /x/") && told.ends_with("; check --against"), "{told}");
        assert!(told.contains("client error (Connect): ") && told.contains("InvalidContentType"), "{told}");
    }
}
