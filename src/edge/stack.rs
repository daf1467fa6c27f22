//! What happens to every request between its connection and its operation, in order, on one page.
//!
//! May use: `load`, `refusal`, `settings`, `edge::layers`, `edge::dispatch`, `edge::intake`, `edge::pools`.

use super::body::Body;
use super::dispatch::{Surface, dispatch};
use super::intake::Patience;
use super::layers::{self, Companion, Line};
use super::pools::{Kind, Pools};
use crate::load::Memory;
use crate::refusal::Refusal;
use crate::settings::{CorsSettings, EdgeSettings, PublicSettings, Settings};
use http::{Request, Response};
use std::sync::Arc;
use std::time::Duration;

/// The whole HTTP surface; cheap to clone.
#[derive(Clone)]
pub struct Stack(Arc<Inner>);

struct Inner {
    surface: Surface,
    pools: Pools,
    patience: Patience,
    deadline: Duration,
    public: PublicSettings,
    cors: CorsSettings,
    edge: EdgeSettings,
}

/// Everything around `surface`, as `settings` say; what is under way counts in `memory`.
pub fn stack(settings: &Settings, surface: Surface, memory: Memory) -> Stack {
    Stack(Arc::new(Inner {
        surface,
        pools: Pools::new(&settings.limits, memory),
        patience: Patience::new(&settings.limits),
        deadline: settings.limits.deadline,
        public: settings.public.clone(),
        cors: settings.cors.clone(),
        edge: settings.edge,
    }))
}

impl Stack {
    /// Answers one request.
    pub async fn answer(&self, request: Request<Body>) -> Response<Body> {
        let inner = &*self.0;
        let (mut parts, body) = request.into_parts();
        // First, because everything below logs, counts or answers under the request's id and address.
        let companion = Companion::join(&mut parts, inner.deadline, &inner.public);
        let request = Request::from_parts(parts, body);
        // Outside all that can refuse, so that every request leaves exactly one line.
        let line = Line::begin(&request, companion.context());
        let response = inner.shared(request, &companion).await;
        line.answered(companion.mark(response))
    }
}

impl Inner {
    /// Outside the problems, so that pages of allowed origins can read those too; preflights need no credential and end
    /// here.
    async fn shared(&self, request: Request<Body>, companion: &Companion) -> Response<Body> {
        let cors = layers::Cors::of(&request, &self.cors);
        let response = match cors.preflight() {
            Some(preflight) => preflight,
            None => self.with_or_without_body(request, companion).await,
        };
        cors.mark(response)
    }

    /// Outside the problems, so that a refused HEAD has no body either. The pass-through leaves HEAD to v1.
    async fn with_or_without_body(&self, mut request: Request<Body>, companion: &Companion) -> Response<Body> {
        let head = layers::as_get(&mut request);
        let costs = layers::Costs::begin(&request);
        // From here inwards refusals travel as values; here they become bytes.
        let answer = layers::catching(self.admitted(request)).await;
        let response = costs.written(answer, companion);
        if head { layers::without_body(response) } else { response }
    }

    async fn admitted(&self, request: Request<Body>) -> Result<Response<Body>, Refusal> {
        // Before anything that looks at path, host or headers to decide.
        let request = layers::admitted(request, self.edge)?;
        // Before the load limit: a full gateway is alive, and says so.
        if let Some(examination) = layers::Examination::of(&request) {
            return examination.answer(&*self.surface.readiness, &self.pools).await;
        }
        // Before the deadline: whoever is refused must not wait first.
        let kind = self.surface.kind_of(request.uri().path());
        let (request, permit) = layers::Permit::take(request, &self.pools, kind, self.patience)?;
        let answer = match kind {
            // It has a time limit of its own.
            Kind::PassThrough => dispatch(&self.surface, request).await,
            // Innermost: it ends the work itself, and only that.
            Kind::V2 | Kind::OAuth | Kind::Pages => {
                layers::in_time(request, |request| dispatch(&self.surface, request)).await
            }
        };
        permit.answered(answer?, &self.pools)
    }
}
