//! What this process may use of each key; lanes ask it.
//!
//! May use: nothing of this folder.

use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use tokio::sync::Notify;
use tokio::time::Instant;

/// What this process may use.
#[derive(Debug, Default)]
pub(in crate::v1::budget) struct Held {
    state: Mutex<State>,
    /// Told when a key needs more than it has.
    asked: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Whether parts count; otherwise it is the even part.
    divides: bool,
    /// Until then the even part is no more than the part was.
    until: Option<Instant>,
    /// Most processes that were known since parts do not count: calls of a process that has died count for a while.
    most: usize,
    limits: HashMap<String, usize>,
    /// Keys that need more than they have, since this was last taken.
    asking: HashSet<String>,
}

impl Held {
    /// Calls of `quota` that may count in a window; none for all. There are so many `processes`, as was known last.
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

    /// The part of a key, when it may become larger within moments.
    pub fn growing(&self, name: &str) -> Option<usize> {
        let state = self.state.lock();
        state.divides.then(|| state.limits.get(name).copied().unwrap_or(0))
    }

    /// This key needs more than it has.
    pub fn ask(&self, name: &str) {
        let mut state = self.state.lock();
        if !state.asking.contains(name) {
            state.asking.insert(name.to_owned());
        }
        drop(state);
        self.asked.notify_one();
    }

    /// The keys that need more than they have, each told once.
    pub(super) fn take_asking(&self) -> HashSet<String> {
        std::mem::take(&mut self.state.lock().asking)
    }

    /// Ends when a key needs more than it has.
    pub async fn asked(&self) {
        self.asked.notified().await;
    }

    /// From now on parts count.
    pub(super) fn divide(&self) {
        let mut state = self.state.lock();
        (state.divides, state.until, state.most) = (true, None, 0);
    }

    /// From now on even parts count, until then no larger ones than the parts were.
    pub(super) fn even(&self, until: Instant) {
        let mut state = self.state.lock();
        state.divides = false;
        state.until = Some(until);
    }

    /// The part of a key.
    pub(super) fn limit(&self, name: &str) -> usize {
        self.state.lock().limits.get(name).copied().unwrap_or(0)
    }

    /// Sets the part of a key.
    pub(super) fn set(&self, name: &str, limit: usize) {
        let mut state = self.state.lock();
        match state.limits.get_mut(name) {
            Some(known) => *known = limit,
            None => drop(state.limits.insert(name.to_owned(), limit)),
        }
    }

    /// Forgets a key.
    pub(super) fn forget(&self, name: &str) {
        self.state.lock().limits.remove(name);
    }
}

/// The even part of a quota.
fn even(quota: usize, processes: usize) -> usize {
    (quota / processes.max(1)).max(1)
}
