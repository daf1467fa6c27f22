//! One bit for each row of a chunk.
//!
//! May use: this folder (how many rows a chunk has).

use super::chunk::ROWS;

/// Words for each chunk.
pub(super) const WORDS: usize = ROWS / 64;
/// Number of set bits in a word from which testing all its rows is faster than finding the set bits.
const ENOUGH_OF_A_WORD: u32 = 16;

/// A bit for each row of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mask(pub(super) [u64; WORDS]);

impl Mask {
    /// None of the rows.
    pub const NONE: Self = Self([0; WORDS]);

    /// Returns the first `count` rows.
    pub fn first(count: usize) -> Self {
        let mut words = [0; WORDS];
        for (number, word) in words.iter_mut().enumerate() {
            *word = match count.saturating_sub(number * 64) {
                0 => 0,
                rows @ 1..64 => (1 << rows) - 1,
                _ => u64::MAX,
            };
        }
        Self(words)
    }

    /// Returns the number of rows.
    pub fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Checks whether the mask has no row.
    pub fn is_empty(&self) -> bool {
        *self == Self::NONE
    }

    /// Adds a row.
    pub fn add(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    /// Returns the rows that are also in `other`.
    pub fn and(mut self, other: &Self) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(word, other)| *word &= other);
        self
    }

    /// Returns the rows that are not in `other`.
    pub fn without(mut self, other: &Self) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(word, other)| *word &= !other);
        self
    }

    /// Returns the rows that pass a cheap test, which may also run for rows outside the mask. The chunk has `rows`
    /// rows.
    #[inline]
    pub fn filter_cheap(mut self, rows: usize, passes: impl Fn(usize) -> bool) -> Self {
        for (number, word) in self.0.iter_mut().enumerate() {
            if number * 64 + 64 <= rows && word.count_ones() >= ENOUGH_OF_A_WORD {
                *word &= (0..64).fold(0, |pass, bit| pass | u64::from(passes(number * 64 + bit)) << bit);
            } else {
                *word = those(*word, number, &passes);
            }
        }
        self
    }

    /// Returns the rows that pass.
    #[inline]
    pub fn that(mut self, passes: impl Fn(usize) -> bool) -> Self {
        for (number, word) in self.0.iter_mut().enumerate() {
            *word = those(*word, number, &passes);
        }
        self
    }
}

/// Returns the bits of a word whose rows pass.
#[inline]
fn those(word: u64, number: usize, passes: impl Fn(usize) -> bool) -> u64 {
    let (mut left, mut fail) = (word, 0);
    while left != 0 {
        let bit = left.trailing_zeros();
        fail |= u64::from(!passes(number * 64 + bit as usize)) << bit;
        left &= left - 1;
    }
    word & !fail
}
