//! What the clients of v1 are told of its end, on the way through.
//!
//! May use: `refusal`, `edge::body`, `edge::problem`, `edge::public_base`.

use super::body::Body;
use super::problem;
use super::public_base::PublicBase;
use crate::refusal::Refusal;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response};

/// What is said of one call.
#[derive(Debug, Clone, Default)]
pub struct Notice {
    /// Headers that the answer gets besides its own.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// What the call is refused with, when it is: it goes no further.
    pub gone: Option<String>,
}

/// Knows what is said of calls.
pub trait Notices: Send + Sync + 'static {
    /// What is said of a call; none when nothing is.
    fn of(&self, method: &Method, path: &str, headers: &HeaderMap) -> Option<Notice>;
}

impl Notice {
    /// The refusal of the call that `request` is, when it is refused.
    pub(super) fn refusal(&self, request: &Request<Body>, request_id: &str) -> Option<Response<Body>> {
        let refusal = Refusal::Gone { detail: self.gone.clone()? };
        let base = request.extensions().get::<PublicBase>();
        let mut response = problem::respond(&refusal, base.unwrap_or(&PublicBase::new("")), request_id);
        self.mark(&mut response);
        Some(response)
    }

    /// Adds the headers to an answer.
    pub(super) fn mark(&self, response: &mut Response<Body>) {
        for (name, value) in &self.headers {
            response.headers_mut().append(name, value.clone());
        }
    }
}
