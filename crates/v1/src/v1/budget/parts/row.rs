//! The parts of one key, and the rules that divide them.
//!
//! May use: `fair`, `units`.

use crate::units::micros;
use crate::v1::fair::by_demand;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::time::Duration;
use uuid::Uuid;

/// Largest number of calls that stay free for each process that does not use the key.
const FREE: usize = 3;
/// Least number of calls that a process asks for beyond its use.
const AHEAD: usize = 3;

/// The parts of one key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Row {
    pub parts: Vec<Part>,
    /// Quota that v1 was seen to allow; 0 when v1's figures are not used.
    #[serde(default)]
    pub learned: usize,
}

/// The part of one process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Part {
    pub process: Uuid,
    /// Calls of the process that may count in one window.
    pub calls: usize,
    /// Calls that it wants.
    pub wants: usize,
    /// Calls that counted when this was written.
    pub used: usize,
    /// Time when it was found dead, in microseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<i64>,
}

/// Demand of one process for a key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::v1::budget) struct Demand {
    /// Its calls that count now.
    pub used: usize,
    /// Calls that wait.
    pub waiting: usize,
    /// Known number of calls allowed in each window.
    pub quota: usize,
    /// Quota that v1's figures have shown; 0 when the figures are not used.
    pub learned: usize,
}

/// The process that reads a row, and the time.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowContext<'l> {
    pub me: Uuid,
    pub living: &'l HashSet<Uuid>,
    /// Microseconds since 1970, by the clock of the table.
    pub now: i64,
    /// Time for which the part of a dead process counts.
    pub hold: Duration,
}

impl Demand {
    /// Checks whether the key is in use.
    pub fn is_any(&self) -> bool {
        self.used + self.waiting > 0
    }

    /// Returns the wanted number of calls: somewhat more than are used.
    pub fn wants(&self) -> usize {
        if !self.is_any() {
            return 0;
        }
        let needed = self.used + self.waiting;
        (needed + (needed / 4).max(AHEAD)).min(self.quota)
    }

    /// Returns the smallest difference that is worth writing.
    pub fn step(&self) -> usize {
        (self.quota / 8).max(2)
    }
}

impl Row {
    pub fn part_of(&self, process: Uuid) -> Option<&Part> {
        self.parts.iter().find(|part| part.process == process)
    }

    /// Returns the calls of other processes that counted when they last wrote the row.
    pub fn used_by_others(&self, me: Uuid) -> usize {
        self.parts.iter().filter(|part| part.process != me).map(|part| part.used.min(part.calls)).sum()
    }

    /// Returns the parts of other processes, without processes that have been dead for long enough.
    pub fn others(&self, looking: &RowContext<'_>) -> Vec<Part> {
        let hold = micros(looking.hold);
        let others = self.parts.iter().filter(|part| part.process != looking.me).cloned().map(|mut part| {
            part.gone = match looking.living.contains(&part.process) {
                true => None,
                false => Some(part.gone.unwrap_or(looking.now)),
            };
            part
        });
        others.filter(|part| part.gone.is_none_or(|gone| gone.saturating_add(hold) > looking.now)).collect()
    }

    /// Returns how many calls this process may have in a window from now on; `limit` is its number until now. The
    /// result is never more than the others leave free, and a raise also leaves the reserve for processes without a
    /// part.
    pub fn limit(&self, looking: &RowContext<'_>, demand: &Demand, limit: usize) -> usize {
        if !demand.is_any() {
            return 0;
        }
        let others = self.others(looking);
        let free = demand.quota.saturating_sub(others.iter().map(|part| part.calls).sum());
        let living: Vec<&Part> = others.iter().filter(|part| part.gone.is_none()).collect();
        let even = demand.quota / looking.living.len().max(1);
        let absent = looking.living.len().saturating_sub(living.len() + 1);
        let reserve = if even == 0 { 0 } else { (even / 4).clamp(1, FREE) * absent };
        let (wants, room) = (demand.wants(), free.saturating_sub(reserve));
        let goal = match living.iter().any(|part| part.wants > part.calls) {
            true => {
                let dead: usize = others.iter().filter(|part| part.gone.is_some()).map(|part| part.calls).sum();
                // A process that needs more has a claim to the even part, however little it could use so far.
                let claim = |wants: usize, calls: usize| if wants > calls { wants.max(even) } else { wants };
                let claims = living.iter().map(|part| claim(part.wants, part.calls));
                let all: Vec<usize> = [claim(wants, limit)].into_iter().chain(claims).collect();
                by_demand(demand.quota.saturating_sub(dead + reserve), &all)[0]
            }
            false => wants.max(even),
        };
        if goal < limit {
            // When no other process needs more, the process may keep a little more than it needs.
            let stays = limit - goal < demand.step() && !living.iter().any(|part| part.wants > part.calls);
            return if stays { limit } else { goal }.min(free);
        }
        let asks = self.part_of(looking.me).is_none() || wants > limit;
        if asks { limit.min(free).max(goal.min(room)) } else { limit.min(free) }
    }

    /// Returns the row with `calls` for this process, or without this process when it needs none.
    pub fn with(&self, looking: &RowContext<'_>, demand: &Demand, calls: usize) -> Self {
        let mut parts = self.others(looking);
        if demand.is_any() || calls > 0 {
            let (process, wants, used) = (looking.me, demand.wants(), demand.used);
            parts.push(Part { process, calls, wants, used, gone: None });
        }
        parts.sort_by_key(|part| part.process);
        Self { parts, learned: self.learned.max(demand.learned) }
    }

    /// Checks whether `next` has a change that the others should know.
    pub fn differs(&self, next: &Self, me: Uuid, step: usize) -> bool {
        let others = |row: &Self| -> Vec<(Uuid, Option<i64>)> {
            row.parts.iter().filter(|part| part.process != me).map(|part| (part.process, part.gone)).collect()
        };
        let lacks = |part: &Part| part.wants > part.calls;
        let short = self.parts.iter().any(|part| part.process != me && lacks(part));
        others(self) != others(next)
            || self.learned < next.learned
            || match (self.part_of(me), next.part_of(me)) {
                (None, None) => false,
                (Some(old), Some(new)) => {
                    new.calls > old.calls
                        || (new.calls < old.calls && (short || old.calls - new.calls >= step))
                        || lacks(old) != lacks(new)
                        || old.wants.abs_diff(new.wants) >= if lacks(new) { step.div_ceil(4) } else { step }
                        || old.used.abs_diff(new.used) >= step
                }
                _ => true,
            }
    }
}
