//! The explanation as text for people. May use: this folder.

use super::before::Replacement;
use super::calls::ToldCall;
use super::explanation::{Explanation, Refused};
use std::fmt::{Display, Write};
use std::time::Duration;

/// Text lines, each with a name in front.
#[derive(Default)]
struct Lines(String);

impl Lines {
    fn add(&mut self, name: &str, value: impl Display) {
        let _ = writeln!(self.0, "{}", format!("{name:<12}{value}").trim_end());
    }
}

/// Returns the explanation of a request as text.
pub fn text(told: &Explanation) -> String {
    let mut lines = Lines::default();
    lines.add("operation", format!("{}: {}", told.operation, told.summary));
    lines.add("path", format!("{} {}", told.method, told.path));
    lines.add("mapping", &told.mapping);
    let records = if told.source == "v1" { "v1" } else { "the own store" };
    lines.add("step", format!("{}, records in {records}", told.step));
    lines.add("scopes", format!("{} (a key needs none)", told.scopes.join(" or ")));
    lines.add("roles", told.roles);
    if let Some(mode) = told.mode {
        let rest = "otherwise 409 work_item_types_managed_at_…";
        lines.add("mode", format!("work item types are managed per {mode}; {rest}"));
    }
    lines.add("success", told.success);
    for variable in &told.variables {
        lines.add("variable", format!("{} = {}", variable.name, variable.value));
    }
    for part in &told.query {
        lines.add("query", format!("{}={}  {}; {}", part.name, part.value, part.does, part.evaluated));
    }
    if !told.ignored.is_empty() {
        lines.add("ignored", format!("these members of the body change nothing: {}", told.ignored.join(", ")));
    }
    for refused in &told.refused {
        lines.add("refused", refusal(refused));
    }
    for (name, calls) in [("proofs", &told.proofs), ("v1 cold", &told.cold), ("v1 warm", &told.warm)] {
        if calls.is_empty() {
            lines.add(name, "no call");
        }
        calls.iter().for_each(|told| lines.add(name, call(told)));
    }
    told.further.iter().for_each(|told| lines.add("v1 further", call(told)));
    told.kept.iter().for_each(|kept| lines.add("kept", kept));
    if let Some(cost) = &told.cost {
        let why = cost.why.as_ref().map(|why| format!("; {why}")).unwrap_or_default();
        lines.add("cost", format!("{} cold, {} warm, proofs of access excluded{why}", cost.cold, cost.warm));
    }
    lines.0
}

/// Returns the replacement of a v1 call as text.
pub fn before_text(told: &Replacement) -> String {
    let mut lines = Lines::default();
    let id = told.v1_operation.as_ref().map(|id| format!("{id}: ")).unwrap_or_default();
    lines.add("v1", format!("{id}{}", told.does));
    lines.add("path", &told.call);
    let extent = match told.extent {
        "all" => "v2 has all of it",
        "part" => "v2 has a part of it",
        "none" => "v2 has no successor",
        _ => "not known",
    };
    let reason = told.reason.as_ref().map(|reason| format!(". {reason}")).unwrap_or_default();
    lines.add("successor", format!("{extent}{reason}"));
    for request in &told.requests {
        lines.add("v2", format!("{} {}", request.method, request.target));
        lines.add("operation", &request.operation);
        if let Some(body) = &request.body {
            lines.add("body", body);
        }
    }
    for renamed in &told.renamed {
        lines.add("renamed", format!("{}: {} is {}", renamed.place, renamed.v1, renamed.v2));
    }
    for lost in &told.lost {
        lines.add("lost", format!("{}: {}: {}", lost.place, lost.name, lost.why));
    }
    told.changes.iter().for_each(|change| lines.add("answer", change));
    lines.0
}

fn refusal(refused: &Refused) -> String {
    let field = refused.field.as_ref().map(|field| format!(" {field}:")).unwrap_or_default();
    format!("{} {}:{field} {}", refused.status, refused.code, refused.message)
}

fn call(call: &ToldCall) -> String {
    let query = if call.query.is_empty() { String::new() } else { format!("?{}", call.query) };
    let when = call.when.as_ref().map(|when| format!("  ({when})")).unwrap_or_default();
    format!("{} {}{query}{when}", call.method, call.path)
}

/// Returns the result of a sent request as text: the status, the headers that were present, and the time.
pub fn run_text(status: u16, headers: &[(&str, Option<&str>)], took: Duration, problem: Option<&str>) -> String {
    let mut lines = Lines::default();
    lines.add("answer", format!("{status} after {:.1} ms", took.as_secs_f64() * 1000.0));
    for (name, value) in headers.iter().filter_map(|(name, value)| Some((name, (*value)?))) {
        lines.add("header", format!("{name}: {value}"));
    }
    if let Some(problem) = problem {
        lines.add("problem", problem);
    }
    lines.0
}
