//! The mapping of work items and the typed item of the program name the same members, in reads and in writes.

use crate::plan::support::plan;
use causeway::plan::{Plan, Resource};
use causeway::refusal::Refusal;
use causeway::translate::work_items::{self, FIELDS};
use causeway::translate::work_items_text::{self, CustomFields};
use causeway::translate::work_items_write::plain;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use uuid::Uuid;

fn work_items(plan: &Plan) -> &Resource {
    plan.resource("work_items").expect("work items")
}

#[test]
fn v1_is_asked_for_the_members_that_the_mapping_names() {
    let plan = plan();
    let mapped = work_items(&plan).fields.iter().filter_map(|field| field.spec.v1.as_deref());
    let asked = FIELDS.strip_prefix("fields=").expect("a query").split(',');
    assert_eq!(asked.collect::<BTreeSet<_>>(), mapped.collect::<BTreeSet<_>>());
}

#[test]
fn the_read_shape_has_the_fields_of_the_mapping_in_order() {
    let row = json!({
        "id": Uuid::nil(), "name": "First", "sequence_id": 7, "priority": "high", "state": Uuid::nil(),
        "parent": null, "assignees": [], "labels": [], "start_date": null, "target_date": "2026-01-20",
        "is_draft": false, "archived_at": "2026-11-21", "created_at": "2026-11-21T16:06:23.792659+05:30",
        "updated_at": "2026-11-21T10:36:23Z", "created_by": null, "sort_order": 65535.0,
        "external_id": null, "external_source": null, "description_html": "<p></p>",
    });
    let item = work_items::read(&row.to_string()).expect("a work item");
    let mut text = Vec::new();
    work_items_text::write(&mut text, &item, "WEB", None, CustomFields::Shown(&Map::new()), &[]);
    let shape: Map<String, Value> = serde_json::from_slice(&text).expect("an object");
    let plan = plan();
    let expanded = &plan.operation("work_items_list").expect("the list").expand;
    let shown =
        work_items(&plan).fields.iter().filter(|field| !field.spec.hidden && !expanded.contains(&field.name));
    assert_eq!(shape.keys().collect::<Vec<_>>(), shown.map(|field| &field.name).collect::<Vec<_>>());
    assert_eq!(shape["identifier"], "WEB-7");
    assert_eq!(shape["created_at"], "2026-11-21T10:36:23.792659Z");
    assert_eq!(shape["archived_at"], "2026-11-21T00:00:00.000000Z");
    assert_eq!(shape["created_by_id"], json!(Uuid::nil()));
}

fn sent(given: Value) -> Result<Map<String, Value>, Refusal> {
    plain(work_items(&plan()), given.as_object().expect("an object"))
}

#[test]
fn only_what_v1_honours_leaves() {
    let given = json!({
        "name": "n", "description_html": " <!-- x --> ", "priority": "low", "start_date": null,
        "target_date": "2026-01-20", "external_id": "a", "external_source": "b", "custom_fields": {}, "type_id": null,
        "id": "x", "sequence_id": 7, "is_draft": true, "created_at": "x", "sort_order": 1, "state_id": "looked up",
    });
    let body = json!({
        "name": "n", "priority": "low", "start_date": null, "target_date": "2026-01-20", "external_id": "a",
        "external_source": "b", "description_html": "<p></p>",
    });
    assert_eq!(sent(given).map(Value::Object), Ok(body));
}

#[test]
fn all_faults_of_a_body_are_told_at_once() {
    let both = json!({"state": "a", "state_id": "b", "labels": [1], "type": "Bug", "type_id": null});
    let Err(Refusal::Validation { errors, .. }) = sent(both) else { panic!("taken") };
    let fields: Vec<&str> = errors.iter().map(|error| error.field.as_str()).collect();
    assert_eq!(fields, ["state", "state_id", "type", "type_id", "labels.0"]);
}
