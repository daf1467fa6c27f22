//! One pass over a workspace: looking what differs, or making it alike.
//!
//! Both are the same walk, so that exactly the things that are told beforehand are done. The other files of this folder
//! walk one kind of record each. May use: `catalogue`, `plan` (the type mode), `store`, this folder.

use super::bodies::{create, update};
use super::differences::{Difference, differences};
use super::fields::How;
use super::findings::{Class, Findings};
use super::ids::{Carried, Ids, Kind, digest};
use super::scope::{Items, Scope, text};
use super::seen::{Record, Seen};
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

/// What a pass does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    /// Nothing is written, and everything is compared.
    Looking,
    /// Nothing is written; work items that were carried as they still are here are taken to be there.
    Planning,
    /// Missing records are made, unfinished ones are finished.
    Carrying,
}

/// What is told of progress.
pub(super) type Tell<'w> = &'w (dyn Fn(&str) + Send + Sync);

/// A pass over one workspace.
pub(super) struct Work<'w> {
    pub(super) target: &'w Side,
    pub(super) v1: &'w Side,
    pub(super) store: &'w Store,
    pub(super) scope: &'w Scope<'w>,
    pub(super) catalogue: Arc<Catalogue>,
    pub(super) ids: Ids<'w>,
    pub(super) seen: Seen,
    pub(super) doing: Doing,
    /// Whether what is there under the same name is made alike.
    pub(super) update: bool,
    pub(super) findings: Findings,
    pub(super) people: HashMap<Uuid, Uuid>,
    /// Work items by project, as far as they were read.
    pub(super) items: BTreeMap<Uuid, Arc<Items>>,
    /// Work items here, archived there, that are brought back there.
    pub(super) returning: HashSet<Uuid>,
    /// Types that work items need which could not be carried.
    pub(super) needed: HashSet<Uuid>,
    /// Types to switch off when their work items are there, in the order of their making.
    pub(super) retired: Vec<Uuid>,
    pub(super) tell: Tell<'w>,
}

/// What is to be done about a record.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Verdict {
    /// It is not there.
    Make,
    /// It is there as it is here.
    Alike,
    /// This command made it, and it differs from ours.
    Change(Vec<Difference>),
    /// It is there and not as it is here, and not ours to change.
    Conflict(Vec<Difference>),
    /// It was carried before, and has been deleted there since.
    Gone,
}

/// A record as it is to be there.
pub(super) struct Intended {
    pub(super) kind: Kind,
    pub(super) own: Uuid,
    pub(super) ours: Record,
    /// What people call it.
    pub(super) name: String,
    /// Stands for the record as it is here.
    pub(super) digest: String,
}

impl Work<'_> {
    /// Whether this pass writes.
    pub(super) fn carries(&self) -> bool {
        self.doing == Doing::Carrying
    }

    /// Judges a record against the one there.
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
        // Our record has not changed since it was carried, so the other side changed it.
        let is_ours = self.ids.is_begun(kind, own) && !self.ids.is_done(kind, own, digest);
        match (unlike.is_empty(), is_ours || self.update) {
            (true, _) => Verdict::Alike,
            (false, true) => Verdict::Change(unlike),
            (false, false) => Verdict::Conflict(unlike),
        }
    }

    /// Counts a record and tells what is to be told of it; `name` is what people call it.
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

    /// Counts and tells fields that stay unlike, because no operation writes them.
    pub(super) fn leave_unwritable(&mut self, kind: Kind, name: &str, unlike: &[Difference]) {
        for one in unlike.iter().filter(|one| one.how == How::Made) {
            self.findings.leave(kind, 1, format!("{name}: {}, and no operation writes that", one.told()));
        }
    }

    /// The record there with this id, of some.
    pub(super) fn with_id<'r>(records: &'r [Record], id: Option<&str>) -> Option<&'r Record> {
        records.iter().find(|record| Some(text(record, "id")) == id)
    }

    /// Brings the workspace there into a mode, when it is in another.
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

    /// Notes that this command may change the features there, also in a later run.
    async fn own_features(&mut self) -> Result<(), String> {
        self.ids.reopen(Kind::Features, self.catalogue.features.id).await
    }

    pub(super) async fn set_features(&mut self, body: &Value) -> Result<(), String> {
        let path = format!("{}/features/", self.scope.there(None));
        self.seen.features = self.target.done(Method::PATCH, &path, body).await?;
        Ok(())
    }

    /// The texts of a default in the terms of the other side, and how many of them name people or work items that are
    /// not there; those are left out. An option is named by its id or its name, and its id stays as long as it is not
    /// there.
    pub(super) fn default_there(&self, property: &Property, texts: &[String]) -> (Value, usize) {
        let kind = ValueKind::of(property);
        let there = |text: &String| {
            let Ok(id) = Uuid::try_parse(text) else { return Some(text.clone()) };
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

    /// Reads the work items of projects whose defaults may name some.
    pub(super) async fn items_of_defaults(&mut self) -> Result<(), String> {
        let names_items = |property: &Property| {
            let has_default = |texts: &[String]| texts.iter().any(|text| Uuid::try_parse(text).is_ok());
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

    /// Sends a write about a record of this kind and name. One that the target refuses is told and left; none then.
    ///
    /// # Errors
    /// When there is no answer, or none that says what is wrong with the record.
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

    /// Makes or changes a record of `list` as `verdict` says, in the mode in which that is possible. None when nothing
    /// was to be written, and when the target refused it.
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

    /// Work items of a project on both sides, read once.
    pub(super) async fn items_of(&mut self, project: Uuid) -> Result<Option<Arc<Items>>, String> {
        if let Some(items) = self.items.get(&project) {
            return Ok(Some(Arc::clone(items)));
        }
        let Some(found) = self.scope.projects.get(&project) else { return Ok(None) };
        let items = Arc::new(self.scope.items(found, self.v1, self.target).await?);
        self.items.insert(project, Arc::clone(&items));
        Ok(Some(items))
    }

    /// Tells those records of an owner there that are none of `ours`: as a `word` with what the field `label` says.
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

    /// Tells what is there and not here.
    pub(super) fn extra(&mut self, words: String) {
        self.findings.tell(Class::Extra, words);
    }

    /// The switches as they are here; to be called last among the definitions, because their making switches some.
    pub(super) async fn features(&mut self) -> Result<(), String> {
        let (intended, verdict) = self.judge_features();
        self.findings.of(Kind::Features).here += 1;
        self.count(Kind::Features, &intended.name, &verdict);
        match self.carries() {
            true => self.write_features(intended, &verdict).await,
            false => Ok(()),
        }
    }

    /// The switches as they are here, after others were needed once more.
    pub(super) async fn features_again(&mut self) -> Result<(), String> {
        let (intended, verdict) = self.judge_features();
        self.write_features(intended, &verdict).await
    }

    fn judge_features(&self) -> (Intended, Verdict) {
        let (kind, own) = (Kind::Features, self.catalogue.features.id);
        let ours = shapes::features(&self.catalogue.features);
        let (name, digest) = (format!("features of {}", self.scope.slug), digest(&json!([ours])));
        let verdict = match self.judge(kind, own, &digest, &ours, Some(&self.seen.features)) {
            // A switch that nobody has turned on there yet is nobody's choice.
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
        let carried = Carried { own: intended.own, theirs: id, digest: intended.digest };
        self.ids.end(intended.kind, &[carried]).await
    }
}
