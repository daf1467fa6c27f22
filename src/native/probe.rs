//! Checks whether there is a v2 at an address, and not this gateway: one request without a credential.
//!
//! May use: `hop`, `settings`.

use crate::hop::{Hop, HopSettings, Instance, Versions, chain};
use crate::settings::HttpAddress;
use bytes::Bytes;
use http::uri::Scheme;
use http::{Request, Version};
use http_body_util::{BodyExt, Full, Limited};
use serde_json::Value;
use std::time::Duration;

/// Path of the request: every v2 has it, and answers 401 without a credential.
const ASKED: &str = "/api/v2/users/me/";
/// Longest wait for the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Largest answer that is read, in bytes.
const LARGEST: usize = 64 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeResult {
    V2,
    /// No answer, or an answer of a server that is failing at present: nothing is known.
    Silence(String),
}

/// Sends the request to `address`, in the name of `instance`.
///
/// # Errors
/// A sentence with advice: there is no v2, or it is the gateway itself.
pub async fn ask(address: &HttpAddress, instance: &Instance) -> Result<ProbeResult, String> {
    match tokio::time::timeout(PATIENCE, asked(address, instance)).await {
        Ok(Ok((status, body))) => judge(address, status, &body),
        Ok(Err(cause)) => Ok(ProbeResult::Silence(cause)),
        Err(_) => Ok(ProbeResult::Silence("it does not answer in time".into())),
    }
}

async fn asked(address: &HttpAddress, instance: &Instance) -> Result<(u16, Value), String> {
    let scheme = if address.is_plain() { Scheme::HTTP } else { Scheme::HTTPS };
    let settings =
        HopSettings { connect_timeout: PATIENCE, pool_size: 1, idle: PATIENCE, versions: Versions::Http1 };
    let hop = Hop::new(&scheme, &settings).map_err(|fault| fault.to_string())?;
    let request = Request::get(format!("{}{ASKED}", address.as_str())).header("accept", "application/json");
    let mut request = request.body(Full::<Bytes>::default()).map_err(|fault| fault.to_string())?;
    instance.sign(request.headers_mut(), Version::HTTP_11);
    let (head, body) = hop.send(request).await.map_err(|fault| chain(&fault))?.into_parts();
    let body = Limited::new(body, LARGEST).collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    Ok((head.status.as_u16(), serde_json::from_slice(&body).unwrap_or_default()))
}

fn judge(address: &HttpAddress, status: u16, body: &Value) -> Result<ProbeResult, String> {
    let (address, text) = (address.as_str(), |name: &str| body[name].as_str().unwrap_or_default());
    match status {
        401 if text("code") == "unauthorized" => Ok(ProbeResult::V2),
        502 if text("detail").contains("leads back to this gateway") => Err(format!(
            "native.base_url: {address} is this gateway itself; name the address of the deployment's own v2, not the one that \
             clients use"
        )),
        429 | 500..=599 => Ok(ProbeResult::Silence(format!("it answers {status}"))),
        _ => Err(format!(
            "native.base_url: {address} has no v2: GET {ASKED} without a credential was answered {status}, and v2 answers 401 \
             `unauthorized`; name the address of the deployment's own v2, without /api/v2"
        )),
    }
}
