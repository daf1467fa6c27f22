//! Rows that stand together, with the text of their names and what filters look at most.
//!
//! A row stands in a slot; slots are numbered without gaps, [`ROWS`] to a chunk. A chunk never changes: a change of
//! a row makes its chunk anew and leaves the others shared between versions. The states, people, labels and priorities
//! of the rows stand close together beside them, with bounds over the chunk, so that a filter passes over most rows
//! without touching them. May use: `translate` (the typed item), `v2` (time), this folder.

use super::moves::{Moves, Then};
use super::pool::Pools;
use super::row::{NONE, Row};
use crate::translate::work_items::{Item, Priority};
use crate::v2::time::Micros;
use crate::v2::value::small_letters;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Rows in a chunk; only the last one has fewer.
pub(super) const ROWS: usize = 256;

/// What filters look at most of a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Glance {
    pub state: u32,
    pub assignees: u32,
    pub labels: u32,
    pub priority: Priority,
}

/// What is true of all rows of a chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Summary {
    /// Priorities that occur, by their place.
    pub priorities: u8,
    /// States that occur, by the remainder of their number by 64.
    pub states: u64,
    /// First and last creation.
    pub created: (Micros, Micros),
    /// First and last change.
    pub updated: (Micros, Micros),
}

impl Summary {
    fn of(rows: &[Row]) -> Self {
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

/// Rows of slots next to each other, and the text of their names.
#[derive(Debug)]
pub(super) struct Chunk {
    pub rows: Box<[Row]>,
    pub text: Box<str>,
    pub glances: Box<[Glance]>,
    pub summary: Summary,
    bytes: usize,
}

impl Chunk {
    /// Rows whose names stand in `text`, in the order of the rows.
    pub fn of(rows: Box<[Row]>, text: Box<str>) -> Self {
        let glance = |row: &Row| Glance {
            state: row.state,
            assignees: row.assignees,
            labels: row.labels,
            priority: row.priority,
        };
        let glances: Box<[Glance]> = rows.iter().map(glance).collect();
        let boxed: usize = rows.iter().map(Row::boxed_bytes).sum();
        let bytes = size_of::<Self>() + size_of_val(&*rows) + size_of_val(&*glances) + text.len() + boxed + 48;
        Self { summary: Summary::of(&rows), rows, text, glances, bytes }
    }

    /// The name of a row of this chunk.
    pub fn name(&self, row: &Row) -> &str {
        self.slice(row.name_at, row.name_len)
    }

    /// The name in lower case, as [`small_letters`] makes it.
    pub fn lower(&self, row: &Row) -> &str {
        let (from, to) = Self::lower_range(row);
        self.slice(from, to - from)
    }

    /// Where in the text the name in lower case stands.
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

/// All chunks of a version; a clone shares them.
#[derive(Debug, Clone, Default)]
pub(super) struct Chunks {
    list: Arc<Vec<Arc<Chunk>>>,
    len: usize,
    bytes: usize,
}

impl Chunks {
    /// Chunks as they were kept; those of other sizes are cut anew.
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

    /// Number of rows, one above the last slot.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes held, about.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The chunks, by slot.
    pub fn list(&self) -> &[Arc<Chunk>] {
        &self.list
    }

    /// The row in a slot, with its chunk.
    pub fn at(&self, slot: u32) -> (&Chunk, &Row) {
        let chunk = &self.list[slot as usize / ROWS];
        (chunk, &chunk.rows[slot as usize % ROWS])
    }

    /// All rows by slot, with their chunks.
    pub fn iter(&self) -> impl Iterator<Item = (&Chunk, &Row)> {
        self.list.iter().flat_map(|chunk| chunk.rows.iter().map(move |row| (&**chunk, row)))
    }

    /// Carries out what is to be moved and written. Only chunks it falls into are made anew.
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
                    Then::Item(item) => writer.add(item, pools),
                    Then::Row(from) => {
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

    /// The same rows in the same slots, their values in fresh pools.
    pub fn repooled(&self, old: &Pools, new: &mut Pools) -> Self {
        let again = |chunk: &Arc<Chunk>| {
            let mut writer = Writer::default();
            chunk.rows.iter().for_each(|row| writer.add(&row.item(chunk.name(row), old), new));
            Arc::new(writer.finish())
        };
        Self::of(self.list.iter().map(again).collect())
    }
}

/// Rows on their way into a chunk.
#[derive(Default)]
struct Writer {
    rows: Vec<Row>,
    text: String,
}

impl Writer {
    /// Adds the row of an item.
    fn add(&mut self, item: &Item, pools: &mut Pools) {
        let lower = small_letters(&item.name);
        self.push(Row::of(item, pools), &item.name, &lower);
    }

    /// Adds a row of `chunk`.
    fn keep(&mut self, row: &Row, chunk: &Chunk) {
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

    fn finish(self) -> Chunk {
        Chunk::of(self.rows.into(), self.text.into())
    }
}
