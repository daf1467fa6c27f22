//! What one process knows of a bucket that several fill: what Redis said last, and what was let through since.
//!
//! As long as much is left, a process lets requests through on credit, a part of what is left, and charges them
//! afterwards; the less is left, the smaller the part, and in the end every request is asked for. Nothing is set aside,
//! so nobody is refused while another process holds what it does not need. Requests let through beyond the limit are
//! charged all the same, so that over any longer time the limit is exact. May use: `units`.

use crate::units::micros;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// How long the last word of Redis is believed without a doubt.
const BELIEVED: Duration = Duration::from_millis(150);
/// How long it is believed a little.
const DOUBTED: Duration = Duration::from_secs(1);
/// The part of what is left that goes on credit.
const PART: i64 = 4;
/// The part of all slots that goes on credit when it is doubted.
const DOUBTED_PART: i64 = 100;

/// How many slots a bucket has and how they come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub slots: i64,
    /// Microseconds for one slot to come back.
    pub interval: i64,
}

/// What is left of a bucket, or the time until something is.
pub(super) type Granted = Result<u32, Duration>;

/// What comes of a request.
pub(super) enum Taken {
    /// It is let through; so much is left then.
    Go(u32),
    /// It is refused; the next slot is free after this.
    Refused(Duration),
    /// Redis has to be asked.
    Ask,
}

#[derive(Debug)]
pub(super) struct Account {
    pub shape: Shape,
    /// Microseconds until the bucket was full, when that was heard; none when nothing is known.
    heard: Option<(i64, Instant)>,
    /// Let through and not charged yet, and on its way to be.
    owed: i64,
    charging: i64,
    /// Who waits to be told.
    pub waiting: Vec<oneshot::Sender<Option<Granted>>>,
    pub used: Instant,
    /// Whether it stands in the line of those that have something to tell or to ask.
    pub queued: bool,
}

impl Account {
    pub fn new(shape: Shape, now: Instant) -> Self {
        Self { shape, heard: None, owed: 0, charging: 0, waiting: Vec::new(), used: now, queued: false }
    }

    /// Microseconds until the bucket is full, as far as is known.
    fn debt(&self, heard: i64, at: Instant, now: Instant) -> i64 {
        let passed = micros(now.saturating_duration_since(at));
        (heard - passed).max(0) + (self.owed + self.charging) * self.shape.interval
    }

    pub fn take(&mut self, now: Instant) -> Taken {
        self.used = now;
        let Some((heard, at)) = self.heard else { return Taken::Ask };
        let debt = self.debt(heard, at, now);
        match self.shape.left(debt) {
            Err(wait) => Taken::Refused(wait),
            Ok(left) if self.owed + self.charging < self.credit(left.into(), at, now) => {
                self.owed += 1;
                Taken::Go(left - 1)
            }
            Ok(_) => Taken::Ask,
        }
    }

    fn credit(&self, left: i64, at: Instant, now: Instant) -> i64 {
        // The slots owed already are part of what was left when it was heard.
        let part = (left + self.owed + self.charging) / PART;
        match now.saturating_duration_since(at) {
            age if age <= BELIEVED => part,
            age if age <= DOUBTED => part.min(self.shape.slots / DOUBTED_PART),
            _ => 0,
        }
    }

    /// Whether it is time to tell Redis: somebody waits, or most of the credit is used.
    pub fn is_urgent(&self, now: Instant) -> bool {
        let Some((heard, at)) = self.heard else { return true };
        let Ok(left) = self.shape.left(self.debt(heard, at, now)) else { return !self.waiting.is_empty() };
        !self.waiting.is_empty() || (now - at <= BELIEVED && self.owed * 4 >= self.credit(left.into(), at, now) * 3)
    }

    /// What is to be charged now, and how many wait.
    pub fn charge(&mut self) -> (i64, i64) {
        self.queued = false;
        self.charging = std::mem::take(&mut self.owed);
        (self.charging, i64::try_from(self.waiting.len()).unwrap_or(i64::MAX))
    }

    /// Redis has charged, granted so many of those who `waited`, and says in how many microseconds the bucket is full.
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

    /// Redis is away: nothing is known any more.
    pub fn lost(&mut self) {
        (self.heard, self.owed, self.charging) = (None, 0, 0);
    }
}

impl Shape {
    /// `limit` requests a minute.
    pub fn of(limit: u32) -> Self {
        Self { slots: limit.into(), interval: 60_000_000 / i64::from(limit.max(1)) }
    }

    /// What is left when the bucket is full in `debt` microseconds, or the time to the next slot.
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
        (0..10_000).take_while(|_| matches!(account.take(now), Taken::Go(_))).count()
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
    async fn what_is_old_is_believed_a_little_and_a_refusal_always() {
        let (mut account, now) = (account(600), Instant::now());
        account.heard(Vec::new(), 0, 0, now);
        assert_eq!(let_through(&mut account, now + Duration::from_millis(500)), 6);
        account.charge();
        account.heard(Vec::new(), 0, 0, now);
        assert_eq!(let_through(&mut account, now + Duration::from_secs(2)), 0);
        account.charge();
        account.heard(Vec::new(), 0, 60 * SECOND, now);
        let later = now + Duration::from_millis(99);
        assert!(matches!(account.take(later), Taken::Refused(wait) if wait == Duration::from_millis(1)));
        assert!(matches!(account.take(now + Duration::from_millis(100)), Taken::Ask));
    }

    #[tokio::test(start_paused = true)]
    async fn small_limits_have_no_credit() {
        let (mut account, now) = (account(3), Instant::now());
        account.heard(Vec::new(), 0, 0, now);
        assert!(matches!(account.take(now), Taken::Ask));
        assert!(matches!(account.take(now + Duration::from_secs(9)), Taken::Ask));
    }
}
