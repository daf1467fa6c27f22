//! The lock and the tasks that this folder uses. The model test replaces them with its own, by which it
//! chooses the thread or task that runs next at each step.
//!
//! May use: `task`.

use crate::task;
pub(super) use parking_lot::Mutex;

/// Runs `work` as a task of its own.
pub(super) fn spawn(work: impl Future<Output = ()> + Send + 'static) {
    drop(task::spawn(work));
}
