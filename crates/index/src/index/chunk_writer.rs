//! Writer of a chunk.
//!
//! May use: `translate` (the typed item), `v2`, this folder.

use super::chunk::Chunk;
use super::pool::Pools;
use super::row::{NONE, Row};
use crate::translate::work_items::Item;
use crate::v2::value::small_letters;

/// Rows that are collected for a new chunk.
#[derive(Default)]
pub(super) struct Writer {
    rows: Vec<Row>,
    text: String,
}

impl Writer {
    /// Adds the row of an item.
    pub fn add(&mut self, item: &Item, pools: &mut Pools) {
        let lower = small_letters(&item.name);
        self.push(Row::of(item, pools), &item.name, &lower);
    }

    /// Adds a row of `chunk`.
    pub fn keep(&mut self, row: &Row, chunk: &Chunk) {
        self.push(row.clone(), chunk.name(row), chunk.lower(row));
    }

    fn push(&mut self, mut row: Row, name: &str, lower: &str) {
        row.name_at = self.text.len() as u32;
        row.name_len = name.len() as u32;
        self.text.push_str(name);
        row.lower_len = if lower == name { NONE } else { lower.len() as u32 };
        if lower != name {
            self.text.push_str(lower);
        }
        self.rows.push(row);
    }

    pub fn finish(self) -> Chunk {
        Chunk::of(self.rows.into(), self.text.into())
    }
}
