//! What the clients of v1 are told of its end, on the way through.
//!
//! May use: `edge::body`, `edge::problem`.

use super::body::{self, Body};
use super::problem::MEDIA_TYPE;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use serde_json::json;

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
    /// The refusal of a call, when it is refused.
    pub(super) fn refusal(&self) -> Option<Response<Body>> {
        let detail = self.gone.as_ref()?;
        let problem = json!({
            "type": "about:blank",
            "title": "Gone",
            "status": 410,
            "code": "gone",
            "detail": detail,
        });
        let mut response = Response::new(body::full(problem.to_string()));
        *response.status_mut() = StatusCode::GONE;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
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
