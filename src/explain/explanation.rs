//! What is told about a request, as data. May use: `plan`, this folder.

use super::calls::ToldCall;
use super::query::Part;
use crate::plan::Calls;
use serde::Serialize;

/// A variable of the path.
#[derive(Debug, Serialize)]
pub struct Variable {
    /// Name.
    pub name: String,
    /// Value, as it is used.
    pub value: String,
}

/// Something the request would be refused for.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub struct Refused {
    /// Status of the answer.
    pub status: u16,
    /// Code of the problem.
    pub code: &'static str,
    /// Field of the request it is about.
    pub field: Option<String>,
    /// What is wrong.
    pub message: String,
}

/// What would happen to a request.
#[derive(Debug, Serialize)]
pub struct Explanation {
    /// Id of the operation.
    pub operation: String,
    /// What it does.
    pub summary: String,
    /// Method.
    pub method: &'static str,
    /// Its path with variables.
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
    /// Variables of the path.
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
    /// Status of a success.
    pub success: u16,
}
