//! Refreshing and building indices with the gateway's own key, ahead of requests, so that no request waits for it.
//!
//! The index of a project in use is refreshed with the gateway's own key. The index of a project that is used for the
//! first time is built in the background: after a list that v1 can answer directly, others usually follow that only the
//! index can answer. A project of one page is skipped, because building its index takes only one call.
//!
//! The gateway's key is proven like any other. A project is refreshed only if its card shows the same rows to the owner
//! of the key, and only when `upstream.service_key` is set. May use: what `run` may use.

use crate::context::{Context, Priority};
use crate::index::Scope;
use crate::refusal::Refusal;
use crate::run::job::InProject;
use crate::run::runner::Runner;
use crate::task::spawn;
use crate::v1::V1Key;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time for which a project is kept up to date after its last reader.
pub(super) const IN_USE: Duration = Duration::from_secs(60);
const SHORTEST: Duration = Duration::from_millis(200);

/// Number of items up to which a build is one call.
const ONE_CALL: usize = 1000;

impl InProject<'_> {
    /// Begins to build the index of a project with `items` items, when the setting, memory and v1's quota allow it; at
    /// most once in a while for each list. No request waits for it or pays for its calls.
    pub(in crate::run) fn begin_index(&self, scope: &Scope, items: usize) {
        let runner = &self.runner;
        let wanted = runner.settings.index.ahead && items > ONE_CALL && runner.indexes.has_room_for(items);
        if !wanted || !runner.begun_ahead.insert_new(scope.clone(), ()) {
            return;
        }
        let (runner, scope, key) = (Arc::clone(runner), scope.clone(), self.key().clone());
        drop(spawn(async move {
            if let Err(refusal) = begin(&runner, &scope, key, items).await {
                tracing::debug!(project = %scope.project, code = refusal.code(), "not begun ahead");
            }
        }));
    }
}

/// Builds the index of `scope` with the gateway's own key, or with `key`, whose owner has seen its rows.
async fn begin(runner: &Runner, scope: &Scope, key: V1Key, items: usize) -> Result<(), Refusal> {
    let ctx = Context::new("index-ahead", runner.settings.limits.deadline).with_priority(Priority::Index);
    let key = match &runner.service_key {
        Some(service) if runner.sees_the_same(service, scope, &ctx).await == Ok(true) => service.clone(),
        _ => key,
    };
    let calls = items.div_ceil(ONE_CALL) + 1;
    if !runner.client.budget.spares(key.id(), Priority::Index, calls) {
        return Ok(());
    }
    runner.indexes.begin(scope, &key, &ctx).await
}

/// Refreshes indices in use before their readers need it, until dropped.
pub async fn keep_ahead(runner: Arc<Runner>, key: V1Key) {
    let pause = (runner.indexes.settings().freshness / 4).max(SHORTEST);
    loop {
        tokio::time::sleep(pause).await;
        for scope in runner.indexes.in_use(IN_USE, |_| true) {
            if let Err(refusal) = renew(&runner, &key, &scope, RefreshReason::Ahead).await {
                tracing::debug!(project = %scope.project, code = refusal.code(), "not refreshed ahead");
            }
        }
    }
}

/// Reason for refreshing an index that no request waits for.
#[derive(Debug, Clone, Copy)]
pub(in crate::run) enum RefreshReason {
    /// Requests would soon have to wait for it.
    Ahead,
    /// v1 has hinted at a change at this time.
    Hinted(Instant),
    /// v1 hinted at a change to another process, which has read it already.
    PassedOn,
}

/// Refreshes the index of `scope`; after a hint of v1, regardless of its age.
pub(in crate::run) async fn renew(
    runner: &Runner,
    key: &V1Key,
    scope: &Scope,
    why: RefreshReason,
) -> Result<(), Refusal> {
    let what = if matches!(why, RefreshReason::Ahead) { "refresh-ahead" } else { "refresh-hinted" };
    let ctx = Context::new(what, runner.settings.limits.deadline).with_priority(Priority::Index);
    // Requests share a read under way, so this read must not wait for quota.
    if runner.client.budget.is_short(key.id()) || !runner.sees_the_same(key, scope, &ctx).await? {
        return Ok(());
    }
    let indexes = &runner.indexes;
    match why {
        RefreshReason::Ahead => indexes.renew(indexes.settings().freshness / 2, scope, key, &ctx).await,
        RefreshReason::Hinted(at) => indexes.renew(at.elapsed(), scope, key, &ctx).await,
        RefreshReason::PassedOn => indexes.follow(scope, key, &ctx).await,
    }
}
