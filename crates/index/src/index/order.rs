//! Orders as numbers: the key of a row in 64 bits, ties by position, which is the order of ids.
//!
//! May use: `plan` (columns), `v2` (cells), this folder.

use super::row::Row;
use super::rows::Rows;
use super::view::View;
use crate::plan::Column;
use crate::v2::cursor::Cursor;
use crate::v2::record::Cell;
use std::cmp::Ordering;

/// What unset values count as: the last.
const UNSET: u64 = u64::MAX;

/// A row's place in an order, ascending: its key, then its position.
pub(super) type Place = (u64, u32);

/// The order of a call.
pub(super) struct Order {
    column: Column,
    /// Key of each state, by its number; for orders by group only.
    groups: Vec<u64>,
}

impl Order {
    /// The order by a column.
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

    /// The key of a row.
    pub fn key(&self, row: &Row) -> u64 {
        match self.column {
            Column::CreatedAt => whole(row.created),
            Column::UpdatedAt => whole(row.updated),
            Column::SequenceId => float(row.sequence as f64),
            Column::SortOrder => float(row.sort_order),
            Column::Priority => row.priority as u64,
            Column::StateGroup => self.groups.get(row.state as usize).copied().unwrap_or(UNSET),
            // By id, which the position tells; the plan lets lists be ordered by no other column.
            Column::Id | Column::StateId | Column::AssigneeId | Column::LabelId | Column::TypeId => 0,
            Column::ParentId | Column::CycleId | Column::ModuleId | Column::IsDraft | Column::ExternalId => 0,
            Column::ExternalSource | Column::StartDate | Column::TargetDate | Column::Name => 0,
        }
    }
}

/// A cursor's position among the rows, of which its own may be gone.
pub(super) struct After {
    key: Option<u64>,
    /// Twice the number of ids before it, and one more when its row is there.
    place: u64,
}

impl After {
    /// The position of `cursor` in the order by `field`.
    pub fn of(cursor: &Cursor, field: &str, rows: &Rows) -> Self {
        let key = match cursor.key(field) {
            _ if field == "id" => None,
            Some(Cell::Instant(micros)) => Some(whole(*micros)),
            Some(Cell::Number(number)) => Some(float(*number)),
            _ => Some(UNSET),
        };
        let place = match rows.position(cursor.id) {
            Ok(position) => position as u64 * 2 + 1,
            Err(position) => position as u64 * 2,
        };
        Self { key, place }
    }

    /// Whether a row comes after it.
    pub fn is_before(&self, (key, position): Place, descending: bool) -> bool {
        let by_key = self.key.map_or(Ordering::Equal, |own| key.cmp(&own));
        let ascending = by_key.then((u64::from(position) * 2 + 1).cmp(&self.place));
        ascending == if descending { Ordering::Less } else { Ordering::Greater }
    }
}

/// A whole number as one that compares the same without a sign.
fn whole(number: i64) -> u64 {
    number as u64 ^ 1 << 63
}

/// A number as one that compares as `f64::total_cmp` does.
fn float(number: f64) -> u64 {
    let bits = number.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_compare_as_their_numbers_do() {
        let numbers = [f64::NEG_INFINITY, -2.5, -0.0, 0.0, 1e-9, 65_535.0, f64::INFINITY, f64::NAN];
        assert!(numbers.windows(2).all(|pair| float(pair[0]) < float(pair[1])));
        let wholes = [i64::MIN, -1, 0, 1, i64::MAX];
        assert!(wholes.windows(2).all(|pair| whole(pair[0]) < whole(pair[1])));
    }
}
