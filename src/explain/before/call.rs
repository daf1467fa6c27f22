//! A call of v1, taken apart, and what it tells about its successor.
//!
//! May use: `plan`.

use crate::plan::{Fill, Plan, Resource, V1Operation};

/// A call of v1, taken apart.
pub(super) struct Call<'c> {
    pub(super) plan: &'c Plan,
    pub(super) row: &'c V1Operation,
    pub(super) variables: Vec<(String, String)>,
    pub(super) query: Vec<(String, String)>,
}

impl Call<'_> {
    /// What a variable or parameter of a successor is filled with.
    pub(super) fn filled(&self, name: &str) -> Option<&str> {
        let of = |values: &'_ [(String, String)], name: &str| -> Option<usize> {
            values.iter().rposition(|(known, value)| known == name && !value.is_empty())
        };
        match self.row.fills.iter().find(|(known, _)| known == name) {
            Some((_, Fill::Variable(variable))) => {
                of(&self.variables, variable).map(|at| self.variables[at].1.as_str())
            }
            Some((_, Fill::Parameter(parameter))) => of(&self.query, parameter).map(|at| self.query[at].1.as_str()),
            None => of(&self.variables, name).map(|at| self.variables[at].1.as_str()),
        }
    }
}

/// The name in v2 of a field of v1's records.
pub(super) fn v2_field<'r>(resource: &'r Resource, v1: &str) -> Option<&'r str> {
    let named = |hidden: bool| {
        let mut fields = resource.fields.iter();
        fields.find(|field| field.v1.as_deref() == Some(v1) && field.hidden == hidden && !field.plain_text)
    };
    named(false).or_else(|| named(true)).map(|field| field.name.as_str())
}
