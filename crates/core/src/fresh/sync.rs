//! The lock and the tasks this folder stands on. The model test puts its own in their place, with which it
//! chooses who goes on at each step.
//!
//! May use: nothing of this crate.

pub(super) use parking_lot::Mutex;
use std::pin::Pin;

/// Carries `work` out as a task of its own.
pub(super) fn spawn(work: impl Future<Output = ()> + Send + 'static) {
    spawn_boxed(Box::pin(work));
}

/// tokio compiles what it needs for a task once for each kind of future, and twice at that, for its two schedulers.
/// Each thing that is read has a future of its own, and boxed all are of one kind.
fn spawn_boxed(work: Pin<Box<dyn Future<Output = ()> + Send>>) {
    drop(tokio::spawn(work));
}
