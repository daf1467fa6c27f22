//! State of a lane: the waiting calls, and the used part of the quota.
//!
//! May use: `context`, `pool`, `window`.

use super::super::pool::Ticket;
use super::super::window::Window;
use crate::context::{Priority, RequestNumber};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Time for which the last known use by other processes counts.
const BELIEVED: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct State {
    pub window: Window,
    pub queues: [VecDeque<Arc<Notify>>; Priority::COUNT],
    /// Calls for which requests have reserved room and that are not made yet; the window already counts them.
    pub kept: HashMap<RequestNumber, ReservedRoom>,
    /// Time when the pool will have room again, by its last answer.
    pub pool_opens: Option<Instant>,
    /// Counted calls of the other processes, and the time of this figure.
    pub elsewhere: Option<(usize, Instant)>,
    /// Time of the last request to the pool that only asked for this figure.
    pub looked: Option<Instant>,
    /// Number of calls that the waiting entries want.
    pub wanted: usize,
    /// Time since which the part of this process is too small.
    pub short: Option<Instant>,
}

/// Room that a request has reserved.
#[derive(Debug, Default)]
pub(super) struct ReservedRoom {
    pub calls: usize,
    /// Number of rooms that it still holds.
    pub rooms: usize,
    pub tickets: Vec<Ticket>,
}

impl State {
    /// Creates a state with an unused `window` and empty queues.
    pub fn new(window: Window) -> Self {
        Self {
            window,
            queues: Default::default(),
            kept: HashMap::new(),
            pool_opens: None,
            elsewhere: None,
            looked: None,
            wanted: 0,
            short: None,
        }
    }

    /// Returns the number of calls that count now, including calls of other processes.
    pub fn used(&self) -> usize {
        let elsewhere = self.elsewhere.filter(|(_, at)| at.elapsed() < BELIEVED).map_or(0, |(calls, _)| calls);
        self.window.used().max(self.window.own() + elsewhere)
    }

    pub fn is_closed(&self) -> bool {
        self.window.closed().is_some() || self.pool_opens.is_some_and(|opens| opens > Instant::now())
    }

    pub fn first(&self) -> Option<&Arc<Notify>> {
        self.queues.iter().find_map(VecDeque::front)
    }

    /// Returns how many entries go before the waiter, or before a new entry.
    pub fn ahead_of(&self, priority: Priority, waiter: Option<&Arc<Notify>>) -> usize {
        let more_urgent: usize = self.queues[..priority as usize].iter().map(VecDeque::len).sum();
        let own = &self.queues[priority as usize];
        let place = waiter.and_then(|waiter| own.iter().position(|known| Arc::ptr_eq(known, waiter)));
        more_urgent + place.unwrap_or(own.len())
    }
}
