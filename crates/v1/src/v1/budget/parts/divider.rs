//! The parts of one process: the rows it knows, and the rows it wants to write.
//!
//! Nothing here waits or sends anything; `task` does. May use: `units`, this folder.

use super::held::Held;
use super::ledger::{Change, Members, Seen};
use super::row::{Demand, Row, RowContext};
use crate::units::micros;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use uuid::Uuid;

/// Largest number of rows in one statement.
const MOST: usize = 500;
/// Time after which a row in use is written again; a row that was not written for long counts as unused.
const TOUCH: Duration = Duration::from_secs(300);
/// Longest wait for other processes to announce that their use is in the table.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time for which the table must be reachable again before parts count. It was unreachable for the other processes too,
/// and each of them counts as living as soon as it is back.
const SETTLED: Duration = Duration::from_secs(5);
/// Longest pause before a table that does not answer is tried again.
const LONGEST: Duration = Duration::from_secs(300);
/// Largest possible delay of a clock, a note or a statement.
const LATE: Duration = Duration::from_secs(5);
/// Overlap of two reads, in microseconds, for rows that were written while others were read.
const OVERLAP: i64 = 3_000_000;

/// The parts of one process.
#[derive(Debug)]
pub(super) struct Divider {
    me: Uuid,
    /// Time for which the part of a dead process counts.
    hold: Duration,
    held: Arc<Held>,
    stage: Stage,
    rows: HashMap<String, KnownRow>,
    /// Time since which some other process does not announce that it divides.
    unmarked: Option<Instant>,
    /// Last time shown by the table's clock, and when it was received. A time computed from it is a little behind.
    clock: Option<(i64, Instant)>,
    /// Time for which the table must be reachable before it is used again.
    settles: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// No other process was ever seen. `looked` is whether the process has looked.
    Alone {
        looked: bool,
    },
    /// Even parts count. `there` is the time since which the table is reachable.
    Even {
        there: Option<Instant>,
    },
    /// The used calls are being written to the table. Until that is done, the process may not use more.
    Entering(From),
    Divided,
}

/// State before parts counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    /// This process has used nothing.
    Nothing,
    /// There was no other process to use anything.
    Alone,
    /// Each process had the even part.
    Even,
}

#[derive(Debug)]
struct KnownRow {
    version: i64,
    row: Row,
    written: Instant,
}

/// A row to be written, and the part of the key that may be used after the write.
#[derive(Debug)]
pub(super) struct Planned {
    pub change: Change,
    row: Row,
    limit: usize,
}

impl Divider {
    /// Creates the parts for windows of this length.
    pub fn new(me: Uuid, window: Duration, held: Arc<Held>) -> Self {
        let (stage, rows) = (Stage::Alone { looked: false }, HashMap::new());
        Self { me, hold: window + LATE, held, stage, rows, unmarked: None, clock: None, settles: SETTLED }
    }

    /// Checks whether parts count.
    pub fn divides(&self) -> bool {
        matches!(self.stage, Stage::Entering(_) | Stage::Divided)
    }

    /// Checks whether all use by this process is in the table.
    pub fn has_entered(&self) -> bool {
        self.stage == Stage::Divided
    }

    /// Checks whether any key is in use and has no part here.
    pub fn lacks_any(&self, demands: &HashMap<String, Demand>) -> bool {
        demands.iter().any(|(name, demand)| self.lacks(name, demand))
    }

    /// Checks whether the key is in use and has no part here.
    pub fn lacks(&self, name: &str, demand: &Demand) -> bool {
        demand.is_any() && !self.is_in(name)
    }

    /// Checks whether this process knows the row of any key.
    pub fn has_any(&self) -> bool {
        !self.rows.is_empty()
    }

    fn is_in(&self, name: &str) -> bool {
        self.rows.get(name).is_some_and(|known| known.row.part_of(self.me).is_some())
    }

    /// Updates the stage by the present `members`; `processes` is the last known number of processes.
    pub fn look(
        &mut self,
        members: Option<&Members>,
        processes: usize,
        demands: &HashMap<String, Demand>,
        now: Instant,
    ) {
        let Some(members) = members else {
            return match self.stage {
                Stage::Alone { .. } => {}
                Stage::Even { .. } => self.stage = Stage::Even { there: None },
                Stage::Entering(_) | Stage::Divided => self.make_even(now),
            };
        };
        match self.stage {
            Stage::Alone { .. } if members.living.len() <= 1 => self.stage = Stage::Alone { looked: true },
            Stage::Alone { looked } if members.all_know => {
                self.stage = Stage::Entering(if looked { From::Alone } else { From::Nothing });
                self.held.divide();
            }
            Stage::Even { there } if members.all_know => {
                let there = there.unwrap_or(now);
                self.stage = Stage::Even { there: Some(there) };
                if now - there >= self.settles {
                    for (name, demand) in demands {
                        let calls = self.held.calls(name, demand.quota, processes).unwrap_or(demand.quota);
                        self.held.set(name, if demand.used > 0 { calls } else { 0 });
                    }
                    self.stage = Stage::Entering(From::Even);
                    self.held.divide();
                }
            }
            Stage::Alone { .. } | Stage::Even { .. } => self.stage = Stage::Even { there: None },
            Stage::Entering(_) | Stage::Divided => {
                let unmarked = (!members.all_divide).then(|| self.unmarked.unwrap_or(now));
                self.unmarked = unmarked;
                if !members.all_know || unmarked.is_some_and(|since| now - since >= PATIENCE) {
                    self.make_even(now);
                }
            }
        }
    }

    /// Switches to even parts, because the table cannot be used.
    fn make_even(&mut self, now: Instant) {
        self.held.even(now + self.hold);
        self.rows.clear();
        self.stage = Stage::Even { there: None };
        self.unmarked = None;
    }

    /// Switches to even parts, because the reachable table does not answer. It is tried again, less and less often.
    pub fn give_up(&mut self, now: Instant) {
        self.make_even(now);
        self.settles = (2 * self.settles).min(LONGEST);
    }

    /// Returns the time from which on changed rows must be read.
    pub fn since(&self) -> i64 {
        self.clock.map_or(0, |(then, _)| then - OVERLAP)
    }

    /// Returns the rows to write. A part that becomes smaller is smaller at once. `demands` has the demands of all
    /// keys, and `used` returns how many calls of a key count at this moment.
    pub fn plan(
        &mut self,
        demands: &HashMap<String, Demand>,
        members: &Members,
        used: impl Fn(&str) -> usize,
        now: Instant,
    ) -> Vec<Planned> {
        let is_needed = |name: &String| demands.get(name).is_some_and(Demand::is_any);
        let me = self.me;
        self.rows.retain(|name, known| known.row.part_of(me).is_some() || is_needed(name));
        // While others have not written their use, this process can get nothing new. It must still write its own use.
        let waits = self.must_not_raise(members.all_divide);
        let is_new = |(name, demand): &(&String, &Demand)| {
            demand.is_any() && !self.rows.contains_key(*name) && (demand.used > 0 || !waits)
        };
        let new = demands.iter().filter(is_new).map(|(name, _)| name);
        let mut known: Vec<(&String, Instant)> =
            self.rows.iter().map(|(name, known)| (name, known.written)).collect();
        known.sort_by_cached_key(|(name, written)| (self.is_in(name), *written));
        self.plan_of(new.chain(known.into_iter().map(|(name, _)| name)), demands, members, used, now)
    }

    /// Returns the rows to write for those keys of `demands` that have no part here yet. Only these are checked,
    /// however many keys are known.
    pub fn plan_new(
        &self,
        demands: &HashMap<String, Demand>,
        members: &Members,
        used: impl Fn(&str) -> usize,
        now: Instant,
    ) -> Vec<Planned> {
        let lacking = demands.iter().filter(|(name, demand)| self.lacks(name, demand));
        self.plan_of(lacking.map(|(name, _)| name), demands, members, used, now)
    }

    fn plan_of<'n>(
        &self,
        names: impl Iterator<Item = &'n String>,
        demands: &HashMap<String, Demand>,
        members: &Members,
        used: impl Fn(&str) -> usize,
        now: Instant,
    ) -> Vec<Planned> {
        let Some((then, at)) = self.clock else { return Vec::new() };
        let (me, now_there) = (self.me, then.saturating_add(micros(now - at)));
        let looking = RowContext { me, living: &members.living, now: now_there, hold: self.hold };
        let planned = names.filter_map(|name| {
            let demand = demands.get(name).copied().unwrap_or_default();
            self.planned(name, demand, &looking, members.all_divide, &used, now)
        });
        planned.take(MOST).collect()
    }

    /// Checks whether others may use calls that are not in the table yet. While this process was alone, no other used
    /// any.
    fn must_not_raise(&self, all_divide: bool) -> bool {
        !all_divide && self.stage != Stage::Entering(From::Alone)
    }

    fn planned(
        &self,
        name: &str,
        demand: Demand,
        looking: &RowContext<'_>,
        all_divide: bool,
        used: impl Fn(&str) -> usize,
        now: Instant,
    ) -> Option<Planned> {
        let known = self.rows.get(name);
        let nobody = Row::default();
        let row = known.map_or(&nobody, |known| &known.row);
        let old = self.held.limit(name);
        let limit = match self.stage {
            Stage::Entering(From::Even) if demand.used > 0 => old,
            _ if self.must_not_raise(all_divide) => row.limit(looking, &demand, old).min(old),
            _ => row.limit(looking, &demand, old),
        };
        // Lower the part first: then calls from now on stay within it, and the count below includes all earlier calls.
        if limit < old {
            self.held.set(name, limit);
        }
        let demand = Demand { used: used(name).max(demand.used), ..demand };
        let next = row.with(looking, &demand, limit.max(demand.used));
        let is_news = match known {
            None => true,
            Some(known) => {
                limit > old || row.differs(&next, self.me, demand.step()) || now - known.written >= TOUCH
            }
        };
        if !is_news {
            return None;
        }
        let version = known.map_or(0, |known| known.version);
        let text = serde_json::to_string(&next).unwrap_or_default();
        let change = Change { name: name.to_owned(), version, text };
        Some(Planned { change, row: next, limit })
    }

    /// Takes in the result of an exchange. Returns the keys of which more may be used now, and whether another process
    /// wrote a row first.
    pub fn learn(&mut self, planned: Vec<Planned>, seen: Seen, now: Instant) -> (Vec<String>, bool) {
        self.clock = Some((seen.now, now));
        let written: HashMap<String, i64> = seen.written.into_iter().collect();
        let mut others: HashMap<String, (i64, String)> = HashMap::new();
        for (name, version, text) in seen.rows {
            if !written.contains_key(&name) {
                others.insert(name, (version, text));
            }
        }
        let (mut more, mut again) = (Vec::new(), false);
        for Planned { change, row, limit } in planned {
            let name = change.name;
            match written.get(&name) {
                Some(_) if row.part_of(self.me).is_none() => {
                    self.rows.remove(&name);
                    self.held.forget(&name);
                }
                Some(version) => {
                    if limit > self.held.limit(&name) {
                        self.held.set(&name, limit);
                        more.push(name.clone());
                    }
                    self.rows.insert(name, KnownRow { version: *version, row, written: now });
                }
                None => {
                    again = true;
                    match others.remove(&name) {
                        Some((version, text)) => self.saw(name, version, &text, now),
                        // The row was deleted because no process used it.
                        None => self.lost(&name),
                    }
                }
            }
        }
        for (name, (version, text)) in others {
            self.saw(name, version, &text, now);
        }
        (more, again)
    }

    fn saw(&mut self, name: String, version: i64, text: &str, now: Instant) {
        let Ok(row) = serde_json::from_str::<Row>(text) else { return };
        if self.rows.get(&name).is_some_and(|known| known.version > version) {
            return;
        }
        if row.part_of(self.me).is_none() && self.stage != Stage::Entering(From::Even) {
            // Other processes counted this process as dead.
            self.held.set(&name, 0);
        }
        let written = self.rows.get(&name).map_or(now, |known| known.written);
        self.rows.insert(name, KnownRow { version, row, written });
    }

    fn lost(&mut self, name: &str) {
        if self.rows.remove(name).is_some() && self.stage == Stage::Divided {
            self.held.set(name, 0);
        }
    }

    /// Ends the stage of entering when the table covers everything this process may use and all counted calls of
    /// `demands`.
    pub fn enter(&mut self, demands: &HashMap<String, Demand>) {
        let entering = matches!(self.stage, Stage::Entering(_));
        let lacks = demands.iter().any(|(name, demand)| {
            let part = self.rows.get(name).and_then(|known| known.row.part_of(self.me));
            let needs = demand.used.max(self.held.limit(name));
            needs > 0 && part.is_none_or(|part| part.calls < needs)
        });
        if entering && self.clock.is_some() && !lacks {
            self.stage = Stage::Divided;
            self.settles = SETTLED;
        }
    }

    /// Returns the names of all known keys.
    pub fn known(&self) -> impl Iterator<Item = &String> {
        self.rows.keys()
    }

    /// Returns the use by others when they last wrote the row of a key, and the quota that v1 was seen to allow.
    pub fn known_of(&self, name: &str) -> Option<(usize, usize)> {
        let row = &self.rows.get(name)?.row;
        Some((row.used_by_others(self.me), row.learned))
    }
}
