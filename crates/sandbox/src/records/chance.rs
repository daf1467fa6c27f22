//! Pseudo-random numbers that are the same in every run (SplitMix64). May use: nothing of this crate.

/// The number that SplitMix64 adds before it mixes.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Spreads neighbouring numbers over the whole range.
pub(crate) fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(STEP);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A sequence of such numbers.
#[derive(Debug)]
pub(crate) struct RandomNumbers(u64);

impl RandomNumbers {
    /// Creates the sequence that begins at a number.
    pub(crate) fn new(start: u64) -> Self {
        Self(start)
    }

    fn next(&mut self) -> u64 {
        let number = mixed(self.0);
        self.0 = self.0.wrapping_add(STEP);
        number
    }

    /// Returns a number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end.max(1)).unwrap_or(1)).unwrap_or_default()
    }

    /// Returns an entry of a list that is not empty.
    pub(crate) fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// Returns true once in `times` calls, on average.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}
