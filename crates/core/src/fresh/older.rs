//! What older values stand in for while v1 is unreachable, does not answer or answers 5xx.
//!
//! May use: `context`, `refusal`, this folder.

use super::shared::Lost;
use crate::context::Context;
use crate::refusal::Refusal;
use std::time::Instant;

/// Told when v1 has not answered, and the older value did not stay good for so long.
const NO_ANSWER: &str = "The service behind did not answer in time. Nothing was changed.";

/// The answer of `work`; when v1 is in trouble, or takes longer than a third of the time left, the answer of `older`: a
/// value and when its read began. Only for requests that may rely on older values.
///
/// # Errors
/// Those of `work`, when there is nothing older.
pub async fn or_older<T>(
    ctx: &Context,
    older: impl Fn() -> Option<(T, Instant)>,
    mut work: impl Future<Output = Result<T, Refusal>> + Unpin,
) -> Result<T, Refusal> {
    if !ctx.tolerant {
        return work.await;
    }
    let outcome = match tokio::time::timeout(ctx.patience(), &mut work).await {
        Ok(outcome) => outcome,
        Err(_) if older().is_some() => Err(Refusal::UpstreamTimeout { detail: NO_ANSWER.into() }),
        Err(_) => work.await,
    };
    match outcome {
        Err(refusal) if refusal.is_trouble() => {
            // Looked for again: it may have been voided or replaced meanwhile.
            let (value, read_at) = older().ok_or(refusal)?;
            ctx.meter.outlasted(read_at);
            Ok(value)
        }
        outcome => outcome,
    }
}

impl From<Lost> for Refusal {
    fn from(_: Lost) -> Self {
        Self::internal("a shared read ended without an outcome")
    }
}
