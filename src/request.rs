//! The life of a v2 request between the HTTP surface and the runner, top to bottom.
//!
//! Order of refusals (O2): credential 401 → route 404/405 → scope 403 → path ids 400/404 → workspace and
//! project visible 404, role 403 → addressed record 404 → query and body 400 → uniqueness 409. The body is
//! read here, but a body that cannot be read is judged only when the addressed record is known to exist.
//!
//! May use: everything but `cli` and `sandbox`; it is composition.

use crate::access::{Access, gate};
use crate::context::Context;
use crate::plan::routes::{Found, Routes};
use crate::plan::{BodyRule, Operation};
use crate::refusal::Refusal;
use crate::run::{Call, Job, Runner};
use crate::v2::{Parameters, Reply};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use std::future::Future;
use std::sync::Arc;

/// Path of the OpenAPI document, which is no operation of the plan.
const SCHEMA: &str = "/api/v2/schema/";

/// Answers v2 requests.
#[derive(Clone)]
pub struct V2 {
    runner: Arc<Runner>,
    routes: Arc<Routes>,
    access: Access,
}

impl V2 {
    /// Puts the parts together.
    pub fn new(runner: Arc<Runner>, access: Access) -> Self {
        let routes = Arc::new(Routes::new(runner.plan()));
        Self { runner, routes, access }
    }

    /// Answers one request; `body` is only awaited when the operation takes one.
    ///
    /// # Errors
    /// Any refusal.
    pub async fn answer(
        &self,
        head: Parts,
        body: impl Future<Output = Result<Bytes, Refusal>>,
        ctx: Context,
    ) -> Result<Reply, Refusal> {
        let caller = self.access.identify(&head.headers, &ctx).await?;
        let (index, mut variables) = self.route(&head)?;
        let plan = self.runner.plan();
        let operation = &plan.operations[index];
        gate::check_scope(operation, &caller)?;
        if !operation.works() {
            return Err(Refusal::NotImplemented { operation: operation.id.clone() });
        }
        gate::check_ids(plan.resource_of(operation), &mut variables)?;
        let card = gate::check_visible(&self.access, operation, &caller, &variables, &ctx).await?;
        let parameters = Parameters::parse(head.uri.query().unwrap_or_default())
            .ok_or_else(|| Refusal::invalid("The query string is not valid UTF-8."))?;
        let body = if takes_body(operation) { body.await } else { Ok(Bytes::new()) };
        let content_type = text_of(&head, CONTENT_TYPE.as_str());
        let call = Call { operation: index, variables, parameters, caller, card, content_type, body, ctx };
        Job::new(Arc::clone(&self.runner), call).run().await
    }

    fn route(&self, head: &Parts) -> Result<(usize, Vec<(String, String)>), Refusal> {
        match self.routes.find(head.method.as_str(), head.uri.path()) {
            Found::Operation { operation, variables } => Ok((operation, variables)),
            Found::WrongMethod { allow } => Err(Refusal::MethodNotAllowed { allow }),
            Found::MissingSlash { right } => {
                Err(Refusal::NotFound { detail: format!("Every path ends with a slash; the right URL is {right}") })
            }
            Found::Unknown if head.uri.path() == SCHEMA => schema(head.method.as_str()),
            Found::Unknown => Err(Refusal::NotFound { detail: "There is no such path.".into() }),
        }
    }
}

fn schema(method: &str) -> Result<(usize, Vec<(String, String)>), Refusal> {
    match method {
        "GET" | "HEAD" => Err(Refusal::NotImplemented { operation: "schema_retrieve".into() }),
        _ => Err(Refusal::MethodNotAllowed { allow: vec!["GET", "HEAD"] }),
    }
}

fn takes_body(operation: &Operation) -> bool {
    matches!(operation.body, BodyRule::Members(_))
}

fn text_of(head: &Parts, name: &str) -> Option<String> {
    head.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}
