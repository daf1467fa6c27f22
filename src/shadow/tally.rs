//! Results of comparisons since the last write, and since the process began.
//!
//! May use: `store`, `tally`, `units`, `usage` (which day it is), this folder.

use super::found::{Difference, Outcome};
use crate::store::{ShadowCount, ShadowDifference};
use crate::tally::Counter;
use crate::units::now_micros;
use crate::usage::today;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use strum::VariantArray;

/// Most differences in memory. While the store cannot be written, new differences beyond it are dropped, and only the
/// outcomes of their reads are counted.
const MOST: usize = 2_000;

/// Counts and differences of a process. Cheap to clone; all clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Tally(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    waiting: Mutex<PendingCounts>,
    all: [Counter; Outcome::VARIANTS.len()],
}

#[derive(Debug, Default)]
struct PendingCounts {
    counts: HashMap<(i64, Arc<str>, Outcome), i64>,
    differences: HashMap<(Arc<str>, Difference), Sightings>,
}

/// Number of sightings of a difference, and their times in microseconds since 1970.
#[derive(Debug, Clone, Copy)]
struct Sightings {
    requests: i64,
    first: i64,
    last: i64,
}

impl Tally {
    /// Counts the outcome for a read of an operation, and adds its differences.
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
                    waiting.differences.insert(key, Sightings { requests: 1, first: now, last: now });
                }
                None => {}
            }
        }
    }

    /// Returns the counts of all comparisons of the process, by outcome.
    pub fn figures(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Outcome::VARIANTS.iter().zip(&self.0.all).map(|(outcome, count)| (outcome.name(), count.get()))
    }

    /// Removes and returns everything that is not written yet.
    pub(super) fn take(&self) -> (Vec<ShadowCount>, Vec<ShadowDifference>) {
        let PendingCounts { counts, differences } = std::mem::take(&mut *self.0.waiting.lock());
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
