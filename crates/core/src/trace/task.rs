//! Lets work that does not know its request find the recording of the request's steps: the task of the work knows it.
//!
//! May use: `trace::steps`.

use super::steps::Steps;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Either};

tokio::task_local! {
    static CURRENT: Steps;
}

/// Runs `work` and records in `steps` the steps of everything it calls.
pub fn recording<F: Future>(steps: Option<Steps>, work: F) -> impl Future<Output = F::Output> {
    match steps {
        Some(steps) => Either::Left(CURRENT.scope(steps, work)),
        None => Either::Right(work),
    }
}

/// Prepares `work` for a task of its own. Its steps are recorded where those of the current task are.
pub fn carried<T: 'static>(work: impl Future<Output = T> + Send + 'static) -> BoxFuture<'static, T> {
    recording(current(), work).boxed()
}

/// Returns the recording of the current task, if it is recorded.
pub fn current() -> Option<Steps> {
    CURRENT.try_with(Clone::clone).ok()
}
