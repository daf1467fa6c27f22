//! Slots in an order, stored in runs. Versions share a run until a change touches it.
//!
//! The slot at a rank, and the place of a slot, are found in a few steps. A change copies the runs that it touches. The
//! caller defines the order. May use: nothing of this crate.

use std::sync::Arc;

/// Number of slots in a new run.
const TARGET: usize = 512;
/// Most slots of a run; a longer run is split.
const MOST: usize = 1024;

/// Slots in an order.
#[derive(Debug, Clone, Default)]
pub(super) struct Sorted {
    runs: Vec<Arc<[u32]>>,
    /// Rank of the first slot of each run.
    starts: Vec<u32>,
    len: usize,
}

impl Sorted {
    /// Takes slots that are already in order.
    pub fn of(slots: &[u32]) -> Self {
        let mut sorted = Self::default();
        sorted.runs.extend(pieces(slots));
        sorted.count();
        sorted
    }

    /// Returns the number of slots.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the slot at a rank below [`Sorted::len`].
    pub fn at(&self, rank: usize) -> u32 {
        let run = self.run_of(rank);
        self.runs[run][rank - self.starts[run] as usize]
    }

    /// Returns the number of slots for which `is_before` holds; they are the first ones.
    pub fn seek(&self, is_before: impl Fn(u32) -> bool) -> usize {
        let run = self.runs.partition_point(|run| is_before(run[0])).saturating_sub(1);
        let Some(slots) = self.runs.get(run) else { return 0 };
        self.starts[run] as usize + slots.partition_point(|slot| is_before(*slot))
    }

    /// Returns the slots from a rank on, upwards.
    pub fn upwards(&self, rank: usize) -> impl Iterator<Item = u32> {
        let run = self.run_of(rank);
        let skipped = rank - self.starts.get(run).map_or(0, |start| *start as usize);
        self.runs.get(run..).unwrap_or_default().iter().flat_map(|run| run.iter().copied()).skip(skipped)
    }

    /// Returns the slots below a rank, downwards.
    pub fn downwards(&self, rank: usize) -> impl Iterator<Item = u32> {
        let run = self.run_of(rank.saturating_sub(1));
        let end =
            self.starts.get(run).map_or(0, |start| *start as usize) + self.runs.get(run).map_or(0, |run| run.len());
        let runs = self.runs.get(..=run).unwrap_or_default();
        runs.iter().rev().flat_map(|run| run.iter().rev().copied()).skip(end - rank)
    }

    /// Returns the slots without those at the ranks of `gone`, and with those of `come`, each before its rank. Both
    /// lists must be sorted by rank.
    pub fn patched(&self, gone: &[usize], come: &[(usize, u32)]) -> Self {
        let (mut gone, mut come) = (gone.iter().copied().peekable(), come.iter().copied().peekable());
        let mut patched = Self { runs: Vec::with_capacity(self.runs.len() + 1), ..Self::default() };
        for (number, run) in self.runs.iter().enumerate() {
            let start = self.starts[number] as usize;
            let is_last = number + 1 == self.runs.len();
            let end = if is_last { usize::MAX } else { start + run.len() };
            if gone.peek().is_none_or(|rank| *rank >= end) && come.peek().is_none_or(|(rank, _)| *rank >= end) {
                patched.runs.push(Arc::clone(run));
                continue;
            }
            let mut slots = Vec::with_capacity(run.len() + 1);
            for (rank, slot) in (start..).zip(run.iter().copied()) {
                while let Some((_, new)) = come.next_if(|(before, _)| *before == rank) {
                    slots.push(new);
                }
                if gone.next_if_eq(&rank).is_none() {
                    slots.push(slot);
                }
            }
            if is_last {
                slots.extend(come.by_ref().map(|(_, new)| new));
            }
            patched.runs.extend(pieces(&slots));
        }
        let rest: Vec<u32> = come.map(|(_, new)| new).collect();
        patched.runs.extend(pieces(&rest));
        patched.count();
        patched.tidy()
    }

    /// Bytes held, about.
    pub fn bytes(&self) -> usize {
        self.len * 4 + self.runs.len() * 40
    }

    /// Returns the run that contains a rank, or the last run.
    fn run_of(&self, rank: usize) -> usize {
        self.starts.partition_point(|start| *start as usize <= rank).saturating_sub(1)
    }

    fn count(&mut self) {
        self.len = 0;
        self.starts.clear();
        for run in &self.runs {
            self.starts.push(self.len as u32);
            self.len += run.len();
        }
    }

    /// Cuts the slots into new runs when the runs have become small.
    fn tidy(self) -> Self {
        if self.runs.len() <= 64 || self.runs.len() * TARGET <= 8 * self.len {
            return self;
        }
        Self::of(&self.upwards(0).collect::<Vec<_>>())
    }
}

/// Cuts these slots into runs.
fn pieces(slots: &[u32]) -> impl Iterator<Item = Arc<[u32]>> {
    let count = if slots.len() > MOST { slots.len().div_ceil(TARGET) } else { 1 };
    slots.chunks(slots.len().div_ceil(count).max(1)).map(Arc::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_patch_leaves_what_a_list_would_hold() {
        let mut sorted = Sorted::default();
        let mut list: Vec<u32> = Vec::new();
        let mut chance = 7_u64;
        let mut below = |end: usize| {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (chance >> 33) as usize % end.max(1)
        };
        for round in 0..400 {
            let many = if round % 50 == 0 { 3000 } else { 3 };
            let mut come: Vec<(usize, u32)> =
                (0..below(many)).map(|number| (below(list.len() + 1), number as u32)).collect();
            come.sort_unstable();
            let share = if round % 90 == 89 { 2 } else { 500 };
            let gone: Vec<usize> = (0..list.len()).filter(|_| below(share) == 0).collect();
            sorted = sorted.patched(&gone, &come);
            let (mut next, mut coming) = (Vec::new(), come.iter().peekable());
            for rank in 0..=list.len() {
                while let Some((_, slot)) = coming.next_if(|(before, _)| *before == rank) {
                    next.push(*slot);
                }
                next.extend(list.get(rank).filter(|_| gone.binary_search(&rank).is_err()));
            }
            list = next;
            assert_eq!(sorted.upwards(0).collect::<Vec<_>>(), list);
            assert!(sorted.runs.iter().all(|run| !run.is_empty() && run.len() <= MOST));
            let rank = below(list.len() + 1);
            assert!(sorted.upwards(rank).eq(list[rank..].iter().copied()), "upwards from {rank}");
            assert!(sorted.downwards(rank).eq(list[..rank].iter().rev().copied()), "downwards from {rank}");
            assert_eq!(list.get(rank).map(|_| sorted.at(rank)), list.get(rank).copied());
        }
        assert!(sorted.len() > 1000, "{}", sorted.len());
    }

    #[test]
    fn a_search_finds_the_rank_of_a_value() {
        let sorted = Sorted::of(&(0..5000).map(|number| number * 2).collect::<Vec<_>>());
        for wanted in [0, 1, 2, 1023, 1024, 5000, 9998, 9999, 20_000] {
            assert_eq!(sorted.seek(|slot| slot < wanted), (wanted as usize).div_ceil(2).min(5000));
        }
        assert_eq!(Sorted::default().seek(|_| true), 0);
    }
}
