//! What has come of comparisons since the last write, and since the process began; and who brings it into the store,
//! some time after it was made.
//!
//! A batch is written once: when it is not known whether it was, it is sent again under the same number, and the store
//! adds no number twice.
//!
//! May use: `store`, `tally`, `units`, `usage` (which day it is), this folder.

use super::found::{Difference, Outcome};
use crate::store::{ShadowCount, ShadowDifference, Store, StoreError};
use crate::tally::Counter;
use crate::units::now_micros;
use crate::usage::today;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use strum::VariantArray;
use uuid::Uuid;

/// Most differences that wait to be written; while the store cannot be written, further ones are counted alone.
const MOST: usize = 2_000;

/// Counts and differences of a process; cheap to clone, all clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Tally(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    waiting: Mutex<Waiting>,
    all: [Counter; Outcome::VARIANTS.len()],
}

#[derive(Debug, Default)]
struct Waiting {
    counts: HashMap<(i64, Arc<str>, Outcome), i64>,
    differences: HashMap<(Arc<str>, Difference), Seen>,
}

/// How often a difference was seen, and when, in microseconds since 1970.
#[derive(Debug, Clone, Copy)]
struct Seen {
    requests: i64,
    first: i64,
    last: i64,
}

impl Tally {
    /// Counts what came of a read of an operation, with the differences that were found.
    pub fn add(&self, operation: &Arc<str>, outcome: Outcome, differences: Vec<Difference>) {
        self.0.all[outcome as usize].add(1);
        let mut waiting = self.0.waiting.lock();
        *waiting.counts.entry((today().into(), Arc::clone(operation), outcome)).or_default() += 1;
        let now = now_micros();
        for difference in differences {
            let key = (Arc::clone(operation), difference);
            let room = waiting.differences.len() < MOST;
            match waiting.differences.get_mut(&key) {
                Some(seen) => {
                    seen.requests += 1;
                    seen.last = now;
                }
                None if room => {
                    waiting.differences.insert(key, Seen { requests: 1, first: now, last: now });
                }
                None => {}
            }
        }
    }

    /// What has come of all comparisons of the process, by outcome.
    pub fn figures(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Outcome::VARIANTS.iter().zip(&self.0.all).map(|(outcome, count)| (outcome.name(), count.get()))
    }

    /// Takes what waits to be written.
    pub(super) fn take(&self) -> (Vec<ShadowCount>, Vec<ShadowDifference>) {
        let Waiting { counts, differences } = std::mem::take(&mut *self.0.waiting.lock());
        let counts = counts.into_iter().map(|((day, operation, outcome), requests)| ShadowCount {
            day,
            operation: operation.to_string(),
            outcome: outcome.name().into(),
            requests,
        });
        let differences = differences.into_iter().map(|((operation, found), seen)| ShadowDifference {
            operation: operation.to_string(),
            place: found.place,
            ours: found.ours,
            theirs: found.theirs,
            requests: seen.requests,
            first_at: seen.first,
            last_at: seen.last,
        });
        (counts.collect(), differences.collect())
    }
}

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

/// A batch that is on its way, or of which it is not known whether it arrived.
#[derive(Default)]
struct Open {
    number: i64,
    counts: Vec<ShadowCount>,
    differences: Vec<ShadowDifference>,
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
