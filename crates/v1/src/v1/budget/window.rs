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

/// How a counted call is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    /// It is our own, and v1 may not have received it.
    Sent,
    /// It is our own, and its answer told the rest of the quota.
    Told,
    /// Only from v1's figures.
    Foreign,
}

/// Requests that count.
#[derive(Debug, Clone, Copy)]
struct Requests {
    until: Instant,
    calls: usize,
    known: Known,
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
    /// Largest number of calls in a window that v1's figures have shown, with those of this process at that moment.
    shown: usize,
    /// The same with those of the other processes, and when it was shown. It counts for a window only: a part of theirs
    /// may never have reached v1.
    shown_to_all: Option<(usize, Instant)>,
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
            shown_to_all: None,
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
            self.foreign_calls -= if gone.known == Known::Foreign { gone.calls } else { 0 };
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

    /// Returns the largest number of calls to expect from v1 in one window, for all processes: the quota, or what v1's
    /// figures have shown for a whole window. Whether a v1 that shows less allows less, or others use the key all the
    /// time, is unknown.
    pub(super) fn most(&self, now: Instant) -> usize {
        let is_known = self.learns && self.told.is_some_and(|at| now - at >= self.length);
        let to_all = self.shown_to_all(now).map_or(0, |(calls, _)| calls);
        if is_known { self.quota.min(self.shown.max(to_all)) } else { self.quota }
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
        let enough =
            self.counted.iter().filter(|counted| !own || counted.known != Known::Foreign).find(|counted| {
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
        self.count(1, now + self.length, Known::Sent);
    }

    /// Ends a call that was answered. `elsewhere` is the number of calls of other processes that v1 counts. Returns
    /// whether v1 has counted it.
    pub(super) fn answered(&mut self, told: &QuotaNotice, elsewhere: usize, now: Instant) -> Counted {
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
        let known = if told.remaining.is_some() { Known::Told } else { Known::Sent };
        self.count(1, now + self.length, known);
        if let Some(remaining) = told.remaining {
            let shown = remaining.saturating_add(self.surely_counted(now));
            self.correct(remaining, told.reset, now);
            self.shown = self.shown.max(shown.min(self.quota));
            self.shown_to_all = self.shown_to_all(now).max(Some((shown.saturating_add(elsewhere), now)));
        }
        Counted::Yes
    }

    fn shown_to_all(&self, now: Instant) -> Option<(usize, Instant)> {
        self.shown_to_all.filter(|(_, at)| now.saturating_duration_since(*at) < self.length)
    }

    /// Returns the pause after a 429 that names no time. Calls that were under way together are refused together, so
    /// only the first of them makes it longer.
    fn unexplained_pause(&mut self) -> Duration {
        if self.closed.is_none() {
            self.unexplained += 1;
        }
        UNEXPLAINED * 2_u32.pow(self.unexplained.saturating_sub(1).min(10))
    }

    fn count(&mut self, calls: usize, until: Instant, known: Known) {
        let at = self.counted.partition_point(|counted| counted.until <= until);
        self.counted.insert(at, Requests { until, calls, known });
        self.counted_calls += calls;
        self.foreign_calls += if known == Known::Foreign { calls } else { 0 };
    }

    /// Returns the number of our own calls that v1 surely counts.
    fn surely_counted(&self, now: Instant) -> usize {
        let after = now + self.length / UNSURE;
        let sure = self.counted.iter().rev().take_while(|counted| counted.until > after);
        sure.filter(|counted| counted.known == Known::Told).map(|counted| counted.calls).sum()
    }

    /// Adds calls that only v1 has counted, or removes calls that v1 was wrongly believed to have counted.
    fn correct(&mut self, remaining: usize, reset: Option<Duration>, now: Instant) {
        // The answered request counts too. The others are left out: v1 may no longer count some that count here.
        // Counting these would make the quota creep upwards.
        if self.learns {
            self.quota = self.quota.max(remaining.saturating_add(1).min(MOST));
        }
        let left = self.quota.saturating_sub(self.used());
        let until = now + reset.filter(|reset| !reset.is_zero()).unwrap_or(self.length).min(self.length);
        if remaining < left {
            self.count(left - remaining, until, Known::Foreign);
        }
        // v1 may not have counted the calls in flight yet.
        let mut excess = remaining.saturating_sub(left + self.under_way);
        while excess > 0 {
            let Some(at) = self.counted.iter().rposition(|counted| counted.known == Known::Foreign) else { break };
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
mod tests;
