//! Lets in what the strict door admits, on every path.

use super::layer::Layered;
use crate::edge::body::Body;
use crate::edge::door;
use crate::refusal::Refusal;
use crate::settings::EdgeSettings;
use futures_util::FutureExt;
use http::{Request, Response};
use tower::service_fn;

/// Refuses what could be read in two ways.
pub(in crate::edge) fn door<S: Layered<Refusal>>(inner: S, settings: EdgeSettings) -> impl Layered<Refusal> {
    service_fn(move |request| admitted(inner.clone(), request, settings).boxed())
}

async fn admitted<S: Layered<Refusal>>(
    mut inner: S,
    request: Request<Body>,
    settings: EdgeSettings,
) -> Result<Response<Body>, Refusal> {
    let (mut parts, body) = request.into_parts();
    door::admit(&mut parts, settings)?;
    inner.call(Request::from_parts(parts, body)).await
}
