//! The path of a v2 request from the HTTP surface to the runner, in order from top to bottom.
//!
//! Order of refusals (O2): credential 401 → limit 429 → route 404/405 → scope 403 → path ids 400/404 → workspace and
//! project visible 404, role 403 → addressed record 404 → query and body 400 → uniqueness 409. The body is
//! read here, but an unreadable body is refused only after the addressed record is known to exist.
//!
//! May use: everything but `cli` and `sandbox`; it is composition.

mod beside;
mod collapsed;
mod schema;

use crate::access::{Access, Caller, Origin, OwnerAge, PrincipalKind, ProvenAccess, Waiting, gate, presented_id};
use crate::context::{Context, Priority, Spender};
use crate::describe::openapi::Document;
use crate::edge::{ClientAddress, V2Answer, client_agent, known_versions};
use crate::idempotency::{Idempotency, Key};
use crate::limits::{Class, CredentialId, Limits};
use crate::plan::routes::{LONGEST_SUGGESTION, RouteMatch, Routes};
use crate::plan::{BodyRule, Extent, Method, Operation, OwnRecords, Plan, Surface, V1Operation, V1RouteMatch};
use crate::refusal::Refusal;
use crate::run::{Call, Job, Runner};
use crate::settings::Mode;
use crate::shadow::Again;
use crate::usage::{Usage, beginning};
use crate::v2::{Demand, NamedVersions, Parameters, Reply};
pub(crate) use beside::Beside;
use beside::Route;
use bytes::Bytes;
use collapsed::{Collapsed, RequestKey};
use http::HeaderValue;
use http::header::{CONTENT_TYPE, IF_MATCH, IF_NONE_MATCH};
use http::request::Parts;
pub(crate) use schema::PATH as SCHEMA;
use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

/// Answers v2 requests.
#[derive(Clone)]
pub struct V2 {
    runner: Arc<Runner>,
    routes: Arc<Routes>,
    access: Access,
    limits: Arc<Limits>,
    document: Arc<Document>,
    idempotency: Idempotency,
    usage: Option<Usage>,
    beside: Beside,
    reads: Collapsed<(Caller, ProvenAccess)>,
}

impl V2 {
    /// Creates it from its parts; `document` is the OpenAPI document of the runner's plan, and `usage` learns who is
    /// behind the credentials.
    pub fn new(
        runner: Arc<Runner>,
        access: Access,
        limits: Arc<Limits>,
        document: Arc<Document>,
        idempotency: Idempotency,
        usage: Option<Usage>,
        beside: Beside,
    ) -> Self {
        let (routes, reads) = (Arc::new(Routes::new(&runner.plan)), Collapsed::default());
        Self { runner, routes, access, limits, document, idempotency, usage, beside, reads }
    }

    /// Answers one request; `body` is only awaited when the operation takes one.
    pub async fn answer(
        &self,
        mut head: Parts,
        body: impl Future<Output = Result<Bytes, Refusal>>,
        ctx: Context,
    ) -> Result<V2Answer, Refusal> {
        let read = head.method.is_safe();
        let ctx = ctx.with_priority(if read { Priority::Read } else { Priority::Write }).with_stale_allowed(read);
        // A write changes nothing, whatever it waits for or reads, until something is sent to v1 or stored.
        ctx.meter.only_wait();
        let plan = &*self.runner.plan;
        // Looked up before the credential is proven, because the proof already costs a call; its errors come after.
        let route = self.route(&head);
        let credential = presented_id(&head.headers);
        ctx.meter.set_spender(spender(&route, plan, credential));
        if let Ok(route) = &route {
            ctx.meter.ask_for(route.operation);
        }
        let begun = Instant::now();
        // A read in a workspace is also proven by a card, of the project or of the workspace. The person's name is
        // needed only by the users' surface, which shows it, and by writes, which store it.
        let by_card = |route: &Route| {
            plan.operations[route.operation].surface != Surface::User && gate::are_ids(&route.variables)
        };
        let named = match read && route.as_ref().is_ok_and(by_card) {
            true => OwnerAge::Relaxed,
            false => OwnerAge::Recent,
        };
        let caller = self.proven(&head, credential, named, &ctx).await?;
        let by_key = caller.kind == PrincipalKind::ApiKey;
        let waiting = if by_key { None } else { self.access.waiting(&head.headers, credential) };
        waiting.iter().for_each(|waiting| drop(head.extensions.insert(waiting.clone())));
        let mut answer = self.answer_to(caller, route, head, body, ctx, begun).await;
        // A read may have waited, so its answer may come from data that v1 showed after the credential had ended.
        if let Some(waiting) = waiting.filter(|_| read)
            && let Err(ended) = Box::pin(waiting.check_again()).await
        {
            answer = Err(ended);
        }
        // The v1 key behind a token may become invalid at any time; the client knows only the token.
        answer.map_err(|refusal| match refusal {
            Refusal::Unauthorized { .. } if !by_key => Refusal::invalid_token(),
            refusal => refusal,
        })
    }

    async fn answer_to(
        &self,
        caller: Caller,
        route: Result<Route, Refusal>,
        head: Parts,
        body: impl Future<Output = Result<Bytes, Refusal>>,
        ctx: Context,
        begun: Instant,
    ) -> Result<V2Answer, Refusal> {
        if head.uri.path() == schema::PATH {
            return schema::answer(&self.document, &head).map(V2Answer::Reply);
        }
        let route = route?;
        let operation = &self.runner.plan.operations[route.operation];
        if let Err(refusal) = gate::check_scope(operation, &caller) {
            // No card, which would prove the key, has been requested at this point.
            let credential = presented_id(&head.headers);
            Box::pin(self.access.identify(&head.headers, credential, OwnerAge::Recent, &ctx)).await?;
            Box::pin(self.note_out_of_scope(&route, &caller, &head)).await;
            return Err(refusal);
        }
        if !operation.works() {
            return Err(Refusal::NotImplemented { operation: operation.id.clone() });
        }
        let comparison = match self.beside.mode(&route, operation, &caller) {
            Mode::Native => {
                return Box::pin(self.beside.passed(&self.access, &caller, &route, head, body, &ctx)).await;
            }
            Mode::Shadow => {
                let again = || self.again(&caller, &route, &head);
                self.beside.compared(&route, operation, &caller, &head, again)
            }
            Mode::Translated => None,
        };
        let answer = self.translated(caller, route, &head, body, ctx.clone(), begun).await;
        if let Some(comparison) = comparison {
            comparison.offer(&answer, &ctx);
        }
        answer.map(V2Answer::Reply)
    }

    /// Creates the function that makes the answer to a read again, only while the quota has calls left over.
    fn again(&self, caller: &Caller, route: &Route, head: &Parts) -> Again {
        let (v2, caller, route, mut head) = (self.clone(), caller.clone(), route.clone(), head.clone());
        // The place of the request is in them, and it ends with the request.
        head.extensions.clear();
        Box::new(move || {
            let (v2, caller, route, head) = (v2.clone(), caller.clone(), route.clone(), head.clone());
            Box::pin(async move {
                let operation = &v2.runner.plan.operations[route.operation];
                let ctx = v2.beside.spare(&caller, operation)?;
                let (nothing, limited) = (std::future::ready(Ok(Bytes::new())), caller.workspace.is_some());
                let answer = v2.translated(caller, route, &head, nothing, ctx.clone(), Instant::now()).await;
                beside::side(&answer, limited, &ctx)
            })
        })
    }

    /// Returns the answer of this gateway to a request whose scope is proven.
    async fn translated(
        &self,
        caller: Caller,
        mut route: Route,
        head: &Parts,
        body: impl Future<Output = Result<Bytes, Refusal>>,
        ctx: Context,
        begun: Instant,
    ) -> Result<Reply, Refusal> {
        let plan = &*self.runner.plan;
        let operation = &plan.operations[route.operation];
        gate::check_ids(plan.resource_of(operation), &mut route.variables)?;
        let standing = gate::check_visible(&self.access, operation, &caller, &route.variables, &ctx).await?;
        let parameters = Parameters::parse(head.uri.query().unwrap_or_default());
        let condition = condition(plan, operation, head);
        let given = if operation.method == Method::Post { Key::read(&head.headers) } else { Ok(None) };
        let (key, unreadable) = match given {
            Ok(key) => (key, None),
            Err(refusal) => (None, Some(refusal)),
        };
        let takes_body = matches!(operation.body, BodyRule::Members(_));
        let body = if takes_body || key.is_some() { body.await } else { Ok(Bytes::new()) };
        if let Err(full @ Refusal::Overloaded) = body {
            return Err(full);
        }
        // An unreadable key is reported at the same place as an unreadable body: after records that do not exist (O2).
        let body = unreadable.clone().map_or(body, Err);
        if let Some(trace) = ctx.meter.trace() {
            trace.step("checks", begun);
        }
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let content_type = head.headers.get(CONTENT_TYPE).map(text);
        let known = known_versions(&head.headers);
        // Reads leave no trace that names it.
        let origin = if operation.method.writes() { origin(head) } else { Origin::default() };
        let call = Call {
            operation: route.operation,
            variables: route.variables,
            parameters,
            caller,
            standing,
            content_type,
            body,
            origin,
            ctx,
        };
        let mut job = Job::new(Arc::clone(&self.runner), call);
        (job.condition, job.waiting) = (condition, head.extensions.get::<Waiting>().cloned());
        if let Some(refusal) = unreadable.filter(|_| !takes_body) {
            job.check_role().await?;
            return Err(refusal);
        }
        match key {
            None if operation.method == Method::Get => {
                Ok(unless_known(self.read(job, head).await?, known.as_ref()))
            }
            None => {
                if operation.method == Method::Post {
                    let kept = self.idempotency.clone();
                    let note =
                        move |answer: &Result<Reply, Refusal>, created| kept.made_without_key(answer, created);
                    job.at_end = Some(Box::new(note));
                }
                job.run().await
            }
            Some(key) => {
                let query = head.uri.query().unwrap_or_default();
                Box::pin(self.idempotency.answer(job, key, query)).await
            }
        }
    }

    /// Carries a read out. A read that asks v1 again for each request is carried out together with equal reads.
    async fn read(&self, job: Job, head: &Parts) -> Result<Reply, Refusal> {
        let Some(path_and_query) = head.uri.path_and_query().filter(|_| job.is_uncached_read()) else {
            return job.run().await;
        };
        let call = &job.call;
        let asked = RequestKey {
            key: call.caller.key.id(),
            credential: call.caller.credential,
            path_and_query: path_and_query.clone(),
        };
        let part = self.reads.join(asked, || (call.caller.clone(), call.standing.clone()));
        let ctx = call.ctx.clone();
        part.answer(&ctx, |waited| job.having_waited(waited).run()).await
    }

    /// Returns the person behind the credential, if the rate limit of the credential allows the request.
    async fn proven(
        &self,
        head: &Parts,
        credential: Option<CredentialId>,
        named: OwnerAge,
        ctx: &Context,
    ) -> Result<Caller, Refusal> {
        let attempts = &self.limits.attempts;
        let address = head.extensions.get::<ClientAddress>().map(|address| address.0);
        if let Some(address) = address {
            attempts.may_try(address, credential)?;
        }
        let caller = match self.access.identify(&head.headers, credential, named, ctx).await {
            Ok(caller) => caller,
            Err(refused @ (Refusal::Unauthorized { .. } | Refusal::InvalidToken { .. })) => {
                Box::pin(self.note_refused(&refused, head)).await;
                return Err(match address {
                    Some(address) => attempts.failed(address, credential, refused).await,
                    None => refused,
                });
            }
            Err(fault) => return Err(fault),
        };
        let credential = credential.unwrap_or_default();
        if let Some(usage) = &self.usage {
            usage.met(beginning(credential), &caller);
        }
        attempts.proven(credential);
        // v1 has accepted the key behind a token, too; the pass-through asks for keys.
        let key = caller.key.id().0;
        if key != credential {
            attempts.proven(key);
        }
        match self.limits.take(class(&caller), credential).await {
            Ok(standing) => standing.into_iter().for_each(|standing| ctx.meter.stand(standing)),
            Err((refusal, standing)) => {
                ctx.meter.stand(standing);
                return Err(refusal);
            }
        }
        Ok(caller)
    }

    /// Reports to the workspace in the path that a credential was refused which was valid earlier.
    async fn note_refused(&self, refused: &Refusal, head: &Parts) {
        let Refusal::InvalidToken { ended: Some(ended), .. } = refused else { return };
        let Ok(route) = self.route(head) else { return };
        if let Some(slug) = route.workspace() {
            self.runner.credential_refused(ended, slug, &origin(head)).await;
        }
    }

    /// Reports to the workspace in the path that a scope did not allow a change of its features (O81).
    async fn note_out_of_scope(&self, route: &Route, caller: &Caller, head: &Parts) {
        let plan = &*self.runner.plan;
        let operation = &plan.operations[route.operation];
        let records = plan.resource_of(operation).records;
        if records != Some(OwnRecords::Features) || !operation.method.writes() {
            return;
        }
        if let Some(slug) = route.workspace() {
            self.runner.features_out_of_scope(caller, slug, &origin(head)).await;
        }
    }

    /// Returns the text of the 404 for a path that v2 does not have; if v1 has the path, it says why v2 does not.
    fn no_such_path(&self, head: &Parts) -> String {
        let usual = self.routes.no_such_path(head.uri.path());
        let Some(rest) = head.uri.path().strip_prefix("/api/v2/") else { return usual };
        let path = format!("/api/v1/{rest}");
        let v1 = &self.runner.plan.v1;
        let V1RouteMatch::Operation { operation, .. } = v1.find(head.method.as_str(), &path) else { return usual };
        match &v1.all()[operation] {
            V1Operation { extent: Extent::None(why), served: true, .. } => {
                format!("{}. {why}", usual.trim_end_matches('.'))
            }
            _ => usual,
        }
    }

    fn route(&self, head: &Parts) -> Result<Route, Refusal> {
        match self.routes.find(head.method.as_str(), head.uri.path()) {
            RouteMatch::Operation { operation, variables } => Ok(Route { operation, variables }),
            RouteMatch::WrongMethod { allow } => Err(Refusal::MethodNotAllowed { allow }),
            RouteMatch::MissingSlash { right } if right.len() > LONGEST_SUGGESTION => {
                Err(Refusal::NotFound { detail: "Every path ends with a slash.".into() })
            }
            RouteMatch::MissingSlash { right } => {
                Err(Refusal::NotFound { detail: format!("Every path ends with a slash; the right URL is {right}") })
            }
            RouteMatch::Unknown => Err(Refusal::NotFound { detail: self.no_such_path(head) }),
        }
    }
}

/// Returns the limit class of a credential (O15).
fn class(caller: &Caller) -> Class {
    match caller.kind {
        PrincipalKind::ApiKey => Class::ApiKey,
        PrincipalKind::OAuth => Class::OAuth,
        PrincipalKind::Other if caller.workspace.is_some() => Class::Workspace,
        PrincipalKind::Other => Class::External,
    }
}

/// Returns the credential and the operation that the v1 calls of a request are counted for.
fn spender(route: &Result<Route, Refusal>, plan: &Plan, credential: Option<CredentialId>) -> Spender {
    let operation = route.as_ref().map_or("none", |route| plan.operations[route.operation].id.as_str());
    Spender { credential: credential.map_or(0, beginning), operation: operation.into() }
}

/// Returns the demanded version, if the operation writes to one record; other operations have no version to compare.
fn condition(plan: &Plan, operation: &Operation, head: &Parts) -> Option<Result<Demand, Refusal>> {
    plan.showing(operation)?;
    let values = |name| head.headers.get_all(name).iter().map(HeaderValue::as_bytes);
    Demand::read(values(IF_MATCH), values(IF_NONE_MATCH)).transpose()
}

/// Returns the reply, or 304 when the client has it already. A body that shows other records too is never a 304.
fn unless_known(reply: Reply, known: Option<&NamedVersions>) -> Reply {
    let has = |version: &String| known.is_some_and(|known| known.has(version));
    match &reply.version {
        Some(version) if !reply.shows_others && has(version) => Reply { status: 304, body: None, ..reply },
        _ => reply,
    }
}

fn origin(head: &Parts) -> Origin {
    let ip = head.extensions.get::<ClientAddress>().map(|client| client.0);
    Origin { ip, user_agent: client_agent(&head.headers) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_origin_has_the_client_address_and_a_cut_user_agent() {
        let request = http::Request::get("/x").header("user-agent", "é".repeat(600)).body(()).unwrap();
        let (mut head, ()) = request.into_parts();
        assert_eq!(origin(&head).ip, None);
        head.extensions.insert(ClientAddress("203.0.113.9".parse().unwrap()));
        let found = origin(&head);
        assert_eq!(found.ip.unwrap().to_string(), "203.0.113.9");
        assert_eq!(found.user_agent, "é".repeat(512));
        assert_eq!(origin(&http::Request::get("/x").body(()).unwrap().into_parts().0), Origin::default());
    }
}
