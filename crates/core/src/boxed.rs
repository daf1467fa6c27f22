//! Futures that are created on the heap.
//!
//! May use: nothing of this crate.

use std::pin::Pin;

/// Creates a future on the heap.
///
/// `Box::pin(future)` creates it on the stack of the caller and then copies it, with all the room that it will need
/// while it runs: some 12 KiB for a request. Here the memory is allocated before the future is created.
#[inline]
pub fn boxed<F: Future>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    let room = Box::new_uninit();
    Box::into_pin(Box::write(room, make()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::ready;
    use std::task::{Context, Poll, Waker};

    #[test]
    fn it_is_the_future_that_was_made() {
        let mut future = boxed(|| async { ready(3).await + 4 });
        let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert_eq!(polled, Poll::Ready(7));
    }
}
