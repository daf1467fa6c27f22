//! Hints from v1: its webhooks say that a record was touched, and an index that is there is then refreshed at once
//! instead of at the next window.
//!
//! A delivery proves nothing but that: it comes late, or never, or twice, and holds the record of another moment
//! (`fixtures/webhooks.json`). So nothing of it is believed or shown; it only makes the gateway look earlier, in the
//! lowest lane, with the gateway's own key. The door is at `/hints/v1/WORKSPACE/` and is there only with secrets
//! (`hints.secrets_file`). v1 switches a webhook off when deliveries cannot be made, so each is answered at once.
//!
//! May use: `context`, `edge`, `refusal`; what a hint does is told to it.

mod delivery;
mod secrets;

pub use secrets::{HintSecrets, SecretsError};

use crate::context::Context;
use crate::edge::{Body, Pages, empty, read_body};
use crate::refusal::Refusal;
use delivery::project_of;
use futures_util::future::BoxFuture;
use governor::{DefaultKeyedRateLimiter, Quota};
use http::{Method, Request, Response};
use std::num::NonZeroU32;
use std::sync::Arc;
use uuid::Uuid;

const ROOT: &str = "/hints/v1/";
/// Largest delivery in bytes.
const LARGEST: usize = 1 << 20;
/// Signed deliveries a second that are looked at, for each workspace.
const PACE: NonZeroU32 = NonZeroU32::new(20).expect("not zero");
const SIGNATURE: &str = "x-plane-signature";

/// Is told that something in this project was touched; to be returned from at once.
type Hinted = dyn Fn(Uuid) + Send + Sync;

#[derive(Clone)]
pub struct HintDoor(Arc<Inner>);

struct Inner {
    secrets: HintSecrets,
    hinted: Arc<Hinted>,
    pace: DefaultKeyedRateLimiter<String>,
}

impl HintDoor {
    /// Open for those who sign with one of `secrets`.
    pub fn new(secrets: HintSecrets, hinted: Arc<dyn Fn(Uuid) + Send + Sync>) -> Self {
        let pace = DefaultKeyedRateLimiter::keyed(Quota::per_second(PACE));
        Self(Arc::new(Inner { secrets, hinted, pace }))
    }

    async fn take(&self, request: Request<Body>) -> Result<Response<Body>, Refusal> {
        let (parts, body) = request.into_parts();
        let workspace = parts.uri.path().strip_prefix(ROOT).unwrap_or_default().trim_end_matches('/').to_owned();
        if !self.0.secrets.know(&workspace) {
            return Err(Refusal::NotFound { detail: "There is nothing at this path.".into() });
        }
        if parts.method != Method::POST {
            return Err(Refusal::MethodNotAllowed { allow: vec!["POST"] });
        }
        let body = read_body(body, LARGEST).await?;
        let signature = parts.headers.get(SIGNATURE).map(http::HeaderValue::as_bytes).unwrap_or_default();
        if !self.0.secrets.verify(&workspace, &body, signature) {
            return Err(Refusal::NotFound { detail: "There is nothing at this path.".into() });
        }
        // Only what is signed counts, or anybody could keep v1's own deliveries out, which v1 does not repeat.
        if self.0.pace.check_key(&workspace).is_err() {
            return Err(Refusal::Overloaded);
        }
        if let Some(project) = project_of(&body) {
            (self.0.hinted)(project);
        }
        Ok(Response::new(empty()))
    }
}

impl Pages for HintDoor {
    fn has(&self, path: &str) -> bool {
        path.starts_with(ROOT)
    }

    fn answer(&self, request: Request<Body>, _: Context) -> BoxFuture<'static, Result<Response<Body>, Refusal>> {
        let door = self.clone();
        Box::pin(async move { door.take(request).await })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_real_v1_sent_names_its_project() {
        let recorded: serde_json::Value =
            serde_json::from_str(include_str!("../../fixtures/webhooks.json")).expect("JSON");
        for delivery in recorded["deliveries"].as_array().expect("deliveries") {
            let raw = delivery["raw"].as_str().expect("a body");
            assert!(project_of(raw.as_bytes()).is_some(), "{raw}");
        }
    }

    #[test]
    fn the_project_is_found_in_each_kind_of_delivery() {
        let id = Uuid::from_u128(7);
        for (body, found) in [
            (format!(r#"{{"event": "issue", "data": {{"id": "{}", "project": "{id}"}}}}"#, Uuid::nil()), Some(id)),
            (format!(r#"{{"event": "issue", "data": {{"project": {{"id": "{id}", "name": "n"}}}}}}"#), Some(id)),
            (format!(r#"{{"event": "cycle", "data": {{"project_id": "{id}"}}}}"#), Some(id)),
            (format!(r#"{{"event": "project", "data": {{"id": "{id}"}}}}"#), Some(id)),
            (format!(r#"{{"event": "issue", "data": {{"id": "{id}"}}}}"#), None),
            ("[]".to_owned(), None),
            ("no JSON".to_owned(), None),
        ] {
            assert_eq!(project_of(body.as_bytes()), found, "{body}");
        }
    }
}
