//! How many calls may be under way to v1 at once, found out by how v1 takes them.
//!
//! The limit grows by one whenever it was used well, and shrinks by a tenth when calls fail or take much longer
//! than they usually do while the limit is in use (additive increase, multiplicative decrease). Waiting calls
//! go by priority, among equals the keys take turns; a part of the limit is never given to index work, and a part never
//! to one key alone: calls that hang must not take every place from others.
//!
//! Several processes before one v1 have one limit together: each tells the others what it has found and how many places
//! it wants ([`Measured`]), takes the mean of what all that are at work have found, and uses its part by demand.
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

/// Kinds of [`Priority`].
const KINDS: usize = 3;
/// Calls after which the limit is thought about.
const ROUND: u32 = 20;
/// How much longer than usual calls may take, on average.
const TOLERANCE: f64 = 3.0;
/// How much one round weighs in what is usual.
const WEIGHT: f64 = 0.05;
/// What is left of the limit when v1 is strained.
const LESS: f64 = 0.9;
/// Calls of one key get a further place while those of its priority hold less than this many times the places that are
/// free: alone three quarters of the limit, of two keys that want more than there is each three sevenths.
const SHARE: usize = 3;

/// What one process has found, and what it needs.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Measured {
    /// Calls that all processes together may have under way.
    pub limit: f64,
    /// Places that this process wants of them; 0 when it makes no calls.
    pub wants: usize,
}

/// Between which bounds the limit moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConcurrencySettings {
    /// Least calls at once, at least 1.
    pub min: usize,
    /// Most calls at once.
    pub max: usize,
}

/// The limit of one deployment; cheap to clone, all clones are the same.
#[derive(Debug, Clone)]
pub struct Concurrency(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    settings: ConcurrencySettings,
    /// Of all processes together.
    whole: f64,
    /// What the others have found and want.
    others: Vec<Measured>,
    /// The part of this process.
    limit: usize,
    under_way: usize,
    /// Calls under way that take no place from others: the limit has shrunk, and they are more than their keys may have
    /// of it.
    over: usize,
    /// Most calls that were under way or waited since this was told last.
    peak: usize,
    /// Calls under way by key, of each priority.
    by_key: [HashMap<u64, usize>; KINDS],
    queues: [InTurns<oneshot::Sender<Slot>>; KINDS],
    round: Round,
    /// When a call that is no index work was last begun or ended.
    urgent: Option<Instant>,
    /// What a call usually takes, in seconds.
    usual: Option<f64>,
}

/// What was seen since the limit was thought about last.
#[derive(Debug, Default)]
struct Round {
    calls: u32,
    failed: u32,
    seconds: f64,
    most: usize,
}

/// Calls under way to v1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figures {
    /// How many there are.
    pub under_way: usize,
    /// How many there may be at present.
    pub limit: usize,
    /// How many wait for a place.
    pub waiting: usize,
}

/// A call under way; its place is free again when this is dropped.
#[derive(Debug)]
pub struct Slot {
    state: Arc<Mutex<State>>,
    priority: Priority,
    key: u64,
}

/// Somebody in a queue, who leaves it when this is dropped.
struct Waiting<'c> {
    all: &'c Concurrency,
    priority: Priority,
    key: u64,
    receiver: oneshot::Receiver<Slot>,
    until_now: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.until_now {
            self.receiver.close();
            self.all.state().queues[self.priority as usize].retain(self.key, |sender| !sender.is_closed());
        }
    }
}

impl Concurrency {
    /// A limit between the bounds, which begins at a sixteenth of the upper one: a small v1 is not to be flooded before
    /// anything is known of it, and to grow takes few calls.
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

    /// Waits for a place for a call with `key`; dropping the future gives the place in the queue up.
    pub async fn enter(&self, priority: Priority, key: u64) -> Slot {
        loop {
            let mut waiting = {
                let mut state = self.state();
                // Whoever waits has no room, and gets a place as soon as there is one: a newcomer who has room passes
                // nobody who could go.
                if state.has_room_for(priority, key) {
                    return state.enter(&self.0, priority, key);
                }
                let (sender, receiver) = oneshot::channel();
                state.queues[priority as usize].push_back(key, sender);
                state.note_peak();
                Waiting { all: self, priority, key, receiver, until_now: true }
            };
            let slot = (&mut waiting.receiver).await;
            waiting.until_now = false;
            if let Ok(slot) = slot {
                return slot;
            }
        }
    }

    /// What this process has found since it was asked last, for the others.
    pub fn measured(&self) -> Measured {
        let mut state = self.state();
        let wants = state.wants();
        state.peak = state.under_way + state.waiting();
        Measured { limit: state.whole, wants }
    }

    /// What the others have found; those that wait for a larger part go on.
    pub fn hear(&self, others: Vec<Measured>) {
        let going = {
            let mut state = self.state();
            state.hear(others);
            state.next(&self.0)
        };
        hand_out(going);
    }

    /// How many there are, and may be.
    pub fn figures(&self) -> Figures {
        let state = self.state();
        Figures { under_way: state.under_way, limit: state.limit, waiting: state.waiting() }
    }

    /// Whether a call that is no index work is under way, or was within `time`.
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
        self.find_over_again();
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

    /// Places that this process would like to have: somewhat more than it has used.
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

    /// The part of this process: as much as it wants, or as much as the others that want more; the part that nobody
    /// wants is divided evenly.
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
            self.find_over();
        }
    }

    fn find_over_again(&mut self) {
        if self.over > 0 {
            self.find_over();
        }
    }

    /// Of the places that are left, the calls of one key count for three quarters, the largest number first.
    fn find_over(&mut self) {
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
        self.find_over_again();
        self.note_urgent(priority);
    }

    fn note_urgent(&mut self, priority: Priority) {
        if priority != Priority::Index {
            self.urgent = Some(Instant::now());
        }
    }

    /// Those who may go now; they are told after the lock is given back, because one that has left gives its place back
    /// at once.
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

    /// Who goes next of those that have room, out of the queue.
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
        // The time that calls take says something about the limit only while it is used.
        let used = round.most * 2 >= self.limit;
        let slow = used && average > usual * TOLERANCE;
        if round.failed * 10 > round.calls || slow {
            self.set_whole((self.whole * LESS).floor());
        } else if used {
            self.set_whole(self.whole + 1.0);
        }
        self.divide();
        // A time that is slow for good becomes usual in the end.
        self.usual = Some(if slow { usual * (1.0 + WEIGHT) } else { usual + WEIGHT * (average - usual) });
    }
}

impl Slot {
    /// The call has taken so long; `failed` when v1 gave no answer, or one that tells of strain.
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

/// Gives places to those who wait for them.
fn hand_out(going: Vec<(oneshot::Sender<Slot>, Slot)>) {
    for (sender, slot) in going {
        // Nobody waits there any more: dropped with the answer, the place goes to the next.
        drop(sender.send(slot));
    }
}

#[cfg(test)]
mod tests;
