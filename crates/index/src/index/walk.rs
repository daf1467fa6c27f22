//! The pages that a build has read, and the proof that no row is missing.
//!
//! v1 cuts its pages anew for every call (trap 43): when a row goes, the rows behind it shift, and one of them can be
//! missed. So a build reads **the last changed first**. A row that changes, comes or is restored meanwhile gets a new
//! `updated_at`, and so a place in front of all pages that are read later. No row ever comes into the part that is
//! still to be read. The `floor` is an instant before the build, by v1's clock. It leaves room for changes that appear
//! late (trap 56), and is not after the newest change on the first page. A row that changed after the floor is
//! *touched*. When all pages are read, one more call shows all touched rows. Except for removed rows, they are the
//! whole difference between what v1 showed at the first page and what it shows now.
//!
//! Then the rows are those of v1 when they are as many as v1 counts and one of two proofs holds:
//!
//! - **Nothing has gone.** Let `new` be the touched rows that were not in the list at the first page. v1's count must
//!   have grown by the number of new rows. Then no row of the first count has gone, no row read is too many, and
//!   equal numbers mean equal rows. A row was surely in the list when it is on the first page, or when a page showed
//!   it untouched. All other touched rows count as new.
//! - **Nothing was missed.** The pages were read one after the other, each began behind the touched rows, and v1's
//!   count never fell from one page to the next. Then each page began at or before the end of the page before, because
//!   rows can only have been pushed back. So all of v1's rows are read, and equal numbers mean that there are no
//!   others. v1 may have taken a count and its rows at two moments of one call. For safety against this, only rows that
//!   were created lately count as new here, and v1's count must have grown by their number.
//!
//! Rows that a later page first showed as touched, and that are not touched at the end, came and went. They are
//! dropped. Where neither proof holds, for example after any delete, all ids are compared (`sweep`).
//!
//! May use: `translate`, `v2`, this folder.

use super::rows::Rows;
use super::source::Page;
use crate::translate::work_items::Item;
use crate::v2::time::Micros;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashSet};
use uuid::Uuid;

/// Longest delay with which a change may appear, by its `updated_at` (trap 56), in microseconds.
pub(super) const MARGIN: Micros = 10_000_000;
/// The number of pages is limited to twice the first number, plus this many.
const FURTHER: usize = 8;

/// The pages read so far.
#[derive(Debug, Clone)]
pub(super) struct Walk {
    pub rows: Rows,
    pub trail: Trail,
}

/// State of the pages beside their rows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Trail {
    /// Rows on a page.
    size: usize,
    /// An instant before the build, by our estimate of v1's clock.
    pub since: Micros,
    /// The newest change on the first page.
    pub newest: Micros,
    /// A row that changes after the first page gets an `updated_at` after this instant.
    pub floor: Micros,
    /// v1's counts on the first page and on the last page that was read.
    first_total: usize,
    last_total: usize,
    /// Number of pages of the list, as far as known.
    pages: usize,
    read: BTreeSet<usize>,
    /// Whether the pages prove that nothing was missed between them.
    in_turn: bool,
    /// Rows that a later page first showed as touched.
    unsure: HashSet<Uuid>,
}

/// All touched rows, as one call showed them.
pub(super) struct Touched {
    /// v1's count.
    pub total: usize,
    /// Id, last change and creation, of at least all rows that changed after the floor.
    pub rows: Vec<(Uuid, Micros, Micros)>,
}

impl Walk {
    /// Creates a walk that has read nothing. `since` is an instant before now, by v1's clock.
    pub fn new(size: usize, since: Micros) -> Self {
        let trail = Trail {
            size,
            since,
            newest: Micros::MIN,
            floor: since.saturating_sub(MARGIN),
            first_total: 0,
            last_total: 0,
            pages: 1,
            read: BTreeSet::new(),
            in_turn: true,
            unsure: HashSet::new(),
        };
        Self { rows: Rows::default(), trail }
    }

    /// Adds a page; `alone` when no other page was in flight at the same time.
    pub fn take(&mut self, number: usize, page: Page<Item>, alone: bool) {
        let (rows, trail) = (&mut self.rows, &mut self.trail);
        if trail.read.is_empty() {
            trail.begin(&page);
        } else {
            let seen_first = |item: &&Item| item.updated_at > trail.floor && rows.find(item.id).is_none();
            let unsure: Vec<Uuid> = page.rows.iter().filter(seen_first).map(|item| item.id).collect();
            trail.unsure.extend(unsure);
        }
        let in_order = trail.read.range(number..).next().is_none() && trail.read.len() == number;
        trail.in_turn &= alone && in_order && page.total >= trail.last_total;
        trail.read.insert(number);
        let (pages, most) = (page.total.div_ceil(trail.size).max(1), trail.most_pages());
        if number + 1 < pages {
            // Touched rows must end before the end of this page. Otherwise they would reach into the part that is
            // still to be read.
            trail.in_turn &= page.rows.last().is_some_and(|item| item.updated_at <= trail.floor);
        }
        trail.in_turn &= pages <= most;
        (trail.last_total, trail.pages) = (page.total, pages.min(most));
        rows.apply(page.rows, &HashSet::new());
    }

    /// Checks whether one page was read and the list has no other.
    pub fn is_one_whole_page(&self) -> bool {
        self.trail.pages == 1 && self.trail.read.len() == 1 && self.rows.len() == self.trail.first_total
    }

    /// Drops from `rows` the rows that came and went meanwhile. `rows` must contain all touched rows. Returns whether
    /// the rows are proven to be what v1 showed with `touched`.
    pub fn settle(&self, rows: &mut Rows, touched: Option<&Touched>) -> bool {
        let Some(touched) = touched else { return false };
        let trail = &self.trail;
        let lately = || touched.rows.iter().filter(|(_, updated, _)| *updated > trail.floor);
        let still: HashSet<Uuid> = lately().map(|(id, ..)| *id).collect();
        rows.apply(Vec::new(), &trail.unsure.difference(&still).copied().collect());
        if rows.len() != touched.total {
            return false;
        }
        let was_there = |id: &Uuid| self.rows.find(*id).is_some() && !trail.unsure.contains(id);
        let new = || lately().filter(|(id, ..)| !was_there(id));
        let made_lately = new().filter(|(.., created)| *created > trail.floor).count();
        let more = |new: usize| trail.first_total + new == touched.total;
        more(new().count()) || trail.in_turn && more(made_lately)
    }
}

impl Trail {
    fn begin(&mut self, first: &Page<Item>) {
        (self.first_total, self.last_total) = (first.total, first.total);
        self.newest = first.newest(self.since);
        // v1's clock has reached at least the time of v1's newest change. A change with a later time came after it,
        // even where v1's clock is far behind ours.
        self.floor = self.since.max(self.newest).saturating_sub(MARGIN).min(self.newest);
    }

    fn most_pages(&self) -> usize {
        2 * self.first_total.div_ceil(self.size) + FURTHER
    }

    /// Returns the first page that is neither read nor in `asked`.
    pub fn next(&self, asked: &BTreeSet<usize>) -> Option<usize> {
        (0..self.pages).find(|number| !self.read.contains(number) && !asked.contains(number))
    }

    /// Returns the number of pages read, and the number of all pages.
    pub fn progress(&self) -> (usize, usize) {
        (self.read.len(), self.pages)
    }

    /// Checks whether a build with pages of `size` rows can have left this: the first page and some more, but not all.
    pub fn can_continue(&self, size: usize, rows: usize) -> bool {
        let read = self.read.len();
        let (first, last) = (self.read.first(), self.read.last());
        self.size == size
            && first == Some(&0)
            && last.is_some_and(|last| *last < self.pages)
            && (1..=read * size).contains(&rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::tests::id;

    const HOUR: Micros = 3_600_000_000;

    fn item(number: u128, updated_at: Micros) -> Item {
        Item { created_at: 0, updated_at, ..crate::index::tests::plain_item(id(7, number)) }
    }

    fn page(total: usize, rows: Vec<Item>) -> Page<Item> {
        Page { total, more: false, rows }
    }

    /// Three pages of two rows, last changed long ago.
    fn still() -> Walk {
        let mut walk = Walk::new(2, 10 * HOUR);
        for number in 0..3 {
            let row = |at: u128| item(at, 6 * HOUR - at as Micros * 60_000_000);
            walk.take(number, page(6, vec![row(2 * number as u128), row(2 * number as u128 + 1)]), true);
        }
        walk
    }

    /// Whether the proof holds when v1 counts `total` and shows these rows as touched: number, and time of creation.
    fn holds(walk: &Walk, total: usize, touched: &[(u128, Micros)]) -> bool {
        let (mut rows, now) = (walk.rows.clone(), 10 * HOUR);
        let items = touched.iter().map(|(number, made)| Item { created_at: *made, ..item(*number, now) });
        rows.apply(items.collect(), &HashSet::new());
        let touched = touched.iter().map(|(number, made)| (id(7, *number), now, *made)).collect();
        walk.settle(&mut rows, Some(&Touched { total, rows: touched }))
    }

    #[test]
    fn unchanged_changed_or_added_rows_are_proven_without_a_sweep() {
        let walk = still();
        assert_eq!((walk.rows.len(), walk.trail.progress()), (6, (3, 3)));
        assert!(holds(&walk, 6, &[]));
        assert!(holds(&walk, 6, &[(1, 0), (5, 0)]), "rows that were read changed");
        assert!(holds(&walk, 7, &[(1, 0), (9, 10 * HOUR)]), "one was made");
    }

    #[test]
    fn a_walk_with_missing_rows_is_never_proven() {
        let walk = still();
        assert!(!holds(&walk, 5, &[]), "one row too many");
        assert!(!holds(&walk, 6, &[(9, 10 * HOUR)]), "one went and one was made");
        let mut missed = still();
        missed.rows.apply(Vec::new(), &HashSet::from([id(7, 4)]));
        assert!(!holds(&missed, 6, &[]), "one is missing");
        assert!(!holds(&missed, 6, &[(9, 10 * HOUR)]), "one is missing, one went and one was made");
    }

    #[test]
    fn an_old_row_seen_at_the_end_only_needs_pages_in_turn() {
        let mut walk = Walk::new(2, 10 * HOUR);
        walk.take(0, page(4, vec![item(0, 5 * HOUR), item(1, 4 * HOUR)]), true);
        // Row 2 moved to the front before its page was read, so row 1 is on this page again.
        walk.take(1, page(4, vec![item(1, 4 * HOUR), item(3, 3 * HOUR)]), true);
        assert!(holds(&walk, 4, &[(2, 0)]), "it changed");
        walk.trail.in_turn = false;
        assert!(!holds(&walk, 4, &[(2, 0)]), "it may have been restored, and another may have gone");
    }

    #[test]
    fn pages_are_in_turn_only_when_nothing_can_come_into_what_is_to_be_read() {
        let walk = |touched: bool, alone: bool, total: usize| {
            let mut walk = Walk::new(1, 10 * HOUR);
            let newest = if touched { 10 * HOUR } else { 5 * HOUR };
            walk.take(0, page(2, vec![item(0, newest)]), true);
            walk.take(1, page(total, vec![item(1, 4 * HOUR)]), alone);
            walk.trail.in_turn
        };
        assert!(walk(false, true, 2) && walk(false, true, 3));
        assert!(!walk(true, true, 2), "a page that ends among what is touched");
        assert!(!walk(false, false, 2), "pages side by side");
        assert!(!walk(false, true, 1), "a count that fell");
    }

    #[test]
    fn a_row_created_and_deleted_during_the_walk_is_dropped() {
        let mut walk = Walk::new(1, 10 * HOUR);
        walk.take(0, page(3, vec![item(0, 5 * HOUR)]), true);
        walk.take(1, page(3, vec![item(1, 10 * HOUR)]), true);
        walk.take(2, page(3, vec![item(2, 3 * HOUR)]), true);
        let mut rows = walk.rows.clone();
        let touched = Touched { total: 2, rows: Vec::new() };
        assert!(!walk.settle(&mut rows, Some(&touched)), "v1 counted three at first");
        assert_eq!(rows.len(), 2);
    }

    #[test]
    fn a_trail_that_makes_no_sense_is_not_gone_on_with() {
        let mut walk = Walk::new(2, 0);
        assert!(!walk.trail.can_continue(2, 0));
        walk.take(0, page(6, vec![item(0, 0), item(1, 0)]), true);
        assert!(walk.trail.can_continue(2, 2));
        assert!(!walk.trail.can_continue(3, 2) && !walk.trail.can_continue(2, 3) && !walk.trail.can_continue(2, 0));
    }
}
