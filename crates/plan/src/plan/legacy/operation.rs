//! A public operation of v1. May use: `mapping`, this folder.

use crate::mapping::Method;
use crate::plan::PathTemplate;

/// How much of an operation v2 has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    All,
    /// A part; the sentence says what is missing.
    Part(String),
    /// None; the sentence says why.
    None(String),
}

/// What a variable or parameter of a successor is filled with.
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
    /// What it does.
    pub does: String,
    /// Indices of the v2 operations that stand for it, the usual one first.
    pub successors: Vec<usize>,
    /// Indices of the v2 operations that make this call.
    pub made_by: Vec<usize>,
    /// How much of it they have.
    pub extent: Extent,
    /// What variables and parameters of the successor are filled with, where their names do not say it.
    pub fills: Vec<(String, Fill)>,
    /// Parameters that v1 reads beside those of every list.
    pub reads: Vec<String>,
    /// Of them, those that v1 reads only together: it answers with the one record that they name.
    pub together: Vec<String>,
    /// What v1's rows stand in, where they do not stand as the successor's resource says.
    pub rows: Option<String>,
    /// Members of v1's rows, where they are not those of the successor's resource.
    pub shows: Vec<String>,
    /// What a request to the usual successor does differently.
    pub differs: Vec<String>,
    /// Members of a body that stand for another operation: its index when there is a value, and when it is null.
    pub instead: Vec<(String, [usize; 2])>,
    /// Whether v1 has the path; clients ask for some that it does not have.
    pub served: bool,
}
