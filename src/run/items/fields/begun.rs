//! Writes to both v1 and the store: noted first, then ended by v1's answer. May use: what `run` may use.

use super::settle::late;
use crate::fresh::Changed;
use crate::refusal::Refusal;
use crate::run::job::InProject;
use crate::run::members::SKEW;
use crate::store::{Intent, IntentKind, IntentState, OwnWrite, RunningIntent, Settled, StoreError};
use crate::translate::work_items::Item;
use crate::translate::work_items_write;
use crate::units::now_micros;
use crate::v2::value::trimmed;
use serde_json::{Map, Value, json};
use std::sync::atomic::Ordering;
use uuid::Uuid;

/// A write under way; none is noted when it stores nothing.
pub(in crate::run) struct WriteUnderWay(Option<RunningIntent>);

impl WriteUnderWay {
    /// Notes a create that stores `own`. A create that stores nothing is also noted when a similar one is open, so that
    /// its item is never taken for the result of the other one.
    ///
    /// # Errors
    /// `store_unavailable`, and then v1 must not be called; 400 when the type was deleted just now.
    pub async fn create(job: &InProject<'_>, body: &Map<String, Value>, own: OwnWrite) -> Result<Self, Refusal> {
        if own.is_empty() && !is_like_an_open_one(job, body).await? {
            return Ok(Self(None));
        }
        let sent = json!({"slug": job.slug(), "name": body.get("name")});
        Self::begin(job, IntentKind::Create, None, sent, own).await
    }

    /// Notes a change of `stored` that sends `body` to v1 and stores `own`.
    pub async fn update(
        job: &InProject<'_>,
        stored: &Item,
        body: &Map<String, Value>,
        own: OwnWrite,
    ) -> Result<Self, Refusal> {
        if own.is_empty() {
            return Ok(Self(None));
        }
        let sent = sent(job.slug(), body, stored);
        Self::begin(job, IntentKind::Update, Some(stored.id), sent, own).await
    }

    /// Notes the delete of an item, if the store has data about it.
    pub async fn delete(job: &InProject<'_>, id: Uuid, is_recorded: bool) -> Result<Self, Refusal> {
        if !is_recorded {
            return Ok(Self(None));
        }
        Self::begin(job, IntentKind::Delete, Some(id), json!({"slug": job.slug()}), OwnWrite::default()).await
    }

    async fn begin(
        job: &InProject<'_>,
        kind: IntentKind,
        item: Option<Uuid>,
        sent: Value,
        own: OwnWrite,
    ) -> Result<Self, Refusal> {
        let card = job.card;
        let user = job.call.caller.user.id;
        let intent = Intent::new(kind, (card.workspace_id, card.id), item, user, sent, own);
        match job.runner.store.begin_intent(intent).await? {
            Some(running) => Ok(Self(Some(running))),
            None => Err(type_gone()),
        }
    }

    /// Ends the write after v1 has carried it out.
    ///
    /// # Errors
    /// `store_unavailable`; then a later request settles the write.
    pub async fn settle(self, job: &InProject<'_>, settled: Settled) -> Result<(), Refusal> {
        if let Some(running) = self.0 {
            let epoch = job.runner.store.settle_own(running, settled).await?;
            job.runner.reached(job.card.id, epoch, 1);
        }
        Ok(())
    }

    /// Ends the write after v1 refused it, or notes that its outcome is unknown.
    pub async fn settle_failed(self, job: &InProject<'_>, refusal: &Refusal) {
        let Some(running) = self.0 else { return };
        let store = &job.runner.store;
        let noted = if matches!(refusal, Refusal::OutcomeUnknown { .. }) {
            job.runner.changes.tell(Changed::WorkItems(running.intent.project));
            let intent = running.intent.clone();
            tracing::warn!(intent = %intent.id, code = refusal.code(), "the result of a write at v1 is unknown; it is settled later");
            store.report_intent(&intent, IntentState::Lost).await
        } else {
            store.settle_own(running, Settled::Dropped).await.map(drop)
        };
        if let Err(fault) = noted {
            tracing::warn!(%fault, "the outcome of a write could not be noted; it is settled later");
        }
    }
}

/// Returns the members sent to v1 for a change of `stored`, and their previous values as far as known.
fn sent(slug: &str, body: &Map<String, Value>, stored: &Item) -> Value {
    let shown = work_items_write::shown(stored);
    let was: Map<String, Value> =
        body.keys().filter_map(|key| Some((key.clone(), shown.get(key)?.clone()))).collect();
    json!({"slug": slug, "body": body, "before": stored.updated_at, "was": was})
}

/// Checks whether an unsettled create by the same person, of an item of the same name, may still create an item.
async fn is_like_an_open_one(job: &InProject<'_>, body: &Map<String, Value>) -> Result<bool, Refusal> {
    let recorded = job.runner.store.project_items(job.card.id).await?;
    let now = now_micros();
    let name = |sent: Option<&Value>| trimmed(sent.and_then(Value::as_str).unwrap_or_default()).to_owned();
    let is_like = |intent: &Intent| {
        intent.kind == IntentKind::Create
            && now - intent.began_at <= late(job) + 2 * SKEW
            && intent.user == job.call.caller.user.id
            && name(intent.sent.get("name")) == name(body.get("name"))
    };
    Ok(recorded.open.iter().any(is_like))
}

/// Returns the refusal when the type existed during the check of the body but is gone now.
pub(super) fn type_gone() -> Refusal {
    Refusal::field("type_id", "names no work item type of this project")
}

impl InProject<'_> {
    /// Stores data that need no write to v1.
    pub(in crate::run) async fn store_own(&self, item: Uuid, own: &OwnWrite) -> Result<(), Refusal> {
        if own.is_empty() {
            return Ok(());
        }
        let card = self.card;
        self.begin_to_write()?;
        let stored = self.runner.store.write_item(card.workspace_id, card.id, item, own).await;
        let stored = stored.map_err(StoreError::into_write_refusal)?;
        if !stored {
            return Err(type_gone());
        }
        // A later refusal must not say that nothing was changed.
        self.touched.store(true, Ordering::SeqCst);
        Ok(())
    }
}
