//! One bit for each slot.
//!
//! May use: this folder (how many rows a chunk has).

use super::chunk::ROWS;
use super::mask::{Mask, WORDS};

/// A bit for each slot.
#[derive(Debug, Default)]
pub(super) struct Bits {
    words: Vec<u64>,
    count: usize,
}

impl Bits {
    /// Creates an empty set for `slots` slots.
    pub fn none(slots: usize) -> Self {
        Self { words: vec![0; slots.div_ceil(ROWS) * WORDS], count: 0 }
    }

    /// Adds a slot.
    pub fn add(&mut self, slot: u32) {
        self.count += usize::from(!self.has(slot));
        self.words[slot as usize / 64] |= 1 << (slot % 64);
    }

    /// Sets the rows of a chunk of which no row is set yet.
    pub fn set(&mut self, chunk: usize, mask: &Mask) {
        self.count += mask.count();
        self.words[chunk * WORDS..][..WORDS].copy_from_slice(&mask.0);
    }

    /// Returns the set rows of a chunk.
    pub fn of_chunk(&self, chunk: usize) -> Mask {
        let mut mask = Mask::NONE;
        mask.0.copy_from_slice(&self.words[chunk * WORDS..][..WORDS]);
        mask
    }

    /// Checks whether a slot is in the set.
    pub fn has(&self, slot: u32) -> bool {
        self.words.get(slot as usize / 64).is_some_and(|word| word >> (slot % 64) & 1 == 1)
    }

    /// Returns the number of slots in the set.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the slots of the set, ascending.
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
            assert_eq!(all.filter_cheap(count, |at| at % 2 == 0), even);
            assert_eq!(even.filter_cheap(count, |at| at % 3 == 0), all.that(|at| at % 6 == 0));
            let mut bits = Bits::none(600);
            bits.set(1, &even);
            assert!(bits.slots().eq((0..count as u32).step_by(2).map(|at| 256 + at)));
            assert_eq!((bits.count(), bits.of_chunk(1)), (count.div_ceil(2), even));
        }
    }
}
