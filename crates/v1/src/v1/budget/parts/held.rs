//! The part of each key that this process may use; lanes read it.
//!
//! May use: nothing of this folder.

use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use tokio::sync::Notify;
use tokio::time::Instant;

/// The parts that this process may use.
#[derive(Debug, Default)]
pub(in crate::v1::budget) struct Held {
    state: Mutex<State>,
    /// Notified when a key needs more than it has.
    asked: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Whether parts count; otherwise even parts do.
    divides: bool,
    /// Time until which an even part is limited to the former part.
    until: Option<Instant>,
    /// Largest known number of processes since even parts count, because calls of a dead process count for a while.
    most: usize,
    limits: HashMap<String, usize>,
    /// Keys that need more than they have, since this set was last taken.
    asking: HashSet<String>,
}

impl Held {
    /// Returns how many calls of `quota` may count in a window; `None` for all. `processes` is the last known number.
    pub fn calls(&self, name: &str, quota: usize, processes: usize) -> Option<usize> {
        let mut state = self.state.lock();
        if state.divides {
            return Some(state.limits.get(name).map_or(0, |limit| (*limit).min(quota)));
        }
        let Some(until) = state.until else {
            return (processes > 1).then(|| even(quota, processes));
        };
        state.most = state.most.max(processes);
        let even = even(quota, state.most);
        let limit = if Instant::now() < until { state.limits.get(name) } else { None };
        Some(limit.map_or(even, |limit| even.min(*limit)))
    }

    /// Returns the part of a key, if it may grow within moments.
    pub fn growing(&self, name: &str) -> Option<usize> {
        let state = self.state.lock();
        state.divides.then(|| state.limits.get(name).copied().unwrap_or(0))
    }

    /// Requests more for this key.
    pub fn ask(&self, name: &str) {
        let mut state = self.state.lock();
        if !state.asking.contains(name) {
            state.asking.insert(name.to_owned());
        }
        drop(state);
        self.asked.notify_one();
    }

    /// Takes the keys that need more than they have.
    pub(super) fn take_asking(&self) -> HashSet<String> {
        std::mem::take(&mut self.state.lock().asking)
    }

    /// Waits until a key needs more than it has.
    pub async fn asked(&self) {
        self.asked.notified().await;
    }

    /// Switches to parts by demand.
    pub(super) fn divide(&self) {
        let mut state = self.state.lock();
        (state.divides, state.until, state.most) = (true, None, 0);
    }

    /// Switches to even parts. Until the given time they are not larger than the former parts.
    pub(super) fn even(&self, until: Instant) {
        let mut state = self.state.lock();
        state.divides = false;
        state.until = Some(until);
    }

    /// Returns the part of a key.
    pub(super) fn limit(&self, name: &str) -> usize {
        self.state.lock().limits.get(name).copied().unwrap_or(0)
    }

    /// Sets the part of a key.
    pub(super) fn set(&self, name: &str, limit: usize) {
        self.state.lock().limits.insert(name.to_owned(), limit);
    }

    /// Removes a key.
    pub(super) fn forget(&self, name: &str) {
        self.state.lock().limits.remove(name);
    }
}

/// Returns the even part of a quota.
fn even(quota: usize, processes: usize) -> usize {
    (quota / processes.max(1)).max(1)
}
