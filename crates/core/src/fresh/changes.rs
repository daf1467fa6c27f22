//! The order of events: when something last changed, when a read began, and whether the one is before the other.
//!
//! May use: this folder.

use super::changed::Changed;
use super::clock::Clock;
use super::sync::Mutex;
use foldhash::quality::RandomState;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Changes remembered. When there are more, the older half is forgotten and voids everything that began before it.
const MOST: usize = 200_000;

/// Changes of which it is remembered when they were told.
const RECENT: usize = 4096;

/// A moment on the clock and in the order of events.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// On the clock.
    pub at: Instant,
    pub(super) number: u64,
}

impl Moment {
    /// Whether this is later than `other`, on the clock and in the order of events.
    pub fn is_after(self, other: Self) -> bool {
        self.number > other.number && self.at >= other.at
    }

    /// The moment of a value that was read at `self` and of which all is known that has happened up to `known`: as old
    /// as before, and void only after later changes.
    pub fn known_up_to(self, known: Self) -> Self {
        Self { number: known.number, ..self }
    }
}

/// What somebody who asks needs of a value.
#[derive(Debug, Clone, Copy)]
pub struct Need {
    asked: Moment,
    /// Number of the last change before they asked that voids the value.
    changed: u64,
    max_age: Duration,
}

impl Need {
    /// How old a value is for the one who asks.
    pub(super) fn age_of(&self, began: Moment) -> Duration {
        self.asked.at.saturating_duration_since(began.at)
    }

    /// Whether a value whose read began then is good enough.
    pub fn is_met(&self, began: Moment) -> bool {
        self.is_met_within(began, self.max_age)
    }

    /// The same with another greatest age, when that is smaller.
    pub(super) fn is_met_within(&self, began: Moment, max_age: Duration) -> bool {
        let age = self.age_of(began);
        began.number > self.changed && (began.is_after(self.asked) || age < max_age.min(self.max_age))
    }
}

/// When what may last have changed; cheap to clone, all clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    clock: Clock,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// Number of the last event.
    number: u64,
    last: HashMap<Changed, u64, RandomState>,
    /// When the last changes were told, and their numbers.
    recent: VecDeque<(Instant, u64)>,
    /// Up to here changes were forgotten, so that anything may have changed.
    forgotten: u64,
}

impl Changes {
    /// Nothing has changed yet, on this clock.
    pub fn new(clock: Clock) -> Self {
        Self { clock, state: Arc::default() }
    }

    /// This moment; a read that begins now sees all that was told before.
    pub fn now(&self) -> Moment {
        self.state.lock().next(&self.clock)
    }

    /// The moment of something that was read elsewhere at `at`, which is past: void after every change that was told
    /// here since, and where that is not known any more after any at all.
    pub fn moment_at(&self, at: Instant) -> Moment {
        let state = self.state.lock();
        let before = state.recent.partition_point(|(told, _)| *told < at);
        let number = match before.checked_sub(1).and_then(|last| state.recent.get(last)) {
            Some((_, number)) => number + 1,
            None if state.recent.len() < RECENT => 1,
            None => 0,
        };
        Moment { at, number }
    }

    /// The same for a read that came after the end of the read that began at `before`: it is not older than that one,
    /// and saw all that happened before it.
    pub fn later_moment_at(&self, at: Instant, before: Moment) -> Moment {
        let moment = self.moment_at(at.max(before.at));
        Moment { number: moment.number.max(before.number), ..moment }
    }

    /// Something may have changed: reads that began before do not count any more for those who ask from now on.
    pub fn tell(&self, changed: Changed) -> Moment {
        let mut state = self.state.lock();
        let now = state.next(&self.clock);
        for one in changed.with_it().into_iter().chain([changed]) {
            state.last.insert(one, now.number);
        }
        if state.recent.len() == RECENT {
            state.recent.pop_front();
        }
        state.recent.push_back((now.at, now.number));
        state.forget_some();
        now
    }

    /// What is needed by somebody who asks now for a value that is younger than `max_age` and void after any of
    /// `voids`. With no age at all its read begins after now.
    pub fn need(&self, voids: &[Changed], max_age: Duration) -> Need {
        let mut state = self.state.lock();
        Need { changed: state.last_of(voids), asked: state.next(&self.clock), max_age }
    }

    /// Whether any of `voids` has changed after `moment`.
    pub fn is_void(&self, voids: &[Changed], moment: Moment) -> bool {
        self.state.lock().last_of(voids) > moment.number
    }
}

impl State {
    /// Later than all moments before, on the clock as well, because it is read under the lock.
    fn next(&mut self, clock: &Clock) -> Moment {
        self.number += 1;
        Moment { at: clock.now(), number: self.number }
    }

    fn last_of(&self, voids: &[Changed]) -> u64 {
        voids.iter().filter_map(|one| self.last.get(one)).fold(self.forgotten, |last, one| last.max(*one))
    }

    fn forget_some(&mut self) {
        if self.last.len() <= MOST {
            return;
        }
        let mut numbers: Vec<u64> = self.last.values().copied().collect();
        let half = numbers.len() / 2;
        self.forgotten = *numbers.select_nth_unstable(half).1;
        let forgotten = self.forgotten;
        self.last.retain(|_, number| *number > forgotten);
    }
}
