//! One call to the own store: its workspace, surface, permissions and mode. May use: what `run` may use.

use super::audit;
use crate::catalogue::{Catalogue, Edit, faults_inside, ignored_inside};
use crate::plan::{OwnRecords, TypeMode};
use crate::refusal::Refusal;
use crate::run::Job;
use crate::run::outlook;
use crate::run::writes::precondition;
use crate::v2::body::Given;
use crate::v2::{Parameters, Reply, query};
use serde_json::{Map, Value};
use std::sync::Arc;
use uuid::Uuid;

/// v1 shows the id of a workspace only on its projects, and definitions belong to that id.
const NO_PROJECT: &str = "Nothing can be defined in this workspace yet: you see no project in it, and the service behind \
                          tells the id of a workspace on its projects only. Create or join a project first.";

/// Returns the addressed record of this kind as a reply.
pub(super) type Show = fn(OwnRecords, &OwnCall<'_>) -> Result<Reply, Refusal>;

/// A call under way, with all definitions of its workspace.
pub(super) struct OwnCall<'j> {
    pub(super) job: &'j Job,
    pub(super) workspace: Uuid,
    /// The project; none on the workspace's surface.
    pub(super) project: Option<Uuid>,
    /// All definitions, as of the beginning of the call.
    pub(super) catalogue: Arc<Catalogue>,
    show: Show,
}

/// The place from which definitions are viewed; it decides which ones are shown, and in which shape.
#[derive(Debug, Clone, Copy)]
pub(super) struct Surface {
    /// The project; none for the workspace.
    pub(super) project: Option<Uuid>,
    /// Whether the plan has types of the workspace.
    pub(super) workspace_level: bool,
}

impl<'j> OwnCall<'j> {
    /// Determines the place of the call; `show` shows the record that a precondition is about. The caller's access to
    /// the place is already proven.
    pub(super) async fn begin(job: &'j Job, show: Show) -> Result<Self, Refusal> {
        let (workspace, project) = (job.workspace_id().await?, job.call.card().map(|card| card.id));
        let catalogue = job.runner.store.catalogue(workspace).await?;
        Ok(Self { job, workspace, project, catalogue, show })
    }

    pub(super) fn surface(&self) -> Surface {
        Surface { project: self.project, workspace_level: self.job.runner.settings.types.workspace_level }
    }

    /// Checks that a write is on the surface that the workspace's mode names (chapter 11).
    pub(super) fn check_mode(&self, catalogue: &Catalogue) -> Result<(), Refusal> {
        match (self.job.operation().mode, self.job.mode(catalogue)) {
            (Some(TypeMode::Project), TypeMode::Workspace) => Err(Refusal::ManagedAtWorkspace),
            (Some(TypeMode::Workspace), TypeMode::Project) => Err(Refusal::ManagedAtProject),
            _ => Ok(()),
        }
    }

    /// Refuses the write when it demands a version of the record other than the one in `catalogue`.
    pub(super) fn check_precondition(&self, catalogue: &Arc<Catalogue>) -> Result<(), Refusal> {
        let job = self.job;
        let Some(condition) = &job.condition else { return Ok(()) };
        let Some(showing) = job.runner.plan.showing(job.operation()) else { return Ok(()) };
        let reading = job.as_operation(showing, Parameters::default());
        let Some(records) = reading.resource().records else { return Ok(()) };
        let call = OwnCall {
            job: &reading,
            workspace: self.workspace,
            project: self.project,
            catalogue: Arc::clone(catalogue),
            show: self.show,
        };
        let version = (self.show)(records, &call)?.version;
        let unmet = condition.as_ref().map_err(Clone::clone)?.unmet(version.as_deref());
        unmet.map_or(Ok(()), |header| Err(precondition::failed(header)))
    }

    /// Returns the id of a record above the addressed one in the path.
    pub(super) fn variable(&self, name: &str) -> Result<Uuid, Refusal> {
        let text = self.job.variable(name).ok_or_else(|| Refusal::internal(format!("no {name} in the path")))?;
        Uuid::try_parse(text).map_err(Refusal::internal)
    }

    /// Returns the body of a definition, valid by its declaration. A refusal includes the errors inside `options` and
    /// other members that are not single values; otherwise only the rules would report them.
    pub(super) fn given_definition(&self) -> Result<Given, Refusal> {
        let Some(form) = outlook::entry_form(self.job.resource(), self.job.operation()) else {
            return self.job.given();
        };
        let given = self.job.given_with(|given| faults_inside(given, form))?;
        self.job.call.ctx.meter.ignore(ignored_inside(&given, form));
        Ok(given)
    }

    /// Changes the definitions. A record found earlier may be gone by now, and the mode may have changed, so `rules`
    /// check again inside the transaction.
    pub(super) async fn edit<T: Send>(
        &self,
        mut rules: impl FnMut(&mut Edit) -> Result<T, Refusal> + Send,
    ) -> Result<(T, Arc<Catalogue>), Refusal> {
        if self.job.runner.access.is_stand_in(self.job.slug(), self.workspace) {
            return Err(Refusal::Conflict { detail: NO_PROJECT.into() });
        }
        let edit = |edit: &mut Edit| {
            self.check_mode(&edit.after)?;
            let before = Arc::new(edit.after.clone());
            self.check_precondition(&before)?;
            let thing = rules(edit)?;
            // The transaction has its lock and saves now; before, it may have waited long.
            self.job.begin_to_write()?;
            Ok((thing, audit::entries(self.job, self.workspace, &before, &edit.after)))
        };
        self.job.runner.store.edit(self.workspace, edit).await
    }

    /// Returns the reply for one record; the query is checked only here, when the record is known to exist.
    pub(super) fn read_reply(&self, shape: Map<String, Value>) -> Result<Reply, Refusal> {
        query::read_single(self.job.operation(), &self.job.call.parameters)?;
        Ok(self.reply(shape))
    }

    pub(super) fn reply(&self, shape: Map<String, Value>) -> Reply {
        self.job.record_reply(Value::Object(shape).to_string().into())
    }
}

/// Returns a record that must exist, or 404.
pub(super) fn found<T>(thing: Option<T>) -> Result<T, Refusal> {
    thing.ok_or_else(Refusal::not_found)
}
