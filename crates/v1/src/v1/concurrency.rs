//! An adaptive limit for the number of calls to v1 in flight, found by observing v1.
//!
//! The limit grows by one after a round in which it was well used. It shrinks by a tenth when calls fail, or take much
//! longer than usual while the limit is used (additive increase, multiplicative decrease). Waiting calls are ordered by
//! priority; within a priority the keys take turns. A part of the limit is never given to index work, and a part never
//! to one key alone, so that hanging calls cannot take every place.
//!
//! Several processes before one v1 share one limit. Each tells the others the limit it has found and how many places
//! it wants ([`Measured`]). Each uses the mean of the limits of all working processes, and takes its part by demand.
//!
//! May use: `context`, `fair`.

use super::fair::{InTurns, by_demand};
use crate::context::Priority;
use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Number of calls after which the limit is adjusted.
const ROUND: u32 = 20;
/// Factor over the usual time up to which the average call time is acceptable.
const TOLERANCE: f64 = 3.0;
/// Weight of one round in the usual time.
const WEIGHT: f64 = 0.05;
/// Factor for the limit when v1 is overloaded.
const LESS: f64 = 0.9;
/// A key gets another place while its calls of that priority hold fewer places than this factor times the free places.
/// So one key alone gets three quarters of the limit; of two keys that want more, each gets three sevenths.
const SHARE: usize = 3;

/// The limit that one process has found, and the places it needs.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Measured {
    /// Calls that all processes together may have in flight.
    pub limit: f64,
    /// Places that this process wants of them; 0 when it makes no calls.
    pub wants: usize,
}

/// Bounds of the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConcurrencySettings {
    /// Lower bound, at least 1.
    pub min: usize,
    /// Upper bound.
    pub max: usize,
}

/// The limit of one deployment; cheap to clone, all clones share it.
#[derive(Debug, Clone)]
pub struct Concurrency(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    settings: ConcurrencySettings,
    /// Limit of all processes together.
    whole: f64,
    /// Limits and wanted places of the other processes.
    others: Vec<Measured>,
    /// The part of this process.
    limit: usize,
    under_way: usize,
    /// Calls in flight that take no place from others: the limit has shrunk, and their keys hold more than their
    /// allowed share.
    over: usize,
    /// Largest number of calls in flight or waiting since the last report to the other processes.
    peak: usize,
    /// Calls in flight by key, for each priority.
    by_key: [HashMap<u64, usize>; Priority::COUNT],
    queues: [InTurns<oneshot::Sender<Slot>>; Priority::COUNT],
    round: Round,
    /// Time when a call other than index work last began or ended.
    urgent: Option<Instant>,
    /// Usual time of a call, in seconds.
    usual: Option<f64>,
}

/// Observations since the limit was last adjusted.
#[derive(Debug, Default)]
struct Round {
    calls: u32,
    failed: u32,
    seconds: f64,
    most: usize,
}

/// Figures of calls to v1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figures {
    /// Number of calls in flight.
    pub under_way: usize,
    /// Present limit.
    pub limit: usize,
    /// Number of calls that wait for a place.
    pub waiting: usize,
}

/// A call in flight. Its place becomes free when this is dropped.
#[derive(Debug)]
pub struct Slot {
    state: Arc<Mutex<State>>,
    priority: Priority,
    key: u64,
}

/// An entry in a queue; dropping it removes the entry.
struct QueueEntry<'c> {
    all: &'c Concurrency,
    priority: Priority,
    key: u64,
    receiver: oneshot::Receiver<Slot>,
    until_now: bool,
}

impl Drop for QueueEntry<'_> {
    fn drop(&mut self) {
        if self.until_now {
            self.receiver.close();
            self.all.state().queues[self.priority as usize].retain(self.key, |sender| !sender.is_closed());
        }
    }
}

impl Concurrency {
    /// Creates a limit between the bounds. It starts at a sixteenth of the upper bound, so that a small v1 is not
    /// flooded before it is known; growing takes few calls.
    pub fn new(settings: ConcurrencySettings) -> Self {
        let min = settings.min.max(1);
        let settings = ConcurrencySettings { min, max: settings.max.max(min) };
        let limit = (settings.max / 16).clamp(settings.min, settings.max);
        Self(Arc::new(Mutex::new(State {
            settings,
            whole: limit as f64,
            others: Vec::new(),
            limit,
            under_way: 0,
            over: 0,
            peak: 0,
            by_key: Default::default(),
            queues: Default::default(),
            round: Round::default(),
            urgent: None,
            usual: None,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }

    /// Waits for a place for a call with `key`. Dropping the future leaves the queue.
    pub async fn enter(&self, priority: Priority, key: u64) -> Slot {
        loop {
            let mut waiting = {
                let mut state = self.state();
                // Waiting calls have no room, and get a place as soon as there is one. So a new call that has room does
                // not overtake a waiting call that could be sent.
                if state.has_room_for(priority, key) {
                    return state.enter(&self.0, priority, key);
                }
                let (sender, receiver) = oneshot::channel();
                state.queues[priority as usize].push_back(key, sender);
                state.note_peak();
                QueueEntry { all: self, priority, key, receiver, until_now: true }
            };
            let slot = (&mut waiting.receiver).await;
            waiting.until_now = false;
            if let Ok(slot) = slot {
                return slot;
            }
        }
    }

    /// Returns the measurements since the last call of this method, for the other processes.
    pub fn measured(&self) -> Measured {
        let mut state = self.state();
        let wants = state.wants();
        state.peak = state.under_way + state.waiting();
        Measured { limit: state.whole, wants }
    }

    /// Takes in the measurements of the other processes. Waiting calls continue when the part of this process grows.
    pub fn hear(&self, others: Vec<Measured>) {
        let going = {
            let mut state = self.state();
            state.hear(others);
            state.next(&self.0)
        };
        hand_out(going);
    }

    /// Returns the figures.
    pub fn figures(&self) -> Figures {
        let state = self.state();
        Figures { under_way: state.under_way, limit: state.limit, waiting: state.waiting() }
    }

    /// Checks whether a call other than index work is in flight, or was within `time`.
    pub fn is_urgent_within(&self, time: Duration) -> bool {
        let state = self.state();
        let urgent = state.by_key[..Priority::Index as usize].iter().any(|held| !held.is_empty());
        urgent || state.urgent.is_some_and(|at| at.elapsed() <= time)
    }
}

impl State {
    fn has_room_for(&self, priority: Priority, key: u64) -> bool {
        let free = (self.limit + self.over).saturating_sub(self.under_way);
        let all = &self.by_key[priority as usize];
        let is_beside_others = || all.values().sum::<usize>() < self.limit - self.limit / 4;
        let held = all.get(&key).copied().unwrap_or(0);
        held < free * SHARE && (priority != Priority::Index || is_beside_others())
    }

    fn enter(&mut self, own: &Arc<Mutex<Self>>, priority: Priority, key: u64) -> Slot {
        self.under_way += 1;
        self.note_peak();
        *self.by_key[priority as usize].entry(key).or_insert(0) += 1;
        self.count_over_share_again();
        self.note_urgent(priority);
        self.round.most = self.round.most.max(self.under_way);
        Slot { state: Arc::clone(own), priority, key }
    }

    fn waiting(&self) -> usize {
        self.queues.iter().map(InTurns::len).sum()
    }

    fn note_peak(&mut self) {
        self.peak = self.peak.max(self.under_way + self.waiting());
    }

    /// Returns the places that this process wants: somewhat more than it has used.
    fn wants(&self) -> usize {
        if self.peak == 0 { 0 } else { self.peak + (self.peak / 4).max(1) }
    }

    fn hear(&mut self, others: Vec<Measured>) {
        let own = (self.peak > 0).then_some(self.whole);
        let at_work = others.iter().filter(|other| other.wants > 0).map(|other| other.limit);
        let found: Vec<f64> = at_work.chain(own).filter(|limit| limit.is_finite()).collect();
        if !found.is_empty() {
            self.set_whole(found.iter().sum::<f64>() / found.len() as f64);
        }
        self.others = others;
        self.divide();
    }

    fn set_whole(&mut self, whole: f64) {
        self.whole = whole.clamp(self.settings.min as f64, self.settings.max as f64);
    }

    /// Sets the part of this process: as much as it wants, or the same as the others that want more. Unwanted places
    /// are divided evenly.
    fn divide(&mut self) {
        let whole = self.whole as usize;
        if self.others.is_empty() {
            return self.set_limit(whole);
        }
        let wants: Vec<usize> =
            [self.wants()].into_iter().chain(self.others.iter().map(|other| other.wants)).collect();
        let parts = by_demand(whole, &wants);
        let left = whole - parts.iter().sum::<usize>();
        self.set_limit((parts[0] + left / wants.len()).max(1));
    }

    fn set_limit(&mut self, limit: usize) {
        let shrinks = limit < self.limit;
        self.limit = limit;
        if shrinks || self.over > 0 {
            self.count_over_share();
        }
    }

    fn count_over_share_again(&mut self) {
        if self.over > 0 {
            self.count_over_share();
        }
    }

    /// Counts the calls over their share. Largest key first, each may hold three quarters of the places that are left.
    fn count_over_share(&mut self) {
        self.over = 0;
        let mut held: Vec<usize> = self.by_key.iter().flat_map(|keys| keys.values().copied()).collect();
        held.sort_unstable_by(|one, other| other.cmp(one));
        let mut left = self.limit;
        for held in held {
            let counts = held.min(left - left / 4);
            left -= counts;
            self.over += held - counts;
        }
    }

    fn leave(&mut self, priority: Priority, key: u64) {
        self.under_way -= 1;
        if let Entry::Occupied(mut held) = self.by_key[priority as usize].entry(key) {
            *held.get_mut() -= 1;
            if *held.get() == 0 {
                held.remove();
            }
        }
        self.count_over_share_again();
        self.note_urgent(priority);
    }

    fn note_urgent(&mut self, priority: Priority) {
        if priority != Priority::Index {
            self.urgent = Some(Instant::now());
        }
    }

    /// Returns the waiting calls that may be sent now. Notify them after the lock is released, because a cancelled one
    /// gives its place back at once.
    fn next(&mut self, own: &Arc<Mutex<State>>) -> Vec<(oneshot::Sender<Slot>, Slot)> {
        let mut going = Vec::new();
        for priority in [Priority::Write, Priority::Read, Priority::Index] {
            while let Some((key, sender)) = self.waiting_with_room(priority) {
                if !sender.is_closed() {
                    going.push((sender, self.enter(own, priority, key)));
                }
            }
        }
        going
    }

    /// Takes the next waiting call that has room from the queue.
    fn waiting_with_room(&mut self, priority: Priority) -> Option<(u64, oneshot::Sender<Slot>)> {
        let turn = self.queues[priority as usize].turn(|key| self.has_room_for(priority, key))?;
        self.queues[priority as usize].take(turn)
    }

    fn note(&mut self, took: Duration, failed: bool) {
        let round = &mut self.round;
        round.calls += 1;
        round.failed += u32::from(failed);
        round.seconds += took.as_secs_f64();
        if round.calls < ROUND {
            return;
        }
        let round = std::mem::take(&mut self.round);
        self.round.most = self.under_way;
        let average = round.seconds / f64::from(round.calls);
        let usual = *self.usual.get_or_insert(average);
        // Call times say something about the limit only while the limit is used.
        let used = round.most * 2 >= self.limit;
        let slow = used && average > usual * TOLERANCE;
        if round.failed * 10 > round.calls || slow {
            self.set_whole((self.whole * LESS).floor());
        } else if used {
            self.set_whole(self.whole + 1.0);
        }
        self.divide();
        // A call time that stays slow becomes the usual time in the end.
        self.usual = Some(if slow { usual * (1.0 + WEIGHT) } else { usual + WEIGHT * (average - usual) });
    }
}

impl Slot {
    /// Reports the time of the call. `failed` means that v1 gave no answer, or an answer that shows overload.
    pub fn ended(self, took: Duration, failed: bool) {
        self.state.lock().note(took, failed);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let going = {
            let mut state = self.state.lock();
            state.leave(self.priority, self.key);
            state.next(&self.state)
        };
        hand_out(going);
    }
}

/// Gives places to the waiting calls.
fn hand_out(going: Vec<(oneshot::Sender<Slot>, Slot)>) {
    for (sender, slot) in going {
        // If the call was cancelled, the slot is dropped with the failed send, and the next call gets the place.
        drop(sender.send(slot));
    }
}

#[cfg(test)]
mod tests;
