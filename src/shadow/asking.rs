//! The same read, asked of the other side.
//!
//! It goes to the address of the settings and nowhere else: redirects are not followed. It carries the key that acts
//! for the caller, and no header of the client.
//!
//! May use: `hop`, `settings`, `v1` (keys), this folder.

use super::compare::Side;
use crate::hop::{Hop, HopSettings, Instance, Versions};
use crate::settings::HttpAddress;
use crate::v1::V1Key;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::uri::Scheme;
use http::{HeaderValue, Request, Version};
use http_body_util::{BodyExt, Empty, Limited};
use std::io;
use std::time::Duration;

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a connection is kept for the next read.
const IDLE: Duration = Duration::from_secs(60);
const KEPT: usize = 8;
/// Largest answer that is read, in bytes.
const LARGEST: usize = 32 * 1024 * 1024;
/// Answers that say nothing about what was asked.
const TROUBLE: [u16; 5] = [408, 429, 502, 503, 504];

/// The way to the other side.
#[derive(Clone)]
pub(super) struct Asking {
    hop: Hop<Empty<Bytes>>,
    address: HttpAddress,
    instance: Instance,
}

impl Asking {
    /// To `address`, in the name of `instance`.
    pub(super) fn new(address: HttpAddress, instance: Instance, connect_timeout: Duration) -> io::Result<Self> {
        let scheme = if address.is_plain() { Scheme::HTTP } else { Scheme::HTTPS };
        let settings = HopSettings { connect_timeout, pool_size: KEPT, idle: IDLE, versions: Versions::Http1 };
        Ok(Self { hop: Hop::new(&scheme, &settings)?, address, instance })
    }

    /// What it answers to a read with `key`; none when it does not answer, or is in trouble.
    pub(super) async fn ask(&self, path: &str, key: &V1Key) -> Option<Side> {
        let mut request = Request::get(format!("{}{path}", self.address.as_str())).body(Empty::new()).ok()?;
        let mut secret = HeaderValue::from_str(key.expose()).ok()?;
        secret.set_sensitive(true);
        let headers = request.headers_mut();
        headers.insert("x-api-key", secret);
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers
            .insert(USER_AGENT, HeaderValue::from_static(concat!("causeway-shadow/", env!("CARGO_PKG_VERSION"))));
        self.instance.sign(headers, Version::HTTP_11);
        let answered = async {
            let (head, body) = self.hop.send(request).await.ok()?.into_parts();
            let body = Limited::new(body, LARGEST).collect().await.ok()?.to_bytes();
            let media = head.headers.get(CONTENT_TYPE).and_then(|media| media.to_str().ok()).unwrap_or_default();
            Some(Side { status: head.status.as_u16(), media: media.to_owned(), body })
        };
        let answer = tokio::time::timeout(PATIENCE, answered).await.ok()??;
        (!TROUBLE.contains(&answer.status)).then_some(answer)
    }
}
