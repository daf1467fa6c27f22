//! The parts in the form that the HTTP surface needs: the v2 operations, the pass-through's filter, the door for hints.
//!
//! May use: `access`, `boxed`, `context`, `edge`, `hints`, `refusal`, `request`, `run`, `settings`, `store`, `v1`; it
//! is composition.

use crate::access::credential::presents_own;
use crate::boxed::boxed;
use crate::context::Context;
use crate::edge::{Body, Pages, V2Answer, V2Service, read_body};
use crate::hints::{HintDoor, HintSecrets, HintTally};
use crate::refusal::Refusal;
use crate::request::V2;
use crate::run::{Runner, touched};
use crate::settings::Settings;
use crate::store::Hint;
use crate::v1::V1Key;
use futures_util::future::BoxFuture;
use http::{HeaderMap, Request};
use std::sync::Arc;

pub(super) struct Operations {
    pub(super) v2: Arc<V2>,
    pub(super) body_limit: usize,
}

impl V2Service for Operations {
    fn answer(&self, request: Request<Body>, context: Context) -> BoxFuture<'static, Result<V2Answer, Refusal>> {
        let (v2, limit) = (Arc::clone(&self.v2), self.body_limit);
        boxed(|| async move {
            let (head, body) = request.into_parts();
            v2.answer(head, read_body(body, limit), context).await
        })
    }
}

/// Refuses requests with a secret that the gateway issued: v1 cannot use it and must not see it.
pub(super) fn keys_of_v1_only(headers: &HeaderMap) -> Result<(), Refusal> {
    if !presents_own(headers) {
        return Ok(());
    }
    Err(Refusal::misplaced_token(
        "Keys and tokens of this gateway open /api/v2/ only; /api/v1/ takes keys of the service behind.",
    ))
}

/// Builds the door for hints from v1's webhooks.
pub(super) fn hint_door(
    secrets: HintSecrets,
    tally: &Arc<HintTally>,
    runner: &Arc<Runner>,
    key: V1Key,
) -> Arc<dyn Pages> {
    let (runner, hints) = (Arc::clone(runner), Arc::default());
    let hinted = move |workspace: &str, project| {
        touched(&runner, &hints, &key, Hint { workspace: workspace.to_owned(), project });
    };
    Arc::new(HintDoor::new(secrets, Arc::clone(tally), Arc::new(hinted)))
}

/// Returns the secrets of v1's webhooks if they can be used: without a service key v1 cannot be asked.
pub(super) fn usable_secrets(secrets: Option<HintSecrets>, settings: &Settings) -> Option<HintSecrets> {
    if secrets.is_some() && settings.upstream.service_key.is_none() {
        tracing::warn!(
            "hints.secrets_file does nothing without upstream.service_key: there is no key to look with"
        );
        return None;
    }
    secrets
}
