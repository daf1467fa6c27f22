//! Marks items that v1 does not show any more, and those it shows again. Data are removed only after a delete through
//! the gateway: v1's own users archive items without notice (trap 53), and values return with the items. May use: what
//! `run` may use.

use super::settle::{drop_unmade, is_running};
use crate::index::Index;
use crate::refusal::Refusal;
use crate::run::job::InProject;
use crate::run::kept::shelf::Audience;
use crate::store::{Intent, IntentKind, Settled};
use crate::task::spawn;
use crate::units::now_micros;
use std::sync::Arc;
use uuid::Uuid;

/// Own writes younger than this are skipped: the index of another gateway process may not have them yet.
const YOUNG: i64 = 60_000_000;

/// Compares the recorded items with a complete index, at most once between two sweeps. Runs in parallel with the
/// request that has read the index.
pub(in crate::run) fn mark_absences(job: &InProject<'_>, index: &Arc<Index>) {
    let card = job.card;
    let begin = || job.runner.compared.insert_new(card.id, ());
    if job.audience() != Ok(Audience::Members) || job.call.ctx.meter.is_stale() || !begin() {
        return;
    }
    let (job, index) = (job.aside(), Arc::clone(index));
    spawn(async move {
        if let Err(refusal) = try_mark_absences(&job.here(), &index).await {
            tracing::warn!(code = refusal.code(), "items that v1 does not show could not be marked");
        }
    });
}

async fn try_mark_absences(job: &InProject<'_>, index: &Index) -> Result<(), Refusal> {
    let (store, project) = (&job.runner.store, job.card.id);
    let recorded = store.project_items(project).await?;
    let is_gone = |id: &&Uuid| {
        !recorded.missing.contains(*id) && !recorded.archived.contains(*id) && index.get(**id).is_none()
    };
    let gone: Vec<Uuid> = recorded.known.keys().filter(is_gone).copied().collect();
    let back: Vec<Uuid> = recorded.missing.iter().filter(|id| index.get(**id).is_some()).copied().collect();
    if !gone.is_empty() || !back.is_empty() {
        store.mark_missing(project, &gone, &back, now_micros() - YOUNG).await?;
    }
    drop_unmade(job, index, &recorded).await
}

/// Notes that v1 shows no such live item to a single read: lost deletes of it have happened; other recorded data are
/// kept, because the item may return.
pub(in crate::run) async fn note_absence(job: &InProject<'_>, id: Uuid) {
    if let Err(refusal) = try_note_absence(job, id).await {
        tracing::warn!(item = %id, code = refusal.code(), "the absence of an item could not be noted");
    }
}

async fn try_note_absence(job: &InProject<'_>, id: Uuid) -> Result<(), Refusal> {
    let (store, project) = (&job.runner.store, job.card.id);
    let recorded = store.project_items(project).await?;
    let about = recorded.open.iter().filter(|intent| intent.item == Some(id));
    let (running, lost): (Vec<&Intent>, Vec<&Intent>) = about.partition(|intent| is_running(job, intent));
    let is_delete = |intent: &Intent| intent.kind == IntentKind::Delete;
    // Data written after a delete began stay: v1 showed the item then, and its users may have archived it since.
    let takes = |intent: &Intent| recorded.written_at(id).is_none_or(|written| written <= intent.began_at);
    if lost.iter().any(|intent| is_delete(intent) && takes(intent)) {
        for intent in lost {
            let settled = if is_delete(intent) { Settled::Purged(id) } else { Settled::Dropped };
            store.settle_left(intent, settled).await?;
        }
        return Ok(());
    }
    for delete in lost.iter().filter(|intent| is_delete(intent)) {
        store.settle_left(delete, Settled::Dropped).await?;
    }
    let is_noted = recorded.missing.contains(&id) || recorded.archived.contains(&id);
    if recorded.knows(id) && !is_noted && !running.iter().any(|intent| is_delete(intent)) {
        store.mark_missing(project, &[id], &[], now_micros()).await?;
    }
    Ok(())
}
