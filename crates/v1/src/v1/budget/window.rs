//! The used calls of a quota in a sliding window, by our own count and by v1's.
//!
//! A call counts from its sending until a whole window after its answer has begun, because v1 counted
//! it at some moment in between. So v1 never counts more than this window does. May use: nothing of this crate.

use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// Number of calls that v1 allows one key in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quota {
    /// No limit.
    Unlimited,
    /// This number, whatever v1 says.
    Fixed(usize),
    /// This number, until v1's own figures show that it allows more.
    AtLeast(usize),
}

/// Facts about the quota in an answer of v1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QuotaNotice {
    /// Status of the answer.
    pub status: u16,
    /// `X-RateLimit-Remaining`: requests left after this one.
    pub remaining: Option<usize>,
    /// Time until `X-RateLimit-Reset`.
    pub reset: Option<Duration>,
    /// `Retry-After` in seconds, sent with 429.
    pub retry_after: Option<u64>,
}

impl QuotaNotice {
    /// Checks whether v1 refused the key or the permission, which it does before its throttle counts the request
    /// (`throttle_forbidden_is_not_counted`).
    pub(super) fn is_before_the_throttle(&self) -> bool {
        matches!(self.status, 401 | 403) && self.remaining.is_none()
    }
}

/// Whether v1 has counted a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    Yes,
    No,
    /// Not counted, and v1 accepts no calls for this time.
    Closed(Duration),
}

/// Largest quota that is accepted from v1's figures.
const MOST: usize = 1_000_000;

/// Pause after a 429 that does not say for how long v1 accepts no calls. Each further one doubles it.
const UNEXPLAINED: Duration = Duration::from_secs(5);

/// Part of a window before the end of a counted call in which v1 may no longer count it: v1 counts a call before its
/// answer, and this window from its answer on.
const UNSURE: u32 = 6;

/// Requests that count.
#[derive(Debug, Clone, Copy)]
struct Requests {
    until: Instant,
    calls: usize,
    /// Whether they are known only from v1's figures.
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
    /// Counted requests, ordered by the time when they no longer count. `counted_calls` is their number of calls.
    counted: VecDeque<Requests>,
    counted_calls: usize,
    /// Number of the counted calls that are known only from v1's figures.
    foreign_calls: usize,
    closed: Option<Instant>,
    /// Number of 429s without a time since v1 last accepted a call; those that come during one pause count once.
    unexplained: u32,
    /// Time of v1's first figures. Since then, an answer without figures was not counted.
    told: Option<Instant>,
    /// Largest number of calls in a window that v1's figures have shown, with our own calls.
    shown: usize,
}

impl Window {
    pub(super) fn new(quota: Quota, length: Duration) -> Self {
        let (quota, learns) = match quota {
            Quota::Fixed(calls) => (calls, false),
            Quota::AtLeast(calls) => (calls, true),
            Quota::Unlimited => (usize::MAX, false),
        };
        Self {
            quota,
            learns,
            length,
            under_way: 0,
            counted: VecDeque::new(),
            counted_calls: 0,
            foreign_calls: 0,
            closed: None,
            unexplained: 0,
            told: None,
            shown: 0,
        }
    }

    /// Sets the quota from now on.
    pub(super) fn limit(&mut self, quota: Quota) {
        let Self { quota, learns, .. } = Self::new(quota, self.length);
        (self.quota, self.learns) = (quota, learns);
    }

    /// Returns the known number of calls allowed in each window.
    pub(super) fn quota(&self) -> usize {
        self.quota
    }

    /// Returns the length of the window.
    pub(super) fn length(&self) -> Duration {
        self.length
    }

    /// Returns the quota that v1's figures have shown; 0 when the figures are not used.
    pub(super) fn learned(&self) -> usize {
        if self.learns { self.quota } else { 0 }
    }

    /// Takes in a quota that another process has seen v1 allow. Returns whether it is larger than the known quota.
    pub(super) fn learn(&mut self, quota: usize) -> bool {
        let more = self.learns && quota > self.quota;
        if more {
            self.quota = quota.min(MOST);
            self.shown = self.quota;
        }
        more
    }

    /// Drops requests that no longer count.
    pub(super) fn pass(&mut self, now: Instant) {
        while let Some(gone) = self.counted.front().filter(|counted| counted.until <= now) {
            self.counted_calls -= gone.calls;
            self.foreign_calls -= if gone.foreign { gone.calls } else { 0 };
            self.counted.pop_front();
        }
        self.closed = self.closed.filter(|until| *until > now);
    }

    /// Returns the number of calls that count now.
    pub(super) fn used(&self) -> usize {
        self.under_way + self.counted_calls
    }

    /// Returns the number of our own calls that count now.
    pub(super) fn own(&self) -> usize {
        self.used() - self.foreign_calls
    }

    /// Returns the number of calls that count now and are known only from v1's figures.
    pub(super) fn foreign(&self) -> usize {
        self.foreign_calls
    }

    /// Returns the largest number of our own calls to expect from v1 in one window: the quota, or what v1's figures have
    /// shown for a whole window. Whether a v1 that shows less allows less, or others use the key all the time, is unknown.
    pub(super) fn most(&self, now: Instant) -> usize {
        let is_known = self.learns && self.told.is_some_and(|at| now - at >= self.length);
        if is_known { self.quota.min(self.shown) } else { self.quota }
    }

    /// Returns when `more` calls can be made if our own calls may use up to `share`.
    pub(super) fn opens_for_own(&self, more: usize, share: usize, now: Instant) -> Instant {
        self.left((self.own() + more).saturating_sub(share), true, now)
    }

    /// Returns the time until which v1 has said that it accepts no calls.
    pub(super) fn closed(&self) -> Option<Instant> {
        self.closed
    }

    /// Returns when the last of `more` calls can be made if all calls together may use up to `share`.
    pub(super) fn opens(&self, more: usize, share: usize, now: Instant) -> Instant {
        // The calls beyond `share` must first be made and then stop counting, as many as `share` in each window.
        let windows = more.saturating_sub(1) / share.max(1);
        let last = more - windows * share;
        let opens = self.left((self.used() + last).saturating_sub(share), false, now);
        let opens = self.closed.map_or(opens, |closed| opens.max(closed));
        opens + self.length * u32::try_from(windows).unwrap_or(u32::MAX)
    }

    /// Returns when `leaving` of the counted calls, or of our `own` counted calls, will no longer count.
    fn left(&self, leaving: usize, own: bool, now: Instant) -> Instant {
        if leaving == 0 {
            return now;
        }
        let mut gone = 0;
        let enough = self.counted.iter().filter(|counted| !(own && counted.foreign)).find(|counted| {
            gone += counted.calls;
            gone >= leaving
        });
        // Calls in flight count for a whole window after their answer.
        enough.map_or(now + self.length, |counted| counted.until)
    }

    /// Counts calls that are sent, or certainly will be.
    pub(super) fn send(&mut self, calls: usize) {
        self.under_way += calls;
    }

    /// Takes back calls that were not sent after all.
    pub(super) fn take_back(&mut self, calls: usize) {
        self.under_way = self.under_way.saturating_sub(calls);
    }

    /// Ends a call that v1 may have counted.
    pub(super) fn lost(&mut self, now: Instant) {
        self.take_back(1);
        self.count(1, now + self.length, false);
    }

    /// Ends a call that was answered. Returns whether v1 has counted it.
    pub(super) fn answered(&mut self, told: &QuotaNotice, now: Instant) -> Counted {
        self.take_back(1);
        self.pass(now);
        self.told = self.told.or(told.remaining.map(|_| now));
        if told.status == 429 {
            // v1 does not count requests that it refuses with 429 (`throttle_limited_again`). v1's refusal never lasts
            // longer than its window. A longer `Retry-After` comes from a server before it and is about something else.
            let wait = told.retry_after.map(|seconds| Duration::from_secs(seconds.max(1)));
            let wait = wait.unwrap_or_else(|| self.unexplained_pause()).min(self.length);
            self.closed = self.closed.max(Some(now + wait));
            return Counted::Closed(wait);
        }
        if self.told.is_some() && told.is_before_the_throttle() {
            return Counted::No;
        }
        self.unexplained = 0;
        self.count(1, now + self.length, false);
        if let Some(remaining) = told.remaining {
            self.correct(remaining, told.reset, now);
        }
        Counted::Yes
    }

    /// Returns the pause after a 429 that names no time. Calls that were under way together are refused together, so
    /// only the first of them makes it longer.
    fn unexplained_pause(&mut self) -> Duration {
        if self.closed.is_none() {
            self.unexplained += 1;
        }
        UNEXPLAINED * 2_u32.pow(self.unexplained.saturating_sub(1).min(10))
    }

    fn count(&mut self, calls: usize, until: Instant, foreign: bool) {
        let at = self.counted.partition_point(|counted| counted.until <= until);
        self.counted.insert(at, Requests { until, calls, foreign });
        self.counted_calls += calls;
        self.foreign_calls += if foreign { calls } else { 0 };
    }

    /// Returns the number of our own calls that v1 surely counts, if it got them.
    fn surely_counted(&self, now: Instant) -> usize {
        let after = now + self.length / UNSURE;
        let sure = self.counted.iter().rev().take_while(|counted| counted.until > after);
        sure.filter(|counted| !counted.foreign).map(|counted| counted.calls).sum()
    }

    /// Adds calls that only v1 has counted, or removes calls that v1 was wrongly believed to have counted.
    fn correct(&mut self, remaining: usize, reset: Option<Duration>, now: Instant) {
        // The answered request counts too. No other call certainly does: v1 may no longer count some that count
        // here. Counting these would make the quota creep upwards.
        if self.learns {
            self.quota = self.quota.max(remaining.saturating_add(1).min(MOST));
        }
        self.shown = self.shown.max(remaining.saturating_add(self.surely_counted(now)).min(self.quota));
        let left = self.quota.saturating_sub(self.used());
        let until = now + reset.filter(|reset| !reset.is_zero()).unwrap_or(self.length).min(self.length);
        if remaining < left {
            self.count(left - remaining, until, true);
        }
        // v1 may not have counted the calls in flight yet.
        let mut excess = remaining.saturating_sub(left + self.under_way);
        while excess > 0 {
            let Some(at) = self.counted.iter().rposition(|counted| counted.foreign) else { break };
            let back = excess.min(self.counted[at].calls);
            self.counted[at].calls -= back;
            self.counted_calls -= back;
            self.foreign_calls -= back;
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

    fn told(remaining: usize) -> QuotaNotice {
        QuotaNotice { status: 200, remaining: Some(remaining), ..QuotaNotice::default() }
    }

    fn call(window: &mut Window, told: &QuotaNotice, now: Instant) {
        window.send(1);
        window.answered(told, now);
    }

    #[tokio::test]
    async fn a_call_counts_from_its_sending_to_a_window_after_its_answer() {
        let (mut window, begun) = (Window::new(Quota::Fixed(2), LENGTH), Instant::now());
        window.send(1);
        assert_eq!((window.used(), window.opens(1, 2, begun)), (1, begun));
        let answered = begun + Duration::from_secs(3);
        window.answered(&QuotaNotice { status: 200, ..QuotaNotice::default() }, answered);
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
    async fn many_calls_ahead_take_as_many_windows_as_they_need() {
        let (mut window, now) = (Window::new(Quota::Fixed(2), LENGTH), Instant::now());
        let waits: Vec<u64> = (1..=6).map(|more| (window.opens(more, 2, now) - now).as_secs()).collect();
        assert_eq!(waits, [0, 0, 60, 60, 120, 120]);
        window.send(1);
        assert_eq!(window.opens(1, 2, now), now);
        assert_eq!(window.opens(2, 2, now), now + LENGTH);
        assert_eq!(window.opens(1_000_000, 1, now), now + LENGTH * 1_000_000);
    }

    #[tokio::test]
    async fn calls_of_others_are_learned_from_v1_and_given_back_as_v1_reports() {
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
        // v1's window has moved on before ours, so no larger quota is certain.
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
    async fn a_v1_that_never_shows_as_much_as_was_expected_is_believed_after_a_window() {
        let (mut window, now) = (Window::new(Quota::AtLeast(60), LENGTH), Instant::now());
        call(&mut window, &told(4), now);
        assert_eq!((window.foreign(), window.own(), window.most(now)), (55, 1, 60), "others may have used it");
        let later = now + LENGTH;
        window.pass(later);
        assert_eq!((window.foreign(), window.own(), window.most(later)), (0, 0, 5));
        call(&mut window, &told(9), later);
        assert_eq!((window.foreign(), window.most(later), window.quota()), (50, 10, 60));
        call(&mut window, &told(40), later);
        assert_eq!((window.foreign(), window.own(), window.most(later)), (18, 2, 42), "some are given back");
        let mut set = Window::new(Quota::Fixed(60), LENGTH);
        call(&mut set, &told(4), now);
        assert_eq!(set.most(later), 60);
    }

    #[tokio::test]
    async fn what_v1_allows_is_what_it_leaves_and_what_the_gateway_has_used() {
        // After a restart of a gateway that makes 50 calls a minute.
        let (mut window, begun) = (Window::new(Quota::AtLeast(60), LENGTH), Instant::now());
        for number in 0..60 {
            let now = begun + number * LENGTH / 50;
            window.pass(now);
            call(&mut window, &told(10), now);
        }
        assert_eq!(window.most(begun + LENGTH), 52, "all but the calls of the last ten seconds of a window");
        // v1 allows five calls, answers slowly, and is called whenever it takes a call.
        let (mut window, mut counted) = (Window::new(Quota::AtLeast(60), LENGTH), Vec::<Instant>::new());
        for second in 0..600 {
            let sent = begun + Duration::from_secs(second);
            counted.retain(|at| *at + LENGTH > sent);
            if counted.len() < 5 {
                counted.push(sent);
                window.pass(sent);
                window.send(1);
                window.answered(&told(5 - counted.len()), sent + LENGTH / 10);
            }
        }
        assert_eq!(window.most(begun + 10 * LENGTH), 5);
        assert!(window.learn(70));
        assert_eq!(window.most(begun + 10 * LENGTH), 70, "another process has seen more");
    }

    #[tokio::test]
    async fn a_quota_that_was_set_is_a_ceiling() {
        let (mut window, now) = (Window::new(Quota::Fixed(30), LENGTH), Instant::now());
        call(&mut window, &told(59), now);
        assert_eq!((window.quota(), window.used()), (30, 1));
    }

    #[tokio::test]
    async fn calls_of_others_count_until_the_reset_of_v1() {
        let (mut window, now) = (Window::new(Quota::Fixed(10), LENGTH), Instant::now());
        let soon = QuotaNotice { reset: Some(Duration::from_secs(5)), ..told(0) };
        call(&mut window, &soon, now);
        assert_eq!(window.used(), 10);
        window.pass(now + Duration::from_secs(5));
        assert_eq!(window.used(), 1);
    }

    #[tokio::test]
    async fn a_429_never_closes_the_window_for_longer_than_a_window() {
        for said in [61, 86_400, u64::MAX] {
            let (mut window, now) = (Window::new(Quota::Fixed(2), LENGTH), Instant::now());
            call(&mut window, &QuotaNotice { status: 429, retry_after: Some(said), ..QuotaNotice::default() }, now);
            assert_eq!(window.opens(1, 2, now), now + LENGTH, "{said}");
        }
    }

    #[tokio::test]
    async fn each_429_without_a_time_closes_the_window_for_twice_as_long_until_v1_accepts_a_call() {
        let (mut window, mut now) = (Window::new(Quota::Fixed(60), LENGTH), Instant::now());
        let refused = QuotaNotice { status: 429, ..QuotaNotice::default() };
        for seconds in [5, 10, 20, 40, 60, 60] {
            call(&mut window, &refused, now);
            call(&mut window, &refused, now);
            now += Duration::from_secs(seconds);
            assert_eq!(window.closed(), Some(now), "two that were under way together count as one");
            window.pass(now);
        }
        call(&mut window, &told(50), now);
        call(&mut window, &refused, now);
        assert_eq!(window.closed(), Some(now + UNEXPLAINED));
    }

    #[tokio::test]
    async fn a_429_closes_the_window_and_does_not_count() {
        let (mut window, now) = (Window::new(Quota::Fixed(60), LENGTH), Instant::now());
        call(&mut window, &QuotaNotice { status: 429, retry_after: Some(7), ..QuotaNotice::default() }, now);
        assert_eq!((window.used(), window.opens(1, 60, now)), (0, now + Duration::from_secs(7)));
        window.pass(now + Duration::from_secs(7));
        assert!(window.closed().is_none());
    }

    #[tokio::test]
    async fn refusals_before_the_throttle_do_not_count_where_v1_tells() {
        let (mut window, now) = (Window::new(Quota::Fixed(60), LENGTH), Instant::now());
        let refused = QuotaNotice { status: 403, ..QuotaNotice::default() };
        call(&mut window, &refused, now);
        assert_eq!(window.used(), 1, "v1 has never sent its figures: better counted");
        call(&mut window, &told(58), now);
        call(&mut window, &refused, now);
        assert_eq!(window.used(), 2);
    }
}
