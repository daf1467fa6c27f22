//! Conditions made ready for many rows: what can be decided once for a state, a set or a word is.
//!
//! The meaning is that of `v2::page`: all conditions hold. May use: `plan` (columns), `translate`,
//! `v2` (calls and cells), this folder.

use super::lookups::Memberships;
use super::row::{NONE, Row, read_day};
use super::rows::{Chunk, Rows};
use super::view::View;
use crate::plan::Column;
use crate::v2::query::{Condition, ListCall, Test};
use crate::v2::record::Cell;
use crate::v2::time::Micros;
use memchr::memmem::Finder;
use std::cmp::Ordering;
use std::collections::HashSet;
use uuid::Uuid;

/// All conditions and the search of a call.
pub(super) struct Filter<'f> {
    view: View<'f>,
    checks: Vec<Check<'f>>,
    needle: Option<Finder<'f>>,
}

/// One condition.
enum Check<'f> {
    /// Passing priorities, by their place.
    Priority(u8),
    /// Passing states, by their number.
    States(Vec<bool>),
    /// Passing sets of assignees, by their number.
    Assignees(Vec<bool>),
    /// Passing sets of labels, by their number.
    Labels(Vec<bool>),
    /// Bounds of the creation.
    Created(Micros, Micros),
    /// Bounds of the last change.
    Updated(Micros, Micros),
    /// Bounds of the start.
    Start(u32, u32),
    /// Bounds of the target.
    Target(u32, u32),
    /// One of these parents.
    Parents(HashSet<Uuid>),
    /// One of these types.
    Types(HashSet<Uuid>),
    /// Passing positions.
    Positions(Vec<u64>),
    /// Any other.
    Plain(Column, &'f Test),
    /// Positions at which nothing is set.
    Outside(Vec<u64>),
}

impl<'f> Filter<'f> {
    /// The filter of `call` over `rows`.
    pub fn of(call: &'f ListCall, columns: &[Column], rows: &'f Rows, view: View<'f>) -> Self {
        let check = |condition: &'f Condition| Check::of(columns[condition.cell], &condition.test, rows, view);
        let mut checks: Vec<Check> = call.conditions.iter().map(check).collect();
        checks.sort_by_key(Check::cost);
        // The plan lets lists search in names alone.
        let needle = call.search.as_ref().map(|search| Finder::new(search.needle.as_bytes()));
        Self { view, checks, needle }
    }

    /// Whether the row at `position` passes.
    pub fn passes(&self, position: usize, chunk: &Chunk, row: &Row) -> bool {
        self.checks.iter().all(|check| check.passes(position, chunk, row, self.view))
            && self.needle.as_ref().is_none_or(|needle| needle.find(chunk.lower(row).as_bytes()).is_some())
    }
}

impl<'f> Check<'f> {
    fn of(column: Column, test: &'f Test, rows: &Rows, view: View<'_>) -> Self {
        // Lists of ids may be long, and rows are many.
        let wanted = ids(test);
        let sets = |cell: &dyn Fn(&[Uuid]) -> Cell| {
            let passes = |set: &[Uuid]| match (test, cell(set)) {
                (Test::AnyOf(_), Cell::Ids(held)) => held.iter().any(|id| wanted.contains(id)),
                (_, cell) => satisfies(&cell, test),
            };
            view.pools.sets().iter().map(|set| passes(set)).collect()
        };
        match column {
            Column::Priority => Self::Priority(priorities(test)),
            Column::StateId => {
                let any = matches!(test, Test::AnyOf(_));
                let passes = |id: &Uuid| if any { wanted.contains(id) } else { satisfies(&Cell::Id(*id), test) };
                Self::States(view.pools.ids().iter().map(passes).collect())
            }
            Column::StateGroup => Self::States(groups(test, view)),
            Column::AssigneeId => Self::Assignees(sets(&|set| Cell::Ids(set.into()))),
            Column::LabelId => Self::Labels(sets(&|set| Cell::Ids(view.live(set).into()))),
            Column::CycleId => Self::members(column, test, &view.lookups.cycles, rows),
            Column::ModuleId => Self::members(column, test, &view.lookups.modules, rows),
            Column::ParentId if matches!(test, Test::AnyOf(_)) => Self::Parents(wanted),
            Column::TypeId if matches!(test, Test::AnyOf(_)) => Self::Types(wanted),
            Column::CreatedAt | Column::UpdatedAt => instants(column, test),
            Column::StartDate | Column::TargetDate => days(column, test),
            _ => Self::Plain(column, test),
        }
    }

    fn members(column: Column, test: &'f Test, memberships: &Memberships, rows: &Rows) -> Self {
        match test {
            Test::AnyOf(_) => {
                let sets = ids(test);
                let items = sets.iter().filter_map(|set| memberships.named.get(set)).flat_map(|set| set.iter());
                Self::Positions(positions(items, rows))
            }
            Test::Unset(unset) => {
                let bits = positions(memberships.any.iter().flat_map(|set| set.iter()), rows);
                if *unset { Self::Outside(bits) } else { Self::Positions(bits) }
            }
            _ => Self::Plain(column, test),
        }
    }

    /// Cheap and sharp checks first.
    fn cost(&self) -> u8 {
        match self {
            Self::Positions(_) => 1,
            Self::Priority(_) | Self::States(_) | Self::Assignees(_) | Self::Labels(_) => 2,
            Self::Parents(_) | Self::Types(_) | Self::Outside(_) => 3,
            Self::Created(..) | Self::Updated(..) | Self::Start(..) | Self::Target(..) => 4,
            Self::Plain(..) => 5,
        }
    }

    fn passes(&self, position: usize, chunk: &Chunk, row: &Row, view: View<'_>) -> bool {
        let has = |passing: &[bool], number: u32| passing.get(number as usize).copied().unwrap_or(false);
        let bit = |bits: &[u64]| bits.get(position / 64).is_some_and(|word| word >> (position % 64) & 1 == 1);
        match self {
            Self::Priority(mask) => mask >> (row.priority as u8) & 1 == 1,
            Self::States(passing) => has(passing, row.state),
            Self::Assignees(passing) => has(passing, row.assignees),
            Self::Labels(passing) => has(passing, row.labels),
            Self::Created(from, to) => (*from..=*to).contains(&row.created),
            Self::Updated(from, to) => (*from..=*to).contains(&row.updated),
            Self::Start(from, to) => day(row.start_number(), *from, *to, || row.start_date()),
            Self::Target(from, to) => day(row.target_number(), *from, *to, || row.target_date()),
            Self::Parents(parents) => row.parent().is_some_and(|parent| parents.contains(&parent)),
            Self::Types(types) => view.lookups.type_of.get(&row.id).is_some_and(|kind| types.contains(kind)),
            Self::Positions(bits) => bit(bits),
            Self::Outside(bits) => !bit(bits),
            Self::Plain(column, test) => satisfies(&view.cell(*column, chunk, row), test),
        }
    }
}

/// Whether a cell passes a test, as in `v2::page`.
fn satisfies(cell: &Cell, test: &Test) -> bool {
    match test {
        Test::AnyOf(wanted) => wanted.iter().any(|wanted| cell.holds(wanted)),
        Test::Unset(unset) => cell.is_unset() == *unset,
        Test::AtLeast(bound) => *cell != Cell::Null && cell.order(bound) != Ordering::Less,
        Test::AtMost(bound) => *cell != Cell::Null && cell.order(bound) != Ordering::Greater,
    }
}

fn ids(test: &Test) -> HashSet<Uuid> {
    let Test::AnyOf(wanted) = test else { return HashSet::new() };
    wanted.iter().filter_map(|cell| if let Cell::Id(id) = cell { Some(*id) } else { None }).collect()
}

fn priorities(test: &Test) -> u8 {
    use crate::translate::work_items::Priority::{High, Low, Medium, None, Urgent};
    let passing = [Urgent, High, Medium, Low, None].into_iter();
    let passing = passing.filter(|priority| satisfies(&Cell::Text(priority.as_str().into()), test));
    passing.fold(0, |mask, priority| mask | 1 << priority as u8)
}

fn groups(test: &Test, view: View<'_>) -> Vec<bool> {
    let group = |state: &Uuid| {
        let word =
            view.group(*state).and_then(|group| crate::translate::work_items::GROUPS.get(usize::from(group)));
        satisfies(&word.map_or(Cell::Null, |word| Cell::Text((*word).into())), test)
    };
    view.pools.ids().iter().map(group).collect()
}

fn positions<'i>(items: impl Iterator<Item = &'i Uuid>, rows: &Rows) -> Vec<u64> {
    let mut bits = vec![0; rows.len().div_ceil(64)];
    for position in items.filter_map(|item| rows.position(*item).ok()) {
        bits[position / 64] |= 1 << (position % 64);
    }
    bits
}

fn instants<'f>(column: Column, test: &'f Test) -> Check<'f> {
    let (from, to) = match test {
        Test::AtLeast(Cell::Instant(from)) => (*from, Micros::MAX),
        Test::AtMost(Cell::Instant(to)) => (Micros::MIN, *to),
        _ => return Check::Plain(column, test),
    };
    if column == Column::CreatedAt { Check::Created(from, to) } else { Check::Updated(from, to) }
}

/// Bounds of days, when they are written as days are.
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

/// Whether a day lies within bounds; one of an odd form is compared as text, as in `v2::page`.
fn day(number: Option<u32>, from: u32, to: u32, odd: impl FnOnce() -> Option<String>) -> bool {
    let text = |day: u32| format!("{:04}-{:02}-{:02}", day / 10_000, day / 100 % 100, day % 100);
    match number {
        Some(NONE) => false,
        Some(day) => (from..=to).contains(&day),
        None => odd().is_some_and(|day| day >= text(from) && (to == 99_999_999 || day <= text(to))),
    }
}
