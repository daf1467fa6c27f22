//! The other gateway processes, as far as Redis or the store knows them: their number, their parts of v1's quota, and
//! the limits of v1 that they have measured.
//!
//! Each process publishes two facts with every renewal of its lease (so that they cost no statement): whether its use
//! of v1's quota is in the table of parts, and how many concurrent calls v1 takes by its measurement. May use:
//! `shared`, `store`, `task`, `v1`; it is composition.

use crate::shared::Shared;
use crate::store::Store;
use crate::task::spawn;
use crate::v1::budget::{Change, Members, Seen};
use crate::v1::{Client, Ledger, Measured, Processes};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use uuid::Uuid;

/// Time between two reads of the other processes' measurements.
const LOOK: Duration = Duration::from_millis(400);

/// The processes of the deployment.
#[derive(Debug)]
pub(super) struct Peers {
    shared: Option<Shared>,
    store: OnceLock<Store>,
    word: Mutex<Word>,
}

/// The facts that a process publishes.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Word {
    /// Whether its use of v1's quota is in the table of parts.
    #[serde(default)]
    divides: bool,
    #[serde(default)]
    calls: Option<Measured>,
}

impl Word {
    /// Parses the published facts. A text of another version that cannot be read counts as empty.
    fn read(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }
}

impl Peers {
    pub(super) fn new(shared: Option<Shared>) -> Self {
        Self { shared, store: OnceLock::new(), word: Mutex::default() }
    }

    /// Starts to use the store as well. v1's quota and the number of its concurrent calls are then divided among the
    /// processes that share the store.
    pub(super) fn know(self: &Arc<Self>, store: Store, client: &Client) {
        if self.store.set(store.clone()).is_ok() && store.is_for_many() {
            client.budget.divide(Arc::clone(self) as _);
            spawn(share_limit(Arc::downgrade(self), client.clone()));
        }
    }

    fn words(&self) -> Option<HashMap<Uuid, Option<String>>> {
        self.store.get()?.words()
    }

    fn say(&self, change: impl FnOnce(&mut Word)) {
        let Some(store) = self.store.get() else { return };
        let mut word = self.word.lock();
        let before = *word;
        change(&mut word);
        if *word != before {
            store.say(serde_json::to_string(&*word).unwrap_or_default());
        }
    }
}

impl Processes for Peers {
    fn processes(&self) -> usize {
        let by_redis = self.shared.as_ref().map_or(1, Shared::processes);
        by_redis.max(self.store.get().map_or(1, Store::processes))
    }
}

impl Ledger for Peers {
    fn me(&self) -> Uuid {
        self.store.get().map(Store::me).unwrap_or_default()
    }

    fn members(&self) -> Option<Members> {
        let (words, me) = (self.words()?, Ledger::me(self));
        let others = || words.iter().filter(|(id, _)| **id != me).map(|(_, word)| word.as_deref());
        Some(Members {
            all_know: others().all(|word| word.is_some()),
            all_divide: others().all(|word| word.is_some_and(|word| Word::read(word).divides)),
            living: words.keys().copied().collect(),
        })
    }

    fn mark(&self, divides: bool) {
        self.say(|word| word.divides = divides);
    }

    fn exchange(
        &self,
        changes: Vec<Change>,
        since: i64,
    ) -> Pin<Box<dyn Future<Output = Option<Seen>> + Send + '_>> {
        Box::pin(async move {
            let exchanged = self.store.get()?.exchange_parts(&changes, since).await;
            exchanged
                .inspect_err(|fault| tracing::debug!(%fault, "the parts of v1's quota could not be exchanged"))
                .ok()
        })
    }
}

/// Publishes this process's measurement of v1 and reads those of the others, as long as the process lives.
async fn share_limit(peers: std::sync::Weak<Peers>, client: Client) {
    loop {
        tokio::time::sleep(LOOK).await;
        let Some(peers) = peers.upgrade() else { return };
        let me = Ledger::me(&*peers);
        if let Some(words) = peers.words() {
            let others = words.into_iter().filter(|(id, _)| *id != me);
            let found = others.filter_map(|(_, word)| Word::read(&word?).calls);
            client.concurrency.hear(found.collect());
        }
        let found = client.concurrency.measured();
        peers.say(|word| word.calls = Some(found));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_other_versions_say_what_is_known_of_them() {
        let word = Word { divides: true, calls: Some(Measured { limit: 12.5, wants: 3 }) };
        assert_eq!(Word::read(&serde_json::to_string(&word).expect("a text")), word);
        assert_eq!(Word::read(r#"{"divides":true,"something":1}"#), Word { divides: true, calls: None });
        assert_eq!(Word::read(""), Word::default());
    }
}
