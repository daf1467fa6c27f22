//! The time until which this process may answer from memory, and the time since which the database does not respond.
//!
//! May use: nothing of this crate.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Duration of a lease, from the moment when its renewal was begun.
pub(super) const LEASE: Duration = Duration::from_secs(2);
/// Time by which the lease is shorter here than in the database, because two clocks may run at different speeds.
const MARGIN: Duration = Duration::from_millis(50);

/// The lease of this process, and the state of the database connection.
#[derive(Debug)]
pub(in crate::store) struct Lease {
    /// Origin of the time below.
    origin: Instant,
    /// End of the lease in microseconds after `origin`; 0 for no lease.
    until: AtomicU64,
    /// Number of changes between responding and not responding; odd while the database does not respond.
    turns: AtomicU64,
    /// Time since which nothing is known of the database.
    since: Mutex<Option<Instant>>,
    /// Tells callers that wait for the database whether it is away.
    told: watch::Sender<bool>,
}

impl Default for Lease {
    fn default() -> Self {
        Self {
            origin: Instant::now(),
            until: AtomicU64::new(0),
            turns: AtomicU64::new(0),
            since: Mutex::new(None),
            told: watch::Sender::new(false),
        }
    }
}

impl Lease {
    /// Checks whether this process has its lease now.
    pub fn is_held(&self) -> bool {
        let until = self.until.load(Ordering::Acquire);
        until > 0 && self.origin.elapsed() < Duration::from_micros(until)
    }

    /// Extends the lease: a renewal that was begun at `begun` has come back.
    pub fn renewed(&self, begun: Instant) {
        let until = (begun + LEASE - MARGIN).saturating_duration_since(self.origin);
        self.until.fetch_max(until.as_micros() as u64, Ordering::AcqRel);
        self.back();
    }

    /// Ends the lease, because notes may have been missed.
    pub fn lost(&self) {
        let until = self.until.swap(0, Ordering::AcqRel);
        if until > 0 {
            // Everything was known until now, or until the end of the lease if that was earlier.
            let end = self.origin + Duration::from_micros(until);
            self.since.lock().get_or_insert(end.min(Instant::now()));
        }
    }

    /// Marks the database as not responding. Returns whether that is new.
    pub fn gone(&self) -> bool {
        self.since.lock().get_or_insert_with(Instant::now);
        let new = self.turns_to(true);
        self.told.send_replace(true);
        new
    }

    /// Marks the database as responding. Returns whether it did not respond before.
    pub fn back(&self) -> bool {
        if !self.is_away() && self.since.lock().is_none() {
            return false;
        }
        *self.since.lock() = None;
        let was_away = self.turns_to(false);
        self.told.send_replace(false);
        was_away
    }

    /// Sets the state; returns whether it was different before.
    fn turns_to(&self, away: bool) -> bool {
        let next = |turns| (is_odd(turns) != away).then_some(turns + 1);
        self.turns.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).is_ok()
    }

    /// Returns the number of times that the database was found not to respond.
    pub fn outages(&self) -> u64 {
        self.turns.load(Ordering::Acquire).div_ceil(2)
    }

    /// Checks whether the database does not respond.
    pub fn is_away(&self) -> bool {
        is_odd(self.turns.load(Ordering::Acquire))
    }

    /// Returns the time up to which everything was known, while the database does not respond.
    pub fn away_since(&self) -> Option<Instant> {
        if !self.is_away() {
            return None;
        }
        *self.since.lock()
    }

    /// Completes when the database is found not to respond.
    pub async fn until_away(&self) {
        let mut told = self.told.subscribe();
        if told.wait_for(|away| *away).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

fn is_odd(number: u64) -> bool {
    number & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_counts_from_before_its_renewal() {
        let lease = Lease::default();
        assert!(!lease.is_held(), "none was ever given");
        lease.renewed(Instant::now());
        assert!(lease.is_held());
        lease.lost();
        assert!(!lease.is_held(), "notes may have been missed");
        let long_ago = Instant::now().checked_sub(LEASE).expect("a machine that runs for two seconds");
        lease.renewed(long_ago);
        assert!(!lease.is_held(), "its note took as long to come back as the lease lasts");
    }

    #[tokio::test]
    async fn trouble_is_told_once_and_has_a_beginning() {
        let lease = Lease::default();
        lease.renewed(Instant::now());
        lease.lost();
        assert_eq!(lease.away_since(), None, "a lease alone may be lost");
        assert!(lease.gone() && !lease.gone());
        lease.until_away().await;
        assert!(lease.away_since().is_some_and(|since| since <= Instant::now()));
        assert!(lease.back() && !lease.back());
        assert_eq!((lease.away_since(), lease.outages()), (None, 1));
    }

    /// A caller that finds the database there before and away afterwards must see a new outage in between.
    #[test]
    fn no_outage_begins_unnoticed() {
        let lease = Lease::default();
        let end = Instant::now() + Duration::from_millis(500);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while Instant::now() < end {
                    lease.gone();
                    lease.back();
                }
            });
            while Instant::now() < end {
                let (outages, was_away) = (lease.outages(), lease.is_away());
                let is_away = lease.is_away();
                assert!(was_away || !is_away || lease.outages() > outages);
            }
        });
    }
}
