//! The values of a row that filters check most, and a summary of all rows of a chunk. With both a filter skips most
//! rows without reading them. May use: `translate` (the typed item), `v2` (time), this folder.

use super::row::Row;
use crate::translate::work_items::Priority;
use crate::v2::time::Micros;

/// The values of a row that filters check most.
#[derive(Debug, Clone, Copy)]
pub(super) struct FilterColumns {
    pub state: u32,
    pub assignees: u32,
    pub labels: u32,
    pub priority: Priority,
}

/// Summary of all rows of a chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Summary {
    /// Priorities that occur, as bits by their position.
    pub priorities: u8,
    /// States that occur, as bits by their number modulo 64.
    pub states: u64,
    /// First and last time of creation.
    pub created: (Micros, Micros),
    /// First and last time of a change.
    pub updated: (Micros, Micros),
}

impl Summary {
    pub fn of(rows: &[Row]) -> Self {
        let none = (Micros::MAX, Micros::MIN);
        let mut all = Self { priorities: 0, states: 0, created: none, updated: none };
        let widen = |bounds: &mut (Micros, Micros), at: Micros| *bounds = (bounds.0.min(at), bounds.1.max(at));
        for row in rows {
            all.priorities |= 1 << row.priority as u8;
            all.states |= 1 << (row.state % 64);
            widen(&mut all.created, row.created);
            widen(&mut all.updated, row.updated);
        }
        all
    }
}
