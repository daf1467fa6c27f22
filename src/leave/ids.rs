//! Pairs of ids: a record here and the same record in the target. They are kept in the store, so that the next run
//! continues a run that ended early.
//!
//! A record is noted twice: before it is made in the target, and when it is equal there. When the target has a record
//! under the name of a noted one, this command made it, however complete it is. A record under any other name is not
//! ours.
//! May use: `store`.

use super::seen::Record;
use crate::store::{LeaveRecord, Store};
use serde_json::{Value, json};
use std::collections::HashMap;
use strum::{EnumString, IntoStaticStr, VariantArray};
use uuid::Uuid;

/// Kinds of records that are carried, in the order of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, EnumString, IntoStaticStr, VariantArray)]
pub enum Kind {
    /// Feature switches; a single record.
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
    /// Values of work items.
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
    /// Returns the word for the kind in reports and in the store.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// A record that is equal in the target.
#[derive(Debug)]
pub(super) struct Carried {
    pub(super) own: Uuid,
    /// Id of the record in the target.
    pub(super) theirs: String,
    /// Fingerprint of the carried content.
    pub(super) digest: String,
}

/// The records of a workspace that were carried to one target, or whose carrying has begun.
pub(super) struct Ids<'s> {
    store: &'s Store,
    target: String,
    workspace: Uuid,
    records: HashMap<(Kind, Uuid), LeaveRecord>,
    /// Records that the target had already; valid for this run only.
    supposed: HashMap<(Kind, Uuid), String>,
}

impl<'s> Ids<'s> {
    /// Loads the notes of earlier runs.
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

    /// Returns the id in the target of a record that was carried or found.
    pub(super) fn theirs(&self, kind: Kind, own: Uuid) -> Option<&str> {
        let noted = self.records.get(&(kind, own)).and_then(|record| record.theirs.as_deref());
        noted.or_else(|| self.supposed.get(&(kind, own)).map(String::as_str))
    }

    /// Returns the noted records of a kind with their ids in the target, except records with the fingerprint `but`.
    pub(super) fn noted_except(&self, kind: Kind, but: &str) -> Vec<(Uuid, String)> {
        let of_kind = self.records.values().filter(|record| record.kind == kind.word() && record.digest != but);
        let mut noted: Vec<_> = of_kind.filter_map(|record| Some((record.own, record.theirs.clone()?))).collect();
        noted.sort();
        noted
    }

    /// Checks whether the record's id in the target is noted.
    pub(super) fn is_noted(&self, kind: Kind, own: Uuid) -> bool {
        self.records.get(&(kind, own)).is_some_and(|record| record.theirs.is_some())
    }

    /// Checks whether this command made the record in the target, or was about to make it.
    pub(super) fn is_begun(&self, kind: Kind, own: Uuid) -> bool {
        self.records.contains_key(&(kind, own))
    }

    /// Checks whether a record was about to be made in the target and the result is not noted.
    pub(super) fn has_unfinished_creation(&self) -> bool {
        self.records.values().any(|record| record.theirs.is_none())
    }

    /// Checks whether the record was carried completely with the content that `digest` stands for.
    pub(super) fn is_done(&self, kind: Kind, own: Uuid, digest: &str) -> bool {
        let record = self.records.get(&(kind, own));
        record.is_some_and(|record| record.is_done && record.digest == digest)
    }

    /// Pairs a record in the target with one of ours, for this run only.
    pub(super) fn pair_for_this_run(&mut self, kind: Kind, own: Uuid, theirs: &str) {
        self.supposed.insert((kind, own), theirs.to_owned());
    }

    /// Notes records that are about to be made in the target. Records that are noted already stay unchanged.
    pub(super) async fn begin(&mut self, kind: Kind, owns: &[Uuid]) -> Result<(), String> {
        let new = owns.iter().filter(|own| !self.is_begun(kind, **own));
        let records = new.map(|own| begun(kind, *own, None)).collect();
        self.note(kind, records).await
    }

    /// Notes that a record in the target is about to change while others are carried, so that this command restores it.
    pub(super) async fn reopen(&mut self, kind: Kind, own: Uuid) -> Result<(), String> {
        if self.records.get(&(kind, own)).is_some_and(|record| !record.is_done) {
            return Ok(());
        }
        let theirs = self.theirs(kind, own).map(str::to_owned);
        self.unfinished(kind, own, theirs).await
    }

    /// Notes the id in the target of a record that is not equal yet.
    pub(super) async fn unfinished(&mut self, kind: Kind, own: Uuid, theirs: Option<String>) -> Result<(), String> {
        self.note(kind, vec![begun(kind, own, theirs)]).await
    }

    /// Notes records that are equal in the target.
    pub(super) async fn end(&mut self, kind: Kind, done: &[Carried]) -> Result<(), String> {
        let records = done.iter().map(|carried| LeaveRecord {
            digest: carried.digest.clone(),
            is_done: true,
            ..begun(kind, carried.own, Some(carried.theirs.clone()))
        });
        let news = records.filter(|record| self.records.get(&(kind, record.own)) != Some(record)).collect();
        self.note(kind, news).await
    }

    /// Returns the fingerprint of our record, of which `missing` parts cannot be carried now. It is another one when
    /// they can, so that a later run carries them. Earlier versions noted all records as if nothing was missing; these
    /// notes stay valid.
    pub(super) fn fingerprint(&self, kind: Kind, own: Uuid, record: &Record, missing: usize) -> String {
        let whole = digest(&json!([record]));
        match missing == 0 || self.is_done(kind, own, &whole) {
            true => whole,
            false => digest(&json!([record, missing])),
        }
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

/// Builds the note of a record that is not completely carried yet.
fn begun(kind: Kind, own: Uuid, theirs: Option<String>) -> LeaveRecord {
    LeaveRecord { kind: kind.word().to_owned(), own, theirs, digest: String::new(), is_done: false }
}

/// Returns a fingerprint of our record.
pub(super) fn digest(record: &Value) -> String {
    Uuid::new_v5(&Uuid::NAMESPACE_OID, record.to_string().as_bytes()).simple().to_string()
}
