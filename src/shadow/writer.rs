//! Who brings what has come of comparisons into the store, some time after they were made.
//!
//! A batch is written once: when it is not known whether it was, it is sent again under the same number, and the store
//! adds no number twice.
//!
//! May use: `store`, this folder.

use super::tally::Tally;
use crate::store::{ShadowCount, ShadowDifference, Store, StoreError};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use uuid::Uuid;

/// Writes what a process has compared.
pub struct Writer {
    tally: Tally,
    store: Store,
    process: Uuid,
    /// Time from one write to the next.
    flush: Duration,
    /// For how many days counts are kept.
    days: i64,
    /// Most differences that are kept.
    keep: AtomicI64,
    open: tokio::sync::Mutex<Open>,
}

impl Writer {
    /// Of `tally`, into `store` every `flush`; counts are kept for `days`.
    pub fn new(tally: Tally, store: Store, flush: Duration, days: i64) -> Self {
        let keep = AtomicI64::new(i64::MAX);
        Self { tally, store, process: Uuid::new_v4(), flush, days, keep, open: tokio::sync::Mutex::default() }
    }

    /// From now on so many differences are kept at most.
    pub fn keep(&self, differences: usize) {
        self.keep.store(i64::try_from(differences).unwrap_or(i64::MAX), Ordering::Relaxed);
    }

    pub async fn run(&self) {
        let mut failing = false;
        loop {
            tokio::time::sleep(self.flush).await;
            let outcome = self.write().await;
            if let (false, Err(fault)) = (failing, &outcome) {
                tracing::warn!(%fault, "what came of comparing answers could not be written; it waits in memory");
            }
            failing = outcome.is_err();
        }
    }

    /// Writes what was found since the last time; nothing is lost when the store cannot be written.
    pub async fn write(&self) -> Result<(), StoreError> {
        let mut open = self.open.lock().await;
        // A batch that an earlier write has left open is written again under its number, and nothing else with it.
        self.send(&mut open).await?;
        (open.counts, open.differences) = self.tally.take();
        open.number += 1;
        self.send(&mut open).await
    }

    async fn send(&self, open: &mut Open) -> Result<(), StoreError> {
        if open.counts.is_empty() {
            return Ok(());
        }
        let bounds = (self.keep.load(Ordering::Relaxed), self.days);
        self.store.add_shadow((self.process, open.number), &open.counts, &open.differences, bounds).await?;
        open.counts.clear();
        open.differences.clear();
        Ok(())
    }
}

/// A batch that is on its way, or of which it is not known whether it arrived.
#[derive(Default)]
struct Open {
    number: i64,
    counts: Vec<ShadowCount>,
    differences: Vec<ShadowDifference>,
}
