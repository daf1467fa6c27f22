//! What replaces a call of v1, as data.
//!
//! May use: nothing of this crate.

use serde::Serialize;
use serde_json::Value;

/// Something that has another name in v2.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Renamed {
    /// Where it stands: `query`, `body` or `answer`.
    pub place: &'static str,
    pub v1: String,
    pub v2: String,
}

/// Something that has no equivalent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lost {
    /// Where it stands: `path`, `query`, `body` or `answer`.
    pub place: &'static str,
    /// Name in v1.
    pub name: String,
    /// Why, and what there is instead.
    pub why: String,
}

/// A v2 request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Successor {
    /// Id of the operation.
    pub operation: String,
    /// Method.
    pub method: &'static str,
    /// Path with its query; a value that the call of v1 does not tell is left as a variable.
    pub target: String,
    /// JSON body.
    pub body: Option<Value>,
}

/// What replaces a call of v1.
#[derive(Debug, Default, Serialize)]
pub struct Replacement {
    /// Name of the operation of v1; none when the path or its method is not known.
    pub v1_operation: Option<String>,
    /// Method and path with variables.
    pub call: String,
    /// What it does.
    pub does: String,
    /// `all`, `part`, `none` or `unknown`: how much of it v2 has.
    pub extent: &'static str,
    /// What is missing, or why there is no successor.
    pub reason: Option<String>,
    /// The v2 requests, in the order to send them in; usually one.
    pub requests: Vec<Successor>,
    /// What is called differently.
    pub renamed: Vec<Renamed>,
    /// What has no equivalent.
    pub lost: Vec<Lost>,
    /// What else is different about the answer.
    pub changes: Vec<String>,
}

impl Replacement {
    /// One without a successor.
    pub(super) fn without(call: String, does: &str, extent: &'static str, reason: String) -> Self {
        Self { call, does: does.into(), extent, reason: Some(reason), ..Self::default() }
    }

    /// Tells of something that has another name in v2.
    pub(super) fn rename(&mut self, place: &'static str, v1: impl Into<String>, v2: impl Into<String>) {
        self.renamed.push(Renamed { place, v1: v1.into(), v2: v2.into() });
    }

    /// Tells of something that has no equivalent.
    pub(super) fn lose(&mut self, place: &'static str, name: impl Into<String>, why: impl Into<String>) {
        self.lost.push(Lost { place, name: name.into(), why: why.into() });
    }
}
