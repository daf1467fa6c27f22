//! The lock and the tasks that this folder uses. The model test replaces them with its own, by which it
//! chooses the thread or task that runs next at each step.
//!
//! May use: nothing of this crate.

pub(super) use parking_lot::Mutex;
use std::pin::Pin;

/// Runs `work` as a task of its own.
pub(super) fn spawn(work: impl Future<Output = ()> + Send + 'static) {
    spawn_boxed(Box::pin(work));
}

/// tokio compiles the code of a task once for each kind of future, and twice at that, for its two schedulers.
/// Each kind of read has a future of its own; boxed, all are of one kind.
fn spawn_boxed(work: Pin<Box<dyn Future<Output = ()> + Send>>) {
    drop(tokio::spawn(work));
}
