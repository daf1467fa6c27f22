//! From rows of some age to what v1 shows now: a delta, and a sweep where the delta does not add up.
//!
//! A delta reads the last changed items first, down to the watermark and, while it is young, a margin beyond
//! it, because v1 moves `updated_at` late (trap 56). An item that vanished is in no delta, but the total tells that
//! something has: then a sweep over all ids finds it. A removal through this gateway during the call explains a total
//! only where the call tells whether it was still counted; else the delta is read once more, because as many others
//! may be gone. After a build its proof decides whether a sweep is due. The watermark moves only by what was read from
//! v1; local writes do not count, because something else may have changed before them.
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

/// Deltas, most of them with a sweep between, before the project is given up as moving too fast.
const ROUNDS: usize = 6;
/// Further sweeps after a build that were not whole, beyond which a count that adds up is enough.
const TRIES: usize = 2;
/// Rows read one by one; more of them are read by a longer delta.
const SINGLY: usize = 5;

/// A refresh under way.
pub(super) struct Refresh<'r, S> {
    /// Where rows come from.
    pub source: &'r S,
    /// Sizes of pages.
    pub sizes: Sizes,
    /// For those who wait.
    pub progress: &'r Progress,
    /// The places of all reads.
    pub pace: &'r Pace,
    /// Whether the quota of v1 is waited for also before anything was read.
    pub patient: bool,
    /// Whether a sweep is due whatever the total says.
    pub sweep: bool,
    /// After a build what it has read: a sweep follows where the first delta does not prove its rows.
    pub proof: Option<&'r Walk>,
    /// Our clock.
    pub clock: &'r (dyn Fn() -> Instant + Sync),
}

/// What a refresh found.
pub(super) struct Refreshed<M> {
    /// The rows now.
    pub verified: Verified,
    /// What `mark` gave before the first call of the last delta.
    pub mark: M,
    /// Whether all ids were compared.
    pub swept: bool,
}

impl<S: Source> Refresh<'_, S> {
    /// Brings `base` up to date. `gone` tells which rows this gateway itself has removed meanwhile, which
    /// v1's total may or may not count any more. `mark` is asked before each delta.
    ///
    /// # Errors
    /// What v1 refuses, or that the project changes faster than it can be read.
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
            // v1 has confirmed these, so that it does not count them in what follows.
            let earlier = new_ones(&gone(), &removed);
            verified.rows.apply(Vec::new(), &earlier);
            removed.extend(earlier);
            let counted = self.delta(&mut verified, floor).await?;
            if let Some(proof) = self.proof.filter(|_| round == 0) {
                due |= !proof.settle(&mut verified.rows, counted.touched.as_ref());
            }
            // A count alone hardly proves what pages have not proven: a whole sweep is tried for.
            due |= self.proof.is_some() && (1..=TRIES).contains(&round) && !swept;
            if !due {
                match counted.sum(&verified.rows, &new_ones(&gone(), &removed)) {
                    Sum::Right => return Ok(Refreshed { verified, mark: begun, swept }),
                    Sum::Unsure => match compared.take() {
                        // What others had removed before the sweep went with it.
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

    /// Takes in everything that changed since the watermark, or since `floor` when that is earlier; answers how many
    /// items v1 counts.
    async fn delta(&self, verified: &mut Verified, floor: Micros) -> Result<Counted, Refusal> {
        let (floor, begun) = (verified.floor.min(floor.saturating_sub(1)), (self.clock)());
        let mut page = self.first_page(self.sizes.delta).await?;
        let (now, mut number) = (page.newest(self.source.now()), 0);
        // A first page that does not go far enough is read again as a large one.
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

    /// Drops the rows that a sweep has not seen. One page is cut at one moment; several may miss a row even
    /// when their totals agree, because one went and one came meanwhile. Then a few rows are asked for singly, and
    /// many have to be missed by two sweeps. Tells whether all that were gone before the sweep are dropped.
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

    /// Reads what a sweep has shown to be unknown or another version: a few rows singly, else it answers from when on
    /// the next delta has to read. v1 shows an older one after it was restored from a backup.
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

/// How many items v1 counted in a delta, and what else that tells.
struct Counted {
    total: usize,
    /// What was touched, after a build and when one call has shown it all.
    touched: Option<Touched>,
    /// What v1 showed in the call in which it counted, when there was no other.
    shown: Option<InOneCall>,
}

/// The items of one call.
struct InOneCall {
    ids: HashSet<Uuid>,
    /// Of what changed after this, all is shown.
    after: Micros,
}

impl InOneCall {
    fn of(page: &Page<Item>) -> Self {
        let oldest = page.rows.iter().map(|item| item.updated_at).min().filter(|_| page.more);
        Self { ids: page.rows.iter().map(|item| item.id).collect(), after: oldest.unwrap_or(Micros::MIN) }
    }
}

/// Whether rows are as many as v1 counts.
enum Sum {
    Right,
    /// They are when v1 counted some items not any more that this gateway removed during the call. When it still did,
    /// as many others are gone, which somebody else has removed.
    Unsure,
    Wrong,
}

impl Counted {
    /// Holds `rows` against the count; `gone` are items whose removal v1 confirmed to this gateway during the call.
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

/// Those of `all` that are not among `known`.
fn new_ones(all: &HashSet<Uuid>, known: &HashSet<Uuid>) -> HashSet<Uuid> {
    all.difference(known).copied().collect()
}

fn touched(page: &Page<Item>) -> Touched {
    let rows = page.rows.iter().map(|item| (item.id, item.updated_at, item.created_at)).collect();
    Touched { total: page.total, rows }
}

/// Whether a page goes down to `floor`.
fn reaches(page: &Page<Item>, floor: Micros) -> bool {
    page.rows.iter().any(|item| item.updated_at <= floor)
}

/// Takes in the rows of a page that are new or differ from what is known.
fn take(rows: &mut Rows, page: &mut Page<Item>) {
    let mut fresh = std::mem::take(&mut page.rows);
    fresh.retain(|item| {
        let known = rows.find(item.id);
        known.is_none_or(|(chunk, row)| row.item(chunk.name(row), rows.pools()) != *item)
    });
    rows.apply(fresh, &HashSet::new());
}
