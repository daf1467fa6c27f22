//! Hints from v1: its webhooks report that a record was touched. An index in use is then refreshed at once instead of
//! at the next window.
//!
//! A delivery proves nothing else: it comes late, or never, or twice, and contains the record of another moment
//! (`fixtures/webhooks.json`). So nothing of it is believed or shown. It only makes the gateway read v1 earlier, in the
//! lowest lane, with the gateway's own key. The door is at `/hints/v1/WORKSPACE/` and exists only with secrets
//! (`hints.secrets_file`). v1 switches a webhook off when deliveries fail, and does not repeat a refused delivery. So
//! each delivery is accepted at once, however many there are; the receiver of hints does not read v1 more often because
//! of that. A body that does not arrive gives its place to bodies that do (`arrivals`).
//!
//! May use: `context`, `edge`, `refusal`, `tally`; what a hint does is told to it.

mod arrivals;
mod delivery;
mod secrets;

pub use secrets::{HintSecrets, SecretsError};

use crate::context::Context;
use crate::edge::{Body, Kind, Pages, empty, read_body};
use crate::refusal::Refusal;
use crate::tally::Counter;
use arrivals::Arrivals;
use bytes::Bytes;
use delivery::project_of;
use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use secrets::Signature;
use std::sync::Arc;
use uuid::Uuid;

const ROOT: &str = "/hints/v1/";
/// Largest delivery in bytes.
const LARGEST: usize = 1 << 20;
const SIGNATURE: &str = "x-plane-signature";

/// Receiver of hints: work items of this project of this workspace were touched. It must return at once.
type Hinted = dyn Fn(&str, Uuid) + Send + Sync;

/// Counts of deliveries, by their result.
#[derive(Debug, Default)]
pub struct HintTally {
    items: Counter,
    other: Counter,
    refused: Counter,
}

impl HintTally {
    /// Returns the counts: about work items, signed and about something else, and not signed.
    pub fn figures(&self) -> [(&'static str, u64); 3] {
        [("items", &self.items), ("other", &self.other), ("refused", &self.refused)]
            .map(|(name, count)| (name, count.get()))
    }
}

#[derive(Clone)]
pub struct HintDoor(Arc<Inner>);

struct Inner {
    secrets: HintSecrets,
    hinted: Arc<Hinted>,
    tally: Arc<HintTally>,
    arrivals: Arrivals,
}

impl HintDoor {
    /// Creates the door for deliveries that are signed with one of `secrets`.
    pub fn new(secrets: HintSecrets, tally: Arc<HintTally>, hinted: Arc<Hinted>) -> Self {
        Self(Arc::new(Inner { secrets, hinted, tally, arrivals: Arrivals::default() }))
    }

    async fn take(&self, request: Request<Body>) -> Result<Response<Body>, Refusal> {
        let (parts, body) = request.into_parts();
        let workspace = parts.uri.path().strip_prefix(ROOT).unwrap_or_default().trim_end_matches('/').to_owned();
        if !self.0.secrets.know(&workspace) {
            return Err(nothing());
        }
        if parts.method != Method::POST {
            return Err(Refusal::MethodNotAllowed { allow: vec!["POST"] });
        }
        let Some(body) = self.signed(&workspace, &parts.headers, body).await? else {
            self.0.tally.refused.add(1);
            return Err(nothing());
        };
        match project_of(&body) {
            Some(project) => {
                self.0.tally.items.add(1);
                (self.0.hinted)(&workspace, project);
            }
            None => self.0.tally.other.add(1),
        }
        Ok(Response::new(empty()))
    }

    /// Returns the body when it is signed with a secret of this workspace. Without a signature it does not wait for the
    /// body.
    async fn signed(&self, workspace: &str, headers: &HeaderMap, body: Body) -> Result<Option<Bytes>, Refusal> {
        let sent = headers.get(SIGNATURE).map(HeaderValue::as_bytes).and_then(Signature::read);
        let Some(signature) = sent else { return Ok(None) };
        let body = self.0.arrivals.wait_for(read_body(body, LARGEST)).await.ok_or(Refusal::Overloaded)??;
        Ok(self.0.secrets.verify(workspace, &body, &signature).then_some(body))
    }
}

fn nothing() -> Refusal {
    Refusal::NotFound { detail: "There is nothing at this path.".into() }
}

/// Checks whether the door answers requests for `path`.
pub(crate) fn is_page(path: &str) -> bool {
    path.starts_with(ROOT)
}

impl Pages for HintDoor {
    fn has(&self, path: &str) -> bool {
        is_page(path)
    }

    fn kind(&self) -> Kind {
        Kind::Hints
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
    fn recorded_deliveries_about_work_items_name_their_project_and_others_do_not() {
        let recorded: serde_json::Value =
            serde_json::from_str(include_str!("../../fixtures/webhooks.json")).expect("JSON");
        for delivery in recorded["deliveries"].as_array().expect("deliveries") {
            let raw = delivery["raw"].as_str().expect("a body");
            let of_items = delivery["headers"]["X-Plane-Event"] == "issue";
            assert_eq!(project_of(raw.as_bytes()).is_some(), of_items, "{raw}");
        }
    }

    #[test]
    fn the_project_is_found_in_whatever_form_it_comes() {
        let id = Uuid::from_u128(7);
        for (body, found) in [
            (format!(r#"{{"event": "issue", "data": {{"id": "{}", "project": "{id}"}}}}"#, Uuid::nil()), Some(id)),
            (format!(r#"{{"event": "issue", "data": {{"project": {{"id": "{id}", "name": "n"}}}}}}"#), Some(id)),
            (format!(r#"{{"event": "issue_comment", "data": {{"project_id": "{id}"}}}}"#), Some(id)),
            (format!(r#"{{"event": "issue", "data": {{"id": 7, "project": "{id}"}}}}"#), Some(id)),
            (format!(r#"{{"event": "issue", "data": {{"project": null, "project_id": "{id}"}}}}"#), Some(id)),
            (format!(r#"{{"event": "issue", "data": {{"project": "x", "project_id": "{id}"}}}}"#), Some(id)),
            (format!(r#"{{"event": "cycle", "data": {{"project": "{id}"}}}}"#), None),
            (format!(r#"{{"event": "project", "data": {{"id": "{id}"}}}}"#), None),
            (format!(r#"{{"event": "issue", "data": {{"id": "{id}"}}}}"#), None),
            (r#"{"event": "issue", "data": {"project": {"id": [[]]}}}"#.to_owned(), None),
            ("[]".to_owned(), None),
            ("no JSON".to_owned(), None),
        ] {
            assert_eq!(project_of(body.as_bytes()), found, "{body}");
        }
    }
}
