//! Rosters as v1 gives them, each kept once for all whom it was given to.
//!
//! v1 gives all members of a workspace the same roster, and that of a large one is long: kept with each card it would
//! leave room for a few dozen callers. What somebody may see is decided by their own card all the same, which was read
//! with their own key. There is room for so many rosters; one that had to go is asked for again by whoever needs it. May
//! use: `cache`.

use crate::cache::{Bounds, Cache};
use bytes::Bytes;
use sha2::{Digest, Sha256};
use std::sync::{Arc, Weak};

/// Bytes kept of all rosters together.
pub(super) const MOST: u64 = 64 * 1024 * 1024;
/// A larger one is kept with its card, where it is weighed with all other cards.
const LARGEST: usize = 16 * 1024 * 1024;

/// All rosters that are kept.
pub(super) struct Rosters(Cache<[u8; 32], Arc<Bytes>>);

/// A roster that may have had to go.
#[derive(Debug, Clone)]
pub struct Roster(Place);

#[derive(Debug, Clone)]
enum Place {
    Shared(Weak<Bytes>),
    Own(Bytes),
}

impl Rosters {
    pub(super) fn new(most: u64) -> Self {
        let weight = |_: &[u8; 32], roster: &Arc<Bytes>| u32::try_from(roster.len() + 200).unwrap_or(u32::MAX);
        Self(Cache::weighed(Bounds::of(most).keeping_recent(), weight))
    }

    /// Keeps an answer of v1. It is a piece of a larger buffer and counts as memory of a request, so that it is copied.
    pub(super) fn keep(&self, roster: &[u8]) -> Roster {
        let copy = || Bytes::copy_from_slice(roster);
        if roster.len() > LARGEST {
            return Roster(Place::Own(copy()));
        }
        let kept = self.0.get_or_insert(Sha256::digest(roster).into(), || Arc::new(copy()));
        Roster(Place::Shared(Arc::downgrade(&kept)))
    }
}

impl Roster {
    /// The array of persons with `role`, inactive ones included (trap 52); none when it had to go.
    pub fn bytes(&self) -> Option<Bytes> {
        match &self.0 {
            Place::Shared(kept) => kept.upgrade().map(|kept| Bytes::clone(&kept)),
            Place::Own(own) => Some(own.clone()),
        }
    }

    /// Bytes that are kept with the card.
    pub(super) fn weight(&self) -> usize {
        match &self.0 {
            Place::Shared(_) => 0,
            Place::Own(own) => own.len(),
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
        // The cache frees what it dropped when no thread reads any cache any more that did so at that time.
        let end = Instant::now() + Duration::from_secs(30);
        while first.bytes().is_some() {
            assert!(Instant::now() < end, "the first roster is never freed");
            assert_eq!(rosters.0.entries(), 2);
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(kept.last().unwrap().bytes(), Some(roster(39).into()));
    }
}
