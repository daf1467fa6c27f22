//! The questions that the repetition of requests asks of a call, before and after it is carried out.
//!
//! May use: what `run` may use.

use crate::access::Caller;
use crate::plan::{BodyRule, Source};
use crate::refusal::Refusal;
use crate::run::job::Job;
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Job {
    /// Who asks.
    pub fn caller(&self) -> &Caller {
        &self.call.caller
    }

    /// Id of the operation.
    pub fn operation_id(&self) -> &str {
        &self.operation().id
    }

    /// The body, or why it could not be read.
    pub fn body(&self) -> Result<&Bytes, &Refusal> {
        self.call.body.as_ref()
    }

    /// Whether the operation looks at the body, and so refuses the call itself when it could not be read.
    pub fn takes_body(&self) -> bool {
        matches!(self.operation().body, BodyRule::Members(_))
    }

    /// Whether the operation writes to the gateway's own store alone.
    pub fn is_own(&self) -> bool {
        self.resource().source == Source::Own
    }

    /// Says that the answer is that of an earlier request.
    pub fn replay(&self) {
        self.call.ctx.meter.replay();
    }

    /// Tells, also once the call is over, whether v1 may have carried out a write of it. The own store writes all or
    /// nothing.
    pub fn written(&self) -> impl Fn() -> bool + Send + 'static {
        let touched = Arc::clone(&self.touched);
        move || touched.load(Ordering::SeqCst)
    }
}
