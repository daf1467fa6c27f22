//! Indices brought up to date because v1 has hinted that work items of their projects were touched.
//!
//! At most once a second for each project, however many hints there are; those that come within that second are followed
//! when it is over, with one look for all. An index that nobody has asked for lately is left as it is: whoever asks for
//! it next has it brought up to date. Several gateways pass hints on, for each reaches one of them alone: the one that
//! was told looks, and the others go by what v1 has answered it. May use: what `run` may use.

use super::ahead::{IN_USE, Why, renew};
use crate::index::Scope;
use crate::run::runner::Runner;
use crate::store::Hint;
use crate::v1::V1Key;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::Receiver;
use uuid::Uuid;

/// Shortest time from one look at a project to the next.
const PAUSE: Duration = Duration::from_secs(1);

/// Projects that are being looked at for a hint, and when the last one has come meanwhile.
#[derive(Debug, Default)]
pub struct Hints(Mutex<HashMap<Uuid, Option<Instant>>>);

impl Hints {
    /// A hint has come now. Whether nobody looks at the project yet.
    fn begin(&self, project: Uuid) -> bool {
        let mut looking = self.0.lock();
        match looking.get_mut(&project) {
            Some(again) => {
                *again = Some(Instant::now());
                false
            }
            None => {
                looking.insert(project, None);
                true
            }
        }
    }

    /// When the last hint has come since the last look; without any the looking ends.
    fn again(&self, project: Uuid) -> Option<Instant> {
        let mut looking = self.0.lock();
        let again = looking.get_mut(&project).and_then(Option::take);
        if again.is_none() {
            looking.remove(&project);
        }
        again
    }
}

/// v1 has told this process of work items in `hint`.
pub fn touched(runner: &Arc<Runner>, hints: &Arc<Hints>, key: &V1Key, hint: Hint) {
    let of_others = runner.store.is_for_many();
    if (scopes(runner, &hint).is_empty() && !of_others) || !hints.begin(hint.project) {
        return;
    }
    let (runner, hints, key) = (Arc::clone(runner), Arc::clone(hints), key.clone());
    drop(tokio::spawn(async move {
        let mut came = Some(Instant::now());
        while let Some(at) = came {
            look(&runner, &key, &hint, Why::Hinted(at)).await;
            // Only now, so that what was read is there for the others.
            if let Err(fault) = runner.store.pass_on(hint.clone()).await {
                tracing::debug!(project = %hint.project, %fault, "a hint was not passed on");
            }
            tokio::time::sleep(PAUSE).await;
            came = hints.again(hint.project);
        }
    }));
}

/// Follows hints that reached other processes, until dropped.
pub async fn follow_hints(runner: Arc<Runner>, key: V1Key, mut passed_on: Receiver<Hint>) {
    let hints = Arc::new(Hints::default());
    while let Some(hint) = passed_on.recv().await {
        if scopes(&runner, &hint).is_empty() || !hints.begin(hint.project) {
            continue;
        }
        let (runner, hints, key) = (Arc::clone(&runner), Arc::clone(&hints), key.clone());
        drop(tokio::spawn(async move {
            loop {
                look(&runner, &key, &hint, Why::PassedOn).await;
                tokio::time::sleep(PAUSE).await;
                if hints.again(hint.project).is_none() {
                    return;
                }
            }
        }));
    }
}

/// Lists of the project that somebody has asked for lately: those of others are asked for anew before they are used.
fn scopes(runner: &Runner, hint: &Hint) -> Vec<Scope> {
    let lately = runner.indexes.settings().freshness.max(IN_USE);
    let hinted = |scope: &Scope| scope.project == hint.project && *scope.workspace == *hint.workspace;
    runner.indexes.in_use(lately, hinted)
}

async fn look(runner: &Runner, key: &V1Key, hint: &Hint, why: Why) {
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
        assert!(hints.begin(project));
        assert!((0..1000).all(|_| !hints.begin(project)));
        let all = Instant::now();
        let came = hints.again(project).expect("what came meanwhile is looked at once");
        assert!(came <= all, "and by what is read after the last of it");
        assert!(hints.again(project).is_none());
        assert!(hints.begin(project), "and then it begins anew");
    }
}
