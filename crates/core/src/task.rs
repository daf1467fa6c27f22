//! Starts tasks.
//!
//! tokio compiles the code of a task for each kind of future, for each of its two schedulers, and without optimisation
//! twice for each of them. Futures on the heap are of one kind, so this code is compiled once for each type of result.
//!
//! May use: nothing of this crate.

use futures_util::FutureExt;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// Runs `work` as a task of its own on the current runtime.
pub fn spawn<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    tokio::spawn(work.boxed())
}

/// Runs `work` as a task of its own on `runtime`.
pub fn spawn_on<T: Send + 'static>(
    runtime: &Handle,
    work: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<T> {
    runtime.spawn(work.boxed())
}
