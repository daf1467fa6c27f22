//! A public operation of v1. May use: `mapping`, this folder.

use crate::mapping::Method;
use crate::plan::PathTemplate;

/// The extent to which v2 covers an operation of v1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    All,
    /// A part; the sentence says what is missing.
    Part(String),
    /// None; the sentence says why.
    None(String),
}

/// The source of the value for a variable or parameter of a successor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fill {
    /// A variable of v1's path.
    Variable(String),
    /// A parameter of v1's query.
    Parameter(String),
}

/// A public operation of v1.
#[derive(Debug)]
pub struct V1Operation {
    /// Name in reports and settings.
    pub id: String,
    /// Method.
    pub method: Method,
    /// Path below v1's base.
    pub path: PathTemplate,
    /// Short description of its effect.
    pub does: String,
    /// Indices of the v2 operations that stand for it, the usual one first.
    pub successors: Vec<usize>,
    /// Indices of the v2 operations that make this call.
    pub made_by: Vec<usize>,
    /// Extent to which the successors cover it.
    pub extent: Extent,
    /// Sources for variables and parameters of the successor, where the names alone do not tell.
    pub fills: Vec<(String, Fill)>,
    /// Parameters that v1 reads in addition to those of every list.
    pub reads: Vec<String>,
    /// Parameters of `reads` that v1 reads only together. It then answers with the one record that they name.
    pub together: Vec<String>,
    /// Place of the rows in v1's answer, as text, when it differs from that of the successor's resource.
    pub rows: Option<String>,
    /// Members of v1's rows, when they differ from those of the successor's resource.
    pub shows: Vec<String>,
    /// Differences of a request to the usual successor.
    pub differs: Vec<String>,
    /// Body members that mean another operation, each with the index for a value and the index for null.
    pub instead: Vec<(String, [usize; 2])>,
    /// Whether v1 has the path. Clients also ask for paths that v1 does not have.
    pub served: bool,
}

impl V1Operation {
    /// Returns the value for a variable or parameter of a successor, from the `variables` of a call's path and its
    /// `query`.
    pub fn filled<'c>(
        &self,
        name: &str,
        variables: &'c [(String, String)],
        query: &'c [(String, String)],
    ) -> Option<&'c str> {
        let (values, name) = match self.fills.iter().find(|(known, _)| known == name) {
            Some((_, Fill::Variable(variable))) => (variables, variable.as_str()),
            Some((_, Fill::Parameter(parameter))) => (query, parameter.as_str()),
            None => (variables, name),
        };
        let given = values.iter().rfind(|(known, value)| known == name && !value.is_empty());
        given.map(|(_, value)| value.as_str())
    }
}
