//! The other processes that use the same key, and the part of its quota that this process may use beside them.
//!
//! May use: `parts`, `pool`, `shared`, `state`.

use super::state::State;
use crate::shared::Shared;
use crate::v1::budget::parts::Held;
use crate::v1::budget::pool::PoolWindow;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Longest wait of a process without Redis for its first part of a quota.
pub(super) const JOINING: Duration = Duration::from_secs(4);
/// Longest wait for a larger part, if there is one.
const GROWING: Duration = Duration::from_millis(2_500);
/// Remaining time from which a call waits for a larger part. A read shared by several requests continues for ten
/// seconds after the first of them has no time left. Waiting for a larger part must not use up those ten seconds.
const UNHURRIED: Duration = Duration::from_secs(12);

/// Source for the number of gateway processes that use the same keys at v1.
pub trait Processes: Debug + Send + Sync {
    /// Returns the last known number of processes, this one included.
    fn processes(&self) -> usize;
}

impl Processes for Shared {
    fn processes(&self) -> usize {
        Self::processes(self)
    }
}

/// The other processes that use the same key.
#[derive(Debug, Default, Clone)]
pub(in crate::v1::budget) struct Others {
    /// Pool in which calls are reserved.
    pub pool: Option<PoolWindow>,
    /// Source for the number of processes.
    pub processes: Option<Arc<dyn Processes>>,
    /// The parts of this process, and the name of this lane's part.
    pub part: Option<(Arc<Held>, String)>,
}

impl Others {
    /// Checks whether calls are counted together with the calls of all processes.
    pub(super) fn is_pool_up(&self) -> bool {
        self.pool.as_ref().is_some_and(PoolWindow::is_up)
    }

    /// Returns this process's own part of `share`; `None` when it may use everything that others have not used.
    pub(super) fn own_part(&self, share: usize, quota: usize) -> Option<usize> {
        if self.is_pool_up() {
            return None;
        }
        let processes = self.processes();
        match &self.part {
            Some((held, name)) => {
                let calls = held.calls(name, quota, processes)?;
                Some(if calls == 0 { 0 } else { (calls * share / quota).max(1) })
            }
            None => (processes > 1).then(|| (share / processes).max(1)),
        }
    }

    /// Returns the part of `share` for the processes that count their calls together. Each process that other sources
    /// know, but the pool does not, has its even part.
    pub(super) fn pooled(&self, share: usize) -> usize {
        let (all, here) = (self.processes(), self.pool.as_ref().map_or(1, PoolWindow::processes));
        if here < all { (share * here / all).max(1) } else { share }
    }

    /// Returns when this process can make the last of `more` calls by its own part of `share`, and, while the pool is
    /// away, beside the calls that the other processes made before; `None` when only the use of all counts.
    pub(super) fn opens(&self, state: &State, more: usize, share: usize, now: Instant) -> Option<Instant> {
        let part = self.own_part(share, state.window.quota());
        let by_part = part.map(|part| state.window.opens_for_own(more, part, now));
        let is_away = self.pool.is_some() && !self.is_pool_up();
        by_part.max(is_away.then(|| state.opens_beside_others(more, share, self.processes(), now)))
    }

    pub(super) fn processes(&self) -> usize {
        self.processes.as_ref().map_or(1, |known| known.processes()).max(1)
    }

    /// Returns the part of this process, if more is `wanted` and the part may grow within moments.
    pub(super) fn growing(&self, wanted: bool) -> Option<usize> {
        let (held, name) = self.part.as_ref().filter(|_| wanted)?;
        held.ask(name);
        held.growing(name)
    }
}

/// Times when calls can be made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Opens {
    /// By the use of all processes.
    pub by_all: Instant,
    /// By the use of all processes and by the part of this one.
    pub by_part: Instant,
}

/// Returns until when a call that came at `since` waits for a part larger than `part`; `None` when it does not wait.
/// `short` is the time since which the part has been too small.
pub(super) fn wait_for_part(
    part: usize,
    since: Instant,
    short: &mut Option<Instant>,
    now: Instant,
    deadline: Instant,
) -> Option<Instant> {
    let until = match part {
        0 => since + JOINING,
        _ if deadline - now < UNHURRIED => now,
        _ => *short.get_or_insert(now) + GROWING,
    };
    Some(until.min(deadline)).filter(|until| *until > now)
}
