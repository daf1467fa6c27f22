//! The steps of every request between its connection and its operation, in order, on one page.
//!
//! May use: `load`, `refusal`, `settings`, `tally`, `edge::body`, `edge::coding`, `edge::dispatch`, `edge::door`,
//! `edge::intake`, `edge::layers`, `edge::pools`.

use super::body::Body;
use super::coding::Codings;
use super::dispatch::{Surface, dispatch};
use super::door;
use super::intake::Patience;
use super::layers::{self, Companion, Line};
use super::pools::{Kind, Pools};
use crate::load::Memory;
use crate::refusal::Refusal;
use crate::settings::Settings;
use crate::tally::{self, Traffic};
use http::{Method, Request, Response};
use parking_lot::RwLock;
use std::sync::Arc;

/// The whole HTTP surface. Cheap to clone; all clones are the same.
#[derive(Clone)]
pub struct Stack(Arc<Shared>);

struct Shared {
    /// Configuration for new requests; running requests keep the one that they began with.
    inner: RwLock<Arc<Inner>>,
    traffic: Arc<Traffic>,
}

struct Inner {
    surface: Surface,
    pools: Arc<Pools>,
    patience: Patience,
    settings: Settings,
    codings: Codings,
}

/// Builds the layers around `surface` by `settings`. Requests and answers in flight count in `memory`.
pub fn stack(settings: &Settings, surface: Surface, memory: Memory) -> Stack {
    let pools = Arc::new(Pools::new(&settings.limits, memory));
    let inner = inner(settings, surface, pools, Codings::new(&settings.edge));
    Stack(Arc::new(Shared { inner: RwLock::new(inner), traffic: Arc::default() }))
}

fn inner(settings: &Settings, surface: Surface, pools: Arc<Pools>, codings: Codings) -> Arc<Inner> {
    Arc::new(Inner {
        surface,
        pools,
        patience: Patience::new(&settings.limits),
        settings: settings.clone(),
        codings,
    })
}

impl Stack {
    /// Uses `surface` and `settings` for new requests; running requests end with the old ones. The pools and their
    /// sizes stay.
    pub fn replace(&self, settings: &Settings, surface: Surface) {
        let (pools, codings) = {
            let now = self.0.inner.read();
            (Arc::clone(&now.pools), now.codings.with_settings(&settings.edge))
        };
        let next = inner(settings, surface, pools, codings);
        let before = std::mem::replace(&mut *self.0.inner.write(), next);
        // Only now, because it may take a while, and the lock is free again.
        drop(before);
    }

    /// Returns the address that clients use, if it is configured.
    pub(super) fn public_url(&self) -> Option<String> {
        self.0.inner.read().settings.public.url.as_ref().map(|url| url.as_str().to_owned())
    }

    /// Returns the counters of client connections.
    pub fn traffic(&self) -> Arc<Traffic> {
        Arc::clone(&self.0.traffic)
    }

    /// Returns per pool its name, the number of taken places, and its size.
    pub fn places(&self) -> Vec<(&'static str, usize, usize)> {
        self.0.inner.read().pools.figures()
    }

    /// Answers one request.
    pub async fn answer(&self, request: Request<Body>) -> Response<Body> {
        let inner = Arc::clone(&self.0.inner.read());
        let (mut parts, body) = request.into_parts();
        // First, because everything below logs, counts or answers with the id and the address of the request.
        let (settings, traces) = (&inner.settings, inner.surface.traces.as_ref());
        let companion = Companion::join(&mut parts, settings.limits.deadline, &settings.public, traces);
        let request = Request::from_parts(parts, body);
        // Outside all layers that can refuse, so that every request gets exactly one log line and is counted once.
        let kind = inner.kind_of(&request);
        let line = Line::begin(&request, &companion.context, kind, &inner.surface, &settings.log);
        let response = inner.shared(request, &companion).await;
        line.answered(companion.mark(response))
    }
}

impl Inner {
    /// Returns the kind under which a request is counted when it is no operation.
    fn kind_of(&self, request: &Request<Body>) -> tally::Kind {
        let path = request.uri().path();
        match self.surface.kind_of(path) {
            Kind::PassThrough => tally::Kind::PassThrough,
            Kind::OAuth => tally::Kind::OAuth,
            Kind::V2 => tally::Kind::Unknown,
            Kind::Pages if layers::is_examination(path) => tally::Kind::Health,
            Kind::Pages | Kind::Hints => tally::Kind::Pages,
        }
    }

    /// Adds CORS. It is outside the problems, so that pages of allowed origins can read problems too. Preflights need
    /// no credential and end here.
    async fn shared(&self, request: Request<Body>, companion: &Companion) -> Response<Body> {
        let cors = layers::Cors::of(&request, &self.settings.cors);
        let response = match cors.preflight() {
            Some(preflight) => preflight,
            None => self.with_or_without_body(request, companion).await,
        };
        cors.mark(response)
    }

    /// Handles HEAD outside the problems, so that a refused HEAD has no body either. The pass-through leaves HEAD to
    /// v1, and only the gateway's own refusals have a body to remove there.
    async fn with_or_without_body(&self, mut request: Request<Body>, companion: &Companion) -> Response<Body> {
        let asks_for_head = *request.method() == Method::HEAD;
        let as_get = layers::as_get(&mut request);
        let costs = layers::Costs::of(&request);
        // Further inside, refusals are values; here they become bytes.
        let answer = layers::catching(self.admitted(request)).await;
        let bare = as_get || (asks_for_head && answer.is_err());
        let response = costs.written(answer, companion);
        if bare { layers::without_body(response) } else { response }
    }

    async fn admitted(&self, request: Request<Body>) -> Result<Response<Body>, Refusal> {
        // Before any code that uses path, host or headers for a decision.
        let (mut head, body) = request.into_parts();
        door::admit(&mut head, self.settings.edge)?;
        let request = Request::from_parts(head, body);
        // Before any request is forwarded, so that a loop ends in its first round.
        self.surface.pass_through.refuse_own_request(request.headers())?;
        // Before the load limit: a full gateway is alive, and must say so.
        if layers::is_examination(request.uri().path()) {
            return layers::examined(request, &*self.surface.readiness, &self.pools).await;
        }
        // Before the deadline: a request that is rejected for load must not wait first.
        let kind = self.surface.kind_of(request.uri().path());
        let (request, permit) = layers::Permit::take(request, &self.pools, kind, self.patience)?;
        let answer = match kind {
            // The pass-through has a time limit of its own.
            Kind::PassThrough => dispatch(&self.surface, &self.codings, request).await,
            // Innermost: the deadline ends the work itself, and nothing else.
            Kind::V2 | Kind::OAuth | Kind::Pages | Kind::Hints => {
                layers::in_time(request, |request| dispatch(&self.surface, &self.codings, request)).await
            }
        };
        permit.answered(answer?, &self.pools)
    }
}
