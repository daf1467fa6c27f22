//! Writes counts into the store some time after the calls, and learns the owners of v1 keys.
//!
//! A batch is written once: when the outcome of a write is unknown, the batch is sent again under the same number, and
//! the store adds no number twice. While the store cannot be written, the counts wait in memory, within bounds.
//! May use: `access`, `context`, `settings`, `store`, `v1`.

use super::counting::{Key, UnknownKeys, Usage, today};
use crate::access::Access;
use crate::context::{Context, Priority};
use crate::settings::UsageSettings;
use crate::store::{Store, StoreError, UsageBound, UsageRow};
use crate::v1::Budget;
use std::time::Duration;
use tokio::sync::Mutex;
use uuid::Uuid;

/// Time between two checks of the table's bounds.
const BOUNDS: Duration = Duration::from_secs(60);
/// Longest wait for the owner of a key.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause between two requests for owners.
const PAUSE: Duration = Duration::from_secs(1);
/// Calls that the quota must be able to spare before an owner is asked for.
const SPARE: usize = 10;

/// Writes the counts of a process.
pub struct Writer {
    usage: Usage,
    store: Store,
    settings: UsageSettings,
    process: Uuid,
    open: Mutex<Open>,
}

/// A batch that is being written, or whose write has an unknown outcome.
#[derive(Default)]
struct Open {
    number: i64,
    rows: Vec<UsageRow>,
}

impl Writer {
    pub fn new(usage: Usage, store: Store, settings: UsageSettings) -> Self {
        Self { usage, store, settings, process: Uuid::new_v4(), open: Mutex::default() }
    }

    pub async fn run(&self) {
        let mut bounded = tokio::time::Instant::now();
        let mut failing = false;
        loop {
            tokio::time::sleep(self.settings.flush).await;
            let outcome = self.write().await;
            if let (false, Err(fault)) = (failing, &outcome) {
                tracing::warn!(%fault, "counts of calls could not be written; they wait in memory");
            }
            failing = outcome.is_err();
            if !failing && bounded.elapsed() >= BOUNDS {
                bounded = tokio::time::Instant::now();
                self.bound().await;
            }
        }
    }

    /// Writes the counts since the last write; nothing is lost when the store cannot be written.
    pub async fn write(&self) -> Result<(), StoreError> {
        let mut open = self.open.lock().await;
        let inner = &self.usage.inner;
        let lost = inner.tally.lost();
        if lost > 0 {
            tracing::warn!(lost, "calls could not be counted: too many counts wait to be written");
        }
        // A batch left open by an earlier write is written again under its number, with nothing added.
        self.send(&mut open).await?;
        open.rows = self.taken();
        open.number += 1;
        self.send(&mut open).await?;
        let callers = inner.callers.changed();
        if !callers.is_empty()
            && let Err(fault) = self.store.name_usage_callers(&callers).await
        {
            inner.callers.not_written(&callers);
            return Err(fault);
        }
        Ok(())
    }

    async fn send(&self, open: &mut Open) -> Result<(), StoreError> {
        if !open.rows.is_empty() {
            self.store.add_usage(self.process, open.number, &open.rows).await?;
            open.rows.clear();
        }
        Ok(())
    }

    fn taken(&self) -> Vec<UsageRow> {
        let inner = &self.usage.inner;
        let row = |(key, calls): (Key, i64)| UsageRow {
            day: key.day.into(),
            operation: inner.names.name(key.operation),
            class: key.class.into(),
            caller: inner.callers.name(key.caller),
            client: inner.clients.name(key.client).to_string(),
            calls,
        };
        inner.tally.take().into_iter().map(row).collect()
    }

    async fn bound(&self) {
        let oldest = i64::from(today()) - self.settings.days as i64 + 1;
        match self.store.bound_usage(oldest, self.settings.rows as i64).await {
            Ok(bound) if bound.folded > 0 || bound.dropped > 0 => {
                tracing::warn!(folded = bound.folded, dropped = bound.dropped, "{}", told(&bound))
            }
            Ok(_) => {}
            Err(fault) => tracing::warn!(%fault, "the table of counts could not be kept within its bounds"),
        }
    }

    /// Learns the owners of v1 keys that pass through, only while the quota has calls left over.
    pub async fn learn(usage: Usage, mut keys: UnknownKeys, access: Access, budget: Budget) {
        while let Some((credential, key)) = keys.recv().await {
            if budget.spares(key.id(), Priority::Index, SPARE) {
                let ctx = Context::new("usage", PATIENCE).with_priority(Priority::Index);
                if let Ok(owner) = access.owner_of(&key, &ctx).await {
                    usage.owner(credential, &owner.display_name);
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Describes what was done to make room.
fn told(bound: &UsageBound) -> String {
    let UsageBound { folded, dropped, lost_calls, .. } = bound;
    let mut done = Vec::new();
    if *folded > 0 {
        done.push(format!("the least used rows ({folded}) are added up under `other`"));
    }
    if *dropped > 0 {
        done.push(format!("the oldest rows ({dropped}) are removed, and their calls ({lost_calls}) are lost"));
    }
    format!("the table of counts is full (usage.rows): {}", done.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_calls_are_told_in_words() {
        let bound = UsageBound { folded: 1200, ..UsageBound::default() };
        assert!(
            told(&bound).ends_with("the least used rows (1200) are added up under `other`"),
            "{}",
            told(&bound)
        );
        let bound = UsageBound { dropped: 801, lost_calls: 24_029, ..bound };
        assert!(
            told(&bound).ends_with("rows (801) are removed, and their calls (24029) are lost"),
            "{}",
            told(&bound)
        );
    }
}
