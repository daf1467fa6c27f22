//! Older values as answers while v1 is unreachable, does not answer or answers 5xx.
//!
//! May use: `context`, `refusal`, this folder.

use super::shared::ReadLost;
use crate::context::{Context, Note};
use crate::refusal::{NO_ANSWER, Refusal};
use std::time::{Duration, Instant};

/// Minimum time that is counted at once while v1 is waited for.
const SLICE: Duration = Duration::from_millis(50);
/// Maximum number of parts into which that time is divided.
const SLICES: u32 = 20;

/// Returns the result of `work`. When v1 is in trouble, or takes longer than a third of the time left, returns the
/// result of `older`: a value and when its read began. Only for requests that may rely on older values. The time in
/// which `is_queued` holds is not counted, because the call then waits for v1's quota and v1 is not asked.
///
/// # Errors
/// The errors of `work`, when there is no older value.
pub async fn or_older<T>(
    ctx: &Context,
    is_queued: impl Fn() -> bool,
    older: impl Fn() -> Option<(T, Instant)>,
    mut work: impl Future<Output = Result<T, Refusal>> + Unpin,
) -> Result<T, Refusal> {
    if !ctx.tolerant {
        return work.await;
    }
    let outcome = match answered_within(ctx.patience(), is_queued, &mut work).await {
        Some(outcome) => outcome,
        None if older().is_some() => Err(Refusal::UpstreamTimeout { detail: NO_ANSWER.into() }),
        None => work.await,
    };
    match outcome {
        Err(refusal) if refusal.is_upstream_failure() => {
            // Looked up again, because it may have been voided or replaced meanwhile.
            let (value, read_at) = older().ok_or(refusal)?;
            ctx.meter.relies_on(read_at, Note::Outage);
            Ok(value)
        }
        outcome => outcome,
    }
}

/// Returns the result of `work`; `None` when it takes longer than `patience`, not counting time when `is_queued` holds.
async fn answered_within<T>(
    patience: Duration,
    is_queued: impl Fn() -> bool,
    mut work: impl Future<Output = T> + Unpin,
) -> Option<T> {
    let slice = (patience / SLICES).max(SLICE);
    let mut left = patience;
    loop {
        match tokio::time::timeout(slice.min(left), &mut work).await {
            Ok(outcome) => return Some(outcome),
            Err(_) if left.is_zero() => return None,
            Err(_) if is_queued() => {}
            Err(_) => left = left.saturating_sub(slice),
        }
    }
}

impl From<ReadLost> for Refusal {
    fn from(_: ReadLost) -> Self {
        Self::internal("a shared read ended without an outcome")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::{Instant as Clock, sleep};

    const PATIENCE: Duration = Duration::from_secs(10);

    /// Returns how long the caller waits for a call that first waits for the quota, and then for v1.
    async fn waited(queued: Duration, answered: Option<Duration>) -> (Duration, bool) {
        let begun = Clock::now();
        let work = Box::pin(async move {
            match answered {
                Some(answered) => sleep(queued + answered).await,
                None => std::future::pending().await,
            }
        });
        let outcome = answered_within(PATIENCE, || begun.elapsed() < queued, work).await;
        (begun.elapsed(), outcome.is_some())
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_for_the_quota_is_not_waiting_for_v1() {
        let second = Duration::from_secs(1);
        for (queued, answer, expected) in
            [(0, Some(1), (1, true)), (20, Some(9), (29, true)), (0, None, (10, false)), (20, None, (30, false))]
        {
            let (time, answered) = waited(queued * second, answer.map(|answer| answer * second)).await;
            assert_eq!(((time.as_millis() + 500) / 1_000, answered), expected, "{time:?}");
        }
    }
}
