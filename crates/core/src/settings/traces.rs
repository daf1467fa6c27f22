//! Where traces go. May use: this folder.

use super::reader::Reader;
use super::value::HttpAddress;

/// Traces (`[traces]`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceSettings {
    /// Where a collector takes OTLP over HTTP; none for nowhere.
    pub endpoint: Option<HttpAddress>,
    /// One of so many requests is recorded; 0 for none.
    pub one_in: usize,
}

impl TraceSettings {
    pub(super) fn read(from: &mut Reader) -> Self {
        Self { endpoint: from.optional("traces.endpoint"), one_in: from.get("traces.one_in") }
    }
}
