//! Hints of v1 that reached one process, passed on to the other processes.
//!
//! No process waits for a hint or confirms it: a process that misses one is as current as without hints. Hints have a
//! channel of their own, so that processes of older versions never receive them.
//!
//! May use: `engine`, `error`, `rows`, `service`, this folder.

use super::super::engine::Kind;
use super::super::error::StoreError;
use super::super::rows::query;
use super::super::service::Store;
use super::note::{HINTS, Hint, PassedOn};
use super::state::Peers;
use tokio::sync::mpsc::{Receiver, channel};

/// Number of hints that may wait to be followed; further hints are dropped.
const WAITING: usize = 1_000;

impl Store {
    /// Passes a hint on to all other gateway processes on this store, if there are any.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be used; then no process receives the hint.
    pub async fn pass_on(&self, hint: Hint) -> Result<(), StoreError> {
        let engine = &self.engine;
        if engine.kind() == Kind::Sqlite || engine.peers.count() < 2 {
            return Ok(());
        }
        let text = serde_json::to_string(&PassedOn { from: engine.peers.me, hint }).unwrap_or_default();
        let sending = query("SELECT pg_notify($1, $2)::text", &[&HINTS, &text]).fetch_one(engine.pool());
        engine.unless_unavailable(sending).await?;
        Ok(())
    }

    /// Returns the hints that other processes pass on from now on; an earlier receiver gets no more.
    pub fn passed_on(&self) -> Receiver<Hint> {
        let (sender, receiver) = channel(WAITING);
        *self.engine.peers.hints.lock() = Some(sender);
        receiver
    }
}

impl Peers {
    /// Handles a hint that a process has passed on.
    pub(super) fn hinted(&self, text: &str) {
        let Ok(PassedOn { from, hint }) = serde_json::from_str(text) else { return };
        if from != self.me
            && let Some(hints) = &*self.hints.lock()
        {
            // A hint without room or without a receiver is dropped.
            let _ = hints.try_send(hint);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fresh::Changes;
    use uuid::Uuid;

    #[test]
    fn hints_of_other_processes_are_followed_and_what_is_no_hint_is_not() {
        let peers = Peers::new(&Changes::default());
        let hint = Hint { workspace: "acme".into(), project: Uuid::from_u128(7) };
        let sent = |from| serde_json::to_string(&PassedOn { from, hint: hint.clone() }).expect("a text");
        let (sender, mut receiver) = channel(1);
        peers.hinted(&sent(Uuid::from_u128(2)));
        *peers.hints.lock() = Some(sender);
        peers.hinted(&sent(peers.me));
        peers.hinted("{}");
        assert!(receiver.try_recv().is_err());
        peers.hinted(&sent(Uuid::from_u128(2)));
        peers.hinted(&sent(Uuid::from_u128(3)));
        assert_eq!(receiver.try_recv().ok(), Some(hint), "and one that found no room is left out");
        assert!(receiver.try_recv().is_err());
    }
}
