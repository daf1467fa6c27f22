//! Rosters as v1 returned them; equal rosters are stored once for all callers.
//!
//! v1 gives all members of a workspace the same roster, and a large workspace has a long one. If each card held its
//! roster, there would be room for a few dozen callers only. The access of a caller is still decided by the caller's
//! own card, read with the caller's own key. The size of this cache is limited; a dropped roster is read again when it
//! is needed. May use: `cache`.

use crate::cache::{Bounds, Cache};
use bytes::Bytes;
use sha2::{Digest, Sha256};
use std::sync::{Arc, Weak};

/// Most bytes of all cached rosters together.
pub(super) const MOST: u64 = 64 * 1024 * 1024;
/// Largest roster in this cache. A larger one is stored in its card and counts in the size of the card cache.
const LARGEST: usize = 16 * 1024 * 1024;

/// All cached rosters.
pub(super) struct Rosters(Cache<[u8; 32], Arc<Bytes>>);

/// Reference to a roster, which may have been dropped from the cache.
#[derive(Debug, Clone)]
pub enum Roster {
    Shared(Weak<Bytes>),
    Own(Bytes),
}

impl Rosters {
    pub(super) fn new(most: u64) -> Self {
        let weight = |_: &[u8; 32], roster: &Arc<Bytes>| u32::try_from(roster.len() + 200).unwrap_or(u32::MAX);
        Self(Cache::weighed(Bounds::of(most).keeping_recent(), weight))
    }

    /// Caches an answer of v1. It copies the bytes: they are part of a larger buffer and count as memory of a request.
    pub(super) fn keep(&self, roster: &[u8]) -> Roster {
        let copy = || Bytes::copy_from_slice(roster);
        if roster.len() > LARGEST {
            return Roster::Own(copy());
        }
        let kept = self.0.get_or_insert(Sha256::digest(roster).into(), || Arc::new(copy()));
        Roster::Shared(Arc::downgrade(&kept))
    }
}

impl Roster {
    /// Returns the array of persons with `role`, inactive ones included (trap 52); none when it was dropped.
    pub fn bytes(&self) -> Option<Bytes> {
        match self {
            Self::Shared(kept) => kept.upgrade().map(|kept| Bytes::clone(&kept)),
            Self::Own(own) => Some(own.clone()),
        }
    }

    /// Returns the bytes that are stored in the card.
    pub(super) fn weight(&self) -> usize {
        match self {
            Self::Shared(_) => 0,
            Self::Own(own) => own.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn the_same_roster_is_kept_once_and_one_that_had_to_go_is_known_to_be_gone() {
        let rosters = Rosters::new(3000);
        let roster = |number: u8| vec![number; 1000];
        let (one, same, other) = (rosters.keep(&roster(1)), rosters.keep(&roster(1)), rosters.keep(&roster(2)));
        let [one, same, other] = [one, same, other].map(|roster| roster.bytes().unwrap());
        assert_eq!((one.as_ptr() == same.as_ptr(), &one[..], &other[..]), (true, &roster(1)[..], &roster(2)[..]));
        drop((one, same, other));
        let first = rosters.keep(&roster(1));
        let kept: Vec<Roster> = (3..40).map(|number| rosters.keep(&roster(number))).collect();
        assert_eq!(rosters.0.entries(), 2);
        // The cache frees dropped entries only when no thread still reads any cache that did so when they were dropped.
        let end = Instant::now() + Duration::from_secs(30);
        while first.bytes().is_some() {
            assert!(Instant::now() < end, "the first roster is never freed");
            assert_eq!(rosters.0.entries(), 2);
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(kept.last().unwrap().bytes(), Some(roster(39).into()));
    }
}
