//! How work that is not told whom it is for finds where its steps go: its task knows.
//!
//! May use: `trace::steps`.

use super::steps::Steps;
use futures_util::future::Either;

tokio::task_local! {
    static CURRENT: Steps;
}

/// `work`, with the steps of whatever it asks recorded in `steps`.
pub fn recording<F: Future>(steps: Option<Steps>, work: F) -> impl Future<Output = F::Output> {
    match steps {
        Some(steps) => Either::Left(CURRENT.scope(steps, work)),
        None => Either::Right(work),
    }
}

/// `work` for a task of its own, recorded where the present task is.
pub fn carried<F: Future>(work: F) -> impl Future<Output = F::Output> {
    recording(current(), work)
}

/// Where the steps of the present task are recorded, when they are.
pub fn current() -> Option<Steps> {
    CURRENT.try_with(Clone::clone).ok()
}
