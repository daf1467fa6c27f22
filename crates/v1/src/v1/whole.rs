//! Proofs that pages read one after the other are one state of a collection that changes meanwhile.
//!
//! v1 computes its pages again for every call (trap 43, `pagination_second_after_delete`). A deleted row shifts the
//! rows behind it to the left, and one row is missed. A new row shifts them to the right, and one row comes
//! twice. Two proofs show that nothing was missed and that all rows existed at one instant:
//!
//! - **One walk.** v1 lists the newest rows first (trap 48), so new rows come before all rows that were read. Let a
//!   page begin with `s` rows that were read before. When v1's count has grown by exactly `s` since the page before, as
//!   many rows were added as the rest was shifted by, and no row of the rest was deleted. When that holds for every
//!   page, the rows read are the rows that existed when the first page was read. In a collection that does not change,
//!   `s` is zero, and no further call is needed.
//! - **Rows seen twice.** A row that was seen both before and after an instant existed at that instant, in whatever
//!   order v1 lists. When v1 counted exactly as many rows at that instant, these rows are all that existed.
//!
//! Both proofs assume that an id does not disappear and come back. The first also assumes that less than a page of rows
//! is added between two calls. Where v1 lists in another order (states, members of a cycle), a row added and a row
//! deleted between the same two calls can pass the first proof unnoticed. Pure. May use: nothing of this crate.

use std::collections::{HashMap, HashSet};
use uuid::Uuid;

/// The first and the last call that showed a row.
#[derive(Debug, Clone, Copy)]
struct RowCalls {
    first: usize,
    last: usize,
}

/// The walk in progress.
#[derive(Debug, Default)]
struct Walk {
    ids: HashSet<Uuid>,
    first_total: usize,
    last_total: usize,
    pages: usize,
    /// Whether every page so far satisfies the first proof.
    proven: bool,
}

/// All calls for the read of one collection.
#[derive(Debug, Default)]
pub(super) struct Looks {
    /// v1's row counts, by call.
    totals: Vec<usize>,
    seen: HashMap<Uuid, RowCalls>,
    walk: Walk,
}

impl Looks {
    /// Begins a walk at the first page.
    pub(super) fn begin(&mut self) {
        self.walk = Walk { proven: true, ..Walk::default() };
    }

    /// Adds the next page of the walk: v1's count and the ids on the page, in order.
    pub(super) fn page(&mut self, total: usize, ids: &[Uuid]) {
        let (call, walk) = (self.totals.len(), &mut self.walk);
        self.totals.push(total);
        let again = ids.iter().take_while(|id| walk.ids.contains(id)).count();
        let grown = if walk.pages == 0 { Some(0) } else { total.checked_sub(walk.last_total) };
        // A page of only rows that were read before says nothing about the rows behind it.
        walk.proven &= grown == Some(again) && (again == 0 || again < ids.len());
        for id in &ids[again..] {
            walk.proven &= walk.ids.insert(*id);
        }
        if walk.pages == 0 {
            walk.first_total = total;
        }
        walk.last_total = total;
        walk.pages += 1;
        for id in ids {
            self.seen.entry(*id).or_insert(RowCalls { first: call, last: call }).last = call;
        }
    }

    /// Checks whether the first proof holds: the rows of this walk are the whole collection.
    pub(super) fn walk_is_whole(&self) -> bool {
        self.walk.proven && self.walk.ids.len() == self.walk.first_total
    }

    /// Returns the rows that were the whole collection at one instant. Call it after the last page of a walk.
    pub(super) fn whole(&self) -> Option<HashSet<Uuid>> {
        if self.walk_is_whole() {
            return Some(self.walk.ids.clone());
        }
        let call = self.proven_call()?;
        let there = |seen: &RowCalls| seen.first <= call && call <= seen.last;
        Some(self.seen.iter().filter(|(_, seen)| there(seen)).map(|(id, _)| *id).collect())
    }

    /// Finds the latest call whose count equals the number of rows seen both before (or in) it and after (or in) it.
    fn proven_call(&self) -> Option<usize> {
        let mut changes = vec![0_i64; self.totals.len() + 1];
        for seen in self.seen.values() {
            changes[seen.first] += 1;
            changes[seen.last + 1] -= 1;
        }
        let there = changes.iter().scan(0, |there, change| {
            *there += change;
            Some(*there)
        });
        let there: Vec<i64> = there.collect();
        (0..self.totals.len()).rev().find(|call| usize::try_from(there[*call]) == Ok(self.totals[*call]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::{Config, TestRunner};
    use std::cell::Cell;

    /// Number of rows on a page; small, so that the tests meet every page boundary.
    const PAGE: usize = 4;
    /// Number of walks before the read fails, as in `paged`.
    const WALKS: usize = 4;

    /// A change between two calls.
    #[derive(Debug, Clone, Copy)]
    enum Change {
        Comes,
        /// Deletes the row at this position, modulo the number of rows.
        Goes(usize),
    }

    /// A collection that lists the newest rows first, and every state it was in.
    struct Model {
        rows: Vec<Uuid>,
        made: u128,
        states: Vec<HashSet<Uuid>>,
    }

    impl Model {
        fn of(rows: usize) -> Self {
            let ids = (1..=rows as u128).rev().map(Uuid::from_u128).collect();
            let mut model = Self { rows: ids, made: rows as u128, states: Vec::new() };
            model.note();
            model
        }

        fn note(&mut self) {
            self.states.push(self.rows.iter().copied().collect());
        }

        fn take(&mut self, change: Change) {
            match change {
                Change::Comes => {
                    self.made += 1;
                    self.rows.insert(0, Uuid::from_u128(self.made));
                }
                Change::Goes(_) if self.rows.is_empty() => {}
                Change::Goes(place) => {
                    self.rows.remove(place % self.rows.len());
                }
            }
            self.note();
        }
    }

    /// Reads the model while it changes. Returns the found rows and the number of calls.
    fn read(model: &mut Model, changes: &[Vec<Change>], walks: usize) -> (Option<HashSet<Uuid>>, usize) {
        let (mut looks, mut between) = (Looks::default(), changes.iter());
        for _ in 0..walks {
            looks.begin();
            for number in 0.. {
                let begins = (number * PAGE).min(model.rows.len());
                let ends = (begins + PAGE).min(model.rows.len());
                looks.page(model.rows.len(), &model.rows[begins..ends]);
                let last = ends == model.rows.len();
                for change in between.next().into_iter().flatten() {
                    model.take(*change);
                }
                if last {
                    break;
                }
            }
            if let Some(found) = looks.whole() {
                return (Some(found), looks.totals.len());
            }
        }
        (None, looks.totals.len())
    }

    /// Generates up to `most` changes between two calls, for a number of calls.
    fn changes(most: usize, grows_only: bool) -> impl Strategy<Value = Vec<Vec<Change>>> {
        let goes = if grows_only { 0_u32 } else { 1 };
        let change = prop_oneof![1 => Just(Change::Comes), goes => (0_usize..60).prop_map(Change::Goes)];
        prop::collection::vec(prop::collection::vec(change, 0..=most), 0..40)
    }

    /// Creates a test runner; a long run has a hundred times as many cases.
    fn runner(everyday: u32) -> TestRunner {
        let times = if std::env::var_os("LONG_TESTS").is_some_and(|value| value == "1") { 100 } else { 1 };
        TestRunner::new(Config { cases: everyday * times, failure_persistence: None, ..Config::default() })
    }

    #[test]
    fn an_accepted_collection_existed_at_one_instant() {
        let (found, given_up) = (Cell::new(0), Cell::new(0));
        let mut runner = runner(3_000);
        runner
            .run(&(0_usize..40, changes(PAGE - 1, false)), |(rows, changes)| {
                let mut model = Model::of(rows);
                match read(&mut model, &changes, WALKS) {
                    (Some(whole), _) => {
                        found.set(found.get() + 1);
                        prop_assert!(model.states.contains(&whole), "{whole:?}");
                    }
                    (None, _) => given_up.set(given_up.get() + 1),
                }
                Ok(())
            })
            .unwrap();
        println!("whole: found {}, given up {}", found.get(), given_up.get());
        assert!(found > given_up);
    }

    #[test]
    fn growth_is_taken_in_the_first_walk() {
        let mut runner = runner(1_000);
        runner
            .run(&(0_usize..40, changes(PAGE - 1, true)), |(rows, changes)| {
                let mut model = Model::of(rows);
                let before = model.states[0].clone();
                let (found, _) = read(&mut model, &changes, 1);
                prop_assert_eq!(found, Some(before));
                Ok(())
            })
            .unwrap();
    }

    #[test]
    fn an_unchanging_collection_costs_one_call_a_page() {
        for rows in 0..30 {
            let mut model = Model::of(rows);
            let (found, calls) = read(&mut model, &[], WALKS);
            assert_eq!(found.unwrap().len(), rows);
            assert_eq!(calls, rows.div_ceil(PAGE).max(1));
        }
    }

    #[test]
    fn rows_seen_twice_prove_a_collection_in_any_order() {
        let ids: Vec<Uuid> = (0..7).map(Uuid::from_u128).collect();
        let mut looks = Looks::default();
        // A row was added among the rows still to be read; other lists never add new rows there.
        looks.begin();
        looks.page(6, &ids[..4]);
        looks.page(7, &ids[4..]);
        assert_eq!(looks.whole(), None);
        looks.begin();
        looks.page(7, &[ids[6], ids[0], ids[1], ids[2]]);
        looks.page(7, &[ids[3], ids[5], ids[4], Uuid::from_u128(99)]);
        assert_eq!(looks.whole(), Some(ids.into_iter().collect()));
    }
}
