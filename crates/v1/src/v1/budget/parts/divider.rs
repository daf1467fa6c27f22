//! The parts of one process: what it knows of the rows, and what it wants written.
//!
//! Nothing here waits or asks anybody; `task` does. May use: `units`, this folder.

use super::held::Held;
use super::ledger::{Change, Members, Seen};
use super::row::{Demand, Looking, Row};
use crate::units::micros;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use uuid::Uuid;

/// Most rows in one statement.
const MOST: usize = 500;
/// Time after which a row that is in use is written again; one that was not written for long is nobody's.
const TOUCH: Duration = Duration::from_secs(300);
/// How long others may take to say that what they use is in the table.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the table must have been there again before parts count. It was away for the others too, and as soon as it
/// is there each of them counts as living again.
const SETTLED: Duration = Duration::from_secs(5);
/// Longest time after which a table that answers nothing is tried again.
const LONGEST: Duration = Duration::from_secs(300);
/// What a clock, a note or a statement may be late by.
const LATE: Duration = Duration::from_secs(5);
/// The same in microseconds, for rows that were written while others were read.
const OVERLAP: i64 = 3_000_000;

/// The parts of one process.
#[derive(Debug)]
pub(super) struct Divider {
    me: Uuid,
    /// How long the part of a dead process counts.
    hold: Duration,
    held: Arc<Held>,
    stage: Stage,
    rows: HashMap<String, Known>,
    /// Since when others do not say that they divide.
    unmarked: Option<Instant>,
    /// What the clock of the table said, and when that was heard: a time reckoned from it is a little behind.
    clock: Option<(i64, Instant)>,
    /// How long the table must have been there before it is used again.
    settles: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// There was never anybody else, as far as was looked.
    Alone {
        looked: bool,
    },
    /// Even parts; the table has been there since.
    Even {
        there: Option<Instant>,
    },
    /// The calls in use go into the table; until they are there nothing more may be used.
    Entering(From),
    Divided,
}

/// What was before parts counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    /// This process has used nothing.
    Nothing,
    /// Nobody else was there to use anything.
    Alone,
    /// Each had the even part.
    Even,
}

#[derive(Debug)]
struct Known {
    version: i64,
    row: Row,
    written: Instant,
}

/// A row to be written, and what may be used of the key once it is.
#[derive(Debug)]
pub(super) struct Planned {
    pub change: Change,
    row: Row,
    limit: usize,
}

impl Divider {
    /// Parts of windows of this length.
    pub fn new(me: Uuid, window: Duration, held: Arc<Held>) -> Self {
        let (stage, rows) = (Stage::Alone { looked: false }, HashMap::new());
        Self { me, hold: window + LATE, held, stage, rows, unmarked: None, clock: None, settles: SETTLED }
    }

    /// Whether parts count.
    pub fn divides(&self) -> bool {
        matches!(self.stage, Stage::Entering(_) | Stage::Divided)
    }

    /// Whether all that this process uses is in the table.
    pub fn has_entered(&self) -> bool {
        self.stage == Stage::Divided
    }

    /// Whether there is a key in use without a part here.
    pub fn lacks_any(&self, demands: &HashMap<String, Demand>) -> bool {
        demands.iter().any(|(name, demand)| self.lacks(name, demand))
    }

    /// Whether a key is in use without a part here.
    pub fn lacks(&self, name: &str, demand: &Demand) -> bool {
        demand.is_any() && !self.is_in(name)
    }

    /// Whether this process has a part of any key.
    pub fn has_any(&self) -> bool {
        !self.rows.is_empty()
    }

    fn is_in(&self, name: &str) -> bool {
        self.rows.get(name).is_some_and(|known| known.row.part_of(self.me).is_some())
    }

    /// Looks who is there; there are `processes`, as was known last.
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

    /// From now on the even part counts, for the table is of no use.
    fn make_even(&mut self, now: Instant) {
        self.held.even(now + self.hold);
        self.rows.clear();
        self.stage = Stage::Even { there: None };
        self.unmarked = None;
    }

    /// The table is there and answers nothing: it is tried again, less and less often.
    pub fn give_up(&mut self, now: Instant) {
        self.make_even(now);
        self.settles = (2 * self.settles).min(LONGEST);
    }

    /// Since when news are to be read.
    pub fn since(&self) -> i64 {
        self.clock.map_or(0, |(then, _)| then - OVERLAP)
    }

    /// What is to be written; a part that becomes less is less from now on. `demands` are those of all keys, and `used`
    /// tells what counts of one at this moment.
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
        // Nothing can be had as long as others have not written what they use; the calls used here have to be written.
        let waits = self.may_not_raise(members.all_divide);
        let is_new = |(name, demand): &(&String, &Demand)| {
            demand.is_any() && !self.rows.contains_key(*name) && (demand.used > 0 || !waits)
        };
        let new = demands.iter().filter(is_new).map(|(name, _)| name);
        let mut known: Vec<(&String, Instant)> =
            self.rows.iter().map(|(name, known)| (name, known.written)).collect();
        known.sort_by_cached_key(|(name, written)| (self.is_in(name), *written));
        self.plan_of(new.chain(known.into_iter().map(|(name, _)| name)), demands, members, used, now)
    }

    /// The same for those of `demands` alone that this process has no part of yet: however many keys are known, only
    /// these are looked at.
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
        let looking = Looking { me, living: &members.living, now: now_there, hold: self.hold };
        let planned = names.filter_map(|name| {
            let demand = demands.get(name).copied().unwrap_or_default();
            self.planned(name, demand, &looking, members.all_divide, &used, now)
        });
        planned.take(MOST).collect()
    }

    /// Whether others may use what they have not yet written into the table. While this process was alone, nobody did.
    fn may_not_raise(&self, all_divide: bool) -> bool {
        !all_divide && self.stage != Stage::Entering(From::Alone)
    }

    fn planned(
        &self,
        name: &str,
        demand: Demand,
        looking: &Looking<'_>,
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
            _ if self.may_not_raise(all_divide) => row.limit(looking, &demand, old).min(old),
            _ => row.limit(looking, &demand, old),
        };
        // Lowered first: calls that are let through from now on are within it, and earlier ones are counted after that.
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

    /// Learns what came of it. Names the keys of which more may be used now, and tells whether somebody else was
    /// quicker.
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
                    self.rows.insert(name, Known { version: *version, row, written: now });
                }
                None => {
                    again = true;
                    match others.remove(&name) {
                        Some((version, text)) => self.saw(name, version, &text, now),
                        // It was of nobody's use any more.
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
            // Others took this process for dead.
            self.held.set(&name, 0);
        }
        let written = self.rows.get(&name).map_or(now, |known| known.written);
        self.rows.insert(name, Known { version, row, written });
    }

    fn lost(&mut self, name: &str) {
        if self.rows.remove(name).is_some() && self.stage == Stage::Divided {
            self.held.set(name, 0);
        }
    }

    /// The calls this process uses are in the table when all that it may use, and all that counts of `demands`, is.
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

    /// The names of all keys that are known.
    pub fn known(&self) -> impl Iterator<Item = &String> {
        self.rows.keys()
    }

    /// What others used of a key when they wrote last, and what v1 was seen to allow.
    pub fn known_of(&self, name: &str) -> Option<(usize, usize)> {
        let row = &self.rows.get(name)?.row;
        Some((row.used_by_others(self.me), row.learned))
    }
}
