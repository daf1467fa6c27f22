//! One call under way, and the values that every step reads from it: operation, path, caller, body. Inside a project,
//! the gate has already read the project card. Code that needs the card takes an [`InProject`], so that the card is
//! always there.
//!
//! May use: what `run` may use, but no step.

use super::kept::collection::Collection;
use super::kept::shelf::{Audience, Place, Write};
use super::runner::Runner;
use crate::access::{Caller, Origin, ProjectCard, ProvenAccess, User, Waiting, WorkspaceRole};
use crate::catalogue::Catalogue;
use crate::context::Context;
use crate::heavy::{self, Input};
use crate::plan::{BodyRule, Known, Operation, PathTemplate, Resource, Source, TypeMode};
use crate::refusal::{FieldErrors, Refusal};
use crate::store::{AuditActor, Turn};
use crate::v1::V1Key;
use crate::v2::body::{self, Given};
use crate::v2::query::{self, ListCall};
use crate::v2::{Demand, Parameters, Reply, tag};
use bytes::Bytes;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::Mutex;
use uuid::Uuid;

/// A request that passed the gate.
pub struct Call {
    /// Index of the operation in the plan.
    pub operation: usize,
    /// Variables of its path; ids in lower case.
    pub variables: Vec<(String, String)>,
    /// Its query string.
    pub parameters: Parameters,
    pub caller: Caller,
    /// The role of the caller at the place in the path.
    pub standing: ProvenAccess,
    pub content_type: Option<String>,
    /// The body, or why it could not be read; checked only when the addressed record is known to exist (O2).
    pub body: Result<Bytes, Refusal>,
    pub origin: Origin,
    /// Deadline and accounting.
    pub ctx: Context,
}

impl Call {
    /// Returns the project card; none outside of projects.
    pub fn card(&self) -> Option<&Arc<ProjectCard>> {
        match &self.standing {
            ProvenAccess::Project(card) => Some(card),
            ProvenAccess::Person | ProvenAccess::Workspace(_) => None,
        }
    }

    /// Returns the same call as a call of another operation, with the same path and without a body.
    pub(super) fn as_operation(&self, operation: usize, parameters: Parameters, ctx: Context) -> Self {
        Self {
            operation,
            variables: self.variables.clone(),
            parameters,
            caller: self.caller.clone(),
            standing: self.standing.clone(),
            content_type: None,
            body: Ok(Bytes::new()),
            origin: self.origin.clone(),
            ctx,
        }
    }
}

impl Origin {
    /// Returns the actor of a request from this origin, as the audit log names it, with the known facts about the
    /// person. Keys and tokens act for the person, so the kind is always `api_token`.
    pub(super) fn actor(&self, user: Uuid, person: Option<&User>) -> AuditActor {
        AuditActor {
            kind: "api_token",
            id: Some(user),
            display_name: person.map(|person| person.display_name.clone()).unwrap_or_default(),
            email: person.map(|person| person.email.clone()).unwrap_or_default(),
            ip_address: self.ip.map(|ip| ip.to_string()),
            user_agent: self.user_agent.clone(),
        }
    }
}

/// Function that is given the outcome of a write, and the id of its new record if v1 told one.
pub type AtEnd = Box<dyn FnOnce(&Result<Reply, Refusal>, Option<Uuid>) + Send + Sync>;

/// Facts about the writes of a call that are needed after it has ended.
#[derive(Debug, Default)]
pub(super) struct Noted {
    /// Whether v1 has refused a value of this create, which is then sent again without it.
    pub(super) refused: AtomicBool,
    /// Whether v1 may still be carrying out a write of this call, because its answer was lost.
    pub(super) at_work: AtomicBool,
    /// The id of the record that this create has made, as v1 told it.
    pub(super) created: OnceLock<Uuid>,
}

/// One call under way.
pub struct Job {
    pub(super) runner: Arc<Runner>,
    /// Boxed, so that a job is cheap to move.
    pub call: Box<Call>,
    /// Whether v1 was sent a write of this call.
    pub(super) sent: Arc<AtomicBool>,
    /// Whether v1 may have carried out a write of this call.
    pub(super) touched: Arc<AtomicBool>,
    /// The turn of this write, held from before its first step until after its last.
    pub(super) turn: Arc<Mutex<Option<Turn>>>,
    /// A large body as JSON, read on the pool for heavy work.
    parsed: Option<Result<Given, Refusal>>,
    /// The demanded version of the addressed record; none for operations that address no single record. An unreadable
    /// header is refused only when it is compared with the record: a missing record is 404 whatever the header says.
    pub condition: Option<Result<Demand, Refusal>>,
    /// The token or gateway key of the request, which may end while a write waits for its turn.
    pub waiting: Option<Waiting>,
    /// Called when a write has ended, also when its client has left before.
    pub at_end: Option<AtEnd>,
    pub(super) noted: Arc<Noted>,
    /// The record that an earlier attempt at this create has made; it lacks at most values that v1 refused, or that the
    /// create sends or stores after its POST.
    pub(super) half_made: Option<Uuid>,
}

impl Job {
    pub fn new(runner: Arc<Runner>, call: Call) -> Self {
        let call = Box::new(call);
        let (sent, touched) = (Arc::default(), Arc::default());
        let (turn, noted) = (Arc::default(), Arc::default());
        let (parsed, condition, waiting, at_end, half_made) = (None, None, None, None, None);
        Self { runner, call, sent, touched, turn, parsed, condition, waiting, at_end, noted, half_made }
    }

    /// Returns the same job after it has waited for the answer to an equal request.
    #[must_use]
    pub fn having_waited(mut self, waited: Duration) -> Self {
        self.call.ctx = self.call.ctx.having_waited(waited);
        self
    }

    /// Returns the parts that all calls share.
    pub fn runner(&self) -> Arc<Runner> {
        Arc::clone(&self.runner)
    }

    /// Returns the caller as the audit log names it.
    pub fn actor(&self) -> AuditActor {
        let user = &self.call.caller.user;
        self.call.origin.actor(user.id, Some(user))
    }

    pub fn operation(&self) -> &Operation {
        &self.runner.plan.operations[self.call.operation]
    }

    /// Checks whether the operation writes only to the gateway's own store.
    pub fn is_own(&self) -> bool {
        self.resource().source == Source::Own
    }

    /// Checks whether the operation reads the body; then it refuses an unreadable body itself.
    pub fn takes_body(&self) -> bool {
        matches!(self.operation().body, BodyRule::Members(_))
    }

    /// Returns a function that tells, even after the call has ended, whether v1 may have carried out a write of this
    /// call. The own store writes all or nothing.
    pub fn written(&self) -> impl Fn() -> bool + Send + 'static {
        let touched = Arc::clone(&self.touched);
        move || touched.load(Ordering::SeqCst)
    }

    /// Returns a function that tells, even after the call has ended, the id of the record that this call has created at
    /// v1.
    pub fn created_record(&self) -> impl Fn() -> Option<Uuid> + Send + 'static {
        let noted = Arc::clone(&self.noted);
        move || noted.created.get().copied()
    }

    /// Returns a function that tells, even after the call has ended, whether v1 has refused a value of this create,
    /// which was then sent again without it.
    pub fn refused_value(&self) -> impl Fn() -> bool + Send + 'static {
        let noted = Arc::clone(&self.noted);
        move || noted.refused.load(Ordering::SeqCst)
    }

    /// Returns a job for another operation with these parameters, with the same path and without a body.
    pub(super) fn as_operation(&self, operation: usize, parameters: Parameters) -> Job {
        let call = self.call.as_operation(operation, parameters, self.shared_ctx());
        Job::new(Arc::clone(&self.runner), call)
    }

    pub(super) fn resource(&self) -> &Resource {
        self.runner.plan.resource_of(self.operation())
    }

    /// Returns another resource of the plan, whose records this one refers to.
    pub(super) fn resource_named(&self, known: Known) -> Result<&Resource, Refusal> {
        let resource = self.runner.plan.known(known);
        resource.ok_or_else(|| Refusal::internal(format!("no {} in the plan", known.name())))
    }

    /// Returns the mode in which the workspace manages its types.
    pub(super) fn mode(&self, catalogue: &Catalogue) -> TypeMode {
        catalogue.mode(self.runner.settings.types.workspace_level)
    }

    pub(super) fn key(&self) -> &V1Key {
        &self.call.caller.key
    }

    /// Returns the value of a path variable; ids are in lower case.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.call.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn slug(&self) -> &str {
        self.variable("slug").unwrap_or_default()
    }

    /// Returns the id of the workspace, under which the own store keeps the workspace's data.
    pub(super) async fn workspace_id(&self) -> Result<Uuid, Refusal> {
        let (call, access) = (&self.call, &self.runner.access);
        match call.card() {
            Some(card) => Ok(card.workspace_id),
            None if self.operation().method.writes() => {
                access.workspace_id_to_write(&call.caller, self.slug(), &call.ctx).await
            }
            None => access.workspace_id(&call.caller, self.slug(), &call.ctx).await,
        }
    }

    pub(super) fn pk(&self) -> Result<Uuid, Refusal> {
        let text = self.variable("pk").ok_or_else(|| Refusal::internal("no pk in the path"))?;
        Uuid::try_parse(text).map_err(Refusal::internal)
    }

    pub(super) fn audience(&self) -> Result<Audience, Refusal> {
        let above_guests = match &self.call.standing {
            ProvenAccess::Project(card) => card.require_member()?.is_above_guest(),
            ProvenAccess::Workspace(role) => *role != WorkspaceRole::Guest,
            ProvenAccess::Person => return Err(Refusal::internal("what one person sees is not kept for others")),
        };
        Ok(if above_guests { Audience::Members } else { Audience::Guests })
    }

    /// Returns the v1 path of a resource's collection, with the variables of this path.
    pub(super) fn collection_path(&self, resource: &Resource) -> Result<String, Refusal> {
        let template = resource.v1.as_ref().and_then(|v1| v1.collection.as_ref());
        self.fill(template, None)
    }

    pub(super) fn record_path(&self, resource: &Resource, id: Uuid) -> Result<String, Refusal> {
        let template = resource.v1.as_ref().and_then(|v1| v1.record.as_ref());
        self.fill(template, Some(&id.to_string()))
    }

    pub(super) fn fill(&self, template: Option<&PathTemplate>, pk: Option<&str>) -> Result<String, Refusal> {
        let value_of = |name: &str| if name == "pk" { pk } else { self.variable(name) };
        let path = template.and_then(|template| template.fill(value_of));
        path.ok_or_else(|| Refusal::internal(format!("{} has no v1 path", self.operation().id)))
    }

    /// Returns the place where a resource's collection is cached.
    pub(super) fn place_of(&self, resource: &Resource) -> Result<Place, Refusal> {
        Ok(self.place_at(self.collection_path(resource)?))
    }

    pub(super) fn place_at(&self, path: String) -> Place {
        let project = self.call.card().map_or(Uuid::nil(), |card| card.id);
        Place { workspace: self.slug().into(), project, path: path.into() }
    }

    /// Begins a write to the collection of the operation's resource.
    pub(super) async fn begin_write(&self) -> Result<Write<'_, Collection>, Refusal> {
        let place = self.place_of(self.resource())?;
        let (audience, key) = (self.audience()?, self.key().id());
        let (sent, touched) = (Arc::clone(&self.sent), Arc::clone(&self.touched));
        Ok(self.runner.collections.begin_write(&place, audience, key, sent, touched).await)
    }

    pub(super) fn list_call(&self) -> Result<ListCall, Refusal> {
        let strict = self.runner.settings.strict_query;
        query::read_list(self.operation(), self.resource(), &self.call.parameters, strict)
    }

    /// Returns the body, validated against the operation's members.
    pub(super) fn given(&self) -> Result<Given, Refusal> {
        self.given_with(|_| FieldErrors::default())
    }

    /// Returns the body, validated against the operation's members; a refusal includes the errors found by `more`.
    pub(super) fn given_with(&self, more: impl FnOnce(&Given) -> FieldErrors) -> Result<Given, Refusal> {
        query::read_single(self.operation(), &self.call.parameters)?;
        let bytes = self.call.body.as_ref().map_err(Clone::clone)?;
        match &self.parsed {
            Some(parsed) => self.checked(parsed.as_ref().map_err(Clone::clone)?, more),
            None => self.checked(&body::parse(self.call.content_type.as_deref(), bytes)?, more),
        }
    }

    /// Checks a parsed body against the operation's members; the answer names members that change nothing.
    fn checked(&self, members: &Given, more: impl FnOnce(&Given) -> FieldErrors) -> Result<Given, Refusal> {
        self.call.ctx.meter.ignore(body::ignored(self.operation(), members));
        body::check_with(self.operation(), members, more)
    }

    /// Parses a large body as JSON on the pool for heavy work, where it delays no other request; it is checked later.
    pub(super) async fn parse_large_body(&mut self) -> Result<(), Refusal> {
        let Ok(bytes) = self.call.body.clone() else { return Ok(()) };
        if bytes.len() > heavy::SMALL {
            let content_type = self.call.content_type.clone();
            let parse = move || body::parse(content_type.as_deref(), &bytes);
            self.parsed = Some(self.runner.heavy.run(Input::Body, self.body_size(), &self.call.ctx, parse).await?);
        }
        Ok(())
    }

    /// Runs work that sanitises HTML of `size` bytes, on the pool for heavy work when it is not small.
    pub(super) async fn sanitising<T: Send + 'static>(
        &self,
        size: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        self.runner.heavy.run(Input::Html, size, &self.call.ctx, work).await
    }

    pub(super) fn body_size(&self) -> usize {
        self.call.body.as_ref().map_or(0, Bytes::len)
    }

    /// Returns the reply of a success with one record; its version is the tag of the shown record.
    pub(super) fn record_reply(&self, json: Bytes) -> Reply {
        let version = tag::of(&json);
        Reply::json(self.operation().status, json).of_version(Some(version))
    }

    /// Returns a context with its own deadline, for work that several requests share.
    pub(super) fn shared_ctx(&self) -> Context {
        self.call.ctx.for_shared_work(self.runner.settings.limits.deadline)
    }
}

/// A call being carried out inside a project.
#[derive(Clone, Copy)]
pub struct InProject<'j> {
    job: &'j Job,
    pub(super) card: &'j Arc<ProjectCard>,
}

impl Deref for InProject<'_> {
    type Target = Job;

    fn deref(&self) -> &Job {
        self.job
    }
}

impl InProject<'_> {
    /// Returns the same call for work in the background, which may take longer than the call.
    pub(super) fn aside(&self) -> Inside {
        let job = self.as_operation(self.call.operation, self.call.parameters.clone());
        Inside { job, card: Arc::clone(self.card) }
    }

    /// Returns the project's card as v1 shows it now.
    ///
    /// # Errors
    /// 404 when the caller does not see the project any more; errors of v1 unchanged.
    pub(super) async fn card_now(&self) -> Result<Arc<ProjectCard>, Refusal> {
        let (call, project, age) = (&self.call, self.card.id, Duration::ZERO);
        let card = self.runner.access.project_within(&call.caller, self.slug(), project, age, &call.ctx).await?;
        Ok(card.value)
    }
}

impl Job {
    /// Returns this call with its project card; none when its path is in no project.
    pub(super) fn in_project(&self) -> Option<InProject<'_>> {
        self.call.card().map(|card| InProject { job: self, card })
    }
}

/// An [`InProject`] that owns its call.
pub(super) struct Inside {
    job: Job,
    card: Arc<ProjectCard>,
}

impl Inside {
    pub(super) fn new(runner: Arc<Runner>, call: Call, card: Arc<ProjectCard>) -> Self {
        let call = Call { standing: ProvenAccess::Project(Arc::clone(&card)), ..call };
        Self { job: Job::new(runner, call), card }
    }

    pub(super) fn here(&self) -> InProject<'_> {
        InProject { job: &self.job, card: &self.card }
    }
}
