//! What replaces a call of v1, for people. May use: this folder.

use super::told::Replacement;
use std::fmt::Write;

/// The text of `causeway explain` for a call of v1.
pub fn text(told: &Replacement) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{}", format!("{name:<12}{value}").trim_end());
    };
    let id = told.v1_operation.as_ref().map(|id| format!("{id}: ")).unwrap_or_default();
    line("v1", &format!("{id}{}", told.does));
    line("path", &told.call);
    let extent = match told.extent {
        "all" => "v2 has all of it",
        "part" => "v2 has a part of it",
        "none" => "v2 has no successor",
        _ => "not known",
    };
    let reason = told.reason.as_ref().map(|reason| format!(". {reason}")).unwrap_or_default();
    line("successor", &format!("{extent}{reason}"));
    for request in &told.requests {
        line("v2", &format!("{} {}", request.method, request.target));
        line("operation", &request.operation);
        if let Some(body) = &request.body {
            line("body", &body.to_string());
        }
    }
    for renamed in &told.renamed {
        line("renamed", &format!("{}: {} is {}", renamed.place, renamed.v1, renamed.v2));
    }
    for lost in &told.lost {
        line("lost", &format!("{}: {}: {}", lost.place, lost.name, lost.why));
    }
    told.changes.iter().for_each(|change| line("answer", change));
    text
}
