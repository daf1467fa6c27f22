//! The queue of one key: who waits for v1's quota, and who goes next.
//!
//! The most urgent go first, among equals the one who came first. Nobody is woken but the first of the queue:
//! it sleeps until its call can be made, and hands the place on when it goes, whether it was let through, gave
//! up or its client left. A request that must not stop half-way keeps room for all of its calls first, and then
//! makes them without waiting.
//!
//! Where several processes use the same key, a call that this one could make is also reserved in the `pool` of all of
//! them. Without one, and while nobody can be asked there, a process makes no more calls than its part of the quota
//! (`parts`). May use: `context`, `parts`, `pool`, `window`.

mod others;
mod state;

use super::parts::Demand;
use super::pool::{PoolWindow, Reserved, Ticket};
use super::window::{Counted, Quota, Told, Window};
use crate::context::{Meter, Priority, RequestNumber};
pub(super) use others::Others;
pub use others::Processes;
use parking_lot::{Mutex, MutexGuard};
use state::{KINDS, State};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// Others may give back what they have reserved: it is looked at again after this at the latest.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Pause after Redis has not answered for a call.
const AWAY: Duration = Duration::from_millis(20);
/// How long a process without Redis may take to get its first part of a quota.
const JOINING: Duration = Duration::from_secs(4);
/// The same for a larger one, if there is one: nobody waits for it longer than that.
const GROWING: Duration = Duration::from_millis(2_500);
/// Time left from which a larger part is waited for. A read that several requests wait for together goes on for ten
/// seconds after the first of them has no time left, and must not take that time from it.
const UNHURRIED: Duration = Duration::from_secs(12);
/// Calls to spare with which a part is large enough.
const SPARE: usize = 3;

/// The lane of one key.
#[derive(Debug)]
pub(super) struct Lane {
    /// Calls of the quota that are for writes alone.
    reserve: usize,
    others: Others,
    state: Mutex<State>,
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
        let state = State::new(Window::new(quota, length));
        Self { reserve, others: Others::default(), state: Mutex::new(state) }
    }

    /// The same, with other processes that use the same key.
    #[must_use]
    pub(super) fn among(self, others: Others) -> Self {
        Self { others, ..self }
    }

    /// How many of the same calls can be waited for: as many as this process may use, or can have in any case.
    pub(super) fn most_at_once(&self, priority: Priority) -> usize {
        let (share, quota) = {
            let state = self.state();
            (self.share(&state, priority), state.window.quota())
        };
        self.others.own_part(share, quota).map_or(share, |part| part.max(share / self.others.processes()))
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

    /// Waits in the queue; the calls that it waited for count then.
    async fn wait_for(
        self: &Arc<Self>,
        calls: usize,
        priority: Priority,
        deadline: Instant,
    ) -> Result<Option<Ticket>, Duration> {
        let place = Place::take(Arc::clone(self), priority, calls);
        let mut asked = None;
        loop {
            let by_all = self.others.are_asked();
            match self.turn(&place, calls, deadline) {
                Turn::Go => {
                    let sent = Sent { lane: self, calls };
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
                            self.state().pool_opens = None;
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

    /// Reserves calls that this process could make among those of all processes: `by_all` when that is what it may do by
    /// what all have used, else by its own part. Without a ticket nobody was asked. `asked` holds calls of which nobody
    /// knows whether they are reserved.
    ///
    /// # Errors
    /// The time until they could be made; none at all when it should be looked at again.
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
            (self.share(&state, priority), state.window.learned())
        };
        let reserved = pool.reserve(calls, share, learned, asked.take()).await;
        let (mut state, now) = (self.state(), Instant::now());
        match reserved {
            Reserved::Yes(ticket, count) => {
                state.pool_opens = None;
                state.elsewhere = Some((count.saturating_sub(state.window.own()), now));
                Ok(Some(ticket))
            }
            // Then more may be made than this process knew.
            Reserved::Wait(_, learned) if state.window.learn(learned) => Err(Duration::ZERO),
            Reserved::Wait(wait, _) => {
                state.pool_opens = Some(now + wait);
                Err(wait)
            }
            // What all have used is not known now: by its own part it may be allowed fewer.
            Reserved::Away(ticket) if by_all => {
                *asked = Some(ticket);
                Err(AWAY)
            }
            Reserved::Away(ticket) => {
                state.pool_opens = None;
                Ok(Some(ticket))
            }
        }
    }

    /// What to do about a call that room was kept for; none when there is no room for it.
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

    /// When the last of `more` calls can be made: by what all may use, and by the part of this process as well.
    fn opens(&self, state: &State, more: usize, priority: Priority, now: Instant) -> (Instant, Instant) {
        let share = self.share(state, priority);
        let opens = state.window.opens(more, share, now);
        let opens = state.pool_opens.map_or(opens, |pool| opens.max(pool));
        match self.others.own_part(share, state.window.quota()) {
            Some(part) => (opens, opens.max(state.window.opens_for_own(more, part, now))),
            None => (opens, opens),
        }
    }

    fn turn(&self, place: &Place, calls: usize, deadline: Instant) -> Turn {
        let (mut state, now) = (self.state(), Instant::now());
        let ahead = state.ahead_of(place.priority, Some(&place.changed));
        let (by_all, opens) = self.opens(&state, ahead + calls, place.priority, now);
        if ahead == 0 && opens <= now {
            if self.opens(&state, calls + SPARE, place.priority, now).1 <= now {
                state.short = None;
            }
            state.window.send(calls);
            return Turn::Go;
        }
        let growing = self.others.growing(by_all < opens);
        let grown = growing.map(|part| match part {
            0 => place.since + JOINING,
            _ if deadline - now < UNHURRIED => now,
            _ => *state.short.get_or_insert(now) + GROWING,
        });
        let grown = grown.map(|grown| grown.min(deadline)).filter(|grown| *grown > now);
        // Those ahead may leave: the first of the queue wakes for its call, the others when it is their turn.
        let (until, wakes) = match grown {
            Some(grown) => (by_all, opens.min(grown)),
            None => (opens, if ahead == 0 { opens } else { deadline }),
        };
        if until > deadline || now >= deadline {
            // Without a part yet, it is not the quota that is used up.
            let opens = if growing == Some(0) { by_all.max(now + JOINING) } else { opens };
            return Turn::GiveUp(opens - now);
        }
        Turn::Sleep(wakes)
    }

    /// Counts a call that nobody here can hold back.
    pub(super) fn observe(self: &Arc<Self>) -> Permit {
        self.state().window.send(1);
        let ticket = self.others.pool.as_ref().map(PoolWindow::note);
        self.permit(ticket, true)
    }

    /// Has the pool say what the others have used, unless it was asked not long ago. Nobody waits for that.
    pub(super) fn look_at_others(self: &Arc<Self>) {
        let (Some(pool), Ok(runtime)) = (&self.others.pool, Handle::try_current()) else { return };
        let (mut state, now) = (self.state(), Instant::now());
        if pool.is_up() && state.looked.is_none_or(|at| now - at >= LOOK_AGAIN) {
            state.looked = Some(now);
            let lane = Arc::clone(self);
            runtime.spawn(async move { drop(lane.reserve(0, Priority::Read, true, &mut None).await) });
        }
    }

    /// Whether little is left for reads, or somebody waits.
    pub(super) fn is_short(&self) -> bool {
        let state = self.state();
        let left = self.share(&state, Priority::Read).saturating_sub(state.used());
        left <= state.window.quota() / 4 || state.is_closed() || state.first().is_some()
    }

    /// Whether twice `calls` of this priority could be made at once, and nobody waits.
    pub(super) fn spares(&self, priority: Priority, calls: usize) -> bool {
        let state = self.state();
        let left = self.share(&state, priority).saturating_sub(state.used());
        2 * calls <= left && !state.is_closed() && state.first().is_none()
    }

    /// Time until one more call of this priority could be made.
    pub(super) fn wait(&self, priority: Priority) -> Duration {
        let (state, now) = (self.state(), Instant::now());
        let ahead = state.ahead_of(priority, None);
        self.opens(&state, ahead + 1, priority, now).1 - now
    }

    /// Calls left of the quota, and how many wait by priority.
    pub(super) fn standing(&self) -> (usize, [usize; KINDS]) {
        let state = self.state();
        let left = match state.window.closed() {
            Some(_) => 0,
            None => state.window.quota().saturating_sub(state.window.used()),
        };
        (left, std::array::from_fn(|kind| state.queues[kind].len()))
    }

    /// Whether somebody waits for a call that a request needs.
    pub(super) fn is_queued(&self) -> bool {
        let state = self.state();
        [Priority::Write, Priority::Read].iter().any(|kind| !state.queues[*kind as usize].is_empty())
    }

    /// Whether nothing would be lost by forgetting the lane.
    pub(super) fn is_idle(&self) -> bool {
        let state = self.state();
        state.window.used() == 0 && state.window.closed().is_none() && state.first().is_none()
    }

    /// The name of its part.
    pub(super) fn name(&self) -> Option<&str> {
        self.others.part.as_ref().map(|(_, name)| name.as_str())
    }

    /// What this process needs of the quota.
    pub(super) fn demand(&self) -> Demand {
        let state = self.state();
        let (quota, learned) = (state.window.quota(), state.window.learned());
        Demand { used: state.window.own(), waiting: state.wanted, quota, learned }
    }

    /// What other processes use of it, and what v1 was seen to allow them.
    pub(super) fn hear(&self, elsewhere: usize, learned: usize) {
        let mut state = self.state();
        state.elsewhere = Some((elsewhere, Instant::now()));
        state.window.learn(learned);
    }

    /// There may be room for more: the first of the queue looks.
    pub(super) fn look_again(&self) {
        self.end(|_| {});
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

/// Room for calls that a request will make; the calls it has not made when its last one goes are given back.
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
        // Another read of the same request may still need its own.
        if kept.rooms > 0 {
            return;
        }
        let left = state.kept.remove(&number).unwrap_or_default();
        drop(state);
        self.lane.end(|window| window.take_back(left.calls));
    }
}

/// Calls that count here while it is asked whether they may be made; taken back when dropped.
struct Sent<'l> {
    lane: &'l Lane,
    calls: usize,
}

impl Sent<'_> {
    fn for_good(mut self) {
        self.calls = 0;
    }
}

impl Drop for Sent<'_> {
    fn drop(&mut self) {
        self.lane.state().window.take_back(self.calls);
    }
}

/// A call under way.
#[derive(Debug)]
pub(super) struct Permit {
    lane: Arc<Lane>,
    ticket: Option<Ticket>,
    open: bool,
    /// Whether v1 may have got it; until then it has used nothing.
    sent: bool,
}

impl Permit {
    pub(super) fn sends(&mut self) {
        self.sent = true;
    }

    pub(super) fn answered(mut self, told: &Told) {
        self.open = false;
        let mut counted = Counted::Yes;
        self.lane.end(|window| counted = window.answered(told, Instant::now()));
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
            self.lane.end(|window| window.lost(Instant::now()));
            if let Some(ticket) = self.ticket.take() {
                ticket.counted();
            }
        } else if self.open {
            self.lane.end(|window| window.take_back(1));
        }
    }
}

#[cfg(test)]
mod tests;
