//! Counters of the database that need not be read again, because nothing was written since they were read.
//!
//! A counter read after the last write of this process is current for a SQLite file, unless another program, such as
//! `causeway store sweep`, has written to the file. Every write changes the size or time of the log beside the file,
//! and a look at the log costs a microsecond. Times of files are coarse, so a counter is valid for at most a second.
//! With PostgreSQL other processes may write at any time, so no counter is known without a query. May use:
//! `store::file_log`.

use super::file_log::LogState;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Time for which a counter is valid.
const LASTING: Duration = Duration::from_secs(1);
/// Number of counters kept; when there are more, all are dropped and read again.
const MOST: usize = 100_000;

/// Counters by the record they belong to.
#[derive(Debug, Clone, Default)]
pub(super) struct Unchanged(Arc<Mutex<HashMap<Uuid, Counter>>>);

#[derive(Debug)]
struct Counter {
    value: i64,
    seen: LogState,
    at: Instant,
}

impl Unchanged {
    /// Returns the counter of `key` if nothing was written since it was read; the log is now as `seen`.
    pub(super) fn get(&self, key: Uuid, seen: LogState) -> Option<i64> {
        let counters = self.0.lock();
        let counter = counters.get(&key)?;
        (counter.seen == seen && counter.at.elapsed() < LASTING).then_some(counter.value)
    }

    /// Keeps the counter of `key`, which was read after the log was `seen` at the time `at`.
    pub(super) fn saw(&self, key: Uuid, value: i64, seen: LogState, at: Instant) {
        let mut counters = self.0.lock();
        if counters.len() >= MOST {
            counters.clear();
        }
        if counters.get(&key).is_none_or(|newer| newer.at <= at) {
            counters.insert(key, Counter { value, seen, at });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::file_log::{Log, Writes};

    #[test]
    fn a_counter_counts_until_something_was_written_and_for_a_second() {
        let (unchanged, writes, key) = (Unchanged::default(), Writes::default(), Uuid::nil());
        let (log, now) = (Log::of("sqlite::memory:"), Instant::now());
        assert_eq!(unchanged.get(key, log.look(&writes)), None);
        unchanged.saw(key, 3, log.look(&writes), now);
        assert_eq!(unchanged.get(key, log.look(&writes)), Some(3));
        assert_eq!(unchanged.get(Uuid::max(), log.look(&writes)), None);
        drop(writes.ending());
        assert_eq!(unchanged.get(key, log.look(&writes)), None);
        let before = now.checked_sub(LASTING).expect("the machine has run for a second");
        unchanged.saw(Uuid::max(), 4, log.look(&writes), before);
        assert_eq!(unchanged.get(Uuid::max(), log.look(&writes)), None);
    }

    #[test]
    fn a_read_that_began_before_a_write_ended_counts_for_nobody() {
        let (unchanged, writes, key) = (Unchanged::default(), Writes::default(), Uuid::nil());
        let log = Log::default();
        let (before, at) = (log.look(&writes), Instant::now());
        drop(writes.ending());
        unchanged.saw(key, 3, before, at);
        assert_eq!(unchanged.get(key, log.look(&writes)), None);
        unchanged.saw(key, 4, log.look(&writes), Instant::now());
        unchanged.saw(key, 3, before, at);
        assert_eq!(
            unchanged.get(key, log.look(&writes)),
            Some(4),
            "an older look does not take the place of a newer"
        );
    }

    #[test]
    fn writes_of_other_processes_to_the_file_are_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("store.db");
        let (log, writes) = (Log::of(&format!("sqlite://{}?mode=rwc", file.display())), Writes::default());
        let before = log.look(&writes);
        let place = folder.path().join("store.db-wal");
        std::fs::write(&place, "a frame").expect("a log");
        let written = log.look(&writes);
        assert_ne!(written, before);
        std::fs::remove_file(&place).expect("the last connection takes the log away");
        assert_eq!(log.look(&writes), before);
        std::fs::write(&place, "another frame").expect("another log");
        assert_ne!(log.look(&writes), before);
        std::fs::write(&place, "another frame, and one more").expect("the same log");
        assert_ne!(log.look(&writes), written);
    }
}
