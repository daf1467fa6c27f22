//! Scopes, error codes, embedded files: the closed lists are what they should be.

use crate::plan::support::plan;
use causeway::mapping::Texts;
use causeway::plan::{codes, scopes};
use causeway::refusal::Refusal;
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn every_gating_scope_gates_something_and_nothing_else_does() {
    let used: BTreeSet<String> = plan().operations.iter().flat_map(|operation| operation.scopes.clone()).collect();
    let gating = scopes::all().filter(|scope| scopes::is_gating(scope)).map(str::to_owned).collect();
    assert_eq!(used, gating);
}

#[test]
fn the_list_names_each_scope_once() {
    let names: Vec<&str> = scopes::all().collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    assert!(names.contains(&"webhooks:write") && names.contains(&"profile:read"));
}

#[test]
fn every_refusal_is_in_the_table_of_codes() {
    let text = String::new;
    let refusals = [
        Refusal::invalid(""),
        Refusal::OrderingNotCursorEligible { ordering: text() },
        Refusal::Unauthorized { detail: text() },
        Refusal::Forbidden { detail: text() },
        Refusal::WorkflowDenied { detail: text() },
        Refusal::not_found(),
        Refusal::MethodNotAllowed { allow: Vec::new() },
        Refusal::Conflict { detail: text() },
        Refusal::ManagedAtWorkspace,
        Refusal::OwnedByWorkspace,
        Refusal::ManagedAtProject,
        Refusal::PreconditionFailed { detail: text() },
        Refusal::IdempotencyKeyReused,
        Refusal::IdempotencyInProgress { retry_after: 1 },
        Refusal::RateLimited { retry_after: 1, detail: text() },
        Refusal::internal(""),
        Refusal::NotImplemented { operation: text() },
        Refusal::upstream("", ""),
        Refusal::unavailable(""),
        Refusal::UpstreamTimeout { detail: text() },
        Refusal::Overloaded,
        Refusal::TurnNotReached { detail: String::new() },
        Refusal::DeadlineExceeded { maybe_done: true },
        Refusal::IndexBuilding { detail: text(), retry_after: 1 },
        Refusal::StoreUnavailable { cause: text() },
        Refusal::WriteUndecided,
    ];
    let ours: BTreeSet<(u16, &str)> = refusals.iter().map(|refusal| (refusal.status(), refusal.code())).collect();
    let mut table: BTreeSet<(u16, &str)> = codes::TABLE.into_iter().collect();
    // The gateway always counts, so it never uses this one.
    assert!(table.remove(&(400, "count_pagination_disabled")));
    assert_eq!(ours, table);
}

#[test]
fn every_file_of_the_folder_is_embedded() {
    let folder =
        Texts::default().overlay(&Path::new(env!("CARGO_MANIFEST_DIR")).join("mappings")).expect("readable");
    assert_eq!(
        Texts::embedded().sorted(),
        folder.sorted(),
        "stale: touch crates/plan/src/mapping/texts.rs after adding a file"
    );
}
