//! Refuses what is more than the gateway serves at once, instead of letting it queue.

use super::layer::Layered;
use crate::edge::body::Body;
use crate::edge::client_address::ClientAddress;
use crate::edge::dispatch::Surface;
use crate::edge::intake::{Holding, Manner, Patience, taken_in};
use crate::edge::outgoing::Load;
use crate::edge::pools::{Kind, Pools};
use crate::load::Asker;
use crate::refusal::Refusal;
use futures_util::FutureExt;
use http::{Request, Response};
use http_body::Body as _;
use std::sync::Arc;
use tower::service_fn;

/// Most bytes that a request which is passed through takes in buffers: some of each direction, read and not
/// yet written.
const PASSING: usize = 128 * 1024;

/// Serves as many requests at once as `pools` have places.
pub(in crate::edge) fn overload<S: Layered<Refusal>>(
    inner: S,
    pools: Arc<Pools>,
    surface: Arc<Surface>,
    patience: Patience,
) -> impl Layered<Refusal> {
    service_fn(move |request: Request<Body>| {
        let kind = surface.kind_of(request.uri().path());
        permitted(inner.clone(), request, pools.clone(), kind, patience).boxed()
    })
}

async fn permitted<S: Layered<Refusal>>(
    inner: S,
    request: Request<Body>,
    pools: Arc<Pools>,
    kind: Kind,
    patience: Patience,
) -> Result<Response<Body>, Refusal> {
    let address = request.extensions().get::<ClientAddress>().map(|client| client.0);
    let asker = pools.asker(address, request.headers());
    if !pools.answers.has_room_for(asker) {
        return Err(Refusal::Overloaded);
    }
    match kind {
        Kind::PassThrough => passed_through(inner, request, &pools, asker, patience).await,
        Kind::V2 | Kind::OAuth | Kind::Pages => served(inner, request, &pools, kind, asker, patience).await,
    }
}

/// An answer that passes through holds the place of its request to its last byte, for as long it holds a
/// connection to v1.
async fn passed_through<S: Layered<Refusal>>(
    mut inner: S,
    request: Request<Body>,
    pools: &Pools,
    asker: Asker,
    patience: Patience,
) -> Result<Response<Body>, Refusal> {
    let has_body = !request.body().is_end_stream();
    let holding = Holding::passing(pools.of(Kind::PassThrough), asker, has_body, &pools.memory, PASSING)?;
    let held = Arc::clone(&holding);
    let request = request.map(|body| taken_in(body, held, Manner::Streamed, patience));
    let mut response = inner.call(request).await?;
    let load = Load::new(pools.answers.enter_anyway(asker), pools.memory.reservation(asker), Some(holding));
    response.extensions_mut().insert(load);
    Ok(response)
}

/// The place is given back as soon as there is an answer. One that finds no memory is refused, unless something
/// may have been changed for it.
async fn served<S: Layered<Refusal>>(
    mut inner: S,
    request: Request<Body>,
    pools: &Pools,
    kind: Kind,
    asker: Asker,
    patience: Patience,
) -> Result<Response<Body>, Refusal> {
    let holding = Holding::served(pools.of(kind), asker, &pools.memory)?;
    let changes_nothing = request.method().is_safe();
    let held = Arc::clone(&holding);
    let request = request.map(|body| taken_in(body, held, Manner::Collected, patience));
    let mut response = inner.call(request).await?;
    let size = usize::try_from(response.body().size_hint().lower()).unwrap_or(usize::MAX);
    let mut memory = pools.memory.reservation(asker);
    if changes_nothing {
        memory.grow(size)?;
    } else {
        memory.grow_anyway(size);
    }
    response.extensions_mut().insert(Load::new(pools.answers.enter_anyway(asker), memory, None));
    drop(holding);
    Ok(response)
}
