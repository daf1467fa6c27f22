//! Single writes to v1, and the meaning of their answers. May use: what `run` may use.

use super::find_out;
use super::writing::Sending;
use crate::plan::{Extra, Keep, Known, Resource, WriteKind};
use crate::refusal::{FieldError, MAY_BE_DONE, Refusal};
use crate::run::job::Job;
use crate::run::members::{Members, answer_of, as_id, id_of, json, members};
use crate::store::OverlayValue;
use crate::translate::outgoing::Outgoing;
use crate::translate::{Held, confirm, refusal};
use crate::units::now_micros;
use crate::v1::{Doubt, Method, NotDone, Outcome, PreSendCheckFuture, Room, V1Error, V1Request, V1Response};
use serde_json::Value;
use std::sync::atomic::Ordering;
use std::time::Duration;
use uuid::Uuid;

/// Pauses between reads of a new record that v1 does not show yet.
const UNTIL_SHOWN: [Duration; 3] = [Duration::from_millis(100), Duration::from_millis(400), Duration::from_secs(1)];

impl Job {
    /// Sends a POST to the collection; returns the members of the answer.
    pub(in crate::run) async fn post(&self, body: &Members) -> Result<Members, Refusal> {
        let answer = self.post_raw(body).await?;
        self.accept(WriteKind::Create, body, answer).await
    }

    /// Sends a POST to the collection. Returns v1's answer with the id of the new record, a 4xx that proves that no
    /// record was created, or the result of looking for a record that v1 may have created.
    pub(in crate::run) async fn post_raw(&self, body: &Members) -> Result<V1Response, Refusal> {
        let path = self.collection_path(self.resource())?;
        let began = now_micros();
        let doubt = match self.write(V1Request::write(Method::POST, path, json(body))).await {
            Outcome::Done(answer) => match members(&answer).and_then(|shown| id_of(&shown)) {
                Ok(id) if self.runner.made.insert_new(id, ()) => {
                    self.noted.created.get_or_init(|| id);
                    return Ok(answer);
                }
                _ => Doubt::answered(
                    "The service behind answered the create without the id of a new record.",
                    "a create without a new id",
                ),
            },
            Outcome::NotDone(NotDone::Answered(answer)) => return Ok(answer),
            Outcome::NotDone(NotDone::Refused(refusal)) => return Err(refusal),
            Outcome::Unknown(doubt) => doubt,
        };
        self.find_created(body, began, &doubt).await
    }

    /// Sends a PATCH of one record; returns the members of the answer.
    pub(in crate::run) async fn patch(&self, id: Uuid, body: &Members) -> Result<Members, Refusal> {
        let answer = self.patch_raw(id, body).await?;
        self.accept(WriteKind::Update, body, answer).await
    }

    /// Sends a PATCH of one record. Returns v1's answer about this record with everything that was sent, a 4xx that
    /// proves that nothing was changed, or the record read again when the answer proves nothing.
    pub(in crate::run) async fn patch_raw(&self, id: Uuid, body: &Members) -> Result<V1Response, Refusal> {
        let resource = self.resource();
        let path = self.record_path(resource, id)?;
        let doubt = match self.write(V1Request::write(Method::PATCH, path, json(body))).await {
            Outcome::Done(answer) => {
                let shown = members(&answer).unwrap_or_default();
                let checked = confirm::check(resource, body, &shown);
                match (is_of(resource, &shown, id) && checked.missing.is_empty(), checked.lost.is_empty()) {
                    (true, true) => return Ok(answer),
                    // v1 silently drops elements of a set (trap 15); the caller of this function checks that.
                    (true, false) if find_out::are_sets(resource, &checked.lost) => return Ok(answer),
                    (true, false) => return self.as_it_is(id).await,
                    (false, _) => Doubt::answered(
                        "The service behind answered the update with something else than the record.",
                        format!("PATCH of {id} without {:?}, or of another record", checked.missing),
                    ),
                }
            }
            Outcome::NotDone(NotDone::Answered(answer)) => return Ok(answer),
            Outcome::NotDone(NotDone::Refused(refusal)) => return Err(refusal),
            Outcome::Unknown(doubt) => doubt,
        };
        self.find_updated(id, body, &doubt).await
    }

    /// Reads the record again, because v1's answer to an update shows other values than were sent.
    async fn as_it_is(&self, id: Uuid) -> Result<V1Response, Refusal> {
        let doubt = Doubt::answered("The service behind shows other values than were sent.", "other values");
        let record = self.read_record(id).await.map_err(|_| doubt.refusal())?;
        Ok(answer_of(200, &record))
    }

    /// Sends a DELETE of one record; only when v1 has shown it before (`was_there`), its absence is a proof.
    pub(in crate::run) async fn delete(&self, id: Uuid, was_there: bool) -> Result<(), Refusal> {
        match self.write(V1Request::delete(self.record_path(self.resource(), id)?)).await {
            Outcome::Done(_) => {
                self.runner.losses.forget(id);
                Ok(())
            }
            Outcome::NotDone(NotDone::Answered(answer)) => {
                let refusal = self.refusal_of_write(WriteKind::Delete, &answer).await;
                if was_there && matches!(refusal, Refusal::NotFound { .. }) {
                    self.drop_kept();
                }
                Err(refusal)
            }
            Outcome::NotDone(NotDone::Refused(refusal)) => Err(refusal),
            Outcome::Unknown(doubt) => self.find_deleted(id, was_there, &doubt).await,
        }
    }

    /// Sends a GET of one record.
    pub(in crate::run) async fn read_record(&self, id: Uuid) -> Result<Members, Refusal> {
        self.read_record_fields(id, "").await
    }

    /// Like [`Job::read_record`], but reads only the fields that `query` (`fields=…`) names.
    pub(in crate::run) async fn read_record_fields(&self, id: Uuid, query: &str) -> Result<Members, Refusal> {
        shown_record(&self.get_record(id, query).await?, id)
    }

    /// Like [`Job::read_record_fields`], for a record that v1 has just created: only this shows the stored record
    /// (trap 20, `items_create_minimal`). A v1 that reads from a replica of its database does not show the record for a
    /// moment; so a 404 is followed by further reads.
    pub(in crate::run) async fn read_created(&self, id: Uuid, query: &str) -> Result<Members, Refusal> {
        for pause in UNTIL_SHOWN {
            let answer = self.get_record(id, query).await?;
            if answer.status != 404 || self.call.ctx.remaining() <= pause {
                return shown_record(&answer, id);
            }
            tokio::time::sleep(pause).await;
        }
        self.read_record_fields(id, query).await
    }

    async fn get_record(&self, id: Uuid, query: &str) -> Result<V1Response, Refusal> {
        let request = V1Request::get(self.record_path(self.resource(), id)?, query);
        let answer = self.runner.client.ask(self.key(), request, &self.call.ctx).await;
        answer.inspect_err(|refusal| self.note_lost_key(refusal))
    }

    /// Waits until v1's quota has room for the calls of the whole write, and reserves it: a write of several calls
    /// begins only when it can be finished. The calls are those that the mapping declares from the first write on, with
    /// `extras` of each kind, and `shows` calls for the answer.
    pub(in crate::run) async fn room_for(&self, extras: &[(Extra, usize)], shows: usize) -> Result<Room, Refusal> {
        let calls = self.operation().calls_of_the_write(extras) + shows;
        let (budget, ctx) = (&self.runner.client.budget, &self.call.ctx);
        let kept = budget.keep_room(self.key().id(), calls, ctx).await;
        kept.map_err(|shortage| V1Error::Limited(shortage).refusal())
    }

    /// Checks whether the body, or the query beside it, will be refused.
    pub(in crate::run) fn body_is_refused(&self) -> bool {
        self.takes_body() && self.given().is_err()
    }

    async fn write(&self, request: V1Request) -> Outcome {
        // Before it has a place at v1, because this may wait for v1 to end the write of another process.
        if let Some(turn) = self.turn.lock().await.as_mut()
            && let Err(fault) = turn.ensure_held().await
        {
            return Outcome::NotDone(NotDone::Refused(fault.into()));
        }
        let was_unchanged = self.call.ctx.meter.is_surely_unchanged();
        // The turn may have come long ago, and the write may wait for v1 now. A write already begun is finished,
        // though. A client that got a timeout may have looked for the record by now, and have sent the write again.
        let look = || -> PreSendCheckFuture<'_> {
            Box::pin(async {
                if !self.touched.load(Ordering::SeqCst) {
                    if self.call.ctx.is_past_asker_deadline() {
                        return Err(Refusal::DeadlineExceeded { maybe_done: false });
                    }
                    self.check_credential_again().await?;
                }
                // Another gateway process may have the turn by now, and may have decided and written in it.
                if let Some(turn) = self.turn.lock().await.as_mut() {
                    turn.ensure_still_held().await?;
                }
                // After every wait, because the deadline may pass during each.
                self.begin_to_write()?;
                self.sent.store(true, Ordering::SeqCst);
                Ok(())
            })
        };
        let sending = Sending::begin(&self.touched);
        let outcome = self.runner.client.write(self.key(), request, &self.call.ctx, Some(&look)).await;
        sending.ended(!matches!(outcome, Outcome::NotDone(_)));
        if was_unchanged && !self.touched.load(Ordering::SeqCst) {
            // Other calls may follow, and the deadline may pass during them.
            self.call.ctx.meter.only_wait();
        }
        match &outcome {
            Outcome::Done(_) | Outcome::NotDone(NotDone::Answered(_)) => {}
            Outcome::Unknown(doubt) => {
                tracing::warn!(cause = doubt.cause, "the result of a write at v1 is unknown")
            }
            Outcome::NotDone(NotDone::Refused(refusal)) => self.note_lost_key(refusal),
        }
        outcome
    }

    /// Forgets a key that v1 does not accept any more.
    fn note_lost_key(&self, refusal: &Refusal) {
        if matches!(refusal, Refusal::Unauthorized { .. }) {
            self.runner.access.forget_identity(self.key().id());
        }
    }

    /// Converts a write's answer: a refusal in v2's words, or the members of a success. The members after an update
    /// must be the sent ones; those after a create are not the stored record (trap 20), which is compared when it is
    /// read back.
    pub(in crate::run) async fn accept(
        &self,
        on: WriteKind,
        sent: &Members,
        answer: V1Response,
    ) -> Result<Members, Refusal> {
        if !answer.is_success() {
            return Err(self.refusal_of_write(on, &answer).await);
        }
        let shown = members(&answer)?;
        if on == WriteKind::Update {
            self.note_written(sent, &shown);
            confirm::check(self.resource(), sent, &shown).confirm(self.resource())?;
        }
        Ok(shown)
    }

    /// Remembers the members that an update has set, and checks whether those of the update before are still there.
    pub(in crate::run) fn note_written(&self, sent: &Members, shown: &Members) {
        let is_deleted = |one: &Value| as_id(one).is_some_and(|id| self.runner.deleted_labels.contains(id));
        let Ok(id) = id_of(shown) else { return };
        if self.runner.store.processes() > 1 {
            // Another process of the gateway may have written in between, which is no loss.
            self.runner.losses.forget(id);
        } else {
            self.runner.losses.wrote(id, sent, shown, is_deleted);
        }
    }

    /// Returns the refusal of a refused write. A 403 is about the role only if the project is still visible (trap 2).
    pub(in crate::run) async fn refusal_of_write(&self, on: WriteKind, answer: &V1Response) -> Refusal {
        let refusal = refusal::of_write(self.resource(), on, answer);
        match refusal {
            Refusal::Forbidden { .. } => self.by_new_card(refusal).await,
            // An update is sent only for a record that v1 has shown.
            Refusal::NotFound { .. } if on == WriteKind::Update => {
                self.drop_kept();
                refusal
            }
            refusal => refusal,
        }
    }

    /// Stores the overlay values of a write, each with the value that v1 shows now, and deletes overlay values of
    /// fields that v1 has stored itself.
    pub(in crate::run) async fn keep(&self, id: Uuid, written: &Outgoing, v1: &Members) -> Result<(), Refusal> {
        let resource = self.resource();
        let value = |(name, value): (&String, &Value)| {
            let field = resource.field(name).filter(|field| field.spec.keep != Keep::V1)?;
            let seen = v1.get(field.spec.v1.as_deref()?).cloned().unwrap_or_default();
            Some(OverlayValue::new(name, value.clone(), seen))
        };
        let values: Vec<OverlayValue> = written.overlay.iter().filter_map(value).collect();
        // An old overlay value would be shown again as soon as v1 shows the value from back then.
        let taken: Vec<&str> = refusable(resource, &written.body).map(|(name, _)| name).collect();
        if values.is_empty() && taken.is_empty() {
            return Ok(());
        }
        let workspace = self.workspace_id().await?;
        // Nothing is sent to v1 when the overlay holds all that was sent.
        self.begin_to_write()?;
        if !values.is_empty() {
            self.runner.store.put_overlay(workspace, &resource.name, id, &values).await?;
        }
        if !taken.is_empty() {
            self.runner.store.delete_overlay_fields(workspace, &resource.name, id, &taken).await?;
        }
        Ok(())
    }

    /// Translates v1's members into the record after a write.
    pub(in crate::run) async fn translate_written(&self, v1: &Members) -> Result<Held, Refusal> {
        self.translate_record(&json(v1)).await
    }
}

/// Adds to a refusal that the record was created, although a later step failed.
pub(in crate::run) fn created_but(id: Uuid) -> impl Fn(Refusal) -> Refusal {
    let created = format!("The record was created with the id {id}, but");
    partly_done(
        format!("{created} not everything that was sent could be stored:"),
        format!("{created} it is not certain that everything was stored:"),
    )
}

/// Checks whether the refusal of a step proves that v1 has not stored what the step was for: v1 refused it, or shows
/// other values than were sent.
pub(in crate::run) fn is_certain(refusal: &Refusal) -> bool {
    match refusal {
        Refusal::Validation { .. }
        | Refusal::Forbidden { .. }
        | Refusal::WorkflowDenied { .. }
        | Refusal::Conflict { .. } => true,
        Refusal::OutcomeUnknown { detail, .. } => !detail.ends_with(MAY_BE_DONE),
        _ => false,
    }
}

/// Adds to a refusal which part of the write is stored: in the words of `certain` when the rest is certainly not
/// stored, else in those of `uncertain`. Such a refusal never suggests a retry.
pub(in crate::run) fn partly_done(certain: String, uncertain: String) -> impl Fn(Refusal) -> Refusal {
    move |refusal| {
        let done = if is_certain(&refusal) { &certain } else { &uncertain };
        let what = match &refusal {
            Refusal::Validation { detail, .. }
            | Refusal::UpstreamError { detail, .. }
            | Refusal::UpstreamFault { detail, .. }
            | Refusal::OutcomeUnknown { detail, .. } => detail.clone(),
            other => other.code().to_owned(),
        };
        let timed_out = refusal.status() == 504;
        Refusal::OutcomeUnknown { detail: format!("{done} {what}"), cause: format!("{refusal:?}"), timed_out }
    }
}

/// Returns the errors as a part of a sentence.
pub(in crate::run) fn in_words(errors: &[FieldError]) -> String {
    errors.iter().map(|error| format!("{} {}", error.field, error.message)).collect::<Vec<_>>().join("; ")
}

/// Adds to a refusal how far a delete came that first made `detached` children (of this `kind`) top-level: a plain
/// refusal would mean that nothing was changed. `was_sent` tells whether the DELETE itself was begun.
pub(in crate::run) fn half_deleted(kind: &str, detached: usize, was_sent: bool) -> impl Fn(Refusal) -> Refusal {
    let moved = format!("{detached} {kind}s below it were made top-level");
    let certain = format!("{moved}, but the {kind} was not deleted:");
    let uncertain = match was_sent {
        true => format!("{moved}; it is not certain whether the {kind} itself was deleted:"),
        false => certain.clone(),
    };
    let told = partly_done(certain, uncertain);
    move |refusal| if detached == 0 { refusal } else { told(refusal) }
}

/// Checks whether v1's answer to an update is about the record `id`.
fn is_of(resource: &Resource, shown: &Members, id: Uuid) -> bool {
    // v1 answers the update of a module without its id (trap 20, `modules_patch_name`).
    let nameless = !shown.contains_key("id") && resource.is(Known::Modules);
    nameless || id_of(shown).is_ok_and(|shown| shown == id)
}

/// Returns the members of the record `id` in the answer to a read of it.
fn shown_record(answer: &V1Response, id: Uuid) -> Result<Members, Refusal> {
    if !answer.is_success() {
        return Err(Refusal::upstream("The record could not be read back.", format!("status {}", answer.status)));
    }
    let record = members(answer)?;
    same_record(id_of(&record)?, id)?;
    Ok(record)
}

/// Checks that v1 answers with the requested record.
pub(in crate::run) fn same_record(shown: Uuid, asked: Uuid) -> Result<(), Refusal> {
    if shown == asked {
        return Ok(());
    }
    let cause = format!("v1 answered {asked} with {shown}");
    Err(Refusal::upstream("The service behind answered with another record than the one asked for.", cause))
}

/// Returns the fields in `sent` (v2 and v1 name) that the overlay can hold when v1 refuses them.
pub(in crate::run) fn refusable<'r>(
    resource: &'r Resource,
    sent: &'r Members,
) -> impl Iterator<Item = (&'r str, &'r str)> {
    let candidates = resource.fields.iter().filter(|field| field.spec.keep == Keep::OverlayIfRefused);
    let named = candidates.filter_map(|field| Some((field.name.as_str(), field.spec.v1.as_deref()?)));
    named.filter(|(_, key)| sent.contains_key(*key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_done_write_tells_as_certain_only_what_is() {
        let told = |refusal: Refusal| match refusal {
            Refusal::OutcomeUnknown { detail, .. } => detail,
            other => panic!("{other:?}"),
        };
        let known = || Refusal::OutcomeUnknown {
            detail: "v1 did not store: x.".into(),
            cause: String::new(),
            timed_out: false,
        };
        let refused = || Refusal::field("x", "is wrong");
        for (refusal, certain) in [
            (refused(), true),
            (known(), true),
            (Refusal::outcome_unknown("No answer.", "lost", true), false),
            (Refusal::upstream("The record could not be read back.", "status 500"), false),
            (Refusal::StoreUnavailable { cause: "away".into() }, false),
        ] {
            let created = told(created_but(Uuid::nil())(refusal.clone()));
            assert_eq!(created.contains("not everything that was sent could be stored:"), certain, "{created}");
            assert_eq!(created.contains("it is not certain that everything was stored:"), !certain, "{created}");
            let deleted = told(half_deleted("label", 2, true)(refusal.clone()));
            assert_eq!(deleted.contains("but the label was not deleted:"), certain, "{deleted}");
            let unsent = told(half_deleted("label", 2, false)(refusal));
            assert!(unsent.contains("but the label was not deleted:"), "{unsent}");
        }
        assert_eq!(half_deleted("label", 0, true)(refused()), refused(), "nothing was changed");
    }
}
