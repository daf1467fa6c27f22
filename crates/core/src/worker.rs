//! The number of the current thread among those that carry connections, so that each can have its own connections to
//! v1: an answer of v1 then never has to wake another thread.
//!
//! May use: nothing of this crate.

use std::cell::Cell;
use std::num::NonZero;
use std::thread::available_parallelism;

thread_local! {
    static NUMBER: Cell<usize> = const { Cell::new(0) };
}

/// Returns the number of this thread, from 1; 0 for threads that carry no connections.
pub fn number() -> usize {
    NUMBER.get()
}

/// Marks this thread as one that carries connections, with this number.
pub fn is(number: usize) {
    NUMBER.set(number);
}

/// Returns the number of threads that carry connections: one per processor.
pub fn count() -> usize {
    available_parallelism().map_or(1, NonZero::get)
}
