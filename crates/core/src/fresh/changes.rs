//! The order of events: when something last changed, when a read began, and which of the two came first.
//!
//! May use: this folder.

use super::changed::Changed;
use super::clock::Clock;
use super::sync::Mutex;
use foldhash::quality::RandomState;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Maximum number of remembered changes. When there are more, the older half is forgotten. Every read that began
/// before the last forgotten change then counts as void.
const MOST: usize = 200_000;

/// Number of the latest changes whose instants are remembered.
const RECENT: usize = 4096;

/// A moment on the clock and in the order of events.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// Instant on the clock.
    pub at: Instant,
    pub(super) number: u64,
}

impl Moment {
    /// Checks whether this is later than `other`, on the clock and in the order of events.
    pub fn is_after(self, other: Self) -> bool {
        self.number > other.number && self.at >= other.at
    }

    /// Checks whether this is earlier than `other` on the clock. At the same instant, the order of events decides.
    pub(super) fn is_before(self, other: Self) -> bool {
        (self.at, self.number) < (other.at, other.number)
    }

    /// Returns the moment of a value that was read at `self` and includes all changes up to `known`. It is as old as
    /// before, and only later changes void it.
    pub fn known_up_to(self, known: Self) -> Self {
        Self { number: known.number, ..self }
    }
}

/// The requirements of a caller for a value.
#[derive(Debug, Clone, Copy)]
pub struct Need {
    asked: Moment,
    /// Number of the last change, before the caller asked, that voids the value.
    changed: u64,
    max_age: Duration,
}

impl Need {
    /// Returns the age of a value for this caller.
    pub(super) fn age_of(&self, began: Moment) -> Duration {
        self.asked.at.saturating_duration_since(began.at)
    }

    /// Checks whether a value whose read began at `began` is good enough.
    pub fn is_met(&self, began: Moment) -> bool {
        self.is_met_within(began, self.max_age)
    }

    /// The same with another maximum age, when it is smaller.
    pub(super) fn is_met_within(&self, began: Moment, max_age: Duration) -> bool {
        let age = self.age_of(began);
        began.number > self.changed && (began.is_after(self.asked) || age < max_age.min(self.max_age))
    }
}

/// The record of the last changes; cheap to clone, all clones are the same.
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
    /// Instants and numbers of the latest changes.
    recent: VecDeque<(Instant, u64)>,
    /// Number up to which changes were forgotten. Anything may have changed up to there.
    forgotten: u64,
}

impl Changes {
    /// Creates a record without changes, on this clock.
    pub fn new(clock: Clock) -> Self {
        Self { clock, state: Arc::default() }
    }

    /// Returns the current moment. A read that begins now sees all changes that were told before.
    pub fn now(&self) -> Moment {
        self.state.lock().next(&self.clock)
    }

    /// Returns the moment of a value that was read elsewhere at `at`, in the past. Every change that was told here
    /// since then voids it. When it is no longer known which changes came since, any change voids it.
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

    /// The same for a read that came after the end of the read that began at `before`. It is not older than that read,
    /// and saw all changes before it.
    pub fn later_moment_at(&self, at: Instant, before: Moment) -> Moment {
        let moment = self.moment_at(at.max(before.at));
        Moment { number: moment.number.max(before.number), ..moment }
    }

    /// Records that something may have changed. For callers that ask from now on, earlier reads no longer count.
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

    /// Returns the need of a caller that asks now for a value that is younger than `max_age` and that any of `voids`
    /// voids. With a `max_age` of zero the read of the value must begin after now.
    pub fn need(&self, voids: &[Changed], max_age: Duration) -> Need {
        let mut state = self.state.lock();
        Need { changed: state.last_of(voids), asked: state.next(&self.clock), max_age }
    }

    /// Checks whether any of `voids` has changed after `moment`.
    pub fn is_void(&self, voids: &[Changed], moment: Moment) -> bool {
        self.state.lock().last_of(voids) > moment.number
    }
}

impl State {
    /// Returns a moment later than all before, also on the clock, because the clock is read under the lock.
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
