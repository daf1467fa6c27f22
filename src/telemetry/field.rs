//! Names of log fields, defined once.
//!
//! The macros of `tracing` take field names as constants in braces: `info!({ field::STATUS } = 200)`. May use: nothing
//! of this crate.

pub const REQUEST_ID: &str = "request_id";
pub const TRACE_ID: &str = "trace_id";
/// Product and version of the client.
pub const CLIENT: &str = "client";
/// Fingerprint of the credential, as in the report of who calls what.
pub const CREDENTIAL: &str = "credential";
/// The person behind the credential; by setting.
pub const OWNER: &str = "owner";
pub const METHOD: &str = "method";
/// Path of the request, without the query.
pub const PATH: &str = "path";
/// Id of the operation, or the kind of a request without an operation.
pub const OPERATION: &str = "operation";
/// Source of the answer.
pub const SOURCE: &str = "source";
/// HTTP status of the answer; 499 when the client left before it.
pub const STATUS: &str = "status";
/// Milliseconds from the arrival of the request to the end of the answer.
pub const DURATION_MS: &str = "duration_ms";
pub const V1_CALLS: &str = "v1_calls";
pub const V1_MS: &str = "v1_ms";
/// Bytes of the answer's body.
pub const BYTES: &str = "bytes";
/// Whether the answer was read to its end.
pub const COMPLETE: &str = "complete";
pub const CODE: &str = "code";
/// Cause of a refusal, for operators only.
pub const CAUSE: &str = "cause";
/// Address of the client or proxy.
pub const PEER: &str = "peer";
/// Place in the code where something happened.
pub const LOCATION: &str = "location";
