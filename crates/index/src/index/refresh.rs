//! Brings rows of some age to what v1 shows now: by a delta, and by a sweep where the delta does not add up.
//!
//! A delta reads the last changed items first, down to the watermark. While the watermark is young, it reads a margin
//! beyond it, because v1 moves `updated_at` late (trap 56). A vanished item is in no delta, but the total shows that
//! one is missing; a sweep over all ids then finds it. A removal through this gateway during the call explains a total
//! only where the call shows whether v1 still counted the item. Otherwise the delta is read once more, because as many
//! other items may be gone. After a build, its proof decides whether a sweep is due. Only reads from v1 move the
//! watermark. Local writes do not move it, because something else may have changed before them.
//!
//! May use: `translate`, `v2`, `refusal`, this folder.

use super::build::{Sizes, patiently};
use super::pace::Pace;
use super::progress::Progress;
use super::rows::Rows;
use super::source::{Cut, Page, Source};
use super::sweep::{Sweep, sweep};
use super::verified::Verified;
use super::walk::{Touched, Walk};
use crate::refusal::Refusal;
use crate::translate::work_items::Item;
use crate::v2::time::Micros;
use std::collections::{HashMap, HashSet};
use std::time::Instant;
use uuid::Uuid;

/// Number of deltas, most with a sweep between, after which the refresh gives up: the project changes too fast.
const ROUNDS: usize = 6;
/// Number of further sweeps after a build while none was whole. After them, a count that adds up is enough.
const TRIES: usize = 2;
/// Largest number of rows that are read one by one; more rows are read by a longer delta.
const SINGLY: usize = 5;

/// A running refresh.
pub(super) struct Refresh<'r, S> {
    /// Source of the rows.
    pub source: &'r S,
    /// Sizes of pages.
    pub sizes: Sizes,
    /// Progress, for the callers that wait.
    pub progress: &'r Progress,
    /// Places for pages in flight, shared by all reads.
    pub pace: &'r Pace,
    /// Whether to wait for v1's quota even before anything was read.
    pub patient: bool,
    /// Whether a sweep is due, whatever the total says.
    pub sweep: bool,
    /// The pages of a build, when this follows one. A sweep is made where the first delta does not prove their rows.
    pub proof: Option<&'r Walk>,
    /// Our clock.
    pub clock: &'r (dyn Fn() -> Instant + Sync),
}

/// Result of a refresh.
pub(super) struct Refreshed<M> {
    /// The rows now.
    pub verified: Verified,
    /// The result of `mark` before the first call of the last delta.
    pub mark: M,
    /// Whether all ids were compared.
    pub swept: bool,
}

impl<S: Source> Refresh<'_, S> {
    /// Brings `base` up to date. `gone` returns the rows that this gateway itself has removed meanwhile; v1's total may
    /// or may not count them any more. `mark` is called before each delta.
    ///
    /// # Errors
    /// An error of v1, or the project changes faster than it can be read.
    pub async fn run<M>(
        &self,
        base: Verified,
        mark: impl Fn() -> M,
        gone: impl Fn() -> HashSet<Uuid>,
    ) -> Result<Refreshed<M>, Refusal> {
        let (mut verified, mut swept, mut due) = (base, false, self.sweep);
        let (mut before, mut floor) = (None, Micros::MAX);
        let (mut removed, mut compared, mut unsure) = (HashSet::new(), None, false);
        for round in 0..ROUNDS {
            let begun = mark();
            // v1 has confirmed these removals, so it does not count the items in the following calls.
            let earlier = new_ones(&gone(), &removed);
            verified.rows.apply(Vec::new(), &earlier);
            removed.extend(earlier);
            let counted = self.delta(&mut verified, floor).await?;
            if let Some(proof) = self.proof.filter(|_| round == 0) {
                due |= !proof.settle(&mut verified.rows, counted.touched.as_ref());
            }
            // Pages did not prove the rows, and a count alone hardly does: try to get a whole sweep.
            due |= self.proof.is_some() && (1..=TRIES).contains(&round) && !swept;
            if !due {
                match counted.sum(&verified.rows, &new_ones(&gone(), &removed)) {
                    Sum::Right => return Ok(Refreshed { verified, mark: begun, swept }),
                    Sum::Unsure => match compared.take() {
                        // Items that other clients had removed before the sweep were dropped with it.
                        Some(mark) => return Ok(Refreshed { verified, mark, swept }),
                        // The next delta begins after these removals.
                        None if !unsure => {
                            unsure = true;
                            continue;
                        }
                        None => {}
                    },
                    Sum::Wrong => {}
                }
            }
            let at = mark();
            let found = sweep(self.source, self.sizes, self.progress, self.pace).await?;
            swept |= found.whole;
            due = false;
            let all_dropped = self.drop_vanished(&mut verified.rows, &found, before.as_ref()).await?;
            compared = Some(at).filter(|_| all_dropped);
            floor = self.fetch(&mut verified.rows, &found.marks).await?;
            before = Some(found);
        }
        let cause = "deltas and sweeps of the work items do not add up to their total_count".into();
        Err(Refusal::KeptChanging { cause })
    }

    /// Applies all changes since the watermark, or since `floor` when that is earlier. Returns the number of items that
    /// v1 counts.
    async fn delta(&self, verified: &mut Verified, floor: Micros) -> Result<Counted, Refusal> {
        let (floor, begun) = (verified.floor.min(floor.saturating_sub(1)), (self.clock)());
        let mut page = self.first_page(self.sizes.delta).await?;
        let (now, mut number) = (page.newest(self.source.now()), 0);
        // A first page that does not reach back far enough is read again as a large one.
        let mut whole = !page.more || reaches(&page, floor);
        while !whole {
            page = self.page(Cut { number, size: self.sizes.page }).await?;
            whole = !page.more || page.rows.is_empty() || reaches(&page, floor);
            number += 1;
            if !whole {
                take(&mut verified.rows, &mut page);
            }
        }
        let one_call = number <= 1;
        let touched = self.proof.filter(|_| one_call).map(|_| touched(&page));
        let counted = Counted { total: page.total, touched, shown: one_call.then(|| InOneCall::of(&page)) };
        take(&mut verified.rows, &mut page);
        verified.saw(now, begun);
        Ok(counted)
    }

    async fn first_page(&self, size: usize) -> Result<Page<Item>, Refusal> {
        if self.patient {
            return self.page(Cut { number: 0, size }).await;
        }
        self.source.items(Cut { number: 0, size }).await
    }

    async fn page(&self, cut: Cut) -> Result<Page<Item>, Refusal> {
        patiently(self.progress, || self.source.items(cut)).await
    }

    /// Drops the rows that a sweep has not seen. A single page shows v1's list at one moment. Several pages may miss a
    /// row even when their totals agree, because one item went and one came meanwhile. Then a few missing rows are read
    /// one by one, and many are dropped only when two sweeps missed them. Returns whether all rows that were gone
    /// before the sweep are dropped.
    async fn drop_vanished(&self, rows: &mut Rows, found: &Sweep, before: Option<&Sweep>) -> Result<bool, Refusal> {
        let unseen = |sweep: &Sweep, id: &Uuid| !sweep.marks.contains_key(id);
        let mut vanished: HashSet<Uuid> =
            rows.iter().map(|(_, row)| row.id).filter(|id| unseen(found, id)).collect();
        if found.paged && vanished.len() <= SINGLY {
            return self.read_singly(rows, vanished).await.map(|()| true);
        }
        let all = vanished.len();
        if found.paged {
            vanished.retain(|id| before.is_some_and(|before| unseen(before, id)));
        }
        rows.apply(Vec::new(), &vanished);
        Ok(vanished.len() == all)
    }

    async fn read_singly(&self, rows: &mut Rows, ids: impl IntoIterator<Item = Uuid>) -> Result<(), Refusal> {
        for id in ids {
            match patiently(self.progress, || self.source.record(id)).await? {
                Some(item) => rows.apply(vec![item], &HashSet::new()),
                None => rows.apply(Vec::new(), &HashSet::from([id])),
            }
        }
        Ok(())
    }

    /// Reads items that a sweep has shown as new or in another version, if they are few. Otherwise returns the time
    /// from which the next delta has to read. v1 shows an older version after a restore from a backup.
    async fn fetch(&self, rows: &mut Rows, marks: &HashMap<Uuid, Micros>) -> Result<Micros, Refusal> {
        let other: Vec<(Uuid, Micros)> = marks
            .iter()
            .filter(|(id, updated)| rows.find(**id).is_none_or(|(_, row)| row.updated != **updated))
            .map(|(id, updated)| (*id, *updated))
            .collect();
        if other.len() > SINGLY {
            return Ok(other.iter().map(|(_, updated)| *updated).min().unwrap_or(Micros::MAX));
        }
        self.read_singly(rows, other.into_iter().map(|(id, _)| id)).await?;
        Ok(Micros::MAX)
    }
}

/// The number of items that v1 counted in a delta, and what else the delta showed.
struct Counted {
    total: usize,
    /// The touched items, after a build and when one call has shown them all.
    touched: Option<Touched>,
    /// The items shown by the call that counted, when it was the only call.
    shown: Option<InOneCall>,
}

/// The items of one call.
struct InOneCall {
    ids: HashSet<Uuid>,
    /// All items that changed after this instant are shown.
    after: Micros,
}

impl InOneCall {
    fn of(page: &Page<Item>) -> Self {
        let oldest = page.rows.iter().map(|item| item.updated_at).min().filter(|_| page.more);
        Self { ids: page.rows.iter().map(|item| item.id).collect(), after: oldest.unwrap_or(Micros::MIN) }
    }
}

/// Comparison of the number of rows with v1's count.
enum Sum {
    Right,
    /// Right only if v1 did not count some items that this gateway removed during the call. If v1 still counted them,
    /// as many other items are gone, which another client has removed.
    Unsure,
    Wrong,
}

impl Counted {
    /// Compares `rows` with the count. `gone` are items whose removal v1 confirmed to this gateway during the call.
    fn sum(&self, rows: &Rows, gone: &HashSet<Uuid>) -> Sum {
        let (mut removed, mut unknown) = (0, 0);
        for (_, row) in gone.iter().filter_map(|id| rows.find(*id)) {
            match &self.shown {
                Some(shown) if shown.ids.contains(&row.id) => {}
                Some(shown) if row.updated > shown.after => removed += 1,
                _ => unknown += 1,
            }
        }
        let most = rows.len() - removed;
        match self.total {
            total if total == most => Sum::Right,
            total if (most - unknown..most).contains(&total) => Sum::Unsure,
            _ => Sum::Wrong,
        }
    }
}

/// Returns the ids of `all` that are not in `known`.
fn new_ones(all: &HashSet<Uuid>, known: &HashSet<Uuid>) -> HashSet<Uuid> {
    all.difference(known).copied().collect()
}

fn touched(page: &Page<Item>) -> Touched {
    let rows = page.rows.iter().map(|item| (item.id, item.updated_at, item.created_at)).collect();
    Touched { total: page.total, rows }
}

/// Checks whether a page reaches back to `floor`.
fn reaches(page: &Page<Item>, floor: Micros) -> bool {
    page.rows.iter().any(|item| item.updated_at <= floor)
}

/// Applies the rows of a page that are new or differ from the known rows.
fn take(rows: &mut Rows, page: &mut Page<Item>) {
    let mut fresh = std::mem::take(&mut page.rows);
    fresh.retain(|item| {
        let known = rows.find(item.id);
        known.is_none_or(|(chunk, row)| row.item(chunk.name(row), rows.pools()) != *item)
    });
    rows.apply(fresh, &HashSet::new());
}
