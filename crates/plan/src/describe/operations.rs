//! The list of operations: as a table and a document for people, as JSON for machines. May use: `plan`.

use crate::plan::{Calls, Operation, Plan};
use serde_json::{Value, json};
use std::fmt::Write;

/// Returns the list for people: one line per operation, and below it the reason for the number of its calls.
pub fn table(plan: &Plan) -> String {
    let mut rows =
        vec![["OPERATION", "METHOD", "PATH", "STATUS", "SOURCE", "V1 CALLS", "SCOPES"].map(str::to_owned)];
    rows.extend(plan.operations.iter().map(|operation| row(plan, operation)));
    let widths: Vec<usize> =
        (0..7).map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    let reasons = std::iter::once(None).chain(plan.operations.iter().map(why));
    for (row, reason) in rows.iter().zip(reasons) {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}")).collect();
        let _ = writeln!(text, "{}", cells.join("  ").trim_end());
        if let Some(reason) = reason {
            let _ = writeln!(text, "    {reason}");
        }
    }
    let working = plan.operations.iter().filter(|operation| operation.works()).count();
    let _ = writeln!(
        text,
        "\n{} operations, {working} of them working. V1 calls: cold / warm, proofs of access excluded.",
        plan.operations.len()
    );
    text
}

fn row(plan: &Plan, operation: &Operation) -> [String; 7] {
    let calls = operation.calls.as_ref().map(|calls| format!("{} / {}", calls.cold, calls.warm));
    [
        operation.id.clone(),
        operation.method.to_string(),
        operation.path.to_string(),
        status(operation).into(),
        plan.resource_of(operation).source.as_str().into(),
        calls.unwrap_or_else(|| "-".into()),
        operation.scopes.join(" or "),
    ]
}

fn why(operation: &Operation) -> Option<&str> {
    operation.calls.as_ref()?.why.as_deref()
}

/// Returns the list for machines: a JSON array in plan order.
pub fn json(plan: &Plan) -> String {
    let operations: Vec<Value> = plan.operations.iter().map(|operation| entry(plan, operation)).collect();
    format!("{:#}\n", Value::Array(operations))
}

fn entry(plan: &Plan, operation: &Operation) -> Value {
    json!({
        "id": operation.id,
        "method": operation.method.as_str(),
        "path": operation.path.as_str(),
        "summary": operation.summary,
        "scopes": operation.scopes,
        "source": plan.resource_of(operation).source.as_str(),
        "v1_calls": operation.calls.as_ref().map(|Calls { cold, warm, why }| json!({
            "cold": cold,
            "warm": warm,
            "why": why,
        })),
        "status": status(operation),
    })
}

fn status(operation: &Operation) -> &'static str {
    if operation.works() { "works" } else { "pending" }
}
