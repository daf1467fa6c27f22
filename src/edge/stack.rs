//! All layers between a connection and an operation, in order, on one page.
//!
//! May use: `load`, `settings`, `edge::layers`, `edge::dispatch`, `edge::intake`, `edge::pools`.

use super::body::Body;
use super::dispatch::{Surface, dispatch};
use super::intake::Patience;
use super::layers;
use super::pools::Pools;
use crate::load::Memory;
use crate::settings::Settings;
use futures_util::FutureExt;
use http::{Request, Response};
use std::convert::Infallible;
use std::sync::Arc;
use tower::ServiceBuilder;
use tower::util::BoxCloneSyncService;

/// The whole HTTP surface as one service; cheap to clone.
pub type Stack = BoxCloneSyncService<Request<Body>, Response<Body>, Infallible>;

/// The layers around `surface`, as `settings` say; what is under way counts in `memory`.
pub fn stack(settings: &Settings, surface: Surface, memory: Memory) -> Stack {
    let (public, cors) = (Arc::new(settings.public.clone()), Arc::new(settings.cors.clone()));
    let pools = Arc::new(Pools::new(&settings.limits, memory));
    let patience = Patience::new(&settings.limits);
    let surface = Arc::new(surface);
    let (full, kinds) = (pools.clone(), surface.clone());
    let readiness = surface.readiness.clone();
    let (deadline, edge) = (settings.limits.deadline, settings.edge);
    let layered = ServiceBuilder::new()
        // First, because everything below logs, counts or answers under the request's id and address.
        .layer_fn(move |inner| layers::companion(inner, deadline, public.clone()))
        // Outside all that can refuse, so that every request leaves exactly one line.
        .layer_fn(layers::access_log)
        // Outside the problems, so that pages of allowed origins can read those too; preflights need no
        // credential and end here.
        .layer_fn(move |inner| layers::cors(inner, cors.clone()))
        // Outside the problems, so that a refused HEAD has no body either.
        .layer_fn(layers::head)
        // From here inwards refusals travel as values; here they become bytes.
        .layer_fn(layers::answer)
        // Outside everything that runs other people's code.
        .layer_fn(layers::panics)
        // Before anything that looks at path, host or headers to decide.
        .layer_fn(move |inner| layers::door(inner, edge))
        // Before the load limit: a full gateway is alive, and says so.
        .layer_fn(move |inner| layers::health(inner, readiness.clone(), full.clone()))
        // Before the deadline: whoever is refused must not wait first.
        .layer_fn(move |inner| layers::overload(inner, pools.clone(), kinds.clone(), patience))
        // Innermost: it ends the work itself, and only that. The pass-through is exempt.
        .layer_fn(layers::deadline)
        .service_fn(move |request| dispatch(surface.clone(), request).boxed());
    BoxCloneSyncService::new(layered)
}
