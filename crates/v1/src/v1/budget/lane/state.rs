//! Who waits in a lane, and what is used of its quota.
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

/// Kinds of [`Priority`].
pub(super) const KINDS: usize = 3;
/// How long what others have used is believed.
const BELIEVED: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct State {
    pub window: Window,
    pub queues: [VecDeque<Arc<Notify>>; KINDS],
    /// Calls that requests have kept room for and not made yet; the window counts them already.
    pub kept: HashMap<RequestNumber, Kept>,
    /// When the pool has room again, as it said last.
    pub pool_opens: Option<Instant>,
    /// Calls of the others that counted at this moment.
    pub elsewhere: Option<(usize, Instant)>,
    /// When it was last asked what they are, for nothing else.
    pub looked: Option<Instant>,
    /// Calls that those in the queues want.
    pub wanted: usize,
    /// Since when the part of this process is too small.
    pub short: Option<Instant>,
}

/// Room that a request has kept.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub calls: usize,
    /// Times that it has kept some and not let go.
    pub rooms: usize,
    pub tickets: Vec<Ticket>,
}

impl State {
    /// Nothing is used of `window`, and nobody waits.
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

    /// Calls that count now, those of the others included.
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

    /// How many go before the waiter, or would go before a newcomer.
    pub fn ahead_of(&self, priority: Priority, waiter: Option<&Arc<Notify>>) -> usize {
        let more_urgent: usize = self.queues[..priority as usize].iter().map(VecDeque::len).sum();
        let own = &self.queues[priority as usize];
        let place = waiter.and_then(|waiter| own.iter().position(|known| Arc::ptr_eq(known, waiter)));
        more_urgent + place.unwrap_or(own.len())
    }
}
