//! Single writes to v1 and what their answers mean.

use super::collection::bad_data;
use super::job::Job;
use crate::plan::{Keep, Resource, WriteKind};
use crate::refusal::Refusal;
use crate::store::OverlayValue;
use crate::translate::outgoing::Outgoing;
use crate::translate::{Fault, Held, intent, refusal};
use crate::v1::{Method, Room, V1Error, V1Request, V1Response};
use serde_json::{Map, Value};
use std::sync::atomic::Ordering;
use uuid::Uuid;

/// Members of a JSON object.
pub(super) type Members = Map<String, Value>;

impl Job {
    /// POST on the collection; the answer's members.
    pub(super) async fn post(&self, resource: &Resource, body: &Members) -> Result<Members, Refusal> {
        let answer = self.post_raw(resource, body).await?;
        self.accept(resource, WriteKind::Create, body, answer).await
    }

    /// POST on the collection; the answer as it came, a 4xx included.
    pub(super) async fn post_raw(&self, resource: &Resource, body: &Members) -> Result<V1Response, Refusal> {
        let path = self.collection_path(resource)?;
        self.ask(V1Request::write(Method::Post, path, json(body))).await
    }

    /// PATCH of one record; the answer's members.
    pub(super) async fn patch(&self, resource: &Resource, id: Uuid, body: &Members) -> Result<Members, Refusal> {
        let answer = self.patch_raw(resource, id, body).await?;
        self.accept(resource, WriteKind::Update, body, answer).await
    }

    /// PATCH of one record; the answer as it came, a 4xx included.
    pub(super) async fn patch_raw(
        &self,
        resource: &Resource,
        id: Uuid,
        body: &Members,
    ) -> Result<V1Response, Refusal> {
        let path = self.record_path(resource, id)?;
        self.ask(V1Request::write(Method::Patch, path, json(body))).await
    }

    /// DELETE of one record.
    pub(super) async fn delete(&self, resource: &Resource, id: Uuid) -> Result<(), Refusal> {
        let answer = self.ask(V1Request::delete(self.record_path(resource, id)?)).await?;
        if answer.is_success() {
            self.runner.losses.forget(id);
            return Ok(());
        }
        Err(self.refused(resource, WriteKind::Delete, &answer).await)
    }

    /// GET of one record: the truth after a create (trap 20, `items_create_minimal`).
    pub(super) async fn read_record(&self, resource: &Resource, id: Uuid) -> Result<Members, Refusal> {
        self.read_record_fields(resource, id, "").await
    }

    /// As [`Job::read_record`], asking for what `query` (`fields=…`) names.
    pub(super) async fn read_record_fields(
        &self,
        resource: &Resource,
        id: Uuid,
        query: &str,
    ) -> Result<Members, Refusal> {
        let answer = self.ask(V1Request::get(self.record_path(resource, id)?, query)).await?;
        if !answer.is_success() {
            return Err(Refusal::upstream(
                "The record could not be read back.",
                format!("status {}", answer.status),
            ));
        }
        members(&answer)
    }

    /// Waits until v1's quota has room for so many calls, and keeps it: a write that takes several calls is begun
    /// only when it can be ended.
    pub(super) async fn room_for(&self, calls: usize) -> Result<Room, Refusal> {
        let (budget, ctx) = (self.runner.client.budget(), &self.call.ctx);
        let kept = budget.keep_room(self.key().id(), calls, ctx).await;
        kept.map_err(|wait| V1Error::Limited(wait).refusal(Method::Get))
    }

    async fn ask(&self, request: V1Request) -> Result<V1Response, Refusal> {
        let writes = request.method != Method::Get;
        let answer = self.runner.client.ask(self.key(), request, &self.call.ctx).await;
        // A 4xx of v1 has stored nothing; anything but that may have.
        if writes && answer.as_ref().is_ok_and(V1Response::is_success) | answer.is_err() {
            self.touched.store(true, Ordering::SeqCst);
        }
        if matches!(answer, Err(Refusal::Unauthorized { .. })) {
            self.runner.access.forget_identity(self.key().id());
        }
        answer
    }

    /// Takes a write's answer: a refusal in v2 words, or the members of a success that did what was asked.
    pub(super) async fn accept(
        &self,
        resource: &Resource,
        on: WriteKind,
        sent: &Members,
        answer: V1Response,
    ) -> Result<Members, Refusal> {
        if !answer.is_success() {
            return Err(self.refused(resource, on, &answer).await);
        }
        let shown = members(&answer)?;
        if on == WriteKind::Update {
            self.note_written(sent, &shown);
        }
        intent::confirm(resource, sent, &shown)?;
        Ok(shown)
    }

    /// Remembers what an update has set, and looks whether what the one before had set is still there.
    pub(super) fn note_written(&self, sent: &Members, shown: &Members) {
        if let Ok(id) = id_of(shown) {
            self.runner.losses.wrote(id, sent, shown);
        }
    }

    /// What a refused write means. A 403 is a role problem only while the project is still visible (trap 2).
    pub(super) async fn refused(&self, resource: &Resource, on: WriteKind, answer: &V1Response) -> Refusal {
        let refusal = refusal::of_write(resource, on, answer);
        let Refusal::Forbidden { .. } = refusal else { return refusal };
        let Some(card) = &self.call.card else { return refusal };
        self.runner.access.forget_project(card.id);
        match self.runner.access.project(&self.call.caller, self.slug(), card.id, &self.call.ctx).await {
            Ok(card) => card.require_member().err().unwrap_or(refusal),
            Err(gone) => gone,
        }
    }

    /// Keeps the overlay's part of a write, each value with what v1 shows now, and forgets what v1 has taken
    /// itself.
    pub(super) async fn keep(
        &self,
        resource: &Resource,
        id: Uuid,
        written: &Outgoing,
        v1: &Members,
    ) -> Result<(), Refusal> {
        let value = |(name, value): (&String, &Value)| {
            let field = resource.field(name).filter(|field| field.keep != Keep::V1)?;
            let seen = v1.get(field.v1.as_deref()?).cloned().unwrap_or_default();
            Some(OverlayValue::new(name, value.clone(), seen))
        };
        let values: Vec<OverlayValue> = written.overlay.iter().filter_map(value).collect();
        let taken: Vec<&str> = taken_by_v1(resource, written).collect();
        if values.is_empty() && taken.is_empty() {
            return Ok(());
        }
        let workspace = self.card()?.workspace_id;
        if !values.is_empty() {
            self.runner.store.put_overlay(workspace, &resource.name, id, &values).await?;
        }
        if !taken.is_empty() {
            self.runner.store.delete_overlay_fields(workspace, &resource.name, id, &taken).await?;
        }
        Ok(())
    }

    /// The record after a write, from v1's members.
    pub(super) async fn held(&self, resource: &Resource, v1: &Members) -> Result<Held, Refusal> {
        self.translate_record(resource, &json(v1)).await
    }
}

/// Id in the answer of a create.
pub(super) fn id_of(v1: &Members) -> Result<Uuid, Refusal> {
    let id = v1.get("id").and_then(Value::as_str).and_then(|text| Uuid::try_parse(text).ok());
    id.ok_or_else(|| bad_data(&Fault("a created record has no id".into())))
}

/// Says that the record exists although something after its creation failed.
pub(super) fn created_but(id: Uuid) -> impl Fn(Refusal) -> Refusal {
    move |refusal| {
        let what = match &refusal {
            Refusal::Validation { detail, .. }
            | Refusal::UpstreamError { detail, .. }
            | Refusal::UpstreamFault { detail, .. } => detail.clone(),
            other => other.code().to_owned(),
        };
        let detail = format!(
            "The record was created with the id {id}, but not everything that was sent could be stored: {what}"
        );
        Refusal::upstream(detail, format!("after the create: {refusal:?}"))
    }
}

/// Fields that can be in the overlay but were stored by v1 this time; an old overlay value would return as soon
/// as v1 shows the value seen back then again.
fn taken_by_v1<'r>(resource: &'r Resource, written: &'r Outgoing) -> impl Iterator<Item = &'r str> {
    refusable(resource, &written.body).map(|(name, _)| name)
}

/// Fields in `sent` (v2 and v1 name) that the overlay can hold when v1 refuses them.
pub(super) fn refusable<'r>(resource: &'r Resource, sent: &'r Members) -> impl Iterator<Item = (&'r str, &'r str)> {
    let candidates = resource.fields.iter().filter(|field| field.keep == Keep::OverlayIfRefused);
    let named = candidates.filter_map(|field| Some((field.name.as_str(), field.v1.as_deref()?)));
    named.filter(|(_, key)| sent.contains_key(*key))
}

/// Members of a success.
pub(super) fn members(answer: &V1Response) -> Result<Members, Refusal> {
    serde_json::from_slice(&answer.body).map_err(|fault| bad_data(&Fault(fault.to_string())))
}

fn json(members: &Members) -> Vec<u8> {
    serde_json::to_vec(members).unwrap_or_default()
}
