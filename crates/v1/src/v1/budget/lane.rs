//! The queue of one key: the calls that wait for v1's quota, and their order.
//!
//! Calls go by priority, and within a priority in the order of arrival. Only the first of the queue is woken:
//! it sleeps until its call can be made. It wakes the next when it leaves, whether it was sent, gave
//! up or its client left. A request that must not stop half-way first reserves room for all of its calls, and then
//! makes them without waiting.
//!
//! Where several processes use the same key, each call that this one could make is also reserved in the `pool` of all
//! of them. Without a pool, and while it does not answer, a process makes no more calls than its part of the quota
//! (`parts`). May use: `context`, `parts`, `pool`, `task`, `window`.

mod others;
mod state;

use super::parts::Demand;
use super::pool::{PoolWindow, Reserved, Ticket};
use super::window::{Counted, Quota, QuotaNotice, Window};
use crate::context::{Meter, Priority, RequestNumber};
use crate::task::spawn_on;
pub(super) use others::Others;
pub use others::Processes;
use others::{JOINING, Opens, wait_for_part};
use parking_lot::{Mutex, MutexGuard};
use state::{FullPool, LOOK_AGAIN, State};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// Pause after Redis has not answered for a call.
const AWAY: Duration = Duration::from_millis(20);
/// A part is large enough when it has room for this many more calls.
const SPARE: usize = 3;

/// The lane of one key.
#[derive(Debug)]
pub(super) struct Lane {
    others: Others,
    state: Mutex<State>,
}

/// Next step of a waiting call.
enum Turn {
    Go,
    GiveUp(Duration),
    /// Wait until this moment, or until the place in the queue changes.
    Sleep(Instant),
}

impl Lane {
    /// Creates a lane of `quota` calls in each `length` of time; `reserve` of them are for writes only.
    pub(super) fn new(quota: Quota, reserve: usize, length: Duration) -> Self {
        let state = State::new(Window::new(quota, length), reserve);
        Self { others: Others::default(), state: Mutex::new(state) }
    }

    /// Adds the other processes that use the same key.
    #[must_use]
    pub(super) fn among(self, others: Others) -> Self {
        Self { others, ..self }
    }

    /// Returns how many calls one wait can be for: as many as this process may use now, or can have in any case.
    pub(super) fn most_at_once(&self, priority: Priority) -> usize {
        let (share, quota) = {
            let state = self.state();
            let quota = state.window.quota();
            let never = quota - state.window.most(Instant::now());
            (state.share(priority).saturating_sub(never).max(1), quota)
        };
        match self.others.own_part(share, quota) {
            Some(part) => part.max(share / self.others.processes()),
            None => self.others.pooled(share),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        state.window.pass(Instant::now());
        state
    }

    /// Waits until a call may be made. A call with reserved room waits only while v1 itself refuses calls.
    ///
    /// # Errors
    /// The time until it could be made, when that is past `deadline`.
    pub(super) async fn admit(
        self: &Arc<Self>,
        priority: Priority,
        deadline: Instant,
        meter: &Arc<Meter>,
    ) -> Result<Permit, Duration> {
        while let Some((turn, ticket)) = self.kept_turn(meter.number(), deadline) {
            match turn {
                Turn::Go => return Ok(self.permit(ticket, false)),
                Turn::GiveUp(wait) => return Err(wait),
                Turn::Sleep(until) => sleep_until(until).await,
            }
        }
        let ticket = self.wait_for(1, priority, deadline).await?;
        Ok(self.permit(ticket, false))
    }

    fn permit(self: &Arc<Self>, ticket: Option<Ticket>, sent: bool) -> Permit {
        Permit { lane: Arc::clone(self), ticket, open: true, sent }
    }

    /// Waits until `calls` can be made at once, and reserves room for them while the returned value lives. When the
    /// priority can never use so many calls, it does not wait and reserves nothing.
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
        if calls == 0 || calls > self.most_at_once(priority) {
            return Ok(None);
        }
        let ticket = self.wait_for(calls, priority, deadline).await?;
        let mut state = self.state();
        let kept = state.kept.entry(meter.number()).or_default();
        kept.calls += calls;
        kept.rooms += 1;
        kept.tickets.extend(ticket);
        drop(state);
        Ok(Some(Room { lane: Arc::clone(self), meter: Arc::clone(meter) }))
    }

    /// Waits in the queue. Afterwards the calls count as used.
    async fn wait_for(
        self: &Arc<Self>,
        calls: usize,
        priority: Priority,
        deadline: Instant,
    ) -> Result<Option<Ticket>, Duration> {
        let place = Place::take(Arc::clone(self), priority, calls);
        let mut asked = None;
        loop {
            let by_all = self.others.is_pool_up();
            match self.turn(&place, calls, deadline) {
                Turn::Go => {
                    let sent = ProvisionalCalls { lane: self, calls };
                    match self.reserve(calls, priority, by_all, &mut asked).await {
                        Ok(ticket) => {
                            sent.for_good();
                            return Ok(ticket);
                        }
                        Err(Duration::ZERO) => {}
                        Err(wait) if Instant::now() + wait > deadline => return Err(wait),
                        Err(wait) => {
                            drop(sent);
                            sleep_until((Instant::now() + wait.min(LOOK_AGAIN)).min(deadline)).await;
                            self.state().full = None;
                            self.look_again();
                        }
                    }
                }
                Turn::GiveUp(wait) => return Err(wait),
                Turn::Sleep(until) => tokio::select! {
                    () = sleep_until(until) => {}
                    () = place.changed.notified() => {}
                },
            }
        }
    }

    /// Reserves calls in the pool of all processes. `by_all` means this process may make them by the use of all
    /// processes, else by its own part. Returns no ticket when there is no pool. `asked` holds calls that may already
    /// be reserved; it is unknown whether they are.
    ///
    /// # Errors
    /// The time until they could be made; zero when the caller should check again at once.
    async fn reserve(
        &self,
        calls: usize,
        priority: Priority,
        by_all: bool,
        asked: &mut Option<Ticket>,
    ) -> Result<Option<Ticket>, Duration> {
        let Some(pool) = &self.others.pool else { return Ok(None) };
        let (share, learned) = {
            let state = self.state();
            (state.share(priority), state.window.learned())
        };
        let reserved = pool.reserve(calls, self.others.pooled(share), learned, asked.take()).await;
        let (mut state, now) = (self.state(), Instant::now());
        match reserved {
            Reserved::Yes(ticket, count) => {
                state.full = None;
                state.elsewhere = Some((count.saturating_sub(state.window.own()), now));
                Ok(Some(ticket))
            }
            // v1 allows more than this process knew, so check again at once.
            Reserved::Wait(_, learned, _) if state.window.learn(learned) => Err(Duration::ZERO),
            Reserved::Wait(wait, _, count) => {
                state.elsewhere = Some(((count + calls).saturating_sub(state.window.own()), now));
                state.full = Some(FullPool { opens: now + wait, share, at: now });
                Err(wait)
            }
            // The use of all processes is unknown now. By its own part, this process may be allowed fewer calls.
            Reserved::Away(ticket) if by_all => {
                *asked = Some(ticket);
                Err(AWAY)
            }
            Reserved::Away(ticket) => {
                state.full = None;
                Ok(Some(ticket))
            }
        }
    }

    /// Returns the next step of a call with reserved room; `None` when no room is reserved for it.
    fn kept_turn(&self, request: RequestNumber, deadline: Instant) -> Option<(Turn, Option<Ticket>)> {
        let (mut state, now) = (self.state(), Instant::now());
        let closed = state.window.closed();
        let kept = state.kept.get_mut(&request).filter(|kept| kept.calls > 0)?;
        Some(match closed {
            Some(until) if until > deadline => (Turn::GiveUp(until - now), None),
            Some(until) => (Turn::Sleep(until), None),
            None => {
                kept.calls -= 1;
                (Turn::Go, kept.tickets.iter_mut().find_map(Ticket::split))
            }
        })
    }

    /// Returns when the last of `more` calls can be made.
    fn opens(&self, state: &State, more: usize, priority: Priority, now: Instant) -> Opens {
        let share = state.share(priority);
        let opens = state.window.opens(more, share, now);
        let by_all = state.pool_opens(share, now).map_or(opens, |pool| opens.max(pool));
        let by_part = self.others.opens(state, more, share, now).map_or(by_all, |part| by_all.max(part));
        Opens { by_all, by_part }
    }

    fn turn(&self, place: &Place, calls: usize, deadline: Instant) -> Turn {
        let (mut state, now) = (self.state(), Instant::now());
        let ahead = state.ahead_of(place.priority, Some(&place.changed));
        let opens = self.opens(&state, ahead + calls, place.priority, now);
        if ahead == 0 && opens.by_part <= now {
            if self.opens(&state, calls + SPARE, place.priority, now).by_part <= now {
                state.short = None;
            }
            state.window.send(calls);
            return Turn::Go;
        }
        let part = self.others.growing(opens.by_all < opens.by_part);
        let grown = part.and_then(|part| wait_for_part(part, place.since, &mut state.short, now, deadline));
        // Calls ahead may leave. So the first of the queue wakes for its call, the others when they become the first.
        let (until, wakes) = match grown {
            Some(grown) => (opens.by_all, opens.by_part.min(grown)),
            None => (opens.by_part, if ahead == 0 { opens.by_part } else { deadline }),
        };
        if until > deadline || now >= deadline {
            // While the process has no part yet, the quota is not used up.
            let opens = if part == Some(0) { opens.by_all.max(now + JOINING) } else { opens.by_part };
            return Turn::GiveUp(opens - now);
        }
        Turn::Sleep(wakes)
    }

    /// Counts a call that cannot be held back here.
    pub(super) fn observe(self: &Arc<Self>) -> Permit {
        self.state().window.send(1);
        let ticket = self.others.pool.as_ref().map(PoolWindow::note);
        self.permit(ticket, true)
    }

    /// Asks the pool, in the background, how much the other processes have used, unless it was asked recently.
    pub(super) fn refresh_use_by_others(self: &Arc<Self>) {
        let (Some(pool), Ok(runtime)) = (&self.others.pool, Handle::try_current()) else { return };
        let (mut state, now) = (self.state(), Instant::now());
        if pool.is_up() && state.looked.is_none_or(|at| now - at >= LOOK_AGAIN) {
            state.looked = Some(now);
            let lane = Arc::clone(self);
            spawn_on(&runtime, async move { drop(lane.reserve(0, Priority::Read, true, &mut None).await) });
        }
    }

    /// Checks whether little is left for reads, or calls wait.
    pub(super) fn is_short(&self) -> bool {
        let state = self.state();
        let share = state.share(Priority::Read);
        let left = share.saturating_sub(state.used());
        left <= state.window.quota() / 4 || state.is_closed(share) || state.first().is_some()
    }

    /// Checks whether twice `calls` of this priority could be made at once, and no call waits.
    pub(super) fn spares(&self, priority: Priority, calls: usize) -> bool {
        let state = self.state();
        let share = state.share(priority);
        let left = share.saturating_sub(state.used());
        2 * calls <= left && !state.is_closed(share) && state.first().is_none()
    }

    /// Returns the time until one more call of this priority could be made.
    pub(super) fn wait(&self, priority: Priority) -> Duration {
        let (state, now) = (self.state(), Instant::now());
        let ahead = state.ahead_of(priority, None);
        self.opens(&state, ahead + 1, priority, now).by_part - now
    }

    /// Returns the calls left of the quota, and the number of waiting calls by priority.
    pub(super) fn standing(&self) -> (usize, [usize; Priority::COUNT]) {
        let state = self.state();
        let left = match state.window.closed() {
            Some(_) => 0,
            None => state.window.quota().saturating_sub(state.window.used()),
        };
        (left, std::array::from_fn(|kind| state.queues[kind].len()))
    }

    /// Checks whether a call that a request needs is waiting.
    pub(super) fn is_queued(&self) -> bool {
        let state = self.state();
        [Priority::Write, Priority::Read].iter().any(|kind| !state.queues[*kind as usize].is_empty())
    }

    /// Checks whether the lane can be dropped without losing information.
    pub(super) fn is_idle(&self) -> bool {
        let state = self.state();
        state.window.used() == 0 && state.window.closed().is_none() && state.first().is_none()
    }

    /// Returns the name of the lane's part.
    pub(super) fn name(&self) -> Option<&str> {
        self.others.part.as_ref().map(|(_, name)| name.as_str())
    }

    /// Returns the demand of this process for the quota.
    pub(super) fn demand(&self) -> Demand {
        let state = self.state();
        let (quota, learned) = (state.window.quota(), state.window.learned());
        Demand { used: state.window.own(), waiting: state.wanted, quota, learned }
    }

    /// Sets the quota of the key from now on. Calls that were counted stay counted.
    pub(super) fn limit(&self, quota: Quota) {
        self.state().window.limit(quota);
        self.look_again();
    }

    /// Takes in how much other processes use, and the quota that v1 was seen to allow them. If it is larger than the
    /// known one, the waiting calls check again.
    pub(super) fn hear(&self, elsewhere: usize, learned: usize) {
        let mut state = self.state();
        state.elsewhere = Some((elsewhere, Instant::now()));
        if state.window.learn(learned) {
            drop(state);
            self.look_again();
        }
    }

    /// Wakes the first of the queue, because there may be room for more calls.
    pub(super) fn look_again(&self) {
        self.end(|_| {});
    }

    /// Ends a call, and wakes the first of the queue.
    fn end(&self, how: impl FnOnce(&mut State)) {
        let mut state = self.state();
        how(&mut state);
        if let Some(first) = state.first() {
            first.notify_one();
        }
    }
}

/// A place in the queue; dropping it leaves the queue.
struct Place {
    lane: Arc<Lane>,
    priority: Priority,
    calls: usize,
    since: Instant,
    changed: Arc<Notify>,
}

impl Place {
    fn take(lane: Arc<Lane>, priority: Priority, calls: usize) -> Self {
        let changed = Arc::new(Notify::new());
        let mut state = lane.state();
        state.queues[priority as usize].push_back(Arc::clone(&changed));
        state.wanted += calls;
        drop(state);
        Self { lane, priority, calls, since: Instant::now(), changed }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.lane.state();
        state.queues[self.priority as usize].retain(|known| !Arc::ptr_eq(known, &self.changed));
        state.wanted -= self.calls;
        if let Some(first) = state.first() {
            first.notify_one();
        }
    }
}

/// Room for calls of a request. When its last room is dropped, the calls it has not made are given back.
#[derive(Debug)]
pub(super) struct Room {
    lane: Arc<Lane>,
    meter: Arc<Meter>,
}

impl Drop for Room {
    fn drop(&mut self) {
        let (mut state, number) = (self.lane.state(), self.meter.number());
        let Some(kept) = state.kept.get_mut(&number) else { return };
        kept.rooms -= 1;
        // Another read of the same request may still need its room.
        if kept.rooms > 0 {
            return;
        }
        let left = state.kept.remove(&number).unwrap_or_default();
        drop(state);
        self.lane.end(|state| state.window.take_back(left.calls));
    }
}

/// Calls that already count while the pool is asked whether they may be made; dropping it takes them back.
struct ProvisionalCalls<'l> {
    lane: &'l Lane,
    calls: usize,
}

impl ProvisionalCalls<'_> {
    fn for_good(mut self) {
        self.calls = 0;
    }
}

impl Drop for ProvisionalCalls<'_> {
    fn drop(&mut self) {
        self.lane.state().window.take_back(self.calls);
    }
}

/// A call in flight.
#[derive(Debug)]
pub(super) struct Permit {
    lane: Arc<Lane>,
    ticket: Option<Ticket>,
    open: bool,
    /// Whether v1 may have received it. Before that it has used nothing.
    sent: bool,
}

impl Permit {
    pub(super) fn sends(&mut self) {
        self.sent = true;
    }

    pub(super) fn answered(mut self, told: &QuotaNotice) {
        self.open = false;
        let mut counted = Counted::Yes;
        self.lane.end(|state| counted = state.answered(told));
        match (self.ticket.take(), counted) {
            (Some(ticket), Counted::Yes) => ticket.counted(),
            (Some(ticket), Counted::Closed(wait)) => ticket.closed(wait),
            (ticket, _) => drop(ticket),
        }
    }

    pub(super) fn not_sent(mut self) {
        self.sent = false;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.open && self.sent {
            self.lane.end(|state| state.window.lost(Instant::now()));
            if let Some(ticket) = self.ticket.take() {
                ticket.counted();
            }
        } else if self.open {
            self.lane.end(|state| state.window.take_back(1));
        }
    }
}

#[cfg(test)]
mod tests;
