//! The v1 operations that are still called, each with its replacement.
//!
//! May use: `plan`, this folder.

use super::counts::{Counts, as_date, date};
use crate::plan::{Extent, Fill, Plan, V1Operation};
use serde::Serialize;
use std::collections::BTreeMap;

/// A v1 operation that is still called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RemainingOperation {
    /// Its name.
    pub operation: String,
    /// Method and path.
    pub call: String,
    /// Description of the operation.
    pub does: String,
    /// Number of calls.
    pub calls: i64,
    /// Day of the last call.
    #[serde(serialize_with = "as_date")]
    pub last: i64,
    /// The v2 requests that replace it, the usual one first.
    pub v2: Vec<String>,
    /// Parts that the v2 requests lack, or the reason why there is no request.
    pub reason: Option<String>,
}

impl RemainingOperation {
    /// Returns the date of the last call.
    pub fn last_date(&self) -> String {
        date(self.last)
    }
}

/// Returns the v2 requests that replace a v1 operation, with variables in braces.
pub fn successors(plan: &Plan, row: &V1Operation) -> Vec<String> {
    let of = |(index, &successor): (usize, &usize)| {
        let operation = &plan.operations[successor];
        let mut target = operation.path.to_string();
        if index == 0 {
            let parameters: Vec<String> = row
                .fills
                .iter()
                .filter(|(name, _)| operation.params.iter().any(|param| param.name == *name))
                .map(|(name, fill)| match fill {
                    Fill::Variable(with) | Fill::Parameter(with) => format!("{name}={{{with}}}"),
                })
                .collect();
            if !parameters.is_empty() {
                target = format!("{target}?{}", parameters.join("&"));
            }
        }
        format!("{} {target}", operation.method)
    };
    row.successors.iter().enumerate().map(of).collect()
}

/// Returns the v1 operations in `counts`, the most called first.
pub fn left(plan: &Plan, counts: &Counts) -> Vec<RemainingOperation> {
    let mut calls: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    for row in counts.rows.iter().filter(|row| counts.is_v1(&row.operation)) {
        let (sum, last) = calls.entry(&row.operation).or_default();
        *sum += row.calls;
        *last = row.day.max(*last);
    }
    let mut all: Vec<RemainingOperation> =
        calls.into_iter().map(|(id, (calls, last))| one(plan, id, calls, last)).collect();
    all.sort_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.operation.cmp(&b.operation)));
    all
}

fn one(plan: &Plan, id: &str, calls: i64, last: i64) -> RemainingOperation {
    let Some(row) = plan.v1.by_id(id) else {
        let reason = Some("It is no public operation of v1 that is known here.".into());
        let (operation, call, does) = (id.into(), id.into(), "not known".into());
        return RemainingOperation { operation, call, does, calls, last, v2: Vec::new(), reason };
    };
    let reason = match &row.extent {
        Extent::All => None,
        Extent::Part(what) => Some(what.clone()),
        Extent::None(why) => Some(why.clone()),
    };
    let call = format!("{} /api/v1/{}", row.method, row.path);
    RemainingOperation {
        operation: id.into(),
        call,
        does: row.does.clone(),
        calls,
        last,
        v2: successors(plan, row),
        reason,
    }
}
