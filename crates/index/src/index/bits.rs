//! One bit for each slot, and for each row of a chunk.
//!
//! May use: this folder (how many rows a chunk has).

use super::chunk::ROWS;

/// Words for a chunk.
const WORDS: usize = ROWS / 64;
/// Bits of a word from which on testing all of its rows takes less time than looking for them.
const MOST_OF_A_WORD: u32 = 16;

/// A bit for each row of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mask([u64; WORDS]);

impl Mask {
    /// None of the rows.
    pub const NONE: Self = Self([0; WORDS]);

    /// The first `count` rows.
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

    /// Number of rows.
    pub fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        *self == Self::NONE
    }

    /// Adds a row.
    pub fn add(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    /// Those that are in `other` as well.
    pub fn and(mut self, other: &Self) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(word, other)| *word &= other);
        self
    }

    /// Those that are not in `other`.
    pub fn without(mut self, other: &Self) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(word, other)| *word &= !other);
        self
    }

    /// Those that pass a test so cheap that rows that are not in it may be tested as well; the chunk has `rows` rows.
    #[inline]
    pub fn that_cheaply(mut self, rows: usize, passes: impl Fn(usize) -> bool) -> Self {
        for (number, word) in self.0.iter_mut().enumerate() {
            if number * 64 + 64 <= rows && word.count_ones() >= MOST_OF_A_WORD {
                *word &= (0..64).fold(0, |pass, bit| pass | u64::from(passes(number * 64 + bit)) << bit);
            } else {
                *word = those(*word, number, &passes);
            }
        }
        self
    }

    /// Those that pass.
    #[inline]
    pub fn that(mut self, passes: impl Fn(usize) -> bool) -> Self {
        for (number, word) in self.0.iter_mut().enumerate() {
            *word = those(*word, number, &passes);
        }
        self
    }
}

/// The bits of a word whose rows pass.
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

/// A bit for each slot.
#[derive(Debug, Default)]
pub(super) struct Bits {
    words: Vec<u64>,
    count: usize,
}

impl Bits {
    /// None of `slots` slots.
    pub fn none(slots: usize) -> Self {
        Self { words: vec![0; slots.div_ceil(ROWS) * WORDS], count: 0 }
    }

    /// Adds a slot.
    pub fn add(&mut self, slot: u32) {
        self.count += usize::from(!self.has(slot));
        self.words[slot as usize / 64] |= 1 << (slot % 64);
    }

    /// Sets the rows of a chunk that has none yet.
    pub fn set(&mut self, chunk: usize, mask: &Mask) {
        self.count += mask.count();
        self.words[chunk * WORDS..][..WORDS].copy_from_slice(&mask.0);
    }

    /// The rows of a chunk.
    pub fn of_chunk(&self, chunk: usize) -> Mask {
        let mut mask = Mask::NONE;
        mask.0.copy_from_slice(&self.words[chunk * WORDS..][..WORDS]);
        mask
    }

    /// Whether a slot is among them.
    pub fn has(&self, slot: u32) -> bool {
        self.words.get(slot as usize / 64).is_some_and(|word| word >> (slot % 64) & 1 == 1)
    }

    /// Number of slots among them.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The slots among them, upwards.
    pub fn slots(&self) -> impl Iterator<Item = u32> {
        let ones = |mut word: u64| {
            std::iter::from_fn(move || {
                let bit = (word != 0).then(|| word.trailing_zeros())?;
                word &= word - 1;
                Some(bit)
            })
        };
        self.words.iter().zip(0..).flat_map(move |(word, number)| ones(*word).map(move |bit| number * 64 + bit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_hold_what_they_are_given() {
        for count in [0, 1, 63, 64, 65, 200, 256] {
            let all = Mask::first(count);
            assert_eq!(all.count(), count);
            let even = all.that(|at| at % 2 == 0);
            assert_eq!((even.count(), all.without(&even).count()), (count.div_ceil(2), count / 2));
            assert_eq!(even.and(&all), even);
            assert_eq!(all.that_cheaply(count, |at| at % 2 == 0), even);
            assert_eq!(even.that_cheaply(count, |at| at % 3 == 0), all.that(|at| at % 6 == 0));
            let mut bits = Bits::none(600);
            bits.set(1, &even);
            assert!(bits.slots().eq((0..count as u32).step_by(2).map(|at| 256 + at)));
            assert_eq!((bits.count(), bits.of_chunk(1)), (count.div_ceil(2), even));
        }
    }
}
