//! Which record here is which there, kept in the store so that a run that ended goes on in the next.
//!
//! A record is noted twice: before it is made there, and when it is there as it is here. A record that is found there
//! under the name of a noted one is ours, however far it has come; one that is found under any other name is not.
//! May use: `store`.

use crate::store::{LeaveRecord, Store};
use serde_json::Value;
use std::collections::HashMap;
use strum::{EnumString, IntoStaticStr, VariantArray};
use uuid::Uuid;

/// What is carried, in the order of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, EnumString, IntoStaticStr, VariantArray)]
pub enum Kind {
    /// The one record of switches.
    #[strum(serialize = "features")]
    Features,
    /// Work item types.
    #[strum(serialize = "types")]
    Type,
    /// Custom properties.
    #[strum(serialize = "properties")]
    Property,
    /// Options of properties.
    #[strum(serialize = "options")]
    Option,
    /// Contexts of properties.
    #[strum(serialize = "contexts")]
    Context,
    /// Properties on types.
    #[strum(serialize = "properties on types")]
    Attachment,
    /// Workspace types in projects.
    #[strum(serialize = "imported types")]
    Import,
    /// Work items with a type or values.
    #[strum(serialize = "work items")]
    Item,
    /// Values on them.
    #[strum(serialize = "values")]
    Value,
    /// Work items archived through the gateway.
    #[strum(serialize = "archive marks")]
    Archive,
    /// Fields that v1 has no place for.
    #[strum(serialize = "overlays")]
    Overlay,
    /// Entries of the audit log.
    #[strum(serialize = "audit entries")]
    Audit,
}

impl Kind {
    /// Its word in reports and in the store.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// A record that is there as it is here.
#[derive(Debug)]
pub(super) struct Carried {
    pub(super) own: Uuid,
    /// Its id there.
    pub(super) theirs: String,
    /// Fingerprint of what was carried.
    pub(super) digest: String,
}

/// The records of a workspace that were carried to one target, or begun.
pub(super) struct Ids<'s> {
    store: &'s Store,
    target: String,
    workspace: Uuid,
    records: HashMap<(Kind, Uuid), LeaveRecord>,
    /// Records that were there already, for as long as this command runs.
    supposed: HashMap<(Kind, Uuid), String>,
}

impl<'s> Ids<'s> {
    /// What is noted so far.
    pub(super) async fn load(store: &'s Store, target: &str, workspace: Uuid) -> Result<Self, String> {
        let kept = store.leave_records(target, workspace).await?;
        let records = kept.into_iter().filter_map(|record| Some(((record.kind.parse().ok()?, record.own), record)));
        Ok(Self {
            store,
            target: target.to_owned(),
            workspace,
            records: records.collect(),
            supposed: HashMap::new(),
        })
    }

    /// Id there of a record that was carried, or found.
    pub(super) fn theirs(&self, kind: Kind, own: Uuid) -> Option<&str> {
        let noted = self.records.get(&(kind, own)).and_then(|record| record.theirs.as_deref());
        noted.or_else(|| self.supposed.get(&(kind, own)).map(String::as_str))
    }

    /// Records of a kind that are noted, with their ids there, without those of which `but` was carried last.
    pub(super) fn noted_but(&self, kind: Kind, but: &str) -> Vec<(Uuid, String)> {
        let of_kind = self.records.values().filter(|record| record.kind == kind.word() && record.digest != but);
        let mut noted: Vec<_> = of_kind.filter_map(|record| Some((record.own, record.theirs.clone()?))).collect();
        noted.sort();
        noted
    }

    /// Whether it is noted what the record's id there is.
    pub(super) fn is_noted(&self, kind: Kind, own: Uuid) -> bool {
        self.records.get(&(kind, own)).is_some_and(|record| record.theirs.is_some())
    }

    /// Whether this command made the record there, or was about to.
    pub(super) fn is_begun(&self, kind: Kind, own: Uuid) -> bool {
        self.records.contains_key(&(kind, own))
    }

    /// Whether a record was about to be made there, and it is not noted what became of it.
    pub(super) fn has_open(&self) -> bool {
        self.records.values().any(|record| record.theirs.is_none())
    }

    /// Whether the record was carried whole, as `digest` tells it.
    pub(super) fn is_done(&self, kind: Kind, own: Uuid, digest: &str) -> bool {
        let record = self.records.get(&(kind, own));
        record.is_some_and(|record| record.is_done && record.digest == digest)
    }

    /// Takes a record there for one of ours for as long as this command runs.
    pub(super) fn suppose(&mut self, kind: Kind, own: Uuid, theirs: &str) {
        self.supposed.insert((kind, own), theirs.to_owned());
    }

    /// Notes records that are about to be made there; those that were noted stay as they are.
    pub(super) async fn begin(&mut self, kind: Kind, owns: &[Uuid]) -> Result<(), String> {
        let new = owns.iter().filter(|own| !self.is_begun(kind, **own));
        let records = new.map(|own| begun(kind, *own, None)).collect();
        self.note(kind, records).await
    }

    /// Notes that a record there is about to be changed on the way to others, so that it is ours to bring back.
    pub(super) async fn reopen(&mut self, kind: Kind, own: Uuid) -> Result<(), String> {
        if self.records.get(&(kind, own)).is_some_and(|record| !record.is_done) {
            return Ok(());
        }
        let theirs = self.theirs(kind, own).map(str::to_owned);
        self.unfinished(kind, own, theirs).await
    }

    /// Notes where a record is there that is not as it is here yet.
    pub(super) async fn unfinished(&mut self, kind: Kind, own: Uuid, theirs: Option<String>) -> Result<(), String> {
        self.note(kind, vec![begun(kind, own, theirs)]).await
    }

    /// Notes records that are there as they are here.
    pub(super) async fn end(&mut self, kind: Kind, done: &[Carried]) -> Result<(), String> {
        let records = done.iter().map(|carried| LeaveRecord {
            digest: carried.digest.clone(),
            is_done: true,
            ..begun(kind, carried.own, Some(carried.theirs.clone()))
        });
        let news = records.filter(|record| self.records.get(&(kind, record.own)) != Some(record)).collect();
        self.note(kind, news).await
    }

    async fn note(&mut self, kind: Kind, records: Vec<LeaveRecord>) -> Result<(), String> {
        if records.is_empty() {
            return Ok(());
        }
        self.store.note_leave(&self.target, self.workspace, &records).await?;
        self.records.extend(records.into_iter().map(|record| ((kind, record.own), record)));
        Ok(())
    }
}

/// A record that is not carried whole yet.
fn begun(kind: Kind, own: Uuid, theirs: Option<String>) -> LeaveRecord {
    LeaveRecord { kind: kind.word().to_owned(), own, theirs, digest: String::new(), is_done: false }
}

/// A fingerprint of a record as it is here.
pub(super) fn digest(record: &Value) -> String {
    Uuid::new_v5(&Uuid::NAMESPACE_OID, record.to_string().as_bytes()).simple().to_string()
}
