//! The replacement of a v1 call, as data.
//!
//! May use: nothing of this crate.

use serde::Serialize;
use serde_json::Value;

/// A name that differs in v2.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Renamed {
    /// Place of the name: `query`, `body` or `answer`.
    pub place: &'static str,
    pub v1: String,
    pub v2: String,
}

/// A part without an equivalent in v2.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NoEquivalent {
    /// Place of the part: `path`, `query`, `body` or `answer`.
    pub place: &'static str,
    /// Name in v1.
    pub name: String,
    /// The reason, and the alternative in v2.
    pub why: String,
}

/// A v2 request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Successor {
    /// Id of the operation.
    pub operation: String,
    /// Method.
    pub method: &'static str,
    /// Path with its query; values that the v1 call does not contain stay as variables.
    pub target: String,
    /// JSON body.
    pub body: Option<Value>,
}

/// Replacement of a v1 call.
#[derive(Debug, Default, Serialize)]
pub struct Replacement {
    /// Name of the v1 operation; `None` when the path or its method is unknown.
    pub v1_operation: Option<String>,
    /// Method and path with variables.
    pub call: String,
    /// Description of the operation.
    pub does: String,
    /// How much of it v2 has: `all`, `part`, `none` or `unknown`.
    pub extent: &'static str,
    /// The missing part, or the reason why there is no successor.
    pub reason: Option<String>,
    /// The v2 requests in the order in which they must be sent; usually one.
    pub requests: Vec<Successor>,
    /// Names that differ.
    pub renamed: Vec<Renamed>,
    /// Parts without an equivalent.
    pub lost: Vec<NoEquivalent>,
    /// Other differences of the answer.
    pub changes: Vec<String>,
}

impl Replacement {
    /// Creates the replacement of a call that v1 is not known to have.
    pub(super) fn unknown(call: String, does: &str, reason: String) -> Self {
        Self { call, does: does.into(), extent: "unknown", reason: Some(reason), ..Self::default() }
    }

    /// Reports a name that differs in v2.
    pub(super) fn rename(&mut self, place: &'static str, v1: impl Into<String>, v2: impl Into<String>) {
        self.renamed.push(Renamed { place, v1: v1.into(), v2: v2.into() });
    }

    /// Reports a part without an equivalent in v2.
    pub(super) fn lose(&mut self, place: &'static str, name: impl Into<String>, why: impl Into<String>) {
        self.lost.push(NoEquivalent { place, name: name.into(), why: why.into() });
    }
}
