//! An explanation for people. May use: this folder.

use super::calls::ToldCall;
use super::explanation::{Explanation, Refused};
use std::fmt::Write;
use std::time::Duration;

/// What would happen, for people.
pub fn text(told: &Explanation) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{}", format!("{name:<12}{value}").trim_end());
    };
    line("operation", &format!("{}: {}", told.operation, told.summary));
    line("path", &format!("{} {}", told.method, told.path));
    line("mapping", &told.mapping);
    line(
        "step",
        &format!("{}, records in {}", told.step, if told.source == "v1" { "v1" } else { "the own store" }),
    );
    line("scopes", &format!("{} (a key needs none)", told.scopes.join(" or ")));
    line("roles", told.roles);
    if let Some(mode) = told.mode {
        let rest = "otherwise 409 work_item_types_managed_at_…";
        line("mode", &format!("work item types are managed per {mode}; {rest}"));
    }
    line("success", &told.success.to_string());
    for variable in &told.variables {
        line("variable", &format!("{} = {}", variable.name, variable.value));
    }
    for part in &told.query {
        line("query", &format!("{}={}  {}; {}", part.name, part.value, part.does, part.evaluated));
    }
    if !told.ignored.is_empty() {
        line("ignored", &format!("these members of the body change nothing: {}", told.ignored.join(", ")));
    }
    for refused in &told.refused {
        line("refused", &refusal(refused));
    }
    for (name, calls) in [("proofs", &told.proofs), ("v1 cold", &told.cold), ("v1 warm", &told.warm)] {
        if calls.is_empty() {
            line(name, "no call");
        }
        calls.iter().for_each(|told| line(name, &call(told)));
    }
    told.further.iter().for_each(|told| line("v1 further", &call(told)));
    told.kept.iter().for_each(|kept| line("kept", kept));
    if let Some(cost) = &told.cost {
        let why = cost.why.as_ref().map(|why| format!("; {why}")).unwrap_or_default();
        line("cost", &format!("{} cold, {} warm, proofs of access excluded{why}", cost.cold, cost.warm));
    }
    text
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

/// What a request that was sent led to, for people: status, headers that were there, time it took.
pub fn run_text(status: u16, headers: &[(&str, Option<String>)], took: Duration, problem: Option<&str>) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{:<12}{status} after {:.1} ms", "answer", took.as_secs_f64() * 1000.0);
    for (name, value) in headers.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))) {
        let _ = writeln!(text, "{:<12}{name}: {value}", "header");
    }
    if let Some(problem) = problem {
        let _ = writeln!(text, "{:<12}{problem}", "problem");
    }
    text
}
