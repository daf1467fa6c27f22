//! Requests that the deployment's own v2 answers, and reads whose answers are compared with its answers.
//!
//! May use: `access`, `context`, `edge`, `native`, `plan`, `refusal`, `settings`, `shadow`, `v1`, `v2`.

use crate::access::{Access, Caller, PrincipalKind, gate};
use crate::context::{Context, Priority, Spender};
use crate::edge::V2Answer;
use crate::native::Native;
use crate::plan::{Method, Operation, Surface};
use crate::refusal::Refusal;
use crate::settings::Mode;
use crate::shadow::{Again, Chosen, Shadow, Side};
use crate::v1::Budget;
use crate::v2::{Parameters, Reply};
use bytes::Bytes;
use http::header::IF_NONE_MATCH;
use http::request::Parts;
use serde_json::json;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

/// Longest time for making an answer again.
const PATIENCE: Duration = Duration::from_secs(30);
/// v1 calls that the quota must be able to spare before an answer is made again.
const SPARE: usize = 10;

/// The operation of a request, with the variables of its path.
#[derive(Clone)]
pub(super) struct Route {
    /// Index of the operation in the plan.
    pub(super) operation: usize,
    /// Variables of the path.
    pub(super) variables: Vec<(String, String)>,
}

impl Route {
    /// Returns the slug of the workspace; none outside of workspaces.
    pub(super) fn workspace(&self) -> Option<&str> {
        self.variables.iter().find(|(name, _)| name == "slug").map(|(_, slug)| slug.as_str())
    }
}

/// The other v2: it answers requests, or its answers are compared with ours. `budget` is the budget of v1.
#[derive(Clone)]
pub(crate) struct Beside {
    pub(crate) native: Option<Arc<Native>>,
    pub(crate) shadow: Option<Shadow>,
    pub(crate) budget: Budget,
}

/// A read whose answer is compared with the answer of the other side.
pub(super) struct Comparison {
    shadow: Shadow,
    operation: usize,
    /// None when the two answers cannot be compared.
    chosen: Option<Chosen>,
    /// Whether the credential gives access to one workspace only.
    limited: bool,
}

impl Beside {
    /// Returns which side answers the operation at a route. Only this gateway can answer about a token or a gateway key
    /// itself: the other side sees the v1 key behind it.
    pub(super) fn mode(&self, route: &Route, operation: &Operation, caller: &Caller) -> Mode {
        if operation.surface == Surface::User && caller.kind != PrincipalKind::ApiKey {
            return Mode::Translated;
        }
        self.native.as_ref().map_or(Mode::Translated, |native| native.mode(route.operation, route.workspace()))
    }

    /// Returns the answer of the deployment's own v2.
    pub(super) async fn passed(
        &self,
        access: &Access,
        caller: &Caller,
        route: &Route,
        head: Parts,
        body: impl Future<Output = Result<Bytes, Refusal>>,
        ctx: &Context,
    ) -> Result<V2Answer, Refusal> {
        let native = self.native.as_ref();
        let native = native.ok_or_else(|| Refusal::internal("there is no v2 to pass a request on to"))?;
        if let Some(slug) = route.workspace() {
            gate::check_workspace(access, caller, slug, ctx).await?;
        }
        let body = body.await?;
        ctx.meter.begin_to_write();
        Ok(V2Answer::Passed(native.pass(head, body, caller, ctx).await?))
    }

    /// Returns the comparison for the answer to a read, if this read is compared; `again` makes the answer again.
    pub(super) fn compared(
        &self,
        route: &Route,
        operation: &Operation,
        caller: &Caller,
        head: &Parts,
        again: impl FnOnce() -> Again,
    ) -> Option<Comparison> {
        let shadow = self.shadow.as_ref().filter(|_| operation.method == Method::Get)?;
        if !shadow.chooses(route.operation) {
            return None;
        }
        let (shadow, limited) = (shadow.clone(), caller.workspace.is_some());
        let comparison = Comparison { shadow, operation: route.operation, chosen: None, limited };
        let parameters = Parameters::parse(head.uri.query().unwrap_or_default());
        // A cursor is valid only at the side that created it. The same holds for the version of a record.
        if parameters.given("cursor").is_some() || head.headers.contains_key(IF_NONE_MATCH) {
            return Some(comparison);
        }
        let chosen = Chosen {
            path: head.uri.path_and_query().map_or_else(String::new, ToString::to_string),
            key: caller.key.clone(),
            order_by: parameters.given("order_by").map(str::to_owned),
            again: again(),
        };
        Some(Comparison { chosen: Some(chosen), ..comparison })
    }

    /// Creates the context for making an answer again; none when the quota has too few calls left.
    pub(super) fn spare(&self, caller: &Caller, operation: &Operation) -> Option<Context> {
        if !self.budget.spares(caller.key.id(), Priority::Index, SPARE) {
            return None;
        }
        let ctx = Context::new("shadow", PATIENCE).with_priority(Priority::Index);
        ctx.meter.set_spender(Spender { credential: 0, operation: operation.id.as_str().into() });
        Some(ctx)
    }
}

impl Comparison {
    /// Hands over the answer of this gateway; the other side is asked later.
    pub(super) fn offer(self, answer: &Result<Reply, Refusal>, ctx: &Context) {
        let ours = side(answer, self.limited, ctx);
        match self.chosen.zip(ours) {
            Some((chosen, ours)) => self.shadow.offer(self.operation, chosen, ours),
            None => self.shadow.pass_over(self.operation),
        }
    }
}

/// Returns an answer in the form that is compared with the other side's; none when it is about this gateway itself.
/// `limited`: the credential gives access to one workspace only; the v1 key behind it has no such limit.
pub(super) fn side(answer: &Result<Reply, Refusal>, limited: bool, ctx: &Context) -> Option<Side> {
    if ctx.meter.is_stale() {
        // An older answer than usual differs from the current answer of the other side.
        return None;
    }
    match answer {
        Ok(reply) => {
            let body = reply.body.clone()?;
            Some(Side { status: reply.status, media: reply.media.into(), body })
        }
        Err(Refusal::NotFound { .. }) if limited => None,
        Err(refusal) if refusal.status() >= 500 || matches!(refusal.status(), 401 | 429) => None,
        Err(refusal) => {
            let body = Bytes::from(json!({"code": refusal.code()}).to_string());
            Some(Side { status: refusal.status(), media: "application/problem+json".into(), body })
        }
    }
}
