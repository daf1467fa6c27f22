//! Forwards requests to the deployment's own v2, and returns its answers unchanged.
//!
//! May use: `access` (who asks), `context`, `edge` (the way through), `plan`, `refusal`, `settings`, this folder.

use super::modes::Modes;
use crate::access::{Caller, PrincipalKind};
use crate::context::{Context, Note};
use crate::edge::{Body, PassThrough, full};
use crate::refusal::Refusal;
use crate::settings::Mode;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, COOKIE};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Request, Response, StatusCode};

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// The modes of all operations, and the pass-through to the deployment's own v2.
pub struct Native {
    modes: Modes,
    way: PassThrough,
}

impl Native {
    /// Creates it from `modes` and the pass-through `way`.
    pub fn new(modes: Modes, way: PassThrough) -> Self {
        Self { modes, way }
    }

    /// Returns who answers the operation with this index in the plan.
    pub fn mode(&self, operation: usize, workspace: Option<&str>) -> Mode {
        self.modes.of(operation, workspace)
    }

    /// Forwards a request of `caller` unchanged but for the credential: it carries the key that acts for the caller,
    /// and no other proof of identity.
    ///
    /// # Errors
    /// When that v2 cannot be reached, does not answer, or refuses the key behind a token or gateway key.
    pub async fn pass(
        &self,
        mut head: Parts,
        body: Bytes,
        caller: &Caller,
        ctx: &Context,
    ) -> Result<Response<Body>, Refusal> {
        ctx.meter.note(Note::Native);
        for other in [AUTHORIZATION, COOKIE] {
            head.headers.remove(other);
        }
        let mut key = HeaderValue::from_str(caller.key.expose()).map_err(Refusal::internal)?;
        key.set_sensitive(true);
        head.headers.insert(API_KEY, key);
        if head.headers.contains_key(CONTENT_LENGTH) {
            head.headers.insert(CONTENT_LENGTH, body.len().into());
        }
        let answer = self.way.forward(Request::from_parts(head, full(body)), ctx).await?;
        // The refusal must be about the credential that the client has sent.
        match answer.status() {
            StatusCode::UNAUTHORIZED if caller.kind != PrincipalKind::ApiKey => Err(Refusal::invalid_token()),
            _ => Ok(answer),
        }
    }
}
