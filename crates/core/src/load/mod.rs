//! How much is under way, and who has how much of it.
//!
//! Purpose: to bound the load before it hurts. A [`Pool`] has so many places, of which nobody gets more than their
//! share; [`Memory`] counts the bytes of bodies and answers that are held; a [`Pace`] tells a slow sender or reader
//! from one that only wants to hold a place.
//!
//! May use: `network`, `refusal`.

mod asker;
mod memory;
mod pace;
mod pool;

pub use asker::{Asker, Holder};
pub use memory::Memory;
pub use memory::reservation::Reservation;
pub use pace::Pace;
pub use pool::{Lack, Place, Pool, Share};
