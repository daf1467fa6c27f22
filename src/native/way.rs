//! Requests on their way to the deployment's own v2, and its answers as they are.
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

/// Who answers what, and the way to the deployment's own v2.
pub struct Native {
    modes: Modes,
    way: PassThrough,
}

impl Native {
    /// Sends what `modes` say on `way`.
    pub fn new(modes: Modes, way: PassThrough) -> Self {
        Self { modes, way }
    }

    /// Who answers the operation at this place of the plan.
    pub fn mode(&self, operation: usize, workspace: Option<&str>) -> Mode {
        self.modes.of(operation, workspace)
    }

    /// Sends a request of `caller` on as it is, but for the credential: the key that acts for the caller goes along,
    /// and nothing else that proves who somebody is.
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
        // Its client is told about the credential it knows.
        match answer.status() {
            StatusCode::UNAUTHORIZED if caller.kind != PrincipalKind::ApiKey => Err(Refusal::invalid_token()),
            _ => Ok(answer),
        }
    }
}
