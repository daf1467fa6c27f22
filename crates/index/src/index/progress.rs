//! How far a build or a check has come, for those who wait for it.
//!
//! May use: `refusal`.

use crate::refusal::Refusal;
use parking_lot::Mutex;
use std::time::{Duration, Instant};

/// Longest wait advised to a client.
const LONGEST: u64 = 60;

/// Pages read and pages in all, and until when the quota of v1 holds everything up.
#[derive(Debug, Default)]
pub(super) struct Progress {
    state: Mutex<State>,
}

#[derive(Debug, Default, Clone, Copy)]
struct State {
    begun: Option<Instant>,
    done: usize,
    total: Option<usize>,
    held_until: Option<Instant>,
}

impl Progress {
    /// A new read begins.
    pub fn begin(&self) {
        self.change(|state| *state = State { begun: Some(Instant::now()), ..State::default() });
    }

    /// This many pages are to be read in all.
    pub fn expect(&self, pages: usize) {
        self.change(|state| state.total = Some(pages));
    }

    /// One page more was read.
    pub fn page(&self) {
        self.change(|state| state.done += 1);
    }

    /// v1's quota is used up for so long.
    pub fn held(&self, wait: Duration) {
        self.change(|state| state.held_until = Some(Instant::now() + wait));
    }

    /// What those are told whose deadline ends before the read does.
    pub fn refusal(&self) -> Refusal {
        let state = *self.state.lock();
        let pages = match state.total {
            Some(total) => format!("{} of about {total} pages have been read", state.done.min(total)),
            None => "its first page has been asked for".to_owned(),
        };
        let held = state.held_until.map(|until| until.saturating_duration_since(Instant::now()).as_secs());
        let quota = if held.is_some_and(|left| left > 0) {
            "; the request quota at the service behind is used up"
        } else {
            ""
        };
        Refusal::IndexBuilding {
            detail: format!("The index of this project is being built: {pages}{quota}. The build goes on."),
            retry_after: (left(&state) + held.unwrap_or(0)).clamp(1, LONGEST),
        }
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock());
    }
}

/// Seconds the rest will take when it goes on as it began.
fn left(state: &State) -> u64 {
    let (Some(begun), Some(total), 1..) = (state.begun, state.total, state.done) else { return 1 };
    let rest = total.saturating_sub(state.done) as f64;
    (begun.elapsed().as_secs_f64() / state.done as f64 * rest).ceil() as u64
}
