//! One condition, prepared for many rows.
//!
//! A chunk is decided as a whole where the summary of its rows allows it. Otherwise each row is decided, over values
//! that are stored next to each other. May use: `plan` (columns), `translate`, `v2` (calls and cells), this folder.

use super::bits::Bits;
use super::chunk::{Chunk, ROWS};
use super::glance::Summary;
use super::lookups::Memberships;
use super::mask::Mask;
use super::row::{NONE, read_day};
use super::rows::Rows;
use super::view::View;
use crate::plan::Column;
use crate::v2::query::Test;
use crate::v2::record::Cell;
use crate::v2::time::Micros;
use std::collections::HashSet;
use uuid::Uuid;

/// Divisor of the number of rows: up to this share of all rows, the members of sets are looked up one by one.
const FEW: usize = 16;

/// One condition.
pub(super) enum Check<'f> {
    /// Passing priorities, as bits by their position.
    Priority(u8),
    /// Passing states.
    States(States),
    Assignees(Sets<'f>),
    Labels(Sets<'f>),
    /// Bounds of the creation time.
    Created(Micros, Micros),
    /// Bounds of the time of the last change.
    Updated(Micros, Micros),
    /// Bounds of the start date.
    Start(u32, u32),
    /// Bounds of the target date.
    Target(u32, u32),
    /// One of these parents.
    Parents(HashSet<Uuid>),
    /// One of these types.
    Types(HashSet<Uuid>),
    /// Passing slots.
    Slots(Bits),
    /// Slots that do not pass; all other slots pass.
    Outside(Bits),
    /// Items in any of these sets (true), or in none of them (false). For sets with many items.
    Members(Vec<&'f HashSet<Uuid>>, bool),
    /// One of these external ids.
    ExternalIds(HashSet<&'f str>),
    /// One of these sources of external ids.
    ExternalSources(HashSet<&'f str>),
    /// Any other test of a column.
    Plain(Column, &'f Test),
}

/// Passing states by their number. `some` and `not` are bits: the numbers modulo 64 that pass, and that do not.
pub(super) struct States {
    passing: Vec<bool>,
    some: u64,
    not: u64,
}

impl States {
    fn of(passing: Vec<bool>) -> Self {
        let remainders = |wanted: bool| {
            let numbers = passing.iter().zip(0..).filter(|(passes, _)| **passes == wanted);
            numbers.fold(0, |mask, (_, number)| mask | 1_u64 << (number % 64))
        };
        Self { some: remainders(true), not: remainders(false), passing }
    }

    #[inline]
    fn has(&self, state: u32) -> bool {
        self.passing.get(state as usize).copied().unwrap_or(false)
    }
}

/// A test of sets. Each set is tested when the first row that has it is checked.
pub(super) struct Sets<'f> {
    test: &'f Test,
    wanted: HashSet<Uuid>,
    are_labels: bool,
    known: Vec<std::cell::Cell<Known>>,
}

/// Result of the test for one set, as far as known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    Nothing,
    Passes,
    Fails,
}

impl<'f> Sets<'f> {
    fn of(test: &'f Test, are_labels: bool, view: View<'_>) -> Self {
        let known = vec![std::cell::Cell::new(Known::Nothing); view.pools.sets().len()];
        Self { test, wanted: ids(test), are_labels, known }
    }

    #[inline]
    fn has(&self, number: u32, view: View<'_>) -> bool {
        let Some(known) = self.known.get(number as usize) else { return false };
        if known.get() == Known::Nothing {
            let passes = self.passes(view.pools.set_at(number), view);
            known.set(if passes { Known::Passes } else { Known::Fails });
        }
        known.get() == Known::Passes
    }

    #[cold]
    fn passes(&self, set: &[Uuid], view: View<'_>) -> bool {
        let set = if self.are_labels { view.live(set) } else { set.into() };
        match self.test {
            Test::AnyOf(_) => set.iter().any(|id| self.wanted.contains(id)),
            test => test.holds_for(&Cell::Ids(set.into())),
        }
    }
}

/// Result of a condition for all rows of a chunk, as far as the summary tells.
enum Verdict {
    None,
    All,
    Unsure,
}

impl Verdict {
    fn of(any: bool, all: bool) -> Self {
        match (any, all) {
            (false, _) => Self::None,
            (true, true) => Self::All,
            (true, false) => Self::Unsure,
        }
    }
}

impl<'f> Check<'f> {
    /// Builds the check of a test on a column.
    pub fn of(column: Column, test: &'f Test, rows: &Rows, view: View<'f>) -> Self {
        // A hash set, because lists of ids may be long and there are many rows.
        let wanted = ids(test);
        let any = matches!(test, Test::AnyOf(_));
        match column {
            Column::Priority => Self::Priority(priorities(test)),
            Column::StateId => {
                let passes = |id: &Uuid| if any { wanted.contains(id) } else { test.holds_for(&Cell::Id(*id)) };
                Self::States(States::of(view.pools.ids().iter().map(passes).collect()))
            }
            Column::StateGroup => Self::States(States::of(groups(test, view))),
            Column::AssigneeId => Self::Assignees(Sets::of(test, false, view)),
            Column::LabelId => Self::Labels(Sets::of(test, true, view)),
            Column::CycleId => Self::members(column, test, &view.lookups.cycles, rows),
            Column::ModuleId => Self::members(column, test, &view.lookups.modules, rows),
            Column::Id if any => Self::Slots(slots(wanted.iter(), rows)),
            Column::ParentId if any => Self::Parents(wanted),
            Column::TypeId if any => Self::Types(wanted),
            Column::ExternalId if any => Self::ExternalIds(texts(test)),
            Column::ExternalSource if any => Self::ExternalSources(texts(test)),
            Column::CreatedAt | Column::UpdatedAt => instants(column, test),
            Column::StartDate | Column::TargetDate => days(column, test),
            _ => Self::Plain(column, test),
        }
    }

    fn members(column: Column, test: &'f Test, memberships: &'f Memberships, rows: &Rows) -> Self {
        let (sets, inside): (Vec<&HashSet<Uuid>>, _) = match test {
            Test::AnyOf(_) => {
                (ids(test).iter().filter_map(|set| memberships.named.get(set)).map(|set| &**set).collect(), true)
            }
            Test::Unset(unset) => (memberships.any.iter().map(|set| &**set).collect(), !unset),
            _ => return Self::Plain(column, test),
        };
        if sets.iter().map(|set| set.len()).sum::<usize>() > rows.len() / FEW {
            return Self::Members(sets, inside);
        }
        let bits = slots(sets.into_iter().flatten(), rows);
        if inside { Self::Slots(bits) } else { Self::Outside(bits) }
    }

    /// Rank of the check: cheap checks, and checks that few rows pass, come first.
    pub fn cost(&self) -> u8 {
        match self {
            Self::Slots(_) => 1,
            Self::Priority(_) | Self::States(_) | Self::Assignees(_) | Self::Labels(_) => 2,
            Self::Outside(_) => 3,
            Self::Created(..) | Self::Updated(..) | Self::Start(..) | Self::Target(..) | Self::Parents(_) => 4,
            Self::Types(_) | Self::Members(..) | Self::ExternalIds(_) | Self::ExternalSources(_) => 5,
            Self::Plain(..) => 6,
        }
    }

    /// Returns the largest number of rows that can pass, where it is known.
    pub fn most(&self) -> Option<usize> {
        if let Self::Slots(bits) = self { Some(bits.count()) } else { None }
    }

    /// Decides the condition for all rows of a chunk, as far as its summary allows.
    fn verdict(&self, all: &Summary) -> Verdict {
        let within = |bounds: (Micros, Micros), from: Micros, to: Micros| {
            Verdict::of(bounds.0 <= to && bounds.1 >= from, bounds.0 >= from && bounds.1 <= to)
        };
        match self {
            Self::Priority(mask) => Verdict::of(all.priorities & mask != 0, all.priorities & !mask == 0),
            Self::States(states) => Verdict::of(all.states & states.some != 0, all.states & states.not == 0),
            Self::Created(from, to) => within(all.created, *from, *to),
            Self::Updated(from, to) => within(all.updated, *from, *to),
            _ => Verdict::Unsure,
        }
    }

    /// Returns the rows of `mask` that pass; `number` is the position of the chunk.
    pub fn keep(&self, mask: Mask, number: usize, chunk: &Chunk, view: View<'_>) -> Mask {
        match self.verdict(&chunk.summary) {
            Verdict::None => return Mask::NONE,
            Verdict::All => return mask,
            Verdict::Unsure => {}
        }
        let (glances, rows) = (&chunk.glances, chunk.rows.len());
        match self {
            Self::Slots(bits) => mask.and(&bits.of_chunk(number)),
            Self::Outside(bits) => mask.without(&bits.of_chunk(number)),
            Self::Priority(priorities) => {
                mask.filter_cheap(rows, |at| priorities >> (glances[at].priority as u8) & 1 == 1)
            }
            Self::States(states) => mask.filter_cheap(rows, |at| states.has(glances[at].state)),
            Self::Assignees(sets) => mask.filter_cheap(rows, |at| sets.has(glances[at].assignees, view)),
            Self::Labels(sets) => mask.filter_cheap(rows, |at| sets.has(glances[at].labels, view)),
            _ => mask.that(|at| self.passes((number * ROWS + at) as u32, at, chunk, view)),
        }
    }

    /// Checks whether the row in `slot` passes; it is row `at` of its chunk.
    pub fn passes(&self, slot: u32, at: usize, chunk: &Chunk, view: View<'_>) -> bool {
        let (glance, row) = (&chunk.glances[at], &chunk.rows[at]);
        let is_among = |wanted: &HashSet<&str>, held: Option<&str>| held.is_some_and(|held| wanted.contains(held));
        match self {
            Self::Priority(mask) => mask >> (glance.priority as u8) & 1 == 1,
            Self::States(states) => states.has(glance.state),
            Self::Assignees(sets) => sets.has(glance.assignees, view),
            Self::Labels(sets) => sets.has(glance.labels, view),
            Self::Created(from, to) => (*from..=*to).contains(&row.created),
            Self::Updated(from, to) => (*from..=*to).contains(&row.updated),
            Self::Start(from, to) => day(row.start_number(), *from, *to, || row.start_date()),
            Self::Target(from, to) => day(row.target_number(), *from, *to, || row.target_date()),
            Self::Parents(parents) => row.parent().is_some_and(|parent| parents.contains(&parent)),
            Self::Types(types) => view.lookups.type_of.get(&row.id).is_some_and(|kind| types.contains(kind)),
            Self::Slots(bits) => bits.has(slot),
            Self::Outside(bits) => !bits.has(slot),
            Self::Members(sets, inside) => sets.iter().any(|set| set.contains(&row.id)) == *inside,
            Self::ExternalIds(wanted) => is_among(wanted, row.external_id()),
            Self::ExternalSources(wanted) => is_among(wanted, row.external_source()),
            Self::Plain(column, test) => test.holds_for(&view.cell(*column, chunk, row)),
        }
    }
}

fn ids(test: &Test) -> HashSet<Uuid> {
    let Test::AnyOf(wanted) = test else { return HashSet::new() };
    wanted.iter().filter_map(|cell| if let Cell::Id(id) = cell { Some(*id) } else { None }).collect()
}

fn priorities(test: &Test) -> u8 {
    use crate::translate::work_items::Priority::{High, Low, Medium, None, Urgent};
    let passing = [Urgent, High, Medium, Low, None].into_iter();
    let passing = passing.filter(|priority| test.holds_for(&Cell::Text(priority.as_str().into())));
    passing.fold(0, |mask, priority| mask | 1 << priority as u8)
}

fn groups(test: &Test, view: View<'_>) -> Vec<bool> {
    let group = |state: &Uuid| {
        let word =
            view.group(*state).and_then(|group| crate::translate::work_items::GROUPS.get(usize::from(group)));
        test.holds_for(&word.map_or(Cell::Null, |word| Cell::Text((*word).into())))
    };
    view.pools.ids().iter().map(group).collect()
}

fn slots<'i>(items: impl Iterator<Item = &'i Uuid>, rows: &Rows) -> Bits {
    let mut bits = Bits::none(rows.len());
    items.filter_map(|item| rows.slot(*item)).for_each(|slot| bits.add(slot));
    bits
}

fn texts(test: &Test) -> HashSet<&str> {
    let Test::AnyOf(wanted) = test else { return HashSet::new() };
    wanted.iter().filter_map(|cell| if let Cell::Text(text) = cell { Some(&**text) } else { None }).collect()
}

fn instants<'f>(column: Column, test: &'f Test) -> Check<'f> {
    let (from, to) = match test {
        Test::AtLeast(Cell::Instant(from)) => (*from, Micros::MAX),
        Test::AtMost(Cell::Instant(to)) => (Micros::MIN, *to),
        _ => return Check::Plain(column, test),
    };
    if column == Column::CreatedAt { Check::Created(from, to) } else { Check::Updated(from, to) }
}

/// Builds the check of a day. Bounds that are not written as `YYYY-MM-DD` are compared as text.
fn days<'f>(column: Column, test: &'f Test) -> Check<'f> {
    let number = |cell: &Cell| if let Cell::Text(text) = cell { read_day(text) } else { None };
    let bounds = match test {
        Test::AtLeast(bound) => number(bound).map(|from| (from, 99_999_999)),
        Test::AtMost(bound) => number(bound).map(|to| (0, to)),
        _ => None,
    };
    match (bounds, column) {
        (Some((from, to)), Column::StartDate) => Check::Start(from, to),
        (Some((from, to)), _) => Check::Target(from, to),
        (None, _) => Check::Plain(column, test),
    }
}

/// Checks whether a day lies within bounds. A day of another form is compared as text, as in `v2::page`.
fn day(number: Option<u32>, from: u32, to: u32, odd: impl FnOnce() -> Option<String>) -> bool {
    let text = |day: u32| format!("{:04}-{:02}-{:02}", day / 10_000, day / 100 % 100, day % 100);
    match number {
        Some(NONE) => false,
        Some(day) => (from..=to).contains(&day),
        None => odd().is_some_and(|day| day >= text(from) && (to == 99_999_999 || day <= text(to))),
    }
}
