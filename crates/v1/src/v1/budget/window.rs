//! What of a quota is used in a sliding window, by our own count and by v1's.
//!
//! A call counts from the moment it is sent until a whole window after its answer has begun, because v1 counted
//! it at some moment in between: so v1 never counts more than this window does. May use: nothing of this crate.

use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// Calls a window that v1 allows one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quota {
    /// Any number.
    Unlimited,
    /// So many, whatever v1 says.
    Fixed(usize),
    /// So many, until v1's own figures show that it allows more.
    AtLeast(usize),
}

/// What an answer of v1 says about the quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Told {
    /// Status of the answer.
    pub status: u16,
    /// `X-RateLimit-Remaining`: requests left after this one.
    pub remaining: Option<usize>,
    /// Time until `X-RateLimit-Reset`.
    pub reset: Option<Duration>,
    /// `Retry-After` in seconds, sent with 429.
    pub retry_after: Option<u64>,
}

/// Whether v1 has counted a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    Yes,
    No,
    /// Nor does it take any for so long.
    Closed(Duration),
}

/// The most that v1 is believed to allow.
const MOST: usize = 1_000_000;

/// Requests that count.
#[derive(Debug, Clone, Copy)]
struct Requests {
    until: Instant,
    calls: usize,
    /// Known only from v1's figures.
    foreign: bool,
}

/// The window of one key.
#[derive(Debug)]
pub(super) struct Window {
    quota: usize,
    /// Whether v1's figures can show that the quota is larger.
    learns: bool,
    length: Duration,
    under_way: usize,
    /// By the moment they end to count; `counted_calls` is how many they are.
    counted: VecDeque<Requests>,
    counted_calls: usize,
    closed: Option<Instant>,
    /// Whether v1 sends its figures, so that an answer without them was not counted.
    tells: bool,
}

impl Window {
    pub(super) fn new(quota: Quota, length: Duration) -> Self {
        let (quota, learns) = match quota {
            Quota::Fixed(calls) => (calls, false),
            Quota::AtLeast(calls) => (calls, true),
            Quota::Unlimited => (usize::MAX, false),
        };
        let counted = VecDeque::new();
        Self { quota, learns, length, under_way: 0, counted, counted_calls: 0, closed: None, tells: false }
    }

    /// Calls in each window, as far as is known.
    pub(super) fn quota(&self) -> usize {
        self.quota
    }

    /// What v1's figures have shown it to allow; 0 where that is not believed.
    pub(super) fn learned(&self) -> usize {
        if self.learns { self.quota } else { 0 }
    }

    /// Another process has seen v1 allow so much. Tells whether that is more than was known.
    pub(super) fn learn(&mut self, quota: usize) -> bool {
        let more = self.learns && quota > self.quota;
        if more {
            self.quota = quota.min(MOST);
        }
        more
    }

    /// Forgets what no longer counts.
    pub(super) fn pass(&mut self, now: Instant) {
        while let Some(gone) = self.counted.front().filter(|counted| counted.until <= now) {
            self.counted_calls -= gone.calls;
            self.counted.pop_front();
        }
        self.closed = self.closed.filter(|until| *until > now);
    }

    /// Calls that count now.
    pub(super) fn used(&self) -> usize {
        self.under_way + self.counted_calls
    }

    /// Calls of our own that count now.
    pub(super) fn own(&self) -> usize {
        self.under_way
            + self.counted.iter().filter(|counted| !counted.foreign).map(|counted| counted.calls).sum::<usize>()
    }

    /// When `more` calls can be made by one who may use up to `share` by itself.
    pub(super) fn opens_for_own(&self, more: usize, share: usize, now: Instant) -> Instant {
        self.left((self.own() + more).saturating_sub(share), true, now)
    }

    /// Until when v1 has said that it takes nothing.
    pub(super) fn closed(&self) -> Option<Instant> {
        self.closed
    }

    /// When the last of `more` calls can be made by those who may use up to `share`.
    pub(super) fn opens(&self, more: usize, share: usize, now: Instant) -> Instant {
        if more > share {
            // Those who go before must first count no longer themselves.
            return self.opens(more - share, share, now) + self.length;
        }
        let opens = self.left((self.used() + more).saturating_sub(share), false, now);
        self.closed.map_or(opens, |closed| opens.max(closed))
    }

    /// When so many of what counts, or of our `own` calls, will count no longer.
    fn left(&self, leaving: usize, own: bool, now: Instant) -> Instant {
        if leaving == 0 {
            return now;
        }
        let mut gone = 0;
        let enough = self.counted.iter().filter(|counted| !(own && counted.foreign)).find(|counted| {
            gone += counted.calls;
            gone >= leaving
        });
        // Calls under way count for a whole window from their answer.
        enough.map_or(now + self.length, |counted| counted.until)
    }

    /// So many calls are sent, or will be for certain.
    pub(super) fn send(&mut self, calls: usize) {
        self.under_way += calls;
    }

    /// So many calls were not sent after all.
    pub(super) fn take_back(&mut self, calls: usize) {
        self.under_way = self.under_way.saturating_sub(calls);
    }

    /// A call ended in a way that may have counted.
    pub(super) fn lost(&mut self, now: Instant) {
        self.take_back(1);
        self.count(1, now + self.length, false);
    }

    /// A call was answered; tells whether v1 has counted it.
    pub(super) fn answered(&mut self, told: &Told, now: Instant) -> Counted {
        self.take_back(1);
        self.pass(now);
        self.tells |= told.remaining.is_some();
        if told.status == 429 {
            // v1 does not count what it refuses so (`throttle_limited_again`).
            // Nor does it take longer than its window; an answer that says so comes from a server before it and speaks
            // of something else.
            let wait = Duration::from_secs(told.retry_after.unwrap_or(1).max(1)).min(self.length);
            self.closed = self.closed.max(Some(now + wait));
            return Counted::Closed(wait);
        }
        let uncounted = matches!(told.status, 401 | 403) && self.tells && told.remaining.is_none();
        if uncounted {
            // Refused before the throttle (`throttle_forbidden_is_not_counted`).
            return Counted::No;
        }
        self.count(1, now + self.length, false);
        if let Some(remaining) = told.remaining {
            self.correct(remaining, told.reset, now);
        }
        Counted::Yes
    }

    fn count(&mut self, calls: usize, until: Instant, foreign: bool) {
        let at = self.counted.partition_point(|counted| counted.until <= until);
        self.counted.insert(at, Requests { until, calls, foreign });
        self.counted_calls += calls;
    }

    /// Makes room for what v1 has counted and we have not, or gives back what we believed it had.
    fn correct(&mut self, remaining: usize, reset: Option<Duration>, now: Instant) {
        if self.learns {
            // The request that was answered counts too. Nothing else does for certain: of what counts here v1 may
            // have forgotten some, so that counting it would let the quota creep upwards.
            self.quota = self.quota.max(remaining.saturating_add(1).min(MOST));
        }
        let left = self.quota.saturating_sub(self.used());
        let until = now + reset.filter(|reset| !reset.is_zero()).unwrap_or(self.length).min(self.length);
        if remaining < left {
            self.count(left - remaining, until, true);
        }
        // v1 may not have counted yet what is under way.
        let mut excess = remaining.saturating_sub(left + self.under_way);
        while excess > 0 {
            let Some(at) = self.counted.iter().rposition(|counted| counted.foreign) else { break };
            let back = excess.min(self.counted[at].calls);
            self.counted[at].calls -= back;
            self.counted_calls -= back;
            if self.counted[at].calls == 0 {
                self.counted.remove(at);
            }
            excess -= back;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: Duration = Duration::from_secs(60);

    fn told(remaining: usize) -> Told {
        Told { status: 200, remaining: Some(remaining), ..Told::default() }
    }

    fn call(window: &mut Window, told: &Told, now: Instant) {
        window.send(1);
        window.answered(told, now);
    }

    #[tokio::test]
    async fn a_call_counts_from_its_sending_to_a_window_after_its_answer() {
        let (mut window, begun) = (Window::new(Quota::Fixed(2), LENGTH), Instant::now());
        window.send(1);
        assert_eq!((window.used(), window.opens(1, 2, begun)), (1, begun));
        let answered = begun + Duration::from_secs(3);
        window.answered(&Told { status: 200, ..Told::default() }, answered);
        window.send(1);
        assert_eq!(window.opens(1, 2, answered), answered + LENGTH);
        assert_eq!(window.opens(1, 3, answered), answered);
        window.take_back(1);
        window.pass(answered + LENGTH - Duration::from_millis(1));
        assert_eq!(window.used(), 1);
        window.pass(answered + LENGTH);
        assert_eq!(window.used(), 0);
    }

    #[tokio::test]
    async fn what_others_spend_is_learned_from_v1_and_given_back_when_v1_says_so() {
        let (mut window, now) = (Window::new(Quota::Fixed(60), LENGTH), Instant::now());
        call(&mut window, &told(40), now);
        assert_eq!(window.used(), 20, "one own and nineteen of others");
        call(&mut window, &told(39), now);
        assert_eq!(window.used(), 21);
        call(&mut window, &told(50), now);
        assert_eq!(window.used(), 10, "v1's window has slid on");
        call(&mut window, &told(600_000), now);
        assert_eq!(window.used(), 4, "own calls count whatever v1 says");
    }

    #[tokio::test]
    async fn a_quota_that_nobody_has_set_grows_with_what_v1_shows_and_never_by_more() {
        let (mut window, now) = (Window::new(Quota::AtLeast(60), LENGTH), Instant::now());
        call(&mut window, &told(59), now);
        assert_eq!((window.quota(), window.used()), (60, 1));
        call(&mut window, &told(41), now);
        assert_eq!((window.quota(), window.used()), (60, 19), "less is what others have spent");
        // v1's window has slid on before ours: no more than this is certain.
        call(&mut window, &told(59), now);
        assert_eq!((window.quota(), window.used()), (60, 3));
        call(&mut window, &told(599_996), now);
        assert_eq!((window.quota(), window.used()), (599_997, 4));
        call(&mut window, &told(10), now);
        assert_eq!((window.quota(), window.used()), (599_997, 599_987), "taken off, not forgotten");
        call(&mut window, &told(599_994), now);
        assert_eq!((window.quota(), window.used()), (599_997, 6), "and given back");
        call(&mut window, &told(usize::MAX), now);
        assert_eq!(window.quota(), MOST);
    }

    #[tokio::test]
    async fn a_quota_that_was_set_is_a_ceiling() {
        let (mut window, now) = (Window::new(Quota::Fixed(30), LENGTH), Instant::now());
        call(&mut window, &told(59), now);
        assert_eq!((window.quota(), window.used()), (30, 1));
    }

    #[tokio::test]
    async fn what_others_spend_counts_until_the_reset_that_v1_names() {
        let (mut window, now) = (Window::new(Quota::Fixed(10), LENGTH), Instant::now());
        let soon = Told { reset: Some(Duration::from_secs(5)), ..told(0) };
        call(&mut window, &soon, now);
        assert_eq!(window.used(), 10);
        window.pass(now + Duration::from_secs(5));
        assert_eq!(window.used(), 1);
    }

    #[tokio::test]
    async fn a_429_never_closes_the_window_for_longer_than_a_window() {
        for said in [61, 86_400, u64::MAX] {
            let (mut window, now) = (Window::new(Quota::Fixed(2), LENGTH), Instant::now());
            call(&mut window, &Told { status: 429, retry_after: Some(said), ..Told::default() }, now);
            assert_eq!(window.opens(1, 2, now), now + LENGTH, "{said}");
        }
    }

    #[tokio::test]
    async fn a_429_closes_the_window_and_does_not_count() {
        let (mut window, now) = (Window::new(Quota::Fixed(60), LENGTH), Instant::now());
        call(&mut window, &Told { status: 429, retry_after: Some(7), ..Told::default() }, now);
        assert_eq!((window.used(), window.opens(1, 60, now)), (0, now + Duration::from_secs(7)));
        window.pass(now + Duration::from_secs(7));
        assert!(window.closed().is_none());
    }

    #[tokio::test]
    async fn refusals_before_the_throttle_do_not_count_where_v1_tells() {
        let (mut window, now) = (Window::new(Quota::Fixed(60), LENGTH), Instant::now());
        let refused = Told { status: 403, ..Told::default() };
        call(&mut window, &refused, now);
        assert_eq!(window.used(), 1, "v1 has never sent its figures: better counted");
        call(&mut window, &told(58), now);
        call(&mut window, &refused, now);
        assert_eq!(window.used(), 2);
    }
}
