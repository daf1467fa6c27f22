//! Refreshing indices because v1 hinted that work items of their projects were changed.
//!
//! A project is read at most once a second, however many hints arrive. Hints within that second are handled when it is
//! over, with one read for all. An index that was not requested recently is skipped: its next reader refreshes it. With
//! several gateway processes, each hint reaches only one of them and is passed on: that process reads v1, and the
//! others use v1's answer to it. May use: what `run` may use.

use super::ahead::{IN_USE, RefreshReason, renew};
use crate::index::Scope;
use crate::run::runner::Runner;
use crate::store::Hint;
use crate::task::spawn;
use crate::v1::V1Key;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::Receiver;
use uuid::Uuid;

/// Shortest time between two reads of a project.
const PAUSE: Duration = Duration::from_secs(1);

/// Projects that are being read because of a hint, with the last hint that arrived meanwhile.
#[derive(Debug, Default)]
pub struct Hints(Mutex<HashMap<Uuid, Option<RefreshReason>>>);

impl Hints {
    /// Notes a hint; returns whether no task reads the project yet.
    fn begin(&self, project: Uuid, why: RefreshReason) -> bool {
        let mut looking = self.0.lock();
        match looking.get_mut(&project) {
            Some(again) => {
                *again = Some(why);
                false
            }
            None => {
                looking.insert(project, None);
                true
            }
        }
    }

    /// Returns the last hint since the last read; without one, the reading ends.
    fn again(&self, project: Uuid) -> Option<RefreshReason> {
        let mut looking = self.0.lock();
        let again = looking.get_mut(&project).and_then(Option::take);
        if again.is_none() {
            looking.remove(&project);
        }
        again
    }
}

/// Handles v1's hint to this process about work items.
pub fn touched(runner: &Arc<Runner>, hints: &Arc<Hints>, key: &V1Key, hint: Hint) {
    if runner.store.is_for_many() || !scopes(runner, &hint).is_empty() {
        keep_looking(runner, hints, key, hint, RefreshReason::Hinted(Instant::now()));
    }
}

/// Follows hints that reached other processes, until dropped.
pub async fn follow_hints(runner: Arc<Runner>, key: V1Key, mut passed_on: Receiver<Hint>) {
    let hints = Arc::new(Hints::default());
    while let Some(hint) = passed_on.recv().await {
        if !scopes(&runner, &hint).is_empty() {
            keep_looking(&runner, &hints, &key, hint, RefreshReason::PassedOn);
        }
    }
}

/// Reads now, and then once a second while hints arrive; does nothing if a task already does so.
fn keep_looking(runner: &Arc<Runner>, hints: &Arc<Hints>, key: &V1Key, hint: Hint, why: RefreshReason) {
    if !hints.begin(hint.project, why) {
        return;
    }
    let (runner, hints, key) = (Arc::clone(runner), Arc::clone(hints), key.clone());
    let looking = Looking { hints: Arc::clone(&hints), project: hint.project, is_over: false };
    drop(spawn(async move {
        let mut looking = looking;
        let mut next = Some(why);
        while let Some(why) = next {
            look(&runner, &key, &hint, why).await;
            // Passed on only now, so that the other processes find the result of the read.
            if matches!(why, RefreshReason::Hinted(_))
                && let Err(fault) = runner.store.pass_on(hint.clone()).await
            {
                tracing::debug!(project = %hint.project, %fault, "a hint was not passed on");
            }
            tokio::time::sleep(PAUSE).await;
            next = hints.again(hint.project);
        }
        looking.is_over = true;
    }));
}

/// A task that reads a project after hints. When it panics, the next hint starts another one.
struct Looking {
    hints: Arc<Hints>,
    project: Uuid,
    is_over: bool,
}

impl Drop for Looking {
    fn drop(&mut self) {
        if !self.is_over {
            self.hints.0.lock().remove(&self.project);
        }
    }
}

/// Returns the recently used lists of the project; other lists are refreshed before their next use anyway.
fn scopes(runner: &Runner, hint: &Hint) -> Vec<Scope> {
    let lately = runner.indexes.settings().freshness.max(IN_USE);
    let hinted = |scope: &Scope| scope.project == hint.project && *scope.workspace == *hint.workspace;
    runner.indexes.in_use(lately, hinted)
}

async fn look(runner: &Runner, key: &V1Key, hint: &Hint, why: RefreshReason) {
    for scope in scopes(runner, hint) {
        if let Err(refusal) = renew(runner, key, &scope, why).await {
            tracing::debug!(project = %scope.project, code = refusal.code(), "not refreshed after a hint");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_hints_is_one_look_and_one_more() {
        let (hints, project) = (Hints::default(), Uuid::from_u128(7));
        let comes = || hints.begin(project, RefreshReason::Hinted(Instant::now()));
        assert!(comes());
        assert!((0..1000).all(|_| !comes()));
        let all = Instant::now();
        let Some(RefreshReason::Hinted(came)) = hints.again(project) else {
            panic!("what came meanwhile is looked at once")
        };
        assert!(came <= all, "and by what is read after the last of it");
        assert!(hints.again(project).is_none());
        assert!(comes(), "and then it begins anew");
    }
}
