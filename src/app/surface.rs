//! The v2 operations and the pass-through as the HTTP surface wants them.
//!
//! May use: `access`, `context`, `edge`, `refusal`, `request`; it is composition.

use crate::access::credential::presents_own;
use crate::context::Context;
use crate::edge::{Admission, Body, V2Answer, V2Service, read_body};
use crate::refusal::Refusal;
use crate::request::V2;
use futures_util::future::BoxFuture;
use http::{HeaderMap, Request};
use std::sync::Arc;

/// The v2 operations.
pub(super) struct Operations {
    pub(super) v2: Arc<V2>,
    pub(super) body_limit: usize,
}

impl V2Service for Operations {
    fn answer(&self, request: Request<Body>, context: Context) -> BoxFuture<'static, Result<V2Answer, Refusal>> {
        let (v2, limit) = (Arc::clone(&self.v2), self.body_limit);
        Box::pin(async move {
            let (head, body) = request.into_parts();
            v2.answer(head, read_body(body, limit), context).await
        })
    }
}

/// A secret that the gateway gave out itself is of no use at v1, and v1 must not learn of it.
pub(super) struct KeysOfV1;

impl Admission for KeysOfV1 {
    fn admit(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        if !presents_own(headers) {
            return Ok(());
        }
        Err(Refusal::misplaced_token(
            "Keys and tokens of this gateway open /api/v2/ only; /api/v1/ takes keys of the service behind.",
        ))
    }
}
