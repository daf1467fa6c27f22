//! Conditions prepared for many rows. Where possible, a condition is decided once for a state, a set, a word or a whole
//! chunk.
//!
//! The meaning is that of `v2::page`: all conditions must hold. May use: `plan` (columns), `translate`,
//! `v2` (calls and cells), this folder.

use super::check::Check;
use super::chunk::{Chunk, ROWS};
use super::mask::Mask;
use super::row::Row;
use super::rows::Rows;
use super::view::View;
use crate::plan::Column;
use crate::v2::query::{Condition, ListCall};
use memchr::memmem::Finder;

/// Number of rows left in a chunk from which its whole text is searched at once.
const MANY: usize = 128;

/// All conditions and the search of a call.
pub(super) struct Filter<'f> {
    view: View<'f>,
    checks: Vec<Check<'f>>,
    needle: Option<Finder<'f>>,
}

impl<'f> Filter<'f> {
    /// Returns the filter of `call` over `rows`.
    pub fn of(call: &'f ListCall, columns: &[Column], rows: &'f Rows, view: View<'f>) -> Self {
        let check = |condition: &'f Condition| Check::of(columns[condition.cell], &condition.test, rows, view);
        let mut checks: Vec<Check> = call.conditions.iter().map(check).collect();
        checks.sort_by_key(Check::cost);
        // The plan allows lists to search only in names.
        let needle = call.search.as_ref().map(|search| Finder::new(search.needle.as_bytes()));
        Self { view, checks, needle }
    }

    /// Checks whether every row passes.
    pub fn is_empty(&self) -> bool {
        self.checks.is_empty() && self.needle.is_none()
    }

    /// Returns the largest number of rows that can pass, as far as it is known without looking at them.
    pub fn most(&self) -> usize {
        self.checks.iter().filter_map(Check::most).min().unwrap_or(usize::MAX)
    }

    /// Checks whether the row in `slot`, which is in `chunk`, passes.
    pub fn passes(&self, slot: u32, chunk: &Chunk) -> bool {
        let at = slot as usize % ROWS;
        self.checks.iter().all(|check| check.passes(slot, at, chunk, self.view))
            && self.needle.as_ref().is_none_or(|needle| is_named(&chunk.rows[at], chunk, needle))
    }

    /// Returns the rows of a chunk that pass; `number` is the position of the chunk.
    pub fn mask(&self, number: usize, chunk: &Chunk) -> Mask {
        let mut mask = Mask::first(chunk.rows.len());
        for check in &self.checks {
            mask = check.keep(mask, number, chunk, self.view);
            if mask.is_empty() {
                return mask;
            }
        }
        match &self.needle {
            Some(needle) if mask.count() >= MANY => mask.and(&named(chunk, needle)),
            Some(needle) => mask.that(|at| is_named(&chunk.rows[at], chunk, needle)),
            None => mask,
        }
    }
}

fn is_named(row: &Row, chunk: &Chunk, needle: &Finder<'_>) -> bool {
    needle.find(chunk.lower(row).as_bytes()).is_some()
}

/// Returns the rows of a chunk that a search finds. The text is searched once. A match is either in the lower-case name
/// of a row, or in another place, from which the search continues.
fn named(chunk: &Chunk, needle: &Finder<'_>) -> Mask {
    let (mut mask, mut at, mut from) = (Mask::NONE, 0, 0);
    let (text, rows) = (chunk.text.as_bytes(), &chunk.rows);
    while let Some(found) = text.get(from..).and_then(|rest| needle.find(rest)) {
        let found = from + found;
        while rows.get(at + 1).is_some_and(|next| next.name_at as usize <= found) {
            at += 1;
        }
        let (begin, end) = Chunk::lower_range(&rows[at]);
        if found < begin as usize {
            from = begin as usize;
            continue;
        }
        if found + needle.needle().len() <= end as usize {
            mask.add(at);
        }
        from = (end as usize).max(found + 1);
    }
    mask
}
