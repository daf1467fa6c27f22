//! Leaving: carries the records of a workspace that only the store holds to a v2 of the deployment's own.
//!
//! The first pass compares both sides, writes nothing and reports what would be done. The second pass does the same and
//! writes. The last pass reads everything again and compares. The workspace counts as left only when that pass finds
//! both sides equal. After a killed run, start the command again: it finds what is already there.
//!
//! May use: `catalogue`, `outgoing`, `plan` (paths, the type mode), `settings` (addresses), `store`, `translate`
//! (sanitising of HTML).

mod bodies;
mod contexts;
mod differences;
mod fields;
mod findings;
mod ids;
mod item;
mod marks;
mod options;
mod properties;
mod provisioned;
mod scope;
mod seen;
mod side;
mod text;
mod types;
mod values;
mod work;

pub use findings::{Class, Outcome, Report, RunMode, RunParameters};
pub use ids::Kind;
pub use text::text;

use crate::catalogue::shapes;
use crate::plan::Plan;
use crate::settings::HttpAddress;
use crate::store::Store;
use findings::{Findings, WorkspaceReport};
use ids::Ids;
use scope::Scope;
use seen::TargetDefinitions;
use side::Side;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;
use uuid::Uuid;
use work::{PassKind, Tell, Work};

/// Time for which a request of an interrupted run may still be running in the target.
const UNDER_WAY: Duration = Duration::from_secs(3);

/// An address and the key for it.
#[derive(Debug, Clone)]
pub struct Place {
    /// The address.
    pub address: HttpAddress,
    /// The key.
    pub key: String,
}

/// Carries the records to `target`.
///
/// # Errors
/// A sentence for people when `target` is not a valid target, or when a side fails before any workspace was done.
pub async fn leave(
    plan: &Plan,
    store: &Store,
    v1: &Place,
    target: &Place,
    wanted: &RunParameters,
    tell: Tell<'_>,
) -> Result<Report, String> {
    let (v1, target) = sides(v1, target, wanted).await?;
    let mut report = Report::new(target.base(), wanted);
    let mut known = Vec::new();
    for slug in &wanted.workspaces {
        let outcome = async {
            let scope = Scope::find(plan, slug, &v1, &target).await?;
            known.push(scope.workspace);
            Run { store, v1: &v1, target: &target, scope: &scope, wanted, tell }.workspace().await
        };
        match outcome.await {
            Ok(workspace) => report.workspaces.push(workspace),
            Err(fault) if report.workspaces.is_empty() => return Err(fault),
            // The workspaces done before the error are still reported.
            Err(fault) => {
                report.fault = Some(fault);
                return Ok(report);
            }
        }
    }
    let held = store.workspaces_held().await?;
    report.others = held.into_iter().filter(|id| !known.contains(id)).map(|id| id.to_string()).collect();
    Ok(report)
}

/// Opens both services, and checks that each is the expected service.
async fn sides(v1: &Place, target: &Place, wanted: &RunParameters) -> Result<(Side, Side), String> {
    let address = target.address.as_str();
    if target.address.is_plain() && !target.address.is_on_this_machine() {
        return Err(format!(
            "--to {address}: the key would travel unprotected; give an address that begins with https://, or one of \
             this machine"
        ));
    }
    if wanted.own_addresses.iter().any(|own| own == address) {
        return Err(format!("--to {address} is this gateway itself; give the address of the deployment's own v2"));
    }
    let v1 = Side::new(&v1.address, &v1.key, "v1")?;
    let target = Side::new(&target.address, &target.key, "the target")?;
    let me = target.get("/api/v2/users/me/").await?;
    match me.status {
        200 if me.json["principal_kind"].is_string() => Ok((v1, target)),
        401 => Err(format!(
            "{} does not accept the key; give one of its own in CAUSEWAY_TARGET_KEY or --target-key-file",
            target.named()
        )),
        _ => Err(format!(
            "{} is no v2: it answered /api/v2/users/me/ with {}; --to is the address without /api/v2",
            target.named(),
            me.brief()
        )),
    }
}

/// A run over one workspace.
struct Run<'r> {
    store: &'r Store,
    v1: &'r Side,
    target: &'r Side,
    scope: &'r Scope<'r>,
    wanted: &'r RunParameters,
    tell: Tell<'r>,
}

impl Run<'_> {
    async fn workspace(&self) -> Result<WorkspaceReport, String> {
        let slug = self.scope.slug.clone();
        let unsettled = self.store.unsettled_writes(self.scope.workspace).await?;
        if unsettled > 0 {
            return Err(format!(
                "{unsettled} writes of workspace {slug} are not settled between v1 and the store; read the work items \
                 that `causeway store check` names once, and run the command again"
            ));
        }
        if self.wanted.run_mode == RunMode::Carry {
            self.wait_for_last().await?;
        }
        // The last pass compares everything, so the first need not read again what was carried before.
        let first = if self.wanted.run_mode == RunMode::Carry { PassKind::Planning } else { PassKind::Looking };
        let before = self.pass(first).await?;
        let stops = before.count(Class::Conflict) > 0;
        let (mut findings, mut carried) = (before, None);
        if self.wanted.run_mode == RunMode::Carry && !stops {
            if findings.carries() {
                carried = Some(self.pass(PassKind::Carrying).await?);
            }
            // Read everything again, to find changes that were made meanwhile.
            findings = self.pass(PassKind::Looking).await?;
        }
        let refused = carried.as_ref().is_some_and(|carried| carried.count(Class::Left) > 0);
        let outcome = match self.wanted.run_mode {
            RunMode::DryRun | RunMode::Carry if stops => Outcome::Stopped,
            RunMode::DryRun => Outcome::Planned,
            _ if findings.carries() || refused => Outcome::Unlike,
            _ if findings.is_alike(!self.wanted.keep_extra) => Outcome::Alike,
            _ => Outcome::Unlike,
        };
        if outcome == Outcome::Alike {
            self.store.mark_left(&slug, self.target.base()).await?;
        }
        Ok(WorkspaceReport { slug, outcome, findings, carried })
    }

    /// Waits when an earlier run was interrupted while it made a record, until the target has surely finished that
    /// request. Otherwise the record would not be found yet, and would be made twice.
    async fn wait_for_last(&self) -> Result<(), String> {
        if Ids::load(self.store, self.target.base(), self.scope.workspace).await?.has_unfinished_creation() {
            (self.tell)(
                "an earlier run did not end what it began; its last request may still be under way: waiting 3 s",
            );
            tokio::time::sleep(UNDER_WAY).await;
        }
        Ok(())
    }

    /// One pass over all records.
    async fn pass(&self, doing: PassKind) -> Result<Findings, String> {
        let workspace = self.scope.workspace;
        let catalogue = self.store.catalogue(workspace).await?;
        let ids = Ids::load(self.store, self.target.base(), workspace).await?;
        let seen = TargetDefinitions::read(self.target, self.scope).await?;
        let own = self.store.ids_ever_given(workspace).await?;
        let same = |name: &str| seen.features.get(name) == shapes::features(&catalogue.features).get(name);
        if seen.has_any(&own) || catalogue.version > 0 && same("id") && same("created_at") {
            return Err(format!(
                "{} shows records under the ids of this store: it is this gateway, or one on a copy of its store; \
                 give the address of the deployment's own v2",
                self.target.named()
            ));
        }
        let mut work = Work {
            target: self.target,
            v1: self.v1,
            store: self.store,
            scope: self.scope,
            catalogue,
            ids,
            seen,
            doing,
            update: self.wanted.update,
            findings: Findings::default(),
            people: HashMap::new(),
            items: BTreeMap::new(),
            returning: HashSet::new(),
            needed: HashSet::new(),
            retired: Vec::new(),
            tell: self.tell,
        };
        if work.names_people() {
            work.people = self.scope.people(self.v1, self.target).await?;
        }
        work.items_of_defaults().await?;
        work.definitions().await?;
        let recorded = self.store.recorded_items(workspace).await?;
        // The target accepts a type and values only for a live item, and only an active type.
        work.unarchive_live_items().await?;
        work.values(&recorded).await?;
        work.retire_types().await?;
        work.archives(&recorded).await?;
        let overlays = self.store.overlays_held(workspace).await?;
        work.overlays(&overlays).await?;
        let entries = self.store.audit_entries(workspace).await?;
        let entries = usize::try_from(entries).unwrap_or_default();
        work.findings.of(Kind::Audit).here += entries;
        work.findings.never(Kind::Audit, entries, "entries of the audit log: no operation writes them");
        work.findings.tell(Class::Changed, "ids, created_at and icons of definitions: the target sets its own");
        Ok(work.findings)
    }
}

impl Work<'_> {
    /// Handles all definitions: first those of projects, in project mode, then those of the workspace, in workspace
    /// mode, so that the mode is switched as rarely as possible. The feature switches are set last.
    async fn definitions(&mut self) -> Result<(), String> {
        let owners: BTreeSet<Uuid> = {
            let types = self.catalogue.types.values().filter_map(|kind| kind.project);
            let properties = self.catalogue.properties.values().filter_map(|property| property.project);
            types.chain(properties).chain(self.scope.projects.keys().copied()).collect()
        };
        if self.carries() {
            self.note_provisioned().await?;
        }
        let owners: Vec<Option<Uuid>> = owners.into_iter().map(Some).chain([None]).collect();
        for owner in &owners {
            self.types(*owner).await?;
            self.properties(*owner).await?;
            self.attachments(*owner).await?;
            (self.tell)(&format!("{}: definitions of {}", self.scope.slug, self.scope.owner_in_words(*owner)));
        }
        let imported = self.catalogue.imports.keys().map(|(project, _)| *project);
        let projects: BTreeSet<Uuid> = imported.chain(self.scope.projects.keys().copied()).collect();
        for project in projects {
            self.imports(project).await?;
        }
        self.features().await
    }
}
