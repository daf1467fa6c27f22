//! The rows of one project: chunks sorted by id, shared between versions until a change touches them.
//!
//! A clone copies a few hundred pointers; a change rebuilds the chunks it falls into and leaves the rest
//! shared, so that requests under way keep the version they began with and no two whole copies exist.
//! Because rows stand in the order of their ids, a position compares as the id does.
//!
//! May use: `translate` (the typed item), this folder.

use super::pool::Pools;
use super::row::{NONE, Row};
use crate::translate::work_items::Item;
use std::collections::{BTreeMap, HashSet};
use std::iter::Peekable;
use std::sync::Arc;
use uuid::Uuid;

/// Rows in a chunk that was just made.
const TARGET: usize = 256;
/// Rows from which a chunk is split.
const MOST: usize = 512;
/// Values in the pools that no row needs, below which nothing is made anew.
const SLACK: usize = 4096;

/// An id and its item, or that it is gone.
type Change = (Uuid, Option<Item>);

/// Rows next to each other by id, and the text of their names.
#[derive(Debug)]
pub(super) struct Chunk {
    pub rows: Box<[Row]>,
    pub text: Box<str>,
}

impl Chunk {
    /// The name of a row of this chunk.
    pub fn name(&self, row: &Row) -> &str {
        self.slice(row.name_at, row.name_len)
    }

    /// The name in lower case, as [`str::to_lowercase`] makes it.
    pub fn lower(&self, row: &Row) -> &str {
        match row.lower_len {
            NONE => self.name(row),
            length => self.slice(row.name_at + row.name_len, length),
        }
    }

    fn slice(&self, at: u32, length: u32) -> &str {
        self.text.get(at as usize..(at + length) as usize).unwrap_or_default()
    }

    fn bytes(&self) -> usize {
        let boxed: usize = self.rows.iter().map(Row::boxed_bytes).sum();
        size_of::<Self>() + self.rows.len() * size_of::<Row>() + self.text.len() + boxed
    }
}

/// All rows of a project.
#[derive(Debug, Clone, Default)]
pub(super) struct Rows {
    chunks: Vec<Arc<Chunk>>,
    /// Position of the first row of each chunk.
    starts: Vec<u32>,
    len: usize,
    pools: Pools,
}

impl Rows {
    /// Chunks and pools as they were kept.
    pub fn of(chunks: Vec<Arc<Chunk>>, pools: Pools) -> Self {
        let mut rows = Self { chunks, pools, ..Self::default() };
        rows.count();
        rows
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn chunks(&self) -> &[Arc<Chunk>] {
        &self.chunks
    }

    pub fn pools(&self) -> &Pools {
        &self.pools
    }

    /// Bytes held, about.
    pub fn bytes(&self) -> usize {
        self.pools.bytes() + self.chunks.iter().map(|chunk| chunk.bytes() + 32).sum::<usize>()
    }

    /// Position of an id: where it stands, or where it would.
    pub fn position(&self, id: Uuid) -> Result<usize, usize> {
        let chunk = self.chunks.partition_point(|chunk| chunk.rows[0].id <= id).saturating_sub(1);
        let Some(rows) = self.chunks.get(chunk).map(|chunk| &chunk.rows) else { return Err(0) };
        let start = self.starts[chunk] as usize;
        rows.binary_search_by(|row| row.id.cmp(&id)).map(|at| start + at).map_err(|at| start + at)
    }

    /// The row at a position below [`Rows::len`], with its chunk.
    pub fn at(&self, position: usize) -> (&Chunk, &Row) {
        let chunk = self.starts.partition_point(|start| *start as usize <= position) - 1;
        let rows = &self.chunks[chunk];
        (rows, &rows.rows[position - self.starts[chunk] as usize])
    }

    /// The row of an id, with its chunk.
    pub fn find(&self, id: Uuid) -> Option<(&Chunk, &Row)> {
        self.position(id).ok().map(|position| self.at(position))
    }

    /// The item at a position below [`Rows::len`].
    pub fn item_at(&self, position: usize) -> Item {
        let (chunk, row) = self.at(position);
        row.item(chunk.name(row), &self.pools)
    }

    /// All rows by id, with their chunks.
    pub fn iter(&self) -> impl Iterator<Item = (&Chunk, &Row)> {
        self.chunks.iter().flat_map(|chunk| chunk.rows.iter().map(move |row| (&**chunk, row)))
    }

    /// Takes `items` in, replacing rows with the same ids, and drops the rows of `gone`.
    pub fn apply(&mut self, items: Vec<Item>, gone: &HashSet<Uuid>) {
        let mut changes: BTreeMap<Uuid, Option<Item>> = gone.iter().map(|id| (*id, None)).collect();
        changes.extend(items.into_iter().map(|item| (item.id, Some(item))));
        if changes.is_empty() {
            return;
        }
        let old = std::mem::take(&mut self.chunks);
        let mut changes = changes.into_iter().peekable();
        if old.is_empty() {
            self.merge(None, &mut changes, None);
        }
        for (index, chunk) in old.iter().enumerate() {
            let end = old.get(index + 1).map(|next| next.rows[0].id);
            if changes.peek().is_some_and(|(id, _)| end.is_none_or(|end| *id < end)) {
                self.merge(Some(chunk), &mut changes, end);
            } else {
                self.chunks.push(Arc::clone(chunk));
            }
        }
        self.count();
        self.tidy();
    }

    /// Appends the rows of `old` with the changes made that come before `end`.
    fn merge(
        &mut self,
        old: Option<&Chunk>,
        changes: &mut Peekable<impl Iterator<Item = Change>>,
        end: Option<Uuid>,
    ) {
        let mut writer = Writer::default();
        for (chunk, row) in old.iter().flat_map(|chunk| chunk.rows.iter().map(move |row| (*chunk, row))) {
            while let Some((_, item)) = changes.next_if(|(id, _)| *id < row.id) {
                item.iter().for_each(|item| writer.add(item, &mut self.pools));
            }
            match changes.next_if(|(id, _)| *id == row.id) {
                Some((_, item)) => item.iter().for_each(|item| writer.add(item, &mut self.pools)),
                None => writer.keep(row, chunk.name(row), chunk.lower(row)),
            }
        }
        while let Some((_, item)) = changes.next_if(|(id, _)| end.is_none_or(|end| *id < end)) {
            item.iter().for_each(|item| writer.add(item, &mut self.pools));
        }
        self.chunks.extend(writer.finish());
    }

    fn count(&mut self) {
        self.starts.clear();
        self.len = 0;
        for chunk in &self.chunks {
            self.starts.push(self.len as u32);
            self.len += chunk.rows.len();
        }
        self.starts.shrink_to_fit();
        self.chunks.shrink_to_fit();
    }

    /// Makes everything anew when the pools hold much that is not used, or the chunks have become small.
    fn tidy(&mut self) {
        let unused = self.pools.ids().len() + self.pools.sets().len() > 4 * self.len + SLACK;
        let small = self.chunks.len() > 64 && self.chunks.len() * TARGET > 8 * self.len;
        if !unused && !small {
            return;
        }
        let old = std::mem::take(self);
        let mut items =
            old.iter().map(|(chunk, row)| (row.id, Some(row.item(chunk.name(row), &old.pools)))).peekable();
        self.merge(None, &mut items, None);
        self.count();
    }
}

/// Rows on their way into chunks. Their names stand in one text; each chunk gets its own.
#[derive(Default)]
struct Writer {
    rows: Vec<Row>,
    text: String,
}

impl Writer {
    fn add(&mut self, item: &Item, pools: &mut Pools) {
        let lower = item.name.to_lowercase();
        self.keep(&Row::of(item, pools), &item.name, &lower);
    }

    fn keep(&mut self, row: &Row, name: &str, lower: &str) {
        let mut row = row.clone();
        row.name_at = self.text.len() as u32;
        row.name_len = name.len() as u32;
        self.text.push_str(name);
        row.lower_len = if lower == name { NONE } else { lower.len() as u32 };
        if lower != name {
            self.text.push_str(lower);
        }
        self.rows.push(row);
    }

    fn finish(self) -> Vec<Arc<Chunk>> {
        let pieces = if self.rows.len() > MOST { self.rows.len().div_ceil(TARGET) } else { 1 };
        let size = self.rows.len().div_ceil(pieces).max(1);
        self.rows.chunks(size).map(|rows| Arc::new(chunk(rows, &self.text))).collect()
    }
}

fn chunk(rows: &[Row], text: &str) -> Chunk {
    let from = rows.first().map_or(0, |row| row.name_at);
    let end = |row: &Row| row.name_at + row.name_len + if row.lower_len == NONE { 0 } else { row.lower_len };
    let to = rows.last().map_or(0, end);
    let moved = rows.iter().map(|row| row.with_name_at(row.name_at - from));
    Chunk { rows: moved.collect(), text: text.get(from as usize..to as usize).unwrap_or_default().into() }
}
