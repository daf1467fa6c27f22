//! A few words and what follows each of them.
//!
//! A part of a path is one of a few words, or a value. Comparing lengths finds that out sooner than hashing the part.
//!
//! May use: nothing of this crate.

/// What follows each of a few words.
#[derive(Debug)]
pub(super) struct Words<T>(Vec<(Box<str>, T)>);

impl<T> Default for Words<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Words<T> {
    /// What follows `word`.
    pub(super) fn get(&self, word: &str) -> Option<&T> {
        self.0.iter().find(|(known, _)| **known == *word).map(|(_, next)| next)
    }

    /// The words.
    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(word, _)| &**word)
    }
}

impl<T: Default> Words<T> {
    /// What follows `word`, to be changed; nothing yet when the word is new.
    pub(super) fn entry(&mut self, word: &str) -> &mut T {
        let at = self.0.iter().position(|(known, _)| **known == *word).unwrap_or_else(|| {
            self.0.push((word.into(), T::default()));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }
}
