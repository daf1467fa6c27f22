//! The lock and the tasks this folder stands on. The model test puts its own in their place, with which it
//! chooses who goes on at each step.
//!
//! May use: nothing of this crate.

pub(super) use parking_lot::Mutex;

/// Carries `work` out as a task of its own.
pub(super) fn spawn(work: impl Future<Output = ()> + Send + 'static) {
    drop(tokio::spawn(work));
}
