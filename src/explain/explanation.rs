//! The explanation of a request, as data. May use: `plan`, `refusal`, this folder.

use super::calls::ToldCall;
use super::query::Part;
use crate::plan::Calls;
use crate::refusal::Refusal;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct Variable {
    pub name: String,
    /// Value in effect.
    pub value: String,
}

/// A reason why the request would be rejected.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub struct Refused {
    pub status: u16,
    pub code: &'static str,
    /// Field of the request that the reason is about.
    pub field: Option<String>,
    pub message: String,
}

/// Explanation of how a request would be handled.
#[derive(Debug, Serialize)]
pub struct Explanation {
    pub operation: String,
    pub summary: String,
    pub method: &'static str,
    pub path: String,
    /// File and line of the mapping.
    pub mapping: String,
    /// The step that carries it out.
    pub step: String,
    /// Place of its records: `v1` or `own`.
    pub source: &'static str,
    /// Scopes, any one of which allows a token to use it.
    pub scopes: Vec<String>,
    /// People who may use it, besides the scope.
    pub roles: &'static str,
    /// Mode of work item types that a write needs.
    pub mode: Option<&'static str>,
    pub variables: Vec<Variable>,
    /// The parts of the query, and where each is evaluated.
    pub query: Vec<Part>,
    /// Reasons why the request would be rejected. The other fields are then complete only as far as possible.
    pub refused: Vec<Refused>,
    /// Members of the body that change nothing.
    pub ignored: Vec<String>,
    /// Calls that prove access; made when access was not proven recently with this credential.
    pub proofs: Vec<ToldCall>,
    /// Calls with empty caches, without proofs of access.
    pub cold: Vec<ToldCall>,
    /// Calls with full caches.
    pub warm: Vec<ToldCall>,
    /// Further calls that this query or some states of v1 need.
    pub further: Vec<ToldCall>,
    /// Data that caches and the index can answer.
    pub kept: Vec<&'static str>,
    /// Cost that the mapping declares.
    pub cost: Option<Calls>,
    pub success: u16,
}

/// Converts a refusal into one entry for each field.
pub(super) fn told(refusal: &Refusal) -> Vec<Refused> {
    let one = |field: Option<String>, message: String| Refused {
        status: refusal.status(),
        code: refusal.code(),
        field,
        message,
    };
    match refusal {
        Refusal::Validation { errors, .. } if !errors.is_empty() => {
            errors.iter().map(|error| one(Some(error.field.clone()), error.message.clone())).collect()
        }
        Refusal::Validation { detail, .. } | Refusal::NotFound { detail } => vec![one(None, detail.clone())],
        Refusal::OrderingNotCursorEligible { ordering } => {
            vec![one(None, format!("cursor pagination is not possible with order_by={ordering}"))]
        }
        other => vec![one(None, other.code().replace('_', " "))],
    }
}
