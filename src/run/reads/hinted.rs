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

/// Projects that are being looked at for a hint, and what has come meanwhile.
#[derive(Debug, Default)]
pub struct Hints(Mutex<HashMap<Uuid, Option<Why>>>);

impl Hints {
    /// A hint has come now. Whether nobody looks at the project yet.
    fn begin(&self, project: Uuid, why: Why) -> bool {
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

    /// The last hint that has come since the last look; without any the looking ends.
    fn again(&self, project: Uuid) -> Option<Why> {
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
    if runner.store.is_for_many() || !scopes(runner, &hint).is_empty() {
        keep_looking(runner, hints, key, hint, Why::Hinted(Instant::now()));
    }
}

/// Follows hints that reached other processes, until dropped.
pub async fn follow_hints(runner: Arc<Runner>, key: V1Key, mut passed_on: Receiver<Hint>) {
    let hints = Arc::new(Hints::default());
    while let Some(hint) = passed_on.recv().await {
        if !scopes(&runner, &hint).is_empty() {
            keep_looking(&runner, &hints, &key, hint, Why::PassedOn);
        }
    }
}

/// Looks now and then once a second, as long as hints come; nothing where somebody does so already.
fn keep_looking(runner: &Arc<Runner>, hints: &Arc<Hints>, key: &V1Key, hint: Hint, why: Why) {
    if !hints.begin(hint.project, why) {
        return;
    }
    let (runner, hints, key) = (Arc::clone(runner), Arc::clone(hints), key.clone());
    drop(tokio::spawn(async move {
        let mut next = Some(why);
        while let Some(why) = next {
            look(&runner, &key, &hint, why).await;
            // Only now, so that what was read is there for the others.
            if matches!(why, Why::Hinted(_))
                && let Err(fault) = runner.store.pass_on(hint.clone()).await
            {
                tracing::debug!(project = %hint.project, %fault, "a hint was not passed on");
            }
            tokio::time::sleep(PAUSE).await;
            next = hints.again(hint.project);
        }
    }));
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
        let comes = || hints.begin(project, Why::Hinted(Instant::now()));
        assert!(comes());
        assert!((0..1000).all(|_| !comes()));
        let all = Instant::now();
        let Some(Why::Hinted(came)) = hints.again(project) else { panic!("what came meanwhile is looked at once") };
        assert!(came <= all, "and by what is read after the last of it");
        assert!(hints.again(project).is_none());
        assert!(comes(), "and then it begins anew");
    }
}
