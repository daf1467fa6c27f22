//! Listings and documents read off the plan.

use crate::plan::documents;
use crate::plan::support::{blessing, plan};
use causeway::describe::operations;
use serde_json::Value;
use std::path::Path;

#[test]
fn the_table_lists_every_operation() {
    let plan = plan();
    let table = operations::table(&plan);
    for operation in &plan.operations {
        let line = table.lines().find(|line| line.starts_with(&format!("{} ", operation.id)));
        let line = line.unwrap_or_else(|| panic!("{} is not listed", operation.id));
        assert!(line.contains(operation.path.as_str()), "{line}");
        assert_eq!(line.contains(" pending "), !operation.works(), "{line}");
    }
    assert!(table.contains("88 operations, "));
}

#[test]
fn the_json_says_what_an_operation_costs() {
    let plan = plan();
    let list: Vec<Value> = serde_json::from_str(&operations::json(&plan)).expect("JSON");
    assert_eq!(list.len(), plan.operations.len());
    let entry = |id: &str| list.iter().find(|entry| entry["id"] == id).expect("listed");
    let labels = entry("labels_list");
    assert_eq!(labels["status"], "works");
    assert_eq!(labels["source"], "v1");
    assert_eq!((&labels["v1_calls"]["cold"], &labels["v1_calls"]["warm"]), (&1.into(), &0.into()));
    assert_eq!(labels["scopes"], serde_json::json!(["projects.labels:read", "read"]));
    let audit = entry("audit_logs_list");
    assert_eq!(
        (&audit["source"], &audit["path"]),
        (&"own".into(), &"/api/v2/workspaces/{slug}/audit-logs/".into())
    );
    for (entry, operation) in list.iter().zip(&plan.operations) {
        assert_eq!(entry["v1_calls"].is_null(), !operation.works(), "{}", operation.id);
    }
}

/// Run with `BLESS=1` to rewrite the documents after a change of the mappings or the settings.
#[test]
fn the_committed_documents_are_those_of_the_mappings_and_settings() {
    let plan = plan();
    let documents = [
        ("docs/known-gaps.md", documents::known_gaps::markdown(&plan)),
        ("docs/operations.md", documents::operations::markdown(&plan)),
        ("docs/configuration.md", documents::configuration::markdown()),
    ];
    for (name, generated) in documents {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        if blessing() {
            std::fs::write(&path, &generated).expect("docs/ can be written");
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(committed, generated, "{name} is stale: run the tests with BLESS=1");
    }
}

#[test]
fn the_reference_of_settings_has_each_setting_with_its_sentence() {
    let text = documents::configuration::markdown();
    let line = |name: &str| text.lines().find(|line| line.starts_with(&format!("| `{name}` |"))).expect("listed");
    let deadline = line("limits.deadline");
    assert!(deadline.contains("`\"30s\"`") && deadline.contains("`CAUSEWAY_LIMITS__DEADLINE`"), "{deadline}");
    assert!(deadline.ends_with("beyond it the answer is 504. |"), "{deadline}");
    assert!(line("upstream.base_url").contains("| none |"));
    assert!(line("public_url").contains("Address under which clients reach the gateway"));
}
