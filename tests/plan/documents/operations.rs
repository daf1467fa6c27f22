//! `docs/operations.md`: all operations of v2, read off the plan.

use causeway::plan::Plan;
use std::fmt::Write;

const HEAD: &str = "\
# Operations

All operations of v2, by resource. This page is generated from the files in `mappings/`; change these files, not this page.
Parameters, bodies and answers are in the OpenAPI document: `causeway openapi`, `/api/v2/schema/`, or the page
`/api/v2/docs/`.

V1 calls: with empty caches / with everything cached, without proofs of access. Each answer has its number of calls in the
header `Causeway-V1-Calls`. A list that v1 pages counts as one call; it takes one call for each 1,000 records. A token needs
one of the scopes; a key needs none. Traps are oddities of v1, listed in [v1-traps.md](v1-traps.md). Numbers such as O59
are choices where the specification of v2 leaves something open.
";

/// The document.
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
            let _ = match operation.calls.as_ref().and_then(|calls| calls.why.as_deref()) {
                Some(reason) => write!(text, "; {reason}."),
                None => write!(text, "."),
            };
            let scopes: Vec<String> = operation.scopes.iter().map(|scope| format!("`{scope}`")).collect();
            let _ = writeln!(text, " Scopes: {}.", scopes.join(" or "));
        }
    }
    text
}
