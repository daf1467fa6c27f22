//! What happens to every request between its connection and its operation, in order, on one page.
//!
//! May use: `load`, `refusal`, `settings`, `tally`, `edge::coding`, `edge::layers`, `edge::dispatch`, `edge::door`,
//! `edge::intake`, `edge::pools`.

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
use http::{Request, Response};
use parking_lot::RwLock;
use std::sync::Arc;

/// The whole HTTP surface; cheap to clone, all clones are the same.
#[derive(Clone)]
pub struct Stack(Arc<Shared>);

struct Shared {
    /// What new requests meet; those under way keep what they have met.
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

/// Everything around `surface`, as `settings` say; everything under way counts in `memory`.
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
    /// From now on requests meet `surface`, as `settings` say; those under way end as they began. The places stay, and
    /// how many there are.
    pub fn replace(&self, settings: &Settings, surface: Surface) {
        let (pools, codings) = {
            let now = self.0.inner.read();
            (Arc::clone(&now.pools), now.codings.with_settings(&settings.edge))
        };
        let mut next = inner(settings, surface, pools, codings);
        std::mem::swap(&mut *self.0.inner.write(), &mut next);
    }

    /// The address that clients use, where it is a setting.
    pub(super) fn public_url(&self) -> Option<String> {
        self.0.inner.read().settings.public.url.as_ref().map(|url| url.as_str().to_owned())
    }

    /// Connections of clients.
    pub fn traffic(&self) -> Arc<Traffic> {
        Arc::clone(&self.0.traffic)
    }

    /// Places by name of their pool: how many are taken, and how many there are.
    pub fn places(&self) -> Vec<(&'static str, usize, usize)> {
        self.0.inner.read().pools.figures()
    }

    /// Answers one request.
    pub async fn answer(&self, request: Request<Body>) -> Response<Body> {
        let inner = Arc::clone(&self.0.inner.read());
        let (mut parts, body) = request.into_parts();
        // First, because everything below logs, counts or answers under the request's id and address.
        let (settings, traces) = (&inner.settings, inner.surface.traces.as_ref());
        let companion = Companion::join(&mut parts, settings.limits.deadline, &settings.public, traces);
        let request = Request::from_parts(parts, body);
        // Outside all that can refuse, so that every request leaves exactly one line and is counted once.
        let kind = inner.kind_of(&request);
        let line = Line::begin(&request, &companion.context, kind, &inner.surface, &settings.log);
        let response = inner.shared(request, &companion).await;
        line.answered(companion.mark(response))
    }
}

impl Inner {
    /// What a request counts as when it is no operation.
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

    /// Outside the problems, so that pages of allowed origins can read those too; preflights need no credential and end
    /// here.
    async fn shared(&self, request: Request<Body>, companion: &Companion) -> Response<Body> {
        let cors = layers::Cors::of(&request, &self.settings.cors);
        let response = match cors.preflight() {
            Some(preflight) => preflight,
            None => self.with_or_without_body(request, companion).await,
        };
        cors.mark(response)
    }

    /// Outside the problems, so that a refused HEAD has no body either. The pass-through leaves HEAD to v1.
    async fn with_or_without_body(&self, mut request: Request<Body>, companion: &Companion) -> Response<Body> {
        let head = layers::as_get(&mut request);
        let costs = layers::Costs::of(&request);
        // From here inwards refusals travel as values; here they become bytes.
        let answer = layers::catching(self.admitted(request)).await;
        let response = costs.written(answer, companion);
        if head { layers::without_body(response) } else { response }
    }

    async fn admitted(&self, request: Request<Body>) -> Result<Response<Body>, Refusal> {
        // Before anything that looks at path, host or headers to decide.
        let (mut head, body) = request.into_parts();
        door::admit(&mut head, self.settings.edge)?;
        let request = Request::from_parts(head, body);
        // Before anything is sent on: a loop ends at its first turn.
        self.surface.pass_through.expect_of_others(request.headers())?;
        // Before the load limit: a full gateway is alive, and says so.
        if layers::is_examination(request.uri().path()) {
            return layers::examined(request, &*self.surface.readiness, &self.pools).await;
        }
        // Before the deadline: a request that is refused must not wait first.
        let kind = self.surface.kind_of(request.uri().path());
        let (request, permit) = layers::Permit::take(request, &self.pools, kind, self.patience)?;
        let answer = match kind {
            // It has a time limit of its own.
            Kind::PassThrough => dispatch(&self.surface, &self.codings, request).await,
            // Innermost: it ends the work itself, and only that.
            Kind::V2 | Kind::OAuth | Kind::Pages | Kind::Hints => {
                layers::in_time(request, |request| dispatch(&self.surface, &self.codings, request)).await
            }
        };
        permit.answered(answer?, &self.pools)
    }
}
