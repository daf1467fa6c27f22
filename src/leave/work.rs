//! One pass over a workspace: finds the differences, or removes them.
//!
//! Both do the same walk, so that exactly the announced changes are made. The other files of this folder
//! handle one kind of record each. May use: `catalogue`, `plan` (the type mode), `store`, this folder.

use super::bodies::{create, update};
use super::differences::{Difference, differences};
use super::fields::Correction;
use super::findings::{Class, Findings};
use super::ids::{Carried, Ids, Kind, digest};
use super::scope::{Items, Scope, text};
use super::seen::{Record, TargetDefinitions};
use super::side::Side;
use crate::catalogue::values::ValueKind;
use crate::catalogue::{Catalogue, Property, shapes};
use crate::plan::TypeMode;
use crate::store::Store;
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use uuid::Uuid;

/// Kind of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PassKind {
    /// Writes nothing and compares everything.
    Looking,
    /// Writes nothing. Trusts that work items are in the target when they were carried and have not changed here since.
    Planning,
    /// Makes missing records and finishes unfinished ones.
    Carrying,
}

/// Receiver of progress messages.
pub(super) type Tell<'w> = &'w (dyn Fn(&str) + Send + Sync);

/// A pass over one workspace.
pub(super) struct Work<'w> {
    pub(super) target: &'w Side,
    pub(super) v1: &'w Side,
    pub(super) store: &'w Store,
    pub(super) scope: &'w Scope<'w>,
    pub(super) catalogue: Arc<Catalogue>,
    pub(super) ids: Ids<'w>,
    pub(super) seen: TargetDefinitions,
    pub(super) doing: PassKind,
    /// Whether records of the same name in the target are made equal to ours.
    pub(super) update: bool,
    pub(super) findings: Findings,
    pub(super) people: HashMap<Uuid, Uuid>,
    /// Work items that were read, by project.
    pub(super) items: BTreeMap<Uuid, Arc<Items>>,
    /// Work items, by id here, that are archived in the target and live here; they are unarchived there.
    pub(super) returning: HashSet<Uuid>,
    /// Types that work items need, but that these items could not be given.
    pub(super) needed: HashSet<Uuid>,
    /// Types to deactivate when their work items are carried, in the order of their creation.
    pub(super) retired: Vec<Uuid>,
    pub(super) tell: Tell<'w>,
}

/// Decision about a record.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Verdict {
    /// The target does not have it.
    Make,
    /// It is equal in the target.
    Alike,
    /// It differs, and this command may change it: this command made it, or the run updates records of the same name.
    Change(Vec<Difference>),
    /// It differs, and this command may not change it.
    Conflict(Vec<Difference>),
    /// It was carried before, and has been deleted in the target since.
    Gone,
}

/// Our record in the form wanted in the target.
pub(super) struct Intended {
    pub(super) kind: Kind,
    pub(super) own: Uuid,
    pub(super) ours: Record,
    /// Name of the record in messages.
    pub(super) name: String,
    /// Fingerprint of our record.
    pub(super) digest: String,
}

impl Work<'_> {
    /// Checks whether this pass writes.
    pub(super) fn carries(&self) -> bool {
        self.doing == PassKind::Carrying
    }

    /// Compares a record with the target's record, and decides what to do.
    pub(super) fn judge(
        &self,
        kind: Kind,
        own: Uuid,
        digest: &str,
        ours: &Record,
        theirs: Option<&Record>,
    ) -> Verdict {
        let Some(theirs) = theirs else {
            return match self.ids.is_noted(kind, own) && !self.update {
                true => Verdict::Gone,
                false => Verdict::Make,
            };
        };
        let unlike = differences(kind, ours, theirs);
        // A record that is done and unchanged here is not ours to change: the other side changed it.
        let is_ours = self.ids.is_begun(kind, own) && !self.ids.is_done(kind, own, digest);
        match (unlike.is_empty(), is_ours || self.update) {
            (true, _) => Verdict::Alike,
            (false, true) => Verdict::Change(unlike),
            (false, false) => Verdict::Conflict(unlike),
        }
    }

    /// Counts a record and reports its findings; `name` is its name in messages.
    pub(super) fn count(&mut self, kind: Kind, name: &str, verdict: &Verdict) {
        match verdict {
            Verdict::Make => self.findings.of(kind).carried += 1,
            Verdict::Alike => self.findings.of(kind).alike += 1,
            Verdict::Change(unlike) => {
                self.findings.of(kind).carried += 1;
                self.leave_unwritable(kind, name, unlike);
            }
            Verdict::Conflict(unlike) => {
                let told: Vec<String> = unlike.iter().map(Difference::told).collect();
                self.findings.conflict(kind, format!("{name}: {}", told.join("; ")));
            }
            Verdict::Gone => {
                self.findings.conflict(kind, format!("{name} was carried and is there no more"));
            }
        }
    }

    /// Counts and reports fields that stay different because no operation writes them.
    pub(super) fn leave_unwritable(&mut self, kind: Kind, name: &str, unlike: &[Difference]) {
        for one in unlike.iter().filter(|one| one.how == Correction::Made) {
            self.findings.leave(kind, 1, format!("{name}: {}, and no operation writes that", one.told()));
        }
    }

    /// Returns the record with this id.
    pub(super) fn with_id<'r>(records: &'r [Record], id: Option<&str>) -> Option<&'r Record> {
        records.iter().find(|record| Some(text(record, "id")) == id)
    }

    /// Switches the target's workspace to a mode, unless it is in that mode.
    pub(super) async fn switch(&mut self, mode: TypeMode) -> Result<(), String> {
        let wanted = mode == TypeMode::Workspace;
        if self.seen.features.get("is_work_item_types_enabled") == Some(&Value::Bool(wanted)) {
            return Ok(());
        }
        self.own_features().await?;
        if wanted {
            self.before_workspace_mode().await?;
        }
        self.set_features(&json!({"is_work_item_types_enabled": wanted})).await?;
        if wanted {
            self.after_workspace_mode().await?;
        }
        Ok(())
    }

    /// Sets the level of the types that are made next.
    pub(super) async fn set_level(&mut self, level: i64) -> Result<(), String> {
        if self.seen.features.get("work_item_type_default_level") == Some(&json!(level)) {
            return Ok(());
        }
        self.own_features().await?;
        self.set_features(&json!({"work_item_type_default_level": level})).await
    }

    /// Notes that this command, also a later run of it, may change the target's features.
    async fn own_features(&mut self) -> Result<(), String> {
        self.ids.reopen(Kind::Features, self.catalogue.features.id).await
    }

    pub(super) async fn set_features(&mut self, body: &Value) -> Result<(), String> {
        let path = format!("{}/features/", self.scope.there(None));
        self.seen.features = self.target.done(Method::PATCH, &path, body).await?;
        Ok(())
    }

    /// Returns the texts of a default with the target's ids, and the number of texts that are left out because the
    /// target lacks the person or work item that they name. A name, an address or a key is kept. The id of an option is
    /// kept while the target does not have the option.
    pub(super) fn default_there(&self, property: &Property, texts: &[String]) -> (Value, usize) {
        let kind = ValueKind::of(property);
        let there = |text: &String| {
            let Ok(id) = Uuid::try_parse(text.trim()) else { return Some(text.clone()) };
            match kind {
                ValueKind::Option => Some(self.ids.theirs(Kind::Option, id).unwrap_or(text).to_owned()),
                ValueKind::Person => self.people.get(&id).map(Uuid::to_string),
                ValueKind::Item => {
                    self.items.values().find_map(|items| items.theirs(id)).map(|there| there.to_string())
                }
                _ => Some(text.clone()),
            }
        };
        let known: Vec<String> = texts.iter().filter_map(there).collect();
        let lost = texts.len() - known.len();
        (json!(known), lost)
    }

    /// Reads the work items of projects whose defaults may name work items.
    pub(super) async fn items_of_defaults(&mut self) -> Result<(), String> {
        let names_items = |property: &Property| {
            let has_default = |texts: &[String]| texts.iter().any(|text| Uuid::try_parse(text.trim()).is_ok());
            let contexts = self.catalogue.contexts_of(property.id);
            let of_contexts = contexts.iter().any(|context| has_default(&context.default_value));
            ValueKind::of(property) == ValueKind::Item && (has_default(&property.default_value) || of_contexts)
        };
        let owners: Vec<Option<Uuid>> =
            self.catalogue.properties.values().filter(|one| names_items(one)).map(|one| one.project).collect();
        let all: Vec<Uuid> = self.scope.projects.keys().copied().collect();
        for project in all {
            if owners.iter().any(|owner| owner.is_none_or(|owner| owner == project)) {
                self.items_of(project).await?;
            }
        }
        Ok(())
    }

    /// Sends a write about a record of this kind and name. A refusal is reported, and the method returns `None`.
    ///
    /// # Errors
    /// When there is no answer, or the answer says nothing about the record (401, 403 or 500 and above).
    pub(super) async fn write(
        &mut self,
        kind: Kind,
        name: &str,
        method: Method,
        path: &str,
        body: &Value,
    ) -> Result<Option<Record>, String> {
        let answer = self.target.write(method, path, body).await?;
        if (200..300).contains(&answer.status) {
            return Ok(Some(answer.record()));
        }
        self.findings.leave(kind, 1, format!("{name}: the target refused it: {}", answer.brief()));
        Ok(None)
    }

    /// Makes or changes a record of `list` as `verdict` says, in the mode that allows it. Returns `None` when nothing
    /// had to be written, or when the target refused the write.
    pub(super) async fn carry(
        &mut self,
        intended: &Intended,
        mode: TypeMode,
        list: &str,
        verdict: &Verdict,
        found: Option<&Record>,
    ) -> Result<Option<Record>, String> {
        let (kind, name) = (intended.kind, intended.name.as_str());
        match (verdict, found) {
            (Verdict::Make, _) => {
                self.ids.begin(kind, &[intended.own]).await?;
                self.switch(mode).await?;
                let body = Value::Object(create(kind, &intended.ours));
                self.write(kind, name, Method::POST, list, &body).await
            }
            (Verdict::Change(unlike), Some(found)) => match update(&intended.ours, unlike) {
                Some(body) => {
                    self.switch(mode).await?;
                    let path = format!("{list}{}/", text(found, "id"));
                    self.write(kind, name, Method::PATCH, &path, &Value::Object(body)).await
                }
                None => Ok(None),
            },
            (Verdict::Alike, found) => Ok(found.cloned()),
            _ => Ok(None),
        }
    }

    /// Notes that a record is equal in the target, as far as it can be.
    pub(super) async fn note(&mut self, intended: Intended, theirs: String) -> Result<(), String> {
        let Intended { kind, own, digest, .. } = intended;
        self.ids.end(kind, &[Carried { own, theirs, digest }]).await
    }

    /// Returns the work items of a project on both sides; reads them once.
    pub(super) async fn items_of(&mut self, project: Uuid) -> Result<Option<Arc<Items>>, String> {
        if let Some(items) = self.items.get(&project) {
            return Ok(Some(Arc::clone(items)));
        }
        let Some(found) = self.scope.projects.get(&project) else { return Ok(None) };
        let items = Arc::new(self.scope.items(found, self.v1, self.target).await?);
        self.items.insert(project, Arc::clone(&items));
        Ok(Some(items))
    }

    /// Reports an owner's records in the target that are not among `ours`, each as `word` and the content of field
    /// `label`.
    pub(super) fn only_there(
        &mut self,
        kind: Kind,
        word: &str,
        label: &str,
        owner: Option<Uuid>,
        ours: &[Uuid],
        there: &[Record],
    ) {
        let ours: HashSet<&str> = ours.iter().filter_map(|own| self.ids.theirs(kind, *own)).collect();
        let place = self.scope.owner_in_words(owner);
        let extra = there.iter().filter(|record| !ours.contains(text(record, "id")));
        for label in extra.map(|record| text(record, label)).collect::<Vec<_>>() {
            self.extra(format!("{word} `{label}` of {place}"));
        }
    }

    /// Reports a record that exists only in the target.
    pub(super) fn extra(&mut self, words: String) {
        self.findings.tell(Class::Extra, words);
    }

    /// Sets the feature switches as they are here. Call it last among the definitions, because making them changes
    /// switches.
    pub(super) async fn features(&mut self) -> Result<(), String> {
        let (intended, verdict) = self.judge_features();
        self.findings.of(Kind::Features).here += 1;
        self.count(Kind::Features, &intended.name, &verdict);
        match self.carries() {
            true => self.write_features(intended, &verdict).await,
            false => Ok(()),
        }
    }

    /// Sets the feature switches as they are here again, after other switch values were needed.
    pub(super) async fn features_again(&mut self) -> Result<(), String> {
        let (intended, verdict) = self.judge_features();
        self.write_features(intended, &verdict).await
    }

    fn judge_features(&self) -> (Intended, Verdict) {
        let (kind, own) = (Kind::Features, self.catalogue.features.id);
        let ours = shapes::features(&self.catalogue.features);
        let (name, digest) = (format!("features of {}", self.scope.slug), digest(&json!([ours])));
        let verdict = match self.judge(kind, own, &digest, &ours, Some(&self.seen.features)) {
            // A switch that is still off (false or 0) in the target is nobody's decision, so it may be changed.
            Verdict::Conflict(unlike)
                if !self.ids.is_begun(kind, own)
                    && unlike.iter().all(|one| one.theirs == json!(false) || one.theirs == json!(0)) =>
            {
                Verdict::Change(unlike)
            }
            verdict => verdict,
        };
        (Intended { kind, own, ours, name, digest }, verdict)
    }

    async fn write_features(&mut self, intended: Intended, verdict: &Verdict) -> Result<(), String> {
        match verdict {
            Verdict::Change(unlike) => {
                if let Some(body) = update(&intended.ours, unlike) {
                    self.ids.reopen(intended.kind, intended.own).await?;
                    self.set_features(&Value::Object(body)).await?;
                }
            }
            Verdict::Alike => {}
            _ => return Ok(()),
        }
        let id = text(&self.seen.features, "id").to_owned();
        self.note(intended, id).await
    }
}
