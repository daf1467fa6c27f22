//! What is told about a request, as data. May use: `plan`, `refusal`, this folder.

use super::calls::ToldCall;
use super::query::Part;
use crate::plan::Calls;
use crate::refusal::Refusal;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct Variable {
    pub name: String,
    /// Value, as it is used.
    pub value: String,
}

/// Something the request would be refused for.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub struct Refused {
    pub status: u16,
    pub code: &'static str,
    /// Field of the request it is about.
    pub field: Option<String>,
    pub message: String,
}

/// What would happen to a request.
#[derive(Debug, Serialize)]
pub struct Explanation {
    pub operation: String,
    pub summary: String,
    pub method: &'static str,
    pub path: String,
    /// File and line of the mapping.
    pub mapping: String,
    /// How it is carried out.
    pub step: String,
    /// Where its records live: `v1` or `own`.
    pub source: &'static str,
    /// Scopes of which any one opens it to a token.
    pub scopes: Vec<String>,
    /// Who may, beyond the scope.
    pub roles: &'static str,
    /// Mode of work item types a write needs.
    pub mode: Option<&'static str>,
    pub variables: Vec<Variable>,
    /// Each part of the query, and where it is evaluated.
    pub query: Vec<Part>,
    /// What the request would be refused for; the rest is as far as it can be told then.
    pub refused: Vec<Refused>,
    /// Members of the body that change nothing.
    pub ignored: Vec<String>,
    /// Calls that prove access; made when not done lately with this credential.
    pub proofs: Vec<ToldCall>,
    /// Calls with nothing kept, proofs of access excluded.
    pub cold: Vec<ToldCall>,
    /// Calls with everything kept.
    pub warm: Vec<ToldCall>,
    /// Further calls this query or some states of v1 need.
    pub further: Vec<ToldCall>,
    /// What caches and the index can answer.
    pub kept: Vec<&'static str>,
    /// What the mapping declares.
    pub cost: Option<Calls>,
    pub success: u16,
}

/// A refusal, one entry for each field.
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
