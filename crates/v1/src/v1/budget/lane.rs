//! The queue of one key: who waits for v1's quota, and who goes next.
//!
//! The most urgent go first, among equals the one who came first. Nobody is woken but the first of the queue:
//! it sleeps until its call can be made, and hands the place on when it goes, whether it was let through, gave
//! up or its client left. A request that must not stop half-way keeps room for all of its calls first, and then
//! makes them without waiting. May use: `context`, the quota, `window`.

use super::quota::Quota;
use super::window::{Told, Window};
use crate::context::{Meter, Priority, RequestNumber};
use parking_lot::{Mutex, MutexGuard};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// Kinds of [`Priority`].
const KINDS: usize = 3;

/// The lane of one key.
#[derive(Debug)]
pub(super) struct Lane {
    /// Calls of the quota that are for writes alone.
    reserve: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    window: Window,
    queues: [VecDeque<Arc<Notify>>; KINDS],
    /// Calls that requests have kept room for and not made yet; the window counts them already.
    kept: HashMap<RequestNumber, usize>,
}

impl State {
    fn first(&self) -> Option<&Arc<Notify>> {
        self.queues.iter().find_map(VecDeque::front)
    }

    /// How many go before the waiter, or would go before a newcomer.
    fn ahead_of(&self, priority: Priority, waiter: Option<&Arc<Notify>>) -> usize {
        let more_urgent: usize = self.queues[..priority as usize].iter().map(VecDeque::len).sum();
        let own = &self.queues[priority as usize];
        let place = waiter.and_then(|waiter| own.iter().position(|known| Arc::ptr_eq(known, waiter)));
        more_urgent + place.unwrap_or(own.len())
    }
}

/// What a waiter does next.
enum Turn {
    Go,
    GiveUp(Duration),
    /// Until this moment, or until the place in the queue changes.
    Sleep(Instant),
}

impl Lane {
    /// A lane of `quota` in each `length` of time, of which `reserve` calls are for writes alone.
    pub(super) fn new(quota: Quota, reserve: usize, length: Duration) -> Self {
        let state = State { window: Window::new(quota, length), queues: Default::default(), kept: HashMap::new() };
        Self { reserve, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        state.window.pass(Instant::now());
        state
    }

    /// How much of the quota a priority may use.
    fn share(&self, state: &State, priority: Priority) -> usize {
        let quota = state.window.quota();
        let reads = quota - self.reserve.min(quota / 2);
        match priority {
            Priority::Write => quota,
            Priority::Read => reads,
            // A build never takes all: a sixth of the quota stays for those who wait.
            Priority::Index => (reads - (quota / 6).min(reads)).max(1),
        }
    }

    /// Waits for a call; one that room was kept for has to wait only for what v1 itself refuses.
    ///
    /// # Errors
    /// The time until it could be made, when that is past `deadline`.
    pub(super) async fn admit(
        self: &Arc<Self>,
        priority: Priority,
        deadline: Instant,
        meter: &Arc<Meter>,
    ) -> Result<Permit, Duration> {
        while let Some(turn) = self.kept_turn(meter.number(), deadline) {
            match turn {
                Turn::Go => return Ok(Permit { lane: Arc::clone(self), open: true }),
                Turn::GiveUp(wait) => return Err(wait),
                Turn::Sleep(until) => sleep_until(until).await,
            }
        }
        self.wait_for(1, priority, deadline).await?;
        Ok(Permit { lane: Arc::clone(self), open: true })
    }

    /// Waits until `calls` can be made at once, and keeps room for them while the answer lives. More than the
    /// priority may use at all are not waited for: then nothing is kept.
    ///
    /// # Errors
    /// The time until they could be made, when that is past `deadline`.
    pub(super) async fn keep(
        self: &Arc<Self>,
        calls: usize,
        priority: Priority,
        deadline: Instant,
        meter: &Arc<Meter>,
    ) -> Result<Option<Room>, Duration> {
        if calls == 0 || calls > self.share(&self.state(), priority) {
            return Ok(None);
        }
        self.wait_for(calls, priority, deadline).await?;
        *self.state().kept.entry(meter.number()).or_default() += calls;
        Ok(Some(Room { lane: Arc::clone(self), meter: Arc::clone(meter) }))
    }

    /// Waits in the queue; what it was waited for counts then.
    async fn wait_for(
        self: &Arc<Self>,
        calls: usize,
        priority: Priority,
        deadline: Instant,
    ) -> Result<(), Duration> {
        let place = Place::take(Arc::clone(self), priority);
        loop {
            match self.turn(&place, calls, deadline) {
                Turn::Go => return Ok(()),
                Turn::GiveUp(wait) => return Err(wait),
                Turn::Sleep(until) => tokio::select! {
                    () = sleep_until(until) => {}
                    () = place.changed.notified() => {}
                },
            }
        }
    }

    /// What to do about a call that room was kept for; none when there is no room for it.
    fn kept_turn(&self, request: RequestNumber, deadline: Instant) -> Option<Turn> {
        let (mut state, now) = (self.state(), Instant::now());
        let closed = state.window.closed();
        let kept = state.kept.get_mut(&request).filter(|kept| **kept > 0)?;
        Some(match closed {
            Some(until) if until > deadline => Turn::GiveUp(until - now),
            Some(until) => Turn::Sleep(until),
            None => {
                *kept -= 1;
                Turn::Go
            }
        })
    }

    fn turn(&self, place: &Place, calls: usize, deadline: Instant) -> Turn {
        let (mut state, now) = (self.state(), Instant::now());
        let ahead = state.ahead_of(place.priority, Some(&place.changed));
        let opens = state.window.opens(ahead + calls, self.share(&state, place.priority), now);
        if ahead == 0 && opens <= now {
            state.window.send(calls);
            return Turn::Go;
        }
        if opens > deadline || now >= deadline {
            return Turn::GiveUp(opens - now);
        }
        // Those ahead may leave: the first of the queue wakes for its call, the others when it is their turn.
        Turn::Sleep(if ahead == 0 { opens } else { deadline })
    }

    /// Counts a call that nobody here can hold back.
    pub(super) fn observe(self: &Arc<Self>) -> Permit {
        self.state().window.send(1);
        Permit { lane: Arc::clone(self), open: true }
    }

    /// Whether little is left for reads, or somebody waits.
    pub(super) fn is_short(&self) -> bool {
        let state = self.state();
        let left = self.share(&state, Priority::Read).saturating_sub(state.window.used());
        left <= state.window.quota() / 4 || state.window.closed().is_some() || state.first().is_some()
    }

    /// Whether twice `calls` of this priority could be made at once, and nobody waits.
    pub(super) fn spares(&self, priority: Priority, calls: usize) -> bool {
        let state = self.state();
        let left = self.share(&state, priority).saturating_sub(state.window.used());
        2 * calls <= left && state.window.closed().is_none() && state.first().is_none()
    }

    /// Time until one more call of this priority could be made.
    pub(super) fn wait(&self, priority: Priority) -> Duration {
        let (state, now) = (self.state(), Instant::now());
        let ahead = state.ahead_of(priority, None);
        state.window.opens(ahead + 1, self.share(&state, priority), now) - now
    }

    /// Whether nothing would be lost by forgetting the lane.
    pub(super) fn is_idle(&self) -> bool {
        let state = self.state();
        state.window.used() == 0 && state.window.closed().is_none() && state.first().is_none()
    }

    /// Ends a call, and lets the first of the queue look again.
    fn end(&self, how: impl FnOnce(&mut Window)) {
        let mut state = self.state();
        how(&mut state.window);
        if let Some(first) = state.first() {
            first.notify_one();
        }
    }
}

/// A place in the queue, given up when dropped.
struct Place {
    lane: Arc<Lane>,
    priority: Priority,
    changed: Arc<Notify>,
}

impl Place {
    fn take(lane: Arc<Lane>, priority: Priority) -> Self {
        let changed = Arc::new(Notify::new());
        lane.state().queues[priority as usize].push_back(Arc::clone(&changed));
        Self { lane, priority, changed }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.lane.state();
        state.queues[self.priority as usize].retain(|known| !Arc::ptr_eq(known, &self.changed));
        if let Some(first) = state.first() {
            first.notify_one();
        }
    }
}

/// Room for calls that a request will make; what it has not made when this goes is given back.
#[derive(Debug)]
pub(super) struct Room {
    lane: Arc<Lane>,
    meter: Arc<Meter>,
}

impl Drop for Room {
    fn drop(&mut self) {
        let left = self.lane.state().kept.remove(&self.meter.number()).unwrap_or_default();
        self.lane.end(|window| window.take_back(left));
    }
}

/// A call under way.
#[derive(Debug)]
pub(super) struct Permit {
    lane: Arc<Lane>,
    open: bool,
}

impl Permit {
    pub(super) fn answered(mut self, told: &Told) {
        self.open = false;
        self.lane.end(|window| window.answered(told, Instant::now()));
    }

    pub(super) fn not_sent(mut self) {
        self.open = false;
        self.lane.end(|window| window.take_back(1));
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.open {
            self.lane.end(|window| window.lost(Instant::now()));
        }
    }
}

#[cfg(test)]
mod tests;
