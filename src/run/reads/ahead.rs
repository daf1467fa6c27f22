//! Work with the gateway's own key, ahead of requests, so that nobody waits for it: on indices, and on writes that an
//! earlier run of the gateway left open.
//!
//! The index of a project that is being read is brought up to date with the gateway's own key. And the index of a
//! project that is met for the first time is begun: after a list that v1 has answered straight, others mostly follow
//! that only the index can answer. A project of one page is left alone, for its index is a call that nobody minds.
//!
//! An index is also brought up to date because v1 has hinted that its project was touched: at most once a second for
//! each project, however many hints there are; one that comes within that second is followed when it is over. An index
//! that nobody has asked for is not built.
//!
//! The key is proved like any other. Only projects whose card shows the same rows to the owner of the key are
//! refreshed, and only when `upstream.service_key` is set. May use: what `run` may use.

use crate::access::Standing;
use crate::context::{Context, Priority};
use crate::index::Scope;
use crate::refusal::Refusal;
use crate::run::items::fields::settle_all;
use crate::run::job::{Call, InProject, Inside, Origin};
use crate::run::runner::Runner;
use crate::store::Intent;
use crate::v1::V1Key;
use crate::v2::Parameters;
use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// How long after its last reader a project is kept up to date.
const IN_USE: Duration = Duration::from_secs(60);
const SHORTEST: Duration = Duration::from_millis(200);

/// Items up to which a build is one call.
const ONE_CALL: usize = 1000;

impl InProject<'_> {
    /// Begins the index of a project that has so many items, when the setting, memory and v1's quota allow it; at most
    /// once in a while for each list. Nobody waits for it, and its calls count for no request.
    pub(in crate::run) fn begin_index(&self, scope: &Scope, items: usize) {
        let runner = &self.runner;
        let wanted = runner.settings.index_ahead && items > ONE_CALL && runner.indexes.has_room_for(items);
        if !wanted || !runner.begun_ahead.insert_new(scope.clone(), ()) {
            return;
        }
        let (runner, scope, key) = (Arc::clone(runner), scope.clone(), self.key().clone());
        drop(tokio::spawn(async move {
            if let Err(refusal) = begin(&runner, &scope, key, items).await {
                tracing::debug!(project = %scope.project, code = refusal.code(), "not begun ahead");
            }
        }));
    }
}

/// Builds the index of `scope` with the gateway's own key, or with `key` of one who has been shown its rows.
async fn begin(runner: &Runner, scope: &Scope, key: V1Key, items: usize) -> Result<(), Refusal> {
    let ctx = Context::new("index-ahead", runner.settings.shared_work).with_priority(Priority::Index);
    let key = match &runner.settings.service_key {
        Some(service) if runner.sees_the_same(service, scope, &ctx).await == Ok(true) => service.clone(),
        _ => key,
    };
    let calls = items.div_ceil(ONE_CALL) + 1;
    if !runner.client.budget.spares(key.id(), Priority::Index, calls) {
        return Ok(());
    }
    runner.indexes.begin(scope, &key, &ctx).await
}

/// Keeps indices in use ahead of their readers, until dropped.
pub async fn keep_ahead(runner: Arc<Runner>, key: V1Key) {
    let pause = (runner.indexes.settings().freshness / 4).max(SHORTEST);
    loop {
        tokio::time::sleep(pause).await;
        for scope in runner.indexes.in_use(IN_USE) {
            if let Err(refusal) = renew(&runner, &key, &scope, false).await {
                tracing::debug!(project = %scope.project, code = refusal.code(), "not refreshed ahead");
            }
        }
    }
}

/// Brings the index of `scope` up to date; whatever its age when v1 has `hinted` at a change.
pub(in crate::run) async fn renew(
    runner: &Runner,
    key: &V1Key,
    scope: &Scope,
    hinted: bool,
) -> Result<(), Refusal> {
    let what = if hinted { "refresh-hinted" } else { "refresh-ahead" };
    let ctx = Context::new(what, runner.settings.shared_work).with_priority(Priority::Index);
    // Requests share the read that is under way, so it must not be one that waits for quota.
    if runner.client.budget.is_short(key.id()) || !runner.sees_the_same(key, scope, &ctx).await? {
        return Ok(());
    }
    match hinted {
        true => runner.indexes.renew_now(scope, key, &ctx).await,
        false => runner.indexes.renew(scope, key, &ctx).await,
    }
}

/// Shortest time from one refresh of a project to the next.
const PAUSE: Duration = Duration::from_secs(1);

/// Projects that are being looked at for a hint, and whether another one has come meanwhile.
#[derive(Debug, Default)]
pub struct Hints(Mutex<HashMap<Uuid, bool>>);

impl Hints {
    /// Whether nobody looks at the project yet.
    fn begin(&self, project: Uuid) -> bool {
        let mut looking = self.0.lock();
        match looking.get_mut(&project) {
            Some(again) => {
                *again = true;
                false
            }
            None => {
                looking.insert(project, false);
                true
            }
        }
    }

    /// Whether another hint has come since the last look.
    fn again(&self, project: Uuid) -> bool {
        let mut looking = self.0.lock();
        let again = looking.get_mut(&project).is_some_and(std::mem::take);
        if !again {
            looking.remove(&project);
        }
        again
    }
}

/// Something in `project` was touched.
pub fn touched(runner: &Arc<Runner>, hints: &Arc<Hints>, key: &V1Key, project: Uuid) {
    let known = !runner.indexes.built_of(project).is_empty();
    if !known || !hints.begin(project) {
        return;
    }
    let (runner, hints, key) = (Arc::clone(runner), Arc::clone(hints), key.clone());
    drop(tokio::spawn(async move {
        loop {
            for scope in runner.indexes.built_of(project) {
                if let Err(refusal) = renew(&runner, &key, &scope, true).await {
                    tracing::debug!(%project, code = refusal.code(), "not refreshed after a hint");
                }
            }
            tokio::time::sleep(PAUSE).await;
            if !hints.again(project) {
                return;
            }
        }
    }));
}

/// Settles what `key` can see; the rest is left to requests of those who see it.
pub async fn settle_left_open(runner: Arc<Runner>, key: V1Key) {
    let open = match runner.store.unsettled().await {
        Ok(open) => open,
        Err(fault) => return tracing::warn!(%fault, "open writes could not be read"),
    };
    let slug = |intent: &Intent| intent.sent.get("slug").and_then(Value::as_str).map(str::to_owned);
    let projects: BTreeMap<Uuid, String> =
        open.iter().filter_map(|intent| Some((intent.project, slug(intent)?))).collect();
    for (project, slug) in projects {
        let settled = match listing(&runner, &key, project, &slug).await {
            Ok(job) => settle_all(&job.here()).await.map(|_| ()),
            Err(refusal) => Err(refusal),
        };
        if let Err(refusal) = settled {
            tracing::info!(%project, code = refusal.code(), "open writes of the project are left to its readers");
        }
    }
}

/// A call that lists the project, as the owner of the key may.
async fn listing(runner: &Arc<Runner>, key: &V1Key, project: Uuid, slug: &str) -> Result<Inside, Refusal> {
    let ctx = Context::new("settle", runner.settings.shared_work);
    let caller = runner.prove(key, &ctx).await?;
    let card = runner.access.project(&caller, slug, project, &ctx).await?;
    card.require_member()?;
    let operation = runner.plan.operations.iter().position(|operation| operation.id == "work_items_list");
    let call = Call {
        operation: operation.ok_or_else(|| Refusal::internal("no list of work items in the plan"))?,
        variables: vec![("slug".into(), slug.into()), ("project_id".into(), project.to_string())],
        parameters: Parameters::default(),
        caller,
        standing: Standing::Person,
        content_type: None,
        body: Ok(Bytes::new()),
        origin: Origin::default(),
        ctx,
    };
    Ok(Inside::new(Arc::clone(runner), call, card))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_hints_is_one_look_and_one_more() {
        let (hints, project) = (Hints::default(), Uuid::from_u128(7));
        assert!(hints.begin(project));
        assert!((0..1000).all(|_| !hints.begin(project)));
        assert!(hints.again(project), "what came meanwhile is looked at once");
        assert!(!hints.again(project));
        assert!(hints.begin(project), "and then it begins anew");
    }
}
