//! Indices brought up to date because v1 has hinted that their projects were touched.
//!
//! At most once a second for each project, however many hints there are; one that comes within that second is followed
//! when it is over. An index that nobody has asked for is not built. May use: what `run` may use.

use super::ahead::renew;
use crate::run::runner::Runner;
use crate::v1::V1Key;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

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
