//! Finds out the outcome of a write whose answer proves nothing, where v1 can show it.
//!
//! v1's data prove a success in three cases: a new record with everything that was sent, created by this caller since
//! the write began, under a name or external pair that v1 uses once; a record that shows everything that was sent; a
//! record that is gone. Nothing proves that a write was not carried out, because v1 may still be at work; then the
//! client is told so. Without a fault, no call is made for this. May use: what `run` may use.

use crate::plan::{Kind, Known, Resource, ValueType};
use crate::refusal::Refusal;
use crate::run::items::key::is_pair;
use crate::run::job::Job;
use crate::run::members::{Members, SKEW, answer_of, as_id, created_at, id_of, members};
use crate::translate::{confirm, modules};
use crate::v1::{Doubt, V1Request, V1Response};
use crate::v2::time::Micros;
use crate::v2::value::trimmed;
use serde_json::Value;
use std::sync::atomic::Ordering;
use std::time::Duration;
use uuid::Uuid;

/// Pauses between looks while v1 may still be at work; after an answer of v1 there is only one look.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(400)];
/// Resources whose names are unique in a project: v1 ensures it (trap 5), for cycles the gateway.
const ONE_OF_A_NAME: [Known; 4] = [Known::States, Known::Labels, Known::Modules, Known::Cycles];
/// Name of the state that v1 keeps in every project and never lists (`intake_create`).
const HIDDEN_STATE: &str = "Triage";

/// Checks whether all these fields are lists of ids. v1 stores only a part of such a list or adds to it (traps 15, 16),
/// which is checked later.
pub(in crate::run) fn are_sets(resource: &Resource, fields: &[&str]) -> bool {
    let is_set =
        |name: &str| resource.field(name).is_some_and(|field| field.value == ValueType::Array(Some(Kind::Uuid)));
    fields.iter().all(|name| is_set(name))
}

impl Job {
    /// Finds the record that a create has made, and returns it in place of the missing answer. Fails also when v1 shows
    /// why it could not make the record.
    pub(in crate::run) async fn find_created(
        &self,
        sent: &Members,
        began: Micros,
        doubt: &Doubt,
    ) -> Result<V1Response, Refusal> {
        match self.look(doubt, || self.created(sent, began, doubt)).await? {
            Created::Found(record) => {
                let id = id_of(&record)?;
                self.noted.created.get_or_init(|| id);
                Ok(answer_of(201, &record))
            }
            Created::Impossible(refusal) => Err(refusal),
        }
    }

    /// Reads the record after an update, if it shows everything that was sent.
    pub(in crate::run) async fn find_updated(
        &self,
        id: Uuid,
        sent: &Members,
        doubt: &Doubt,
    ) -> Result<V1Response, Refusal> {
        let resource = self.resource();
        let look = || async move {
            let record = self.read_record(id).await?;
            Ok(confirm::shows_all(resource, sent, &record).then_some(record))
        };
        // The record may have shown all of it before, and v1 may still save the old values of the other members.
        self.note_at_work(doubt);
        Ok(answer_of(200, &self.look(doubt, look).await?))
    }

    /// Checks that a record is gone after a delete; `was_there` tells whether v1 has shown it before.
    pub(in crate::run) async fn find_deleted(
        &self,
        id: Uuid,
        was_there: bool,
        doubt: &Doubt,
    ) -> Result<(), Refusal> {
        if !was_there {
            // Its absence now would prove nothing about the delete.
            self.note_at_work(doubt);
            return Err(doubt.refusal());
        }
        self.look(doubt, || async move { Ok(self.is_gone(id).await?.then_some(())) }).await
    }

    /// Checks whether v1 answers a read of the record with 404.
    pub(in crate::run) async fn is_gone(&self, id: Uuid) -> Result<bool, Refusal> {
        let path = self.record_path(self.resource(), id)?;
        let answer = self.runner.client.ask(self.key(), V1Request::get(path, ""), &self.call.ctx).await?;
        Ok(answer.status == 404)
    }

    /// Repeats `look` while v1 may be at work. Returns its result, or the refusal that the outcome is unknown.
    async fn look<T, F>(&self, doubt: &Doubt, look: impl Fn() -> F) -> Result<T, Refusal>
    where
        F: Future<Output = Result<Option<T>, Refusal>>,
    {
        let mut pauses = PAUSES.iter();
        loop {
            match look().await {
                Ok(Some(found)) => return Ok(found),
                Ok(None) => {}
                Err(refusal) => tracing::debug!(code = refusal.code(), "a write could not be looked up"),
            }
            let next = pauses.next().filter(|pause| !doubt.answered && self.call.ctx.remaining() > **pause);
            let Some(pause) = next else {
                self.note_at_work(doubt);
                return Err(doubt.refusal());
            };
            tokio::time::sleep(*pause).await;
        }
    }

    /// Notes that v1 may still carry out a write that got no answer, or the 504 of a proxy.
    fn note_at_work(&self, doubt: &Doubt) {
        if doubt.timed_out {
            self.noted.at_work.store(true, Ordering::SeqCst);
        }
    }

    /// Looks for the new record, or for the reason why v1 could not make it.
    async fn created(&self, sent: &Members, began: Micros, doubt: &Doubt) -> Result<Option<Created>, Refusal> {
        let resource = self.resource();
        let Some(mark) = mark_of(resource, sent) else { return Ok(None) };
        let rows = match mark {
            Mark::Pair(id, source) if resource.is(Known::WorkItems) => self.by_pair(id, source).await?,
            _ => {
                let query = resource.v1.as_ref().map(|v1| v1.list_query.as_str()).unwrap_or_default();
                self.all_records(resource, query).await?
            }
        };
        if doubt.own_failure && is_hidden_state(resource, sent, &rows) {
            let detail = "The backend keeps a hidden state of this name; choose another name.";
            return Ok(Some(Created::Impossible(Refusal::Conflict { detail: detail.into() })));
        }
        let fits = |row: &&Members| mark.is_on(row);
        let mut found = rows.iter().filter(fits).filter(|row| self.is_made_since(row, began));
        let (Some(row), None) = (found.next(), found.next()) else { return Ok(None) };
        let record = self.read_record(id_of(row)?).await?;
        let checked = confirm::check(resource, sent, &record);
        let as_sent = checked.missing.is_empty() && are_sets(resource, &checked.lost);
        // A record that was the answer to another request is not this request's.
        Ok((as_sent && self.runner.made.insert_new(id_of(row)?, ())).then_some(Created::Found(record)))
    }

    /// Checks whether this caller created the record at or after `began`.
    pub(in crate::run) fn is_made_since(&self, record: &Members, began: Micros) -> bool {
        let by = record.get("created_by").and_then(as_id);
        let at = created_at(record);
        by == Some(self.call.caller.user.id) && at.is_some_and(|at| at >= self.runner.client.clock.at(began) - SKEW)
    }

    async fn by_pair(&self, id: &str, source: &str) -> Result<Vec<Members>, Refusal> {
        let request = self.pair_request(id, source)?;
        let answer = self.runner.client.ask(self.key(), request, &self.call.ctx).await?;
        Ok(if answer.status == 200 { vec![members(&answer)?] } else { Vec::new() })
    }

    /// Returns the record after an update, from the record before and v1's answer. An answer with only the writable
    /// members (trap 20, `modules_patch_name`) is merged into the record before, if the two agree in everything that
    /// was not sent. Otherwise, or when any other answer lacks something, the record is read.
    pub(in crate::run) async fn merge_or_reread(
        &self,
        id: Uuid,
        before: &Members,
        sent: &Members,
        answer: &Members,
    ) -> Result<Members, Refusal> {
        let resource = self.resource();
        let agrees = |(key, value): (&String, &Value)| sent.contains_key(key) || before.get(key) == Some(value);
        let mut fields = resource.fields.iter().filter_map(|field| field.spec.v1.as_ref());
        let sound = match answer.contains_key("id") {
            true => fields.all(|key| answer.contains_key(key)),
            false => answer.iter().filter(|(key, _)| resource.field_of_v1(key).is_some()).all(agrees),
        };
        if sound {
            return Ok(modules::merge(before, answer));
        }
        let doubt =
            Doubt::answered("The service behind answered the update with half a record.", "members missing");
        self.read_record(id).await.map_err(|_| doubt.refusal())
    }
}

/// Checks whether a create has the name of the state that v1 hides, and none of the `shown` states has it. The database
/// of v1 counts the hidden state, but v1 does not find it when it looks for the holder of the name, and fails with the
/// words of `states_create_duplicate_name_padded`.
fn is_hidden_state(resource: &Resource, sent: &Members, shown: &[Members]) -> bool {
    let name = sent.get("name").and_then(Value::as_str).unwrap_or_default();
    let is_hidden = resource.is(Known::States) && trimmed(name) == HIDDEN_STATE;
    is_hidden && !shown.iter().any(|row| Mark::Name(name).is_on(row))
}

/// Result of a look for the record that a create has made.
enum Created {
    Found(Members),
    /// v1 could not make the record, and this is the reason.
    Impossible(Refusal),
}

/// Values that only one record of a project can have.
enum Mark<'s> {
    Pair(&'s str, &'s str),
    Name(&'s str),
}

fn mark_of<'s>(resource: &Resource, sent: &'s Members) -> Option<Mark<'s>> {
    let text = |key: &str| sent.get(key).and_then(Value::as_str).filter(|text| !trimmed(text).is_empty());
    if let (Some(id), Some(source)) = (text("external_id"), text("external_source")) {
        return Some(Mark::Pair(id, source));
    }
    text("name").filter(|_| has_unique_name(resource)).map(Mark::Name)
}

/// Checks whether only one record of a project has a name.
pub(super) fn has_unique_name(resource: &Resource) -> bool {
    resource.known.is_some_and(|known| ONE_OF_A_NAME.contains(&known))
}

impl Mark<'_> {
    fn is_on(&self, row: &Members) -> bool {
        let text = |key: &str| row.get(key).and_then(Value::as_str);
        match self {
            Self::Pair(id, source) => is_pair(text("external_id"), text("external_source"), (id, source)),
            Self::Name(name) => text("name").is_some_and(|text| trimmed(text) == trimmed(name)),
        }
    }
}
