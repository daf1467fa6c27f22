//! What becomes of requests that are recorded as traces: the interface of whoever takes them.
//!
//! May use: `trace`.

use crate::trace::Trace;

/// Takes the traces that are recorded; called at the end of a request, so it must not wait for anything.
pub trait Traces: Send + Sync + 'static {
    /// Whether the request that begins now is to be recorded, when nobody that is believed has decided it.
    fn samples(&self) -> bool;

    /// A request that was recorded has ended.
    fn ended(&self, request: Recorded<'_>);
}

#[derive(Debug)]
pub struct Recorded<'r> {
    pub trace: &'r Trace,
    /// The operation, or what it is that is none.
    pub name: &'r str,
    pub method: &'r str,
    /// Path without the query.
    pub path: &'r str,
    /// Status, 499 when the client left before the answer.
    pub status: u16,
    /// Where the answer came from.
    pub source: &'static str,
    pub request_id: &'r str,
    /// Product and version of the client; empty when calls are not counted.
    pub client: &'r str,
}
