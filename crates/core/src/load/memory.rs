//! A budget for the bytes that are held for clients and for v1.
//!
//! Request bodies, answers until they are sent, and answers of v1 are counted. Data made from them on the
//! way (parsed rows and the like) is not counted, so a process takes a small multiple of the budget at most.
//!
//! The budget is shared like a pool. Any holder may take bytes until half is in use. Then a holder that has some gets
//! no more than its [`Share`] of what is still free. A client that holds nothing yet is refused only when no room is
//! left.
//!
//! May use: `load::asker`, `load::pool`.

pub(super) mod reservation;

use super::asker::{Asker, Tally};
use super::pool::Share;
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;

/// The budget; clones are the same one.
#[derive(Debug, Clone)]
pub struct Memory(Arc<Gauge>);

#[derive(Debug)]
struct Gauge {
    most: usize,
    share: Share,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    used: usize,
    holders: Tally,
}

impl Gauge {
    /// Checks whether `asker` may take `bytes` more. Zero bytes are always allowed.
    fn has_room(&self, state: &State, asker: Asker, bytes: usize) -> bool {
        if bytes == 0 {
            return true;
        }
        let Some(used) = state.used.checked_add(bytes).filter(|used| *used <= self.most) else { return false };
        let has = state.holders.most_of(asker);
        used <= self.most / 2 || has == 0 || has.saturating_add(bytes) <= self.share.of(self.most - state.used)
    }
}

impl Memory {
    /// Creates a budget of `most` bytes, of which one holder may have `share`.
    pub fn new(most: usize, share: Share) -> Self {
        Self(Arc::new(Gauge { most, share, state: Mutex::default() }))
    }

    /// Creates a budget without a limit.
    pub fn unlimited() -> Self {
        Self::new(usize::MAX, Share(100))
    }

    /// Returns the bytes in use.
    pub fn used(&self) -> usize {
        self.state().used
    }

    /// Checks whether more bytes are in use than the budget has.
    pub fn is_exceeded(&self) -> bool {
        self.used() > self.0.most
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::Refusal;
    use bytes::Bytes;

    fn memory(most: usize) -> Memory {
        Memory::new(most, Share(25))
    }

    fn nobody() -> Asker {
        Asker::default()
    }

    fn from(last: u8) -> Asker {
        Asker::new(Some(std::net::IpAddr::from([10, 0, 0, last])), None)
    }

    #[test]
    fn a_large_holder_leaves_room_for_others() {
        let memory = memory(1000);
        let mut much = memory.reserve(from(1), 500).unwrap();
        assert_eq!(much.grow(1), Err(Refusal::Overloaded), "half is taken, by this one");
        assert_eq!(memory.reserve(from(1), 1).unwrap_err(), Refusal::Overloaded);
        let mut newcomer = memory.reserve(from(2), 100).unwrap();
        newcomer.grow(0).unwrap();
        assert_eq!(newcomer.grow(1), Err(Refusal::Overloaded), "a quarter of the 400 that are free");
        assert!(memory.reserve(from(3), 50).is_ok());
        drop(much);
        newcomer.grow(1).unwrap();
    }

    #[test]
    fn a_new_holder_is_refused_only_without_room() {
        let memory = memory(1000);
        let _much = memory.reserve(from(1), 800).unwrap();
        assert!(memory.reserve(from(2), 201).is_err());
        assert!(memory.reserve(from(2), 200).is_ok());
    }

    #[test]
    fn unidentified_holders_may_use_the_whole_budget() {
        let memory = memory(1000);
        let held: Vec<_> = (0..10).map(|_| memory.reserve(nobody(), 100).unwrap()).collect();
        drop(held);
        let mut late = memory.reservation(from(1));
        late.grow_anyway(600);
        drop(late);
        assert!(memory.state().holders.is_empty());
        assert_eq!(memory.used(), 0);
    }

    #[test]
    fn dropping_a_reservation_frees_its_memory() {
        let memory = memory(10);
        let mut first = memory.reserve(nobody(), 6).unwrap();
        assert_eq!(memory.reserve(nobody(), 5).unwrap_err(), Refusal::Overloaded);
        assert_eq!(first.grow(5), Err(Refusal::Overloaded));
        first.grow(4).unwrap();
        assert_eq!((memory.used(), first.bytes()), (10, 10));
        drop(first);
        assert_eq!(memory.used(), 0);
    }

    #[test]
    fn one_alone_may_not_have_more_than_there_is() {
        assert!(memory(10).reserve(nobody(), 11).is_err());
        assert!(Memory::unlimited().reserve(nobody(), usize::MAX).is_ok());
    }

    #[test]
    fn forced_growth_counts_beyond_the_budget() {
        let memory = memory(10);
        let mut late = memory.reservation(nobody());
        late.grow_anyway(10);
        assert!(!memory.is_exceeded());
        late.grow_anyway(10);
        assert!(memory.reserve(nobody(), 1).is_err() && memory.is_exceeded());
        drop(late);
        assert_eq!(memory.used(), 0);
    }

    #[test]
    fn bytes_hold_their_reservation_to_the_last_piece() {
        let memory = memory(10);
        let mut whole = memory.reserve(nobody(), 6).unwrap().hold(Bytes::from_static(b"abcdef"));
        let piece = whole.split_to(2);
        drop(whole);
        assert_eq!((piece.as_ref(), memory.used()), (&b"ab"[..], 6));
        drop(piece);
        assert_eq!(memory.used(), 0);
    }
}
