//! The parts that carry calls out, and one call on its way.

use super::answers::Answers;
use super::collection::Collection;
use super::epochs::Epochs;
use super::losses::Losses;
use super::own::{self, KeptLists};
use super::shelf::{Audience, Changes, Place, Shelf, Write};
use super::{create, delete, list, special, update};
use crate::access::{Access, Caller, ProjectCard};
use crate::catalogue::Catalogue;
use crate::context::Context;
use crate::heavy::{self, Heavy, Input};
use crate::index::Indexes;
use crate::plan::{Operation, PathTemplate, Plan, Resource, Source, Step, TypeMode};
use crate::refusal::{FieldErrors, Refusal};
use crate::settings::{TypeSettings, WorkflowSettings};
use crate::store::{AuditActor, Store, Turn};
use crate::translate::ReadShape;
use crate::translate::members::Person;
use crate::v1::{Client, V1Key};
use crate::v2::body::{self, Given};
use crate::v2::tag::{self, IfMatch};
use crate::v2::{Parameters, Reply};
use bytes::Bytes;
use moka::sync::Cache;
use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Mutex;
use uuid::Uuid;

/// Projects remembered as compared.
const COMPARED: u64 = 100_000;

/// Deleted labels remembered.
const DELETED: u64 = 100_000;
/// New records remembered.
const MADE: u64 = 1_000_000;
/// Least time for which a new record is remembered as such.
const REMEMBERED: Duration = Duration::from_secs(60);
/// Time after which v1 has cleaned up behind a delete; it does so within a fraction of a second (trap 39).
const CLEANED_UP: Duration = Duration::from_secs(60);

/// What can be set about carrying out.
#[derive(Debug, Clone)]
pub struct RunnerSettings {
    /// How long a collection is served from memory.
    pub collection_ttl: Duration,
    /// Refuse unknown parameters of lists (O6).
    pub strict_query: bool,
    /// Time allowed to work that several requests share, and to a write whose client left.
    pub shared_work: Duration,
    /// Workflow rules of projects.
    pub workflow: WorkflowSettings,
    /// Work item types.
    pub types: TypeSettings,
    /// How long v1 may still carry out a write whose answer was lost.
    pub late_write: Duration,
    /// Age up to which collections and indices are used while v1's quota is short.
    pub stretch: Duration,
    /// Age up to which whatever is kept is used while v1 is unreachable or failing.
    pub stale_if_error: Duration,
    /// A key of the gateway's own that reads indices.
    pub service_key: Option<V1Key>,
    /// Most writes that wait for the same record or rule.
    pub writers_waiting: usize,
}

/// Everything calls are carried out with.
pub struct Runner {
    pub(super) plan: Arc<Plan>,
    pub(super) shapes: Vec<ReadShape>,
    pub(super) client: Client,
    pub(super) access: Access,
    pub(super) store: Store,
    pub(super) indexes: Indexes,
    pub(super) heavy: Heavy,
    pub(super) collections: Shelf<Collection>,
    pub(super) rosters: Shelf<Vec<Person>>,
    pub(super) sets: Shelf<HashSet<Uuid>>,
    pub(super) answers: Answers,
    pub(super) own_lists: KeptLists,
    /// Labels deleted a moment ago, which v1 may still show on items.
    pub(super) deleted_labels: Cache<Uuid, ()>,
    /// Records made a moment ago by requests of this process, each the answer of one request only.
    made: Cache<Uuid, ()>,
    /// Projects whose recorded items were held against an index lately.
    pub(super) compared: Cache<Uuid, ()>,
    pub(super) changes: Arc<Changes>,
    pub(super) epochs: Epochs,
    pub(super) losses: Losses,
    pub(super) settings: RunnerSettings,
    /// Which project had an identifier when it was last seen, by workspace.
    identifiers: Cache<(Box<str>, Box<str>), Uuid>,
}

/// Identifiers remembered.
const IDENTIFIERS: u64 = 10_000;

impl Runner {
    /// Puts the parts together.
    pub fn new(
        plan: Arc<Plan>,
        client: Client,
        access: Access,
        store: Store,
        indexes: Indexes,
        settings: RunnerSettings,
    ) -> Self {
        let changes = Arc::<Changes>::default();
        Self {
            shapes: plan.resources.iter().map(ReadShape::of).collect(),
            collections: Shelf::new(settings.collection_ttl, Arc::clone(&changes)),
            rosters: Shelf::new(settings.collection_ttl, Arc::clone(&changes)),
            sets: Shelf::new(settings.collection_ttl, Arc::clone(&changes)),
            answers: Answers::new(settings.stale_if_error),
            own_lists: KeptLists::default(),
            deleted_labels: Cache::builder().time_to_live(CLEANED_UP).max_capacity(DELETED).build(),
            made: Cache::builder().time_to_live(settings.late_write * 2 + REMEMBERED).max_capacity(MADE).build(),
            compared: Cache::builder().time_to_live(indexes.sweep()).max_capacity(COMPARED).build(),
            plan,
            client,
            access,
            store,
            indexes,
            heavy: Heavy::for_this_machine(),
            changes,
            epochs: Epochs::default(),
            losses: Losses::default(),
            settings,
            identifiers: Cache::new(IDENTIFIERS),
        }
    }

    /// Takes a new record for the one that a create has made; false when another create was told of it.
    pub(super) fn claim_new(&self, id: Uuid) -> bool {
        self.made.entry(id).or_insert(()).is_fresh()
    }

    /// Remembers which project an identifier belongs to.
    pub(super) fn learn_identifier(&self, workspace: &str, card: &ProjectCard) {
        let place = (Box::from(workspace), Box::from(&*card.identifier));
        if self.identifiers.get(&place) != Some(card.id) {
            self.identifiers.insert(place, card.id);
        }
    }

    /// The project that had this identifier; whoever uses it proves it.
    pub(super) fn project_with(&self, workspace: &str, identifier: &str) -> Option<Uuid> {
        self.identifiers.get(&(Box::from(workspace), Box::from(identifier)))
    }

    /// The plan calls are carried out by.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Something in this project was written to v1 past the plan: what is kept of it is dropped, and its
    /// index asks v1 before it answers again.
    pub fn project_touched(&self, project: Uuid) {
        self.changes.in_project(project);
        self.indexes.touched(project);
        self.void_project(project);
    }

    /// Something in this workspace was written to v1 past the plan.
    pub fn workspace_touched(&self, workspace: &str) {
        self.changes.in_workspace(workspace);
        self.indexes.touched_workspace(workspace);
        self.void_workspace(workspace);
    }
}

/// A refusal of a write of which v1 has, or may have, carried out a part. What is wrong with the request itself, and
/// what says already how far the write came, stays as it is.
fn told(refusal: Refusal) -> Refusal {
    let what = match &refusal {
        Refusal::OutcomeUnknown { .. } => return refusal,
        Refusal::UpstreamError { detail, .. } | Refusal::UpstreamFault { detail, .. } => detail.clone(),
        other if other.status() >= 500 || other.status() == 429 => format!("It then failed ({}).", other.code()),
        _ => return refusal,
    };
    let timed_out = refusal.status() == 504;
    Refusal::outcome_unknown(
        format!("The service behind was written to. {what}"),
        format!("{refusal:?}"),
        timed_out,
    )
}

/// A request that passed the gate.
pub struct Call {
    /// Index of the operation in the plan.
    pub operation: usize,
    /// Variables of its path; ids in lower case.
    pub variables: Vec<(String, String)>,
    /// Its query string.
    pub parameters: Parameters,
    /// Who asks.
    pub caller: Caller,
    /// What the caller is in the project; none outside of projects.
    pub card: Option<Arc<ProjectCard>>,
    /// `Content-Type`.
    pub content_type: Option<String>,
    /// The body, or why it could not be read; judged only when the addressed record is known to exist (O2).
    pub body: Result<Bytes, Refusal>,
    /// From where.
    pub origin: Origin,
    /// Deadline and accounting.
    pub ctx: Context,
}

/// Where a request came from, for the audit log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// Address of the client.
    pub ip: Option<IpAddr>,
    /// What sent it, empty when it does not say.
    pub user_agent: String,
}

/// One call being carried out.
pub struct Job {
    pub(super) runner: Arc<Runner>,
    pub(super) call: Call,
    /// Whether v1 may have carried out a write of this call.
    pub(super) touched: Arc<AtomicBool>,
    /// What this write has to itself, from before its first step until after its last.
    pub(super) turn: Arc<Mutex<Option<Turn>>>,
    /// A large body as JSON, read on the pool for heavy work.
    parsed: Option<Result<Given, Refusal>>,
    /// What `If-Match` demands of the addressed record.
    pub(super) condition: Option<IfMatch>,
}

impl Job {
    /// Takes a call on.
    pub fn new(runner: Arc<Runner>, call: Call) -> Self {
        Self { runner, call, touched: Arc::default(), turn: Arc::default(), parsed: None, condition: None }
    }

    /// The same call for work beside it, which may take longer than the call.
    pub(super) fn aside(&self) -> Self {
        self.reading_as(self.call.operation, self.call.parameters.clone())
    }

    /// Carries the call out. Writes wait for their turn with the client, and then run as tasks of their own, so that
    /// a client that leaves, or a deadline that passes, never stops them half-way.
    ///
    /// # Errors
    /// Any refusal.
    pub async fn run(mut self) -> Result<Reply, Refusal> {
        self.parse_large_body().await?;
        if !self.operation().method.writes() {
            self.catch_up().await;
            return self.step().await;
        }
        let turn = self.wait_for_turn().await?;
        let task = tokio::spawn(async move { self.outlasting_the_client().in_turn(turn).await });
        task.await.unwrap_or_else(|gone| Err(Refusal::internal(format!("a write ended: {gone}"))))
    }

    async fn catch_up(&self) {
        if let Some(card) = &self.call.card {
            self.runner.catch_up(card.id).await;
        }
    }

    /// A write whose turn it is: nothing read before this counts, and the turn ends when all of it is done and told.
    async fn in_turn(self, turn: Turn) -> Result<Reply, Refusal> {
        let held = Arc::clone(&self.turn);
        *held.lock().await = Some(turn);
        self.catch_up().await;
        let project = self.call.card.as_ref().map(|card| card.id);
        let announced = project.filter(|_| self.resource().source == Source::V1);
        let outcome = self.announced_step(announced).await;
        drop(held.lock().await.take());
        outcome
    }

    fn outlasting_the_client(mut self) -> Self {
        self.call.ctx = self.call.ctx.for_shared_work(self.runner.settings.shared_work);
        self
    }

    /// Carries a write out, told to other gateway processes before and after when it goes to v1.
    async fn announced_step(self, project: Option<Uuid>) -> Result<Reply, Refusal> {
        let Some(project) = project else { return self.told_step().await };
        let (runner, void) = (Arc::clone(&self.runner), self.voiding());
        runner.announce(project).await;
        let outcome = self.told_step().await;
        void(&outcome);
        runner.announce(project).await;
        outcome
    }

    /// Carries the call out; what fails after v1 has, or may have, carried out a part of it says so, and never
    /// invites to repeat it.
    async fn told_step(self) -> Result<Reply, Refusal> {
        let (touched, runner) = (Arc::clone(&self.touched), Arc::clone(&self.runner));
        let project = self.call.card.as_ref().map(|card| card.id);
        let outcome = self.step().await;
        match outcome {
            Err(refusal) if touched.load(Ordering::SeqCst) => {
                // Who looks the record up now must see what v1 shows now.
                project.into_iter().for_each(|project| runner.project_touched(project));
                Err(told(refusal))
            }
            outcome => outcome,
        }
    }

    async fn step(self) -> Result<Reply, Refusal> {
        self.hold_precondition().await?;
        self.carried_out().await
    }

    /// The operation itself.
    pub(super) async fn carried_out(self) -> Result<Reply, Refusal> {
        match self.operation().step.clone() {
            Step::ReadCollection => list::list(&self).await,
            Step::ReadOne => list::one(&self).await,
            Step::Create => create::create(&self).await,
            Step::Update => update::update(&self).await,
            Step::Delete => delete::delete(&self).await,
            Step::Special(name) => special::run(&name, &self).await,
            Step::Own(name) => own::run(&name, &self).await,
            Step::Pending => Err(Refusal::NotImplemented { operation: self.operation().id.clone() }),
        }
    }

    /// The caller as the audit log names it. Keys and tokens act, so the person is never there themselves.
    pub fn actor(&self) -> AuditActor {
        let (user, origin) = (&self.call.caller.user, &self.call.origin);
        AuditActor {
            kind: "api_token",
            id: Some(user.id),
            display_name: user.display_name.clone(),
            email: user.email.clone(),
            ip_address: origin.ip.map(|ip| ip.to_string()),
            user_agent: origin.user_agent.clone(),
        }
    }

    pub(super) fn operation(&self) -> &Operation {
        &self.runner.plan.operations[self.call.operation]
    }

    pub(super) fn resource(&self) -> &Resource {
        self.runner.plan.resource_of(self.operation())
    }

    /// Another resource of the plan, whose records this one names.
    pub(super) fn resource_named(&self, name: &str) -> Result<&Resource, Refusal> {
        let resource = self.runner.plan.resource(name);
        resource.ok_or_else(|| Refusal::internal(format!("no {name} in the plan")))
    }

    pub(super) fn shape_of(&self, resource: &Resource) -> Result<&ReadShape, Refusal> {
        let index = self.runner.plan.resources.iter().position(|known| known.name == resource.name);
        index.map(|index| &self.runner.shapes[index]).ok_or_else(|| Refusal::internal("a resource without shape"))
    }

    /// The mode in which the workspace manages its types.
    pub(super) fn mode(&self, catalogue: &Catalogue) -> TypeMode {
        catalogue.mode(self.runner.settings.types.workspace_level)
    }

    pub(super) fn key(&self) -> &V1Key {
        &self.call.caller.key
    }

    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        self.call.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn slug(&self) -> &str {
        self.variable("slug").unwrap_or_default()
    }

    pub(super) fn card(&self) -> Result<&Arc<ProjectCard>, Refusal> {
        self.call.card.as_ref().ok_or_else(|| Refusal::internal("a project operation without a card"))
    }

    /// Id of the addressed record.
    pub(super) fn pk(&self) -> Result<Uuid, Refusal> {
        let text = self.variable("pk").ok_or_else(|| Refusal::internal("no pk in the path"))?;
        Uuid::try_parse(text).map_err(Refusal::internal)
    }

    pub(super) fn audience(&self) -> Result<Audience, Refusal> {
        let role = self.card()?.require_member()?;
        Ok(if role.is_above_guest() { Audience::Members } else { Audience::Guests })
    }

    /// v1 path of a resource's collection below the same variables.
    pub(super) fn collection_path(&self, resource: &Resource) -> Result<String, Refusal> {
        let template = resource.v1.as_ref().and_then(|v1| v1.collection.as_ref());
        self.fill(template, None)
    }

    /// v1 path of one record.
    pub(super) fn record_path(&self, resource: &Resource, id: Uuid) -> Result<String, Refusal> {
        let template = resource.v1.as_ref().and_then(|v1| v1.record.as_ref());
        self.fill(template, Some(&id.to_string()))
    }

    fn fill(&self, template: Option<&PathTemplate>, pk: Option<&str>) -> Result<String, Refusal> {
        let value_of = |name: &str| if name == "pk" { pk } else { self.variable(name) };
        let path = template.and_then(|template| template.fill(value_of));
        path.ok_or_else(|| Refusal::internal(format!("{} has no v1 path", self.operation().id)))
    }

    /// Where a resource's collection is kept.
    pub(super) fn place_of(&self, resource: &Resource) -> Result<Place, Refusal> {
        self.place_at(self.collection_path(resource)?)
    }

    pub(super) fn place_at(&self, path: String) -> Result<Place, Refusal> {
        let project = self.call.card.as_ref().map_or(Uuid::nil(), |card| card.id);
        Ok(Place { workspace: self.slug().into(), project, path: path.into() })
    }

    /// Begins a write to the collection of the operation's resource.
    pub(super) async fn begin_write(&self) -> Result<Write<'_, Collection>, Refusal> {
        let place = self.place_of(self.resource())?;
        Ok(self.runner.collections.begin_write(&place, self.audience()?, Arc::clone(&self.touched)).await)
    }

    /// The body, validated against the operation's members.
    pub(super) fn given(&self) -> Result<Given, Refusal> {
        self.given_with(|_| FieldErrors::default())
    }

    /// The body, validated against the operation's members; a refusal also tells what `more` finds in others.
    pub(super) fn given_with(&self, more: impl FnOnce(&Given) -> FieldErrors) -> Result<Given, Refusal> {
        crate::v2::query::read_single(self.operation(), &self.call.parameters)?;
        let bytes = self.call.body.as_ref().map_err(Clone::clone)?;
        match &self.parsed {
            Some(parsed) => body::check_with(self.operation(), parsed.as_ref().map_err(Clone::clone)?, more),
            None => {
                let members = body::parse(self.call.content_type.as_deref(), bytes)?;
                body::check_with(self.operation(), &members, more)
            }
        }
    }

    /// Reads a body that is not small as JSON, where that holds nobody up; it is judged when its turn comes.
    pub(super) async fn parse_large_body(&mut self) -> Result<(), Refusal> {
        let Ok(bytes) = self.call.body.clone() else { return Ok(()) };
        if bytes.len() > heavy::SMALL {
            let content_type = self.call.content_type.clone();
            let parse = move || body::parse(content_type.as_deref(), &bytes);
            self.parsed = Some(self.heavily(self.body_size(), parse).await?);
        }
        Ok(())
    }

    /// Carries out work over a body (or a part of it) of `size` bytes, on the pool for heavy work when it is not
    /// small.
    pub(super) async fn heavily<T: Send + 'static>(
        &self,
        size: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        self.runner.heavy.run(Input::Body, size, &self.call.ctx, work).await
    }

    /// Bytes of the body.
    pub(super) fn body_size(&self) -> usize {
        self.call.body.as_ref().map_or(0, Bytes::len)
    }

    /// The reply of a success with one record, whose version is what it shows.
    pub(super) fn record_reply(&self, json: Bytes) -> Reply {
        let version = tag::of(&json);
        Reply::json(self.operation().status, json).of_version(Some(version))
    }

    /// Time for work that several requests share.
    pub(super) fn shared_ctx(&self) -> Context {
        self.call.ctx.for_shared_work(self.runner.settings.shared_work)
    }
}
