//! Limits for the work in flight, and for each client's part of it.
//!
//! Purpose: to bound the load before it does harm. A [`Pool`] has a fixed number of places, of which no client gets
//! more than its share; [`Memory`] counts the bytes of bodies and answers that are held; a [`Pace`] tells a slow sender
//! or reader from one that only wants to hold a place.
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
pub use pool::{NoPlace, Place, Pool, Share};
