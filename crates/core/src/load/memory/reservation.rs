//! Bytes of the budget that a holder has, and gives back by dropping them.
//!
//! May use: `refusal`, `load::asker`, `load::memory`.

use super::super::asker::Asker;
use super::Memory;
use crate::refusal::Refusal;
use bytes::Bytes;

/// Bytes of the budget; given back when dropped.
#[derive(Debug)]
pub struct Reservation {
    memory: Memory,
    asker: Asker,
    bytes: usize,
}

impl Reservation {
    /// Adds `bytes`.
    ///
    /// # Errors
    /// [`Refusal::Overloaded`] when the budget does not have that much left for this asker; nothing is added then.
    pub fn grow(&mut self, bytes: usize) -> Result<(), Refusal> {
        let mut state = self.memory.state();
        if !self.memory.0.has_room(&state, self.asker, bytes) {
            return Err(Refusal::Overloaded);
        }
        state.used += bytes;
        state.holders.add(self.asker, bytes);
        self.bytes += bytes;
        Ok(())
    }

    /// Adds `bytes` even beyond the budget, for data that exists already and must not be refused any more.
    pub fn grow_anyway(&mut self, bytes: usize) {
        let mut state = self.memory.state();
        state.used += bytes;
        state.holders.add(self.asker, bytes);
        self.bytes += bytes;
    }

    /// Gives everything back; the reservation can grow again.
    pub fn clear(&mut self) {
        let mut state = self.memory.state();
        state.used -= self.bytes;
        state.holders.remove(self.asker, self.bytes);
        self.bytes = 0;
    }

    /// Returns the bytes of this reservation.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the same bytes, which hold this reservation until their last piece is dropped.
    pub fn hold(self, bytes: Bytes) -> Bytes {
        if self.bytes == 0 { bytes } else { Bytes::from_owner(Held { bytes, _reservation: self }) }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.clear();
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

impl Memory {
    /// Creates an empty reservation for `asker`, which can grow.
    pub fn reservation(&self, asker: Asker) -> Reservation {
        Reservation { memory: self.clone(), asker, bytes: 0 }
    }

    /// Reserves `bytes` for `asker`.
    ///
    /// # Errors
    /// [`Refusal::Overloaded`] when the budget does not have that much left for this asker.
    pub fn reserve(&self, asker: Asker, bytes: usize) -> Result<Reservation, Refusal> {
        let mut reservation = self.reservation(asker);
        reservation.grow(bytes)?;
        Ok(reservation)
    }
}
