//! Lets pages of configured origins call from a browser (CORS). The pass-through leaves this to v1.
//!
//! Credentials travel in headers, never in cookies, so `Access-Control-Allow-Credentials` is not sent.

use super::layer::Layered;
use crate::edge::body::{self, Body};
use crate::edge::paths::is_pass_through;
use crate::settings::CorsSettings;
use futures_util::FutureExt;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use std::convert::Infallible;
use std::sync::Arc;
use tower::service_fn;

/// Headers of a preflight answer.
const PREFLIGHT: [(HeaderName, &str); 3] = [
    (ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD, POST, PATCH, DELETE"),
    (
        ACCESS_CONTROL_ALLOW_HEADERS,
        "Authorization, Content-Type, Idempotency-Key, If-Match, X-Api-Key, X-Request-Id",
    ),
    (ACCESS_CONTROL_MAX_AGE, "600"),
];

/// Headers of an answer that pages may read besides the usual ones.
const READABLE: &str = "Age, Allow, Causeway-V1-Calls, ETag, Idempotency-Replayed, RateLimit, RateLimit-Policy, Retry-After, Server-Timing, \
                        WWW-Authenticate, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id";

/// Answers preflights of allowed origins and marks their other answers as readable.
pub(in crate::edge) fn cors<S: Layered<Infallible>>(
    inner: S,
    settings: Arc<CorsSettings>,
) -> impl Layered<Infallible> {
    service_fn(move |request| shared(inner.clone(), request, settings.clone()).boxed())
}

async fn shared<S: Layered<Infallible>>(
    mut inner: S,
    request: Request<Body>,
    settings: Arc<CorsSettings>,
) -> Result<Response<Body>, Infallible> {
    if settings.allowed_origins.is_empty() || is_pass_through(request.uri().path()) {
        return inner.call(request).await;
    }
    let origin = allowed_origin(&request, &settings);
    let preflight =
        request.method() == Method::OPTIONS && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = match &origin {
        Some(_) if preflight => preflight_answer(),
        _ => inner.call(request).await?,
    };
    response.headers_mut().append(VARY, HeaderValue::from_static("Origin"));
    if let Some(origin) = origin {
        response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        response.headers_mut().insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(READABLE));
    }
    Ok(response)
}

fn allowed_origin(request: &Request<Body>, settings: &CorsSettings) -> Option<HeaderValue> {
    let origin = request.headers().get(ORIGIN)?;
    settings.allows(origin.to_str().ok()?).then(|| origin.clone())
}

fn preflight_answer() -> Response<Body> {
    let mut response = Response::new(body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = PREFLIGHT.map(|(name, value)| (name, HeaderValue::from_static(value)));
    response.headers_mut().extend(headers);
    response
}
