//! Requests that the deployment's own v2 answers, and reads whose answers are held against its.
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

/// Longest time to make an answer anew.
const PATIENCE: Duration = Duration::from_secs(30);
/// Calls that must be to spare for it.
const SPARE: usize = 10;

/// Which operation a request is for.
#[derive(Clone)]
pub(super) struct Route {
    /// Its place in the plan.
    pub(super) operation: usize,
    /// Variables of the path.
    pub(super) variables: Vec<(String, String)>,
}

impl Route {
    /// The slug of the workspace; none outside of workspaces.
    pub(super) fn workspace(&self) -> Option<&str> {
        self.variables.iter().find(|(name, _)| name == "slug").map(|(_, slug)| slug.as_str())
    }
}

/// Who answers beside the translation, or is compared with it; `budget` is v1's.
#[derive(Clone)]
pub(crate) struct Beside {
    pub(crate) native: Option<Arc<Native>>,
    pub(crate) shadow: Option<Shadow>,
    pub(crate) budget: Budget,
}

/// A read whose answer is held against that of the other side.
pub(super) struct Comparison {
    shadow: Shadow,
    operation: usize,
    /// None when the two answers cannot be compared.
    chosen: Option<Chosen>,
    /// Whether the credential opens one workspace alone.
    limited: bool,
}

impl Beside {
    /// Who answers the operation at a route. Only this gateway knows what is told of a token or gateway key itself: the
    /// other side sees the key behind it.
    pub(super) fn mode(&self, route: &Route, operation: &Operation, caller: &Caller) -> Mode {
        if operation.surface == Surface::User && caller.kind != PrincipalKind::ApiKey {
            return Mode::Translated;
        }
        self.native.as_ref().map_or(Mode::Translated, |native| native.mode(route.operation, route.workspace()))
    }

    /// The answer of the deployment's own v2.
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

    /// The comparison of the answer to a read, when it is among those that are compared; `again` makes it anew.
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
        // A cursor means something to the side alone that gave it, and so does the version of a record.
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

    /// What accompanies an answer that is made anew; none without calls to spare.
    pub(super) fn spare(&self, caller: &Caller, operation: &Operation) -> Option<Context> {
        if !self.budget.spares(caller.key.id(), Priority::Index, SPARE) {
            return None;
        }
        let ctx = Context::new("shadow", PATIENCE).with_priority(Priority::Index);
        ctx.meter.spend_for(Spender { credential: 0, operation: operation.id.as_str().into() });
        Some(ctx)
    }
}

impl Comparison {
    /// The answer of this gateway is there; the other side is asked later.
    pub(super) fn offer(self, answer: &Result<Reply, Refusal>, ctx: &Context) {
        let ours = side(answer, self.limited, ctx);
        match self.chosen.zip(ours) {
            Some((chosen, ours)) => self.shadow.offer(self.operation, chosen, ours),
            None => self.shadow.pass_over(self.operation),
        }
    }
}

/// An answer as the other side can be asked for it; none when it is about this gateway and not about what was asked.
/// `limited` tells that the credential opens one workspace alone, which the key behind it does not.
pub(super) fn side(answer: &Result<Reply, Refusal>, limited: bool, ctx: &Context) -> Option<Side> {
    if ctx.meter.is_stale() {
        // An answer older than usual differs from what the other side says now.
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
