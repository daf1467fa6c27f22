//! The state of a shared bucket in one process: the last report of Redis, and the requests let through since then.
//!
//! While much is left, a process lets requests through on credit and charges them afterwards. The credit is a part of
//! the slots that are left: the fewer are left, the smaller the credit, and in the end Redis is asked for every
//! request. No slots are reserved, so no request is refused because another process holds slots that it does not need.
//! Requests let through beyond the limit are charged too, so over a longer time the limit is exact. May use: `units`.

use crate::units::micros;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// Time for which the last report of Redis is trusted fully.
const BELIEVED: Duration = Duration::from_millis(150);
/// Time for which it is trusted in part.
const DOUBTED: Duration = Duration::from_secs(1);
/// Divisor: the credit is the number of slots left divided by this.
const PART: i64 = 4;
/// Divisor: while the report is trusted in part, the credit is at most the number of all slots divided by this.
const DOUBTED_PART: i64 = 100;

/// Number of slots of a bucket, and the time in which one comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub slots: i64,
    /// Microseconds for one slot to come back.
    pub interval: i64,
}

/// Number of slots left in a bucket, or the time until one is free.
pub(super) type Granted = Result<u32, Duration>;

#[derive(Debug)]
pub(super) struct Account {
    pub shape: Shape,
    /// Microseconds until the bucket was full, and when Redis reported it; none when nothing is known.
    heard: Option<(i64, Instant)>,
    /// Requests let through and not charged yet; `charging` are those that are being charged now.
    owed: i64,
    charging: i64,
    /// The requests that wait for Redis.
    pub waiting: Vec<oneshot::Sender<Option<Granted>>>,
    pub used: Instant,
    /// Whether the account is in the queue of accounts with something to report or to ask.
    pub queued: bool,
}

impl Account {
    pub fn new(shape: Shape, now: Instant) -> Self {
        Self { shape, heard: None, owed: 0, charging: 0, waiting: Vec::new(), used: now, queued: false }
    }

    /// Sets the shape of the bucket, which a reload may have changed. Redis is asked anew then.
    pub fn reshape(&mut self, shape: Shape) {
        if self.shape != shape {
            (self.shape, self.heard) = (shape, None);
        }
    }

    /// Returns the microseconds until the bucket is full, as far as known.
    fn debt(&self, heard: i64, at: Instant, now: Instant) -> i64 {
        let passed = micros(now.saturating_duration_since(at));
        (heard - passed).max(0) + (self.owed + self.charging) * self.shape.interval
    }

    /// Takes a slot, or refuses one; none when Redis must be asked.
    pub fn take(&mut self, now: Instant) -> Option<Granted> {
        self.used = now;
        let (heard, at) = self.heard?;
        let debt = self.debt(heard, at, now);
        match self.shape.left(debt) {
            Err(wait) => Some(Err(wait)),
            Ok(left) if self.owed + self.charging < self.credit(left.into(), at, now) => {
                self.owed += 1;
                Some(Ok(left - 1))
            }
            Ok(_) => None,
        }
    }

    fn credit(&self, left: i64, at: Instant, now: Instant) -> i64 {
        // The slots owed already were part of the slots left at the last report.
        let part = (left + self.owed + self.charging) / PART;
        match now.saturating_duration_since(at) {
            age if age <= BELIEVED => part,
            age if age <= DOUBTED => part.min(self.shape.slots / DOUBTED_PART),
            _ => 0,
        }
    }

    /// Checks whether Redis must be told now: a request waits, or most of the credit is used.
    pub fn is_urgent(&self, now: Instant) -> bool {
        let Some((heard, at)) = self.heard else { return true };
        let Ok(left) = self.shape.left(self.debt(heard, at, now)) else { return !self.waiting.is_empty() };
        !self.waiting.is_empty() || (now - at <= BELIEVED && self.owed * 4 >= self.credit(left.into(), at, now) * 3)
    }

    /// Returns the number of slots to charge now, and the number of waiting requests.
    pub fn charge(&mut self) -> (i64, i64) {
        self.queued = false;
        self.charging = std::mem::take(&mut self.owed);
        (self.charging, i64::try_from(self.waiting.len()).unwrap_or(i64::MAX))
    }

    /// Takes in a report of Redis: the slots are charged, `granted` of the `waited` requests may go, and the bucket is
    /// full in `debt` microseconds.
    pub fn heard(&mut self, waited: Vec<oneshot::Sender<Option<Granted>>>, granted: i64, debt: i64, now: Instant) {
        self.charging = 0;
        self.heard = Some((debt, now));
        let left = self.shape.left(debt);
        for (place, waiter) in (0_i64..).zip(waited) {
            let _ = waiter.send(Some(match left {
                _ if place < granted => Ok(left.unwrap_or(0)),
                Err(wait) => Err(wait),
                Ok(_) => Err(Duration::from_micros(self.shape.interval.unsigned_abs())),
            }));
        }
    }

    /// Forgets everything: Redis is not reachable.
    pub fn lost(&mut self) {
        (self.heard, self.owed, self.charging) = (None, 0, 0);
    }
}

impl Shape {
    /// Returns the shape for `limit` requests a minute.
    pub fn of(limit: u32) -> Self {
        Self { slots: limit.into(), interval: 60_000_000 / i64::from(limit.max(1)) }
    }

    /// Returns the slots left when the bucket is full in `debt` microseconds, or the time to the next slot.
    fn left(self, debt: i64) -> Granted {
        let free = self.slots * self.interval - debt;
        match u32::try_from(free.div_euclid(self.interval)) {
            Ok(left) if left > 0 => Ok(left),
            _ => Err(Duration::from_micros((self.interval - free).unsigned_abs())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000;

    fn account(limit: u32) -> Account {
        Account::new(Shape::of(limit), Instant::now())
    }

    fn let_through(account: &mut Account, now: Instant) -> usize {
        (0..10_000).take_while(|_| matches!(account.take(now), Some(Ok(_)))).count()
    }

    #[tokio::test(start_paused = true)]
    async fn credit_is_a_part_of_what_is_left_and_none_at_the_end() {
        let (mut account, now) = (account(600), Instant::now());
        assert_eq!(let_through(&mut account, now), 0, "nothing is known");
        for (debt, expected) in [(0, 150), (30 * SECOND, 75), (58 * SECOND, 5), (59 * SECOND + 700_000, 0)] {
            account.charge();
            account.heard(Vec::new(), 0, debt, now);
            assert_eq!(let_through(&mut account, now), expected, "{debt}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn old_counts_are_used_briefly_and_refusals_always() {
        let (mut account, now) = (account(600), Instant::now());
        account.heard(Vec::new(), 0, 0, now);
        assert_eq!(let_through(&mut account, now + Duration::from_millis(500)), 6);
        account.charge();
        account.heard(Vec::new(), 0, 0, now);
        assert_eq!(let_through(&mut account, now + Duration::from_secs(2)), 0);
        account.charge();
        account.heard(Vec::new(), 0, 60 * SECOND, now);
        let later = now + Duration::from_millis(99);
        assert_eq!(account.take(later), Some(Err(Duration::from_millis(1))));
        assert_eq!(account.take(now + Duration::from_millis(100)), None);
    }

    #[tokio::test(start_paused = true)]
    async fn another_limit_counts_at_once_and_redis_is_asked_anew() {
        let (mut account, now) = (account(60), Instant::now());
        account.heard(Vec::new(), 0, 60 * SECOND, now);
        assert!(matches!(account.take(now), Some(Err(_))));
        account.reshape(Shape::of(60));
        assert!(matches!(account.take(now), Some(Err(_))), "nothing has changed");
        account.reshape(Shape::of(600));
        assert_eq!(account.take(now), None);
        account.heard(Vec::new(), 0, 0, now);
        assert_eq!(let_through(&mut account, now), 150);
    }

    #[tokio::test(start_paused = true)]
    async fn small_limits_have_no_credit() {
        let (mut account, now) = (account(3), Instant::now());
        account.heard(Vec::new(), 0, 0, now);
        assert_eq!(account.take(now), None);
        assert_eq!(account.take(now + Duration::from_secs(9)), None);
    }
}
