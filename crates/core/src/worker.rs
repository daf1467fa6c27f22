//! Which of the threads that carry connections this is, so that each can have connections to v1 of its own: an answer
//! of v1 then never has to wake another thread.
//!
//! May use: nothing of this crate.

use std::cell::Cell;
use std::num::NonZero;
use std::thread::available_parallelism;

thread_local! {
    static NUMBER: Cell<usize> = const { Cell::new(0) };
}

/// The number of this thread, from 1; 0 for all that carry no connections.
pub fn number() -> usize {
    NUMBER.get()
}

/// This thread carries connections, under this number.
pub fn is(number: usize) {
    NUMBER.set(number);
}

/// How many threads carry connections: one a processor.
pub fn count() -> usize {
    available_parallelism().map_or(1, NonZero::get)
}
