//! Gives each request what accompanies it: its id, its context, the address it came by and that of its client.

use super::layer::Layered;
use crate::context::Context;
use crate::edge::body::Body;
use crate::edge::client_address::ClientAddress;
use crate::edge::public_base::PublicBase;
use crate::settings::PublicSettings;
use futures_util::FutureExt;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tower::service_fn;
use uuid::Uuid;

/// Header that carries the request id both ways.
pub(in crate::edge) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Longest id accepted from a client, in bytes.
const LONGEST_ID: usize = 128;

/// Adds [`Context`] (expiring after `allowed`), [`PublicBase`] and [`ClientAddress`] to each request, and the
/// id to each answer that has none.
pub(in crate::edge) fn companion<S: Layered<Infallible>>(
    inner: S,
    allowed: Duration,
    public: Arc<PublicSettings>,
) -> impl Layered<Infallible> {
    service_fn(move |request| accompany(inner.clone(), request, allowed, public.clone()).boxed())
}

async fn accompany<S: Layered<Infallible>>(
    mut inner: S,
    request: Request<Body>,
    allowed: Duration,
    public: Arc<PublicSettings>,
) -> Result<Response<Body>, Infallible> {
    let id = given_id(request.headers()).unwrap_or_else(|| Uuid::new_v4().to_string());
    let header = HeaderValue::from_str(&id);
    let (mut parts, body) = request.into_parts();
    let base = PublicBase::of(&parts, &public);
    parts.extensions.insert(base);
    if let Some(client) = ClientAddress::of(&parts, &public) {
        parts.extensions.insert(client);
    }
    parts.extensions.insert(Context::new(id, allowed));
    let mut response = inner.call(Request::from_parts(parts, body)).await?;
    if let Ok(header) = header {
        response.headers_mut().entry(REQUEST_ID).or_insert(header);
    }
    Ok(response)
}

/// The client's own id, when it is safe to log and to send on.
fn given_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get(REQUEST_ID)?.to_str().ok()?;
    let sane = (1..=LONGEST_ID).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic());
    sane.then(|| id.to_owned())
}
