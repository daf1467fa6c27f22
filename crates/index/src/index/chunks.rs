//! All chunks of a version of the rows.
//!
//! Slots are numbered without gaps, [`ROWS`] in each chunk. A change of a row rebuilds its chunk; versions share all
//! other chunks. May use: this folder.

use super::chunk::{Chunk, ROWS};
use super::chunk_writer::Writer;
use super::moves::{Moves, SlotChange};
use super::pool::Pools;
use super::row::Row;
use std::collections::BTreeSet;
use std::sync::Arc;

/// All chunks of a version; a clone shares them.
#[derive(Debug, Clone, Default)]
pub(super) struct Chunks {
    list: Arc<Vec<Arc<Chunk>>>,
    len: usize,
    bytes: usize,
}

impl Chunks {
    /// Builds the list from kept chunks. When the chunks have other sizes, the rows are cut into new chunks.
    pub fn of(mut list: Vec<Arc<Chunk>>) -> Self {
        let full = list.len().saturating_sub(1);
        let even = list[..full].iter().all(|chunk| chunk.rows.len() == ROWS);
        if !even || list.last().is_some_and(|chunk| chunk.rows.len() > ROWS) {
            let mut rows = list.iter().flat_map(|chunk| chunk.rows.iter().map(move |row| (chunk, row))).peekable();
            let mut cut = Vec::new();
            while rows.peek().is_some() {
                let mut writer = Writer::default();
                rows.by_ref().take(ROWS).for_each(|(chunk, row)| writer.keep(row, chunk));
                cut.push(Arc::new(writer.finish()));
            }
            list = cut;
        }
        let (len, bytes) =
            list.iter().fold((0, 0), |(len, bytes), chunk| (len + chunk.rows.len(), bytes + chunk.bytes));
        Self { list: Arc::new(list), len, bytes }
    }

    /// Returns the number of rows, one above the last slot.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the approximate number of bytes held.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the chunks, by slot.
    pub fn list(&self) -> &[Arc<Chunk>] {
        &self.list
    }

    /// Returns the row in a slot, with its chunk.
    pub fn at(&self, slot: u32) -> (&Chunk, &Row) {
        let chunk = &self.list[slot as usize / ROWS];
        (chunk, &chunk.rows[slot as usize % ROWS])
    }

    /// Returns all rows by slot, with their chunks.
    pub fn iter(&self) -> impl Iterator<Item = (&Chunk, &Row)> {
        self.list.iter().flat_map(|chunk| chunk.rows.iter().map(move |row| (&**chunk, row)))
    }

    /// Applies moves and writes. Rebuilds only the chunks that they touch.
    pub fn apply(&mut self, moves: &Moves, pools: &mut Pools) {
        let before = self.clone();
        let list = Arc::make_mut(&mut self.list);
        let rows_in = |number: usize| moves.len.saturating_sub(number * ROWS).min(ROWS);
        let mut touched: BTreeSet<usize> = moves.arrived().map(|slot| slot as usize / ROWS).collect();
        let last = moves.len.div_ceil(ROWS).saturating_sub(1);
        if list.get(last).is_some_and(|chunk| chunk.rows.len() != rows_in(last)) {
            touched.insert(last);
        }
        for number in touched.into_iter().filter(|number| rows_in(*number) > 0) {
            let mut writer = Writer::default();
            for slot in (number * ROWS..).take(rows_in(number)) {
                match moves.then(slot as u32) {
                    SlotChange::Item(item) => writer.add(item, pools),
                    SlotChange::Row(from) => {
                        let (chunk, row) = before.at(from);
                        writer.keep(row, chunk);
                    }
                }
            }
            let chunk = Arc::new(writer.finish());
            self.bytes += chunk.bytes;
            match list.get_mut(number) {
                Some(place) => self.bytes -= std::mem::replace(place, chunk).bytes,
                None => list.push(chunk),
            }
        }
        let beyond = list.drain(moves.len.div_ceil(ROWS)..);
        self.bytes -= beyond.map(|chunk| chunk.bytes).sum::<usize>();
        self.len = moves.len;
    }

    /// Returns the same rows in the same slots, with their values in the pools `new`.
    pub fn repooled(&self, old: &Pools, new: &mut Pools) -> Self {
        let again = |chunk: &Arc<Chunk>| {
            let mut writer = Writer::default();
            chunk.rows.iter().for_each(|row| writer.add(&row.item(chunk.name(row), old), new));
            Arc::new(writer.finish())
        };
        Self::of(self.list.iter().map(again).collect())
    }
}
