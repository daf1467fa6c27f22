//! State of a lane: the waiting calls, and the used part of the quota.
//!
//! May use: `context`, `pool`, `window`.

use super::super::pool::Ticket;
use super::super::window::{Counted, QuotaNotice, Window};
use crate::context::{Priority, RequestNumber};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Longest time for which a refusal of the pool counts, and longest wait before the pool is asked again: other
/// processes may return calls.
pub(super) const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Time for which the last known use by other processes counts.
const BELIEVED: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct State {
    pub window: Window,
    /// Calls of the quota that only writes may use.
    reserve: usize,
    pub queues: [VecDeque<Arc<Notify>>; Priority::COUNT],
    /// Calls for which requests have reserved room and that are not made yet; the window already counts them.
    pub kept: HashMap<RequestNumber, ReservedRoom>,
    /// Last answer of the pool, when that was a refusal.
    pub full: Option<FullPool>,
    /// Counted calls of the other processes, and the time of this figure.
    pub elsewhere: Option<(usize, Instant)>,
    /// Time of the last request to the pool that only asked for this figure.
    pub looked: Option<Instant>,
    /// Number of calls that the waiting entries want.
    pub wanted: usize,
    /// Time since which the part of this process is too small.
    pub short: Option<Instant>,
}

/// Refusal of the pool of all processes.
#[derive(Debug, Clone, Copy)]
pub(super) struct FullPool {
    /// Time when the pool will have room again.
    pub opens: Instant,
    /// Number of counted calls up to which room was wanted. Calls of a higher priority may use more.
    pub share: usize,
    /// Time of the answer.
    pub at: Instant,
}

/// Room that a request has reserved.
#[derive(Debug, Default)]
pub(super) struct ReservedRoom {
    pub calls: usize,
    /// Number of rooms that it still holds.
    pub rooms: usize,
    pub tickets: Vec<Ticket>,
}

impl State {
    /// Creates a state with an unused `window` and empty queues.
    pub fn new(window: Window, reserve: usize) -> Self {
        Self {
            window,
            reserve,
            queues: Default::default(),
            kept: HashMap::new(),
            full: None,
            elsewhere: None,
            looked: None,
            wanted: 0,
            short: None,
        }
    }

    /// Returns the number of calls that count now, including calls of other processes.
    pub fn used(&self) -> usize {
        self.window.used().max(self.window.own() + self.made_elsewhere(BELIEVED))
    }

    /// Returns how much of the quota a priority may use. What is set aside is part of what v1 leaves to the gateway: that
    /// is less than the quota where v1 allows less, or others use the key.
    pub fn share(&self, priority: Priority) -> usize {
        let quota = self.window.quota();
        let ours = quota.saturating_sub(self.foreign());
        let reads = quota - self.reserve.min(ours / 2);
        match priority {
            Priority::Write => quota,
            Priority::Read => reads,
            // An index build never takes everything: a sixth stays for other calls.
            Priority::Index => (reads - (ours / 6).min(reads)).max(1),
        }
    }

    /// Ends a call that was answered. Returns whether v1 has counted it.
    pub fn answered(&mut self, told: &QuotaNotice) -> Counted {
        let elsewhere = self.made_elsewhere(BELIEVED);
        self.window.answered(told, elsewhere, Instant::now())
    }

    /// Returns the number of calls that only v1 has counted, and no process of the gateway has made.
    fn foreign(&self) -> usize {
        self.window.foreign().saturating_sub(self.made_elsewhere(self.window.length()))
    }

    /// Returns the calls of the other processes that were known to count within this `time`.
    fn made_elsewhere(&self, time: Duration) -> usize {
        let elsewhere = self.elsewhere.filter(|(_, at)| at.elapsed() < time);
        elsewhere.map_or(0, |(calls, _)| calls)
    }

    /// Returns when the last of `more` calls can be made without the pool, if the calls that the other processes were
    /// last known to have made count for a whole window. Any one process may have made all of them, so the calls that
    /// are left of `share` are divided among the others.
    pub fn opens_beside_others(&self, more: usize, share: usize, processes: usize, now: Instant) -> Instant {
        let Some((calls, at)) = self.elsewhere else { return now };
        let left = share.saturating_sub(calls) / processes.saturating_sub(1).max(1);
        self.window.opens_for_own(more, left, now).min(now.max(at + self.window.length()))
    }

    /// Returns the time until which the pool has no room for calls that may use up to `share`, as far as it was asked
    /// a moment ago.
    pub fn pool_opens(&self, share: usize, now: Instant) -> Option<Instant> {
        let full = self.full.filter(|full| share <= full.share && now - full.at < LOOK_AGAIN);
        full.map(|full| full.opens)
    }

    /// Checks whether v1 refuses calls, or the pool refuses calls that may use up to `share`, as far as is known.
    pub fn is_closed(&self, share: usize) -> bool {
        let full = self.full.filter(|full| share <= full.share);
        self.window.closed().is_some() || full.is_some_and(|full| full.opens > Instant::now())
    }

    pub fn first(&self) -> Option<&Arc<Notify>> {
        self.queues.iter().find_map(VecDeque::front)
    }

    /// Returns how many entries go before the waiter, or before a new entry.
    pub fn ahead_of(&self, priority: Priority, waiter: Option<&Arc<Notify>>) -> usize {
        let more_urgent: usize = self.queues[..priority as usize].iter().map(VecDeque::len).sum();
        let own = &self.queues[priority as usize];
        let place = waiter.and_then(|waiter| own.iter().position(|known| Arc::ptr_eq(known, waiter)));
        more_urgent + place.unwrap_or(own.len())
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::window::Quota;
    use super::*;
    use tokio::time::advance;

    #[tokio::test(start_paused = true)]
    async fn a_refusal_of_the_pool_counts_for_a_moment_and_for_calls_that_may_use_no_more() {
        let (mut state, now) = (State::new(Window::new(Quota::Fixed(60), 6 * LOOK_AGAIN), 0), Instant::now());
        let opens = now + 5 * LOOK_AGAIN;
        state.full = Some(FullPool { opens, share: 54, at: now });
        assert_eq!(state.pool_opens(44, now), Some(opens));
        assert_eq!(state.pool_opens(54, now), Some(opens));
        assert_eq!(state.pool_opens(60, now), None);
        assert!(state.is_closed(54) && !state.is_closed(60));
        assert_eq!(state.pool_opens(54, now + LOOK_AGAIN), None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_set_aside_is_part_of_what_v1_leaves() {
        let shares = |state: &State| {
            [Priority::Index, Priority::Read, Priority::Write].map(|priority| state.share(priority))
        };
        let told = |remaining| QuotaNotice { status: 200, remaining: Some(remaining), ..QuotaNotice::default() };
        // v1 allows 5 calls, or others have made 55 of 60 (`throttle_ok_1`): half of the five is for writes alone.
        let mut state = State::new(Window::new(Quota::AtLeast(60), 6 * BELIEVED), 6);
        assert_eq!(shares(&state), [44, 54, 60]);
        state.window.send(1);
        state.answered(&told(4));
        assert_eq!((state.window.used(), shares(&state)), (56, [58, 58, 60]));
        // The calls of other processes of the gateway are calls of the gateway.
        state.elsewhere = Some((40, Instant::now()));
        assert_eq!(shares(&state), [47, 54, 60]);
        advance(6 * BELIEVED).await;
        state.elsewhere = Some((40, Instant::now()));
        assert_eq!(state.window.most(Instant::now()), 5, "the others made theirs at another moment");
        state.window.send(1);
        state.answered(&told(4));
        assert_eq!(state.window.most(Instant::now()), 45);
        advance(6 * BELIEVED).await;
        assert_eq!(state.window.most(Instant::now()), 5, "a part of theirs may never have reached v1");
    }

    #[tokio::test(start_paused = true)]
    async fn without_the_pool_the_last_known_use_by_others_counts_for_a_whole_window() {
        let length = 6 * BELIEVED;
        let (mut state, now) = (State::new(Window::new(Quota::Fixed(30), length), 0), Instant::now());
        assert_eq!(state.opens_beside_others(30, 24, 2, now), now, "nothing is known of others");
        state.elsewhere = Some((20, now));
        let later = now + 2 * BELIEVED;
        assert_eq!(state.opens_beside_others(4, 24, 2, later), later);
        assert_eq!(state.opens_beside_others(5, 24, 2, later), now + length);
        assert_eq!(state.opens_beside_others(2, 24, 3, later), later, "two that have made none divide the rest");
        assert_eq!(state.opens_beside_others(3, 24, 3, later), now + length);
        assert_eq!(state.opens_beside_others(24, 24, 2, now + length), now + length);
    }
}
