//! Bytes that are held for clients and for v1, against a budget.
//!
//! What is counted: request bodies, answers until they are sent, and answers of v1. What is made of them on the
//! way (parsed rows and the like) is not, so a process takes a small multiple of the budget at most.
//!
//! May use: `refusal`.

use crate::refusal::Refusal;
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The budget; clones are the same one.
#[derive(Debug, Clone)]
pub struct Memory(Arc<Gauge>);

#[derive(Debug)]
struct Gauge {
    most: usize,
    used: AtomicUsize,
}

impl Memory {
    /// A budget of `most` bytes.
    pub fn new(most: usize) -> Self {
        Self(Arc::new(Gauge { most, used: AtomicUsize::new(0) }))
    }

    /// A budget that never ends.
    pub fn unlimited() -> Self {
        Self::new(usize::MAX)
    }

    /// Bytes in use.
    pub fn used(&self) -> usize {
        self.0.used.load(Ordering::Relaxed)
    }

    /// An empty reservation, to be grown.
    pub fn reservation(&self) -> Reservation {
        Reservation { memory: self.clone(), bytes: 0 }
    }

    /// A reservation of `bytes`.
    ///
    /// # Errors
    /// [`Refusal::Overloaded`] when the budget has not so much left.
    pub fn reserve(&self, bytes: usize) -> Result<Reservation, Refusal> {
        let mut reservation = self.reservation();
        reservation.grow(bytes)?;
        Ok(reservation)
    }
}

/// Bytes of the budget; given back when dropped.
#[derive(Debug)]
pub struct Reservation {
    memory: Memory,
    bytes: usize,
}

impl Reservation {
    /// Adds `bytes`.
    ///
    /// # Errors
    /// [`Refusal::Overloaded`] when the budget has not so much left; nothing is added then.
    pub fn grow(&mut self, bytes: usize) -> Result<(), Refusal> {
        let gauge = &self.memory.0;
        let add = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= gauge.most);
        gauge.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).map_err(|_| Refusal::Overloaded)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Adds `bytes` whatever is left, for what is there already and must not be refused any more.
    pub fn grow_anyway(&mut self, bytes: usize) {
        self.memory.0.used.fetch_add(bytes, Ordering::Relaxed);
        self.bytes += bytes;
    }

    /// Bytes of this reservation.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The same bytes, which hold this reservation until the last piece of them is dropped.
    pub fn hold(self, bytes: Bytes) -> Bytes {
        if self.bytes == 0 { bytes } else { Bytes::from_owner(Held { bytes, _reservation: self }) }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.memory.0.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Bytes with their reservation.
struct Held {
    bytes: Bytes,
    _reservation: Reservation,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reserved_comes_back() {
        let memory = Memory::new(10);
        let mut first = memory.reserve(6).unwrap();
        assert_eq!(memory.reserve(5).unwrap_err(), Refusal::Overloaded);
        assert_eq!(first.grow(5), Err(Refusal::Overloaded));
        first.grow(4).unwrap();
        assert_eq!((memory.used(), first.bytes()), (10, 10));
        drop(first);
        assert_eq!(memory.used(), 0);
    }

    #[test]
    fn one_alone_may_not_have_more_than_there_is() {
        assert!(Memory::new(10).reserve(11).is_err());
        assert!(Memory::unlimited().reserve(usize::MAX).is_ok());
    }

    #[test]
    fn what_is_there_already_counts_beyond_the_budget() {
        let memory = Memory::new(10);
        let mut late = memory.reservation();
        late.grow_anyway(20);
        assert!(memory.reserve(1).is_err());
        drop(late);
        assert_eq!(memory.used(), 0);
    }

    #[test]
    fn bytes_hold_their_reservation_to_the_last_piece() {
        let memory = Memory::new(10);
        let mut whole = memory.reserve(6).unwrap().hold(Bytes::from_static(b"abcdef"));
        let piece = whole.split_to(2);
        drop(whole);
        assert_eq!((piece.as_ref(), memory.used()), (&b"ab"[..], 6));
        drop(piece);
        assert_eq!(memory.used(), 0);
    }
}
