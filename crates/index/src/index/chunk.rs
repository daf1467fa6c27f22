//! A block of rows, with the text of their names.
//!
//! A chunk never changes. Beside the rows it holds their states, people, labels and priorities next to each other, and
//! the bounds of the values in the chunk. May use: this folder.

use super::glance::{FilterColumns, Summary};
use super::row::{NONE, Row};

/// Rows in a chunk; only the last chunk has fewer.
pub(super) const ROWS: usize = 256;

/// Rows of adjacent slots, and the text of their names.
#[derive(Debug)]
pub(super) struct Chunk {
    pub rows: Box<[Row]>,
    pub text: Box<str>,
    pub glances: Box<[FilterColumns]>,
    pub summary: Summary,
    pub bytes: usize,
}

impl Chunk {
    /// Builds a chunk of rows whose names are in `text`, in the order of the rows.
    pub fn of(rows: Box<[Row]>, text: Box<str>) -> Self {
        let glance = |row: &Row| FilterColumns {
            state: row.state,
            assignees: row.assignees,
            labels: row.labels,
            priority: row.priority,
        };
        let glances: Box<[FilterColumns]> = rows.iter().map(glance).collect();
        let boxed: usize = rows.iter().map(Row::boxed_bytes).sum();
        let bytes = size_of::<Self>() + size_of_val(&*rows) + size_of_val(&*glances) + text.len() + boxed + 48;
        Self { summary: Summary::of(&rows), rows, text, glances, bytes }
    }

    /// Returns the name of a row of this chunk.
    pub fn name(&self, row: &Row) -> &str {
        self.slice(row.name_at, row.name_len)
    }

    /// Returns the name in lower case, as [`small_letters`] makes it.
    pub fn lower(&self, row: &Row) -> &str {
        let (from, to) = Self::lower_range(row);
        self.slice(from, to - from)
    }

    /// Returns start and end of the lower-case name in the text.
    pub fn lower_range(row: &Row) -> (u32, u32) {
        match row.lower_len {
            NONE => (row.name_at, row.name_at + row.name_len),
            length => (row.name_at + row.name_len, row.name_at + row.name_len + length),
        }
    }

    fn slice(&self, at: u32, length: u32) -> &str {
        self.text.get(at as usize..(at + length) as usize).unwrap_or_default()
    }
}
