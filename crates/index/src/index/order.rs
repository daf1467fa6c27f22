//! Orders as numbers: the key of a row in 64 bits, ties by id.
//!
//! May use: `plan` (columns), `v2` (cells), this folder.

use super::row::Row;
use super::view::View;
use crate::plan::Column;
use crate::v2::cursor::Cursor;
use crate::v2::record::Cell;
use uuid::Uuid;

/// Key of unset values, which come last.
const UNSET: u64 = u64::MAX;

/// A row's place in an order, ascending: its key, then its id.
pub(super) type Place = (u64, Uuid);

/// The order of a call.
#[derive(Debug, Clone)]
pub(super) struct Order {
    column: Column,
    /// Key of each state, by its number; only for orders by group.
    groups: Vec<u64>,
}

impl Order {
    /// Returns the order by a column.
    pub fn of(column: Column, view: View<'_>) -> Self {
        let groups = match column {
            Column::StateGroup => {
                let key = |state| view.group(state).map_or(UNSET, u64::from);
                view.pools.ids().iter().map(|state| key(*state)).collect()
            }
            _ => Vec::new(),
        };
        Self { column, groups }
    }

    /// Returns the order by a column of the row itself.
    pub fn by(column: Column) -> Self {
        Self { column, groups: Vec::new() }
    }

    /// Returns the column of the order.
    pub fn column(&self) -> Column {
        self.column
    }

    /// Checks whether it gives the rows the same places as another order by the same column. A state that an order does
    /// not know has no group in it.
    pub fn is_same(&self, other: &Self) -> bool {
        let group = |order: &Self, state: usize| order.groups.get(state).copied().unwrap_or(UNSET);
        let states = self.groups.len().max(other.groups.len());
        self.column == other.column && (0..states).all(|state| group(self, state) == group(other, state))
    }

    pub fn place(&self, row: &Row) -> Place {
        (self.key(row), row.id)
    }

    pub fn key(&self, row: &Row) -> u64 {
        match self.column {
            Column::CreatedAt => whole(row.created),
            Column::UpdatedAt => whole(row.updated),
            Column::SequenceId => number(row.sequence),
            Column::SortOrder => float(row.sort_order),
            Column::Priority => row.priority as u64,
            Column::StateGroup => self.groups.get(row.state as usize).copied().unwrap_or(UNSET),
            // Ordered by id, which breaks ties. The plan allows no order of a list by one of these other columns.
            Column::Id | Column::StateId | Column::AssigneeId | Column::LabelId | Column::TypeId => 0,
            Column::ParentId | Column::CycleId | Column::ModuleId | Column::IsDraft | Column::ExternalId => 0,
            Column::ExternalSource | Column::StartDate | Column::TargetDate | Column::Name => 0,
        }
    }
}

/// Returns the place of the row that a cursor names. The row may be gone.
pub(super) fn place_of(cursor: &Cursor, field: &str) -> Place {
    let key = match cursor.key(field) {
        _ if field == "id" => 0,
        Some(Cell::Instant(micros)) => whole(*micros),
        Some(Cell::Number(number)) => float(*number),
        _ => UNSET,
    };
    (key, cursor.id)
}

/// Returns the key of a work item's number within the project.
pub(super) fn number(sequence: i64) -> u64 {
    float(sequence as f64)
}

/// Maps a signed number to an unsigned number that compares the same.
fn whole(number: i64) -> u64 {
    number as u64 ^ 1 << 63
}

/// Maps a number to one that compares as `f64::total_cmp` does, except that the sign of zero has no effect.
fn float(number: f64) -> u64 {
    let bits = (number + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_compare_as_their_numbers_do() {
        let numbers = [f64::NEG_INFINITY, -2.5, 0.0, 1e-9, 65_535.0, f64::INFINITY, f64::NAN];
        assert_eq!(float(-0.0), float(0.0));
        assert!(numbers.windows(2).all(|pair| float(pair[0]) < float(pair[1])));
        let wholes = [i64::MIN, -1, 0, 1, i64::MAX];
        assert!(wholes.windows(2).all(|pair| whole(pair[0]) < whole(pair[1])));
    }
}
