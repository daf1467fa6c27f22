//! Writes the results of comparisons into the store, some time after they were made.
//!
//! A batch is added once. When it is not known whether the store has it, it is sent again with the same number, and the
//! store adds each number only once.
//!
//! May use: `store`, this folder.

use super::tally::Tally;
use crate::store::{ShadowCount, ShadowDifference, Store, StoreError};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use uuid::Uuid;

/// Writer of the results of a process.
pub struct Writer {
    tally: Tally,
    store: Store,
    process: Uuid,
    /// Time between two writes.
    flush: Duration,
    /// Number of days for which counts are kept.
    days: i64,
    /// Most differences that are kept.
    keep: AtomicI64,
    open: tokio::sync::Mutex<Open>,
}

impl Writer {
    /// Creates the writer of `tally` into `store`, which writes every `flush` and keeps counts for `days`.
    pub fn new(tally: Tally, store: Store, flush: Duration, days: i64) -> Self {
        let keep = AtomicI64::new(i64::MAX);
        Self { tally, store, process: Uuid::new_v4(), flush, days, keep, open: tokio::sync::Mutex::default() }
    }

    /// Sets how many differences are kept at most.
    pub fn keep(&self, differences: usize) {
        self.keep.store(i64::try_from(differences).unwrap_or(i64::MAX), Ordering::Relaxed);
    }

    pub async fn run(&self) {
        let mut failing = false;
        loop {
            tokio::time::sleep(self.flush).await;
            let outcome = self.write().await;
            if let (false, Err(fault)) = (failing, &outcome) {
                tracing::warn!(%fault, "the results of comparing answers could not be written; they wait in memory");
            }
            failing = outcome.is_err();
        }
    }

    /// Writes the results since the last write. Nothing is lost when the store cannot be written.
    pub async fn write(&self) -> Result<(), StoreError> {
        let mut open = self.open.lock().await;
        // A batch left open by an earlier write is first written again, alone and with its number.
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

/// A batch that is being sent, or whose arrival is not known.
#[derive(Default)]
struct Open {
    number: i64,
    counts: Vec<ShadowCount>,
    differences: Vec<ShadowDifference>,
}
