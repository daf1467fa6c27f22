//! Lets browser pages of configured origins call the gateway (CORS). The pass-through leaves this to v1.
//!
//! Credentials travel in headers, never in cookies, so `Access-Control-Allow-Credentials` is not sent. May use:
//! `settings`, this folder.

use crate::edge::body::{self, Body};
use crate::edge::pools::is_pass_through;
use crate::settings::CorsSettings;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};

const PREFLIGHT: [(HeaderName, &str); 3] = [
    (ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD, POST, PATCH, DELETE"),
    (
        ACCESS_CONTROL_ALLOW_HEADERS,
        "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, X-Api-Key, X-Request-Id",
    ),
    (ACCESS_CONTROL_MAX_AGE, "600"),
];

/// Headers of an answer that pages may read in addition to the usual ones.
const READABLE: &str = "Age, Allow, Cache-Status, Causeway-Ignored, Causeway-V1-Calls, ETag, Idempotency-Replayed, RateLimit, RateLimit-Policy, Retry-After, Server-Timing, \
                        WWW-Authenticate, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id";

/// CORS facts of one request.
pub(in crate::edge) struct Cors {
    /// Whether any origin is allowed, so that answers depend on the origin.
    varies: bool,
    origin: Option<HeaderValue>,
    preflight: bool,
}

impl Cors {
    pub(in crate::edge) fn of(request: &Request<Body>, settings: &CorsSettings) -> Self {
        if settings.allowed_origins.is_empty() || is_pass_through(request.uri().path()) {
            return Self { varies: false, origin: None, preflight: false };
        }
        let asks = request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        let preflight = asks && request.method() == Method::OPTIONS;
        let origin = request.headers().get(ORIGIN);
        let allowed = |origin: &&HeaderValue| origin.to_str().is_ok_and(|origin| settings.allows(origin));
        Self { varies: true, origin: origin.filter(allowed).cloned(), preflight }
    }

    pub(in crate::edge) fn preflight(&self) -> Option<Response<Body>> {
        (self.preflight && self.origin.is_some()).then(|| {
            let mut response = Response::new(body::empty());
            *response.status_mut() = StatusCode::NO_CONTENT;
            response.headers_mut().extend(PREFLIGHT.map(|(name, value)| (name, HeaderValue::from_static(value))));
            response
        })
    }

    /// Adds the headers that make the answer readable for an allowed origin.
    pub(in crate::edge) fn mark(self, mut response: Response<Body>) -> Response<Body> {
        if self.varies {
            response.headers_mut().append(VARY, HeaderValue::from_static("Origin"));
        }
        if let Some(origin) = self.origin {
            response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            response.headers_mut().insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(READABLE));
        }
        response
    }
}
