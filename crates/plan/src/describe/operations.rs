//! The list of operations: as a table and a document for people, as JSON for machines. May use: `plan`.

use crate::plan::{Calls, Operation, Plan, Source};
use serde_json::{Value, json};
use std::fmt::Write;

/// The list for people: one line an operation, and below it why its calls are what they are.
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
        source(plan, operation).into(),
        calls.unwrap_or_else(|| "-".into()),
        operation.scopes.join(" or "),
    ]
}

fn why(operation: &Operation) -> Option<&str> {
    operation.calls.as_ref()?.why.as_deref()
}

/// The list for machines: a JSON array in plan order.
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
        "source": source(plan, operation),
        "v1_calls": operation.calls.as_ref().map(|Calls { cold, warm, why }| json!({
            "cold": cold,
            "warm": warm,
            "why": why,
        })),
        "status": status(operation),
    })
}

const HEAD: &str = "\
# Operations

All operations of v2, by resource. Generated from the files in `mappings/`; change those, not this file. Parameters,
bodies and answers are in the OpenAPI document: `causeway openapi`, `/api/v2/schema/`, or the page `/api/v2/docs/`.

V1 calls: with nothing kept / with everything kept, proofs of access excluded; each answer tells what it took in the
header `Causeway-V1-Calls`. A token needs one of the scopes; a key needs none. Traps are oddities of v1, told in
[v1-traps.md](v1-traps.md); numbers such as O59 are choices where the specification of v2 leaves something open.
";

/// The document `docs/operations.md`.
pub fn markdown(plan: &Plan) -> String {
    let mut text = HEAD.to_owned();
    for (index, resource) in plan.resources.iter().enumerate() {
        let _ = write!(text, "\n## {}\n\n{}\n", resource.name.replace('_', " "), resource.about);
        for operation in plan.operations.iter().filter(|operation| operation.resource == index) {
            let _ = write!(
                text,
                "\n### {}\n\n`{} {}`\n\n{}.",
                operation.id, operation.method, operation.path, operation.summary
            );
            let _ = match &operation.calls {
                Some(calls) => write!(text, " V1 calls: {} / {}", calls.cold, calls.warm),
                None => write!(text, " Does not work in this version (501)"),
            };
            let _ = match why(operation) {
                Some(reason) => write!(text, "; {reason}."),
                None => write!(text, "."),
            };
            let scopes: Vec<String> = operation.scopes.iter().map(|scope| format!("`{scope}`")).collect();
            let _ = writeln!(text, " Scopes: {}.", scopes.join(" or "));
        }
    }
    text
}

fn status(operation: &Operation) -> &'static str {
    if operation.works() { "works" } else { "pending" }
}

fn source(plan: &Plan, operation: &Operation) -> &'static str {
    match plan.resource_of(operation).source {
        Source::V1 => "v1",
        Source::Own => "own",
    }
}
