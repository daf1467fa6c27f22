//! Calls beyond the usual ones: v1 counts as many as the mapping declares `for each` of them.

use crate::costs::place::{PLAN, Place, operation};
use causeway::plan::{Extra, Made, Operation};
use serde_json::{Value, json};
use std::collections::HashSet;

const BOB: &str = "00000000-0000-4000-a000-000000000002";
/// A person of the workspace whose membership of the project ended.
const GONE: &str = "00000000-0000-4000-a000-000000000007";
const GUEST: &str = "00000000-0000-4000-a000-000000000004";
const DAYS: [&str; 2] = ["2027-01-04T08:00:00Z", "2027-01-15T17:30:00.5Z"];

/// A warm operation with a body that makes it take more calls.
struct Case {
    id: &'static str,
    body: Option<Value>,
    extra: Extra,
    count: usize,
    status: u16,
}

fn case(id: &'static str, body: Value, extra: Extra, count: usize) -> Case {
    let body = (!body.is_null()).then_some(body);
    Case { id, body, extra, count, status: operation(id).status }
}

/// Returns the declared cost of a warm operation with `count` extras.
fn declared(operation: &Operation, extra: Extra, count: usize) -> usize {
    let each = operation.v1.iter().filter(|call| call.made == Made::ForEach(extra)).count();
    operation.calls.as_ref().map_or(0, |calls| calls.warm as usize) + each * count
}

/// Creates the records of the cases at v1.
async fn furnish(place: &Place) {
    let (item, label) = (place.record("work_items"), place.record("labels"));
    for name in ["a", "b"] {
        place.at_v1("ada", "POST", "work-items/", &json!({"name": name, "parent": item}));
        place.at_v1("ada", "POST", "labels/", &json!({"name": name, "color": "#1", "parent": label}));
    }
    let pair = json!({"comment_html": "<p>x</p>", "external_id": "1", "external_source": "s"});
    place.at_v1("ada", "POST", &format!("work-items/{item}/comments/"), &pair);
    place.gateway.sandbox().clear_journal();
}

fn cases() -> Vec<Case> {
    let pair = json!({"comment_html": "<p>y</p>", "external_id": "1", "external_source": "s"});
    let dropped = |id, name: &str| {
        let body = json!({"name": "c", "assignee_ids": [BOB, name]});
        Case { status: 400, ..case(id, body, Extra::DroppedSet, 1) }
    };
    vec![
        case("cycles_create", json!({"name": "a", "start_date": DAYS[0]}), Extra::Date, 1),
        case("cycles_create", json!({"name": "b", "start_date": DAYS[0], "end_date": DAYS[1]}), Extra::Date, 2),
        case("cycles_create", json!({"name": "c", "timezone": "EST"}), Extra::RefusedValue, 1),
        // The first extra of both cases goes with the usual call.
        case("cycles_update", json!({"start_date": DAYS[0], "end_date": DAYS[1]}), Extra::Date, 1),
        case("cycles_update", json!({"timezone": "EST"}), Extra::RefusedValue, 1),
        case("labels_delete", Value::Null, Extra::Child, 2),
        // The new state and the old default.
        case("states_create", json!({"name": "a", "color": "#1", "is_default": true}), Extra::Default, 2),
        case("states_update", json!({"is_default": true}), Extra::Default, 1),
        // v1 has the flag on this state too.
        case("states_delete", Value::Null, Extra::Default, 1),
        case("work_item_comments_create", pair.clone(), Extra::RefusedValue, 1),
        case("work_item_comments_update", pair, Extra::RefusedValue, 1),
        dropped("work_items_create", GUEST),
        dropped("work_items_update", GONE),
        case("work_items_delete", Value::Null, Extra::Child, 2),
    ]
}

/// Fills the cache with all other data that a case reads: the collection, and the people of the project.
async fn warm(place: &Place, operation: &Operation) {
    place.ask(self::operation("project_members_list")).await.expect(200);
    place.warm(operation).await;
}

#[tokio::test]
async fn each_costs_the_calls_that_are_declared_for_it() {
    for Case { id, body, extra, count, status } in cases() {
        let (place, operation) = (Place::new().await, operation(id));
        furnish(&place).await;
        if id == "states_delete" {
            let second = format!("states/{}/", place.record("states"));
            place.at_v1("ada", "PATCH", &second, &json!({"default": true}));
        }
        warm(&place, operation).await;
        let answer = place.ask_with(operation, body.clone()).await;
        assert_eq!(answer.status, status, "{id} with {body:?}");
        // Making a state the default, and deleting one that has the flag, reads the states from v1 again.
        let fresh = usize::from(["states_update", "states_delete"].contains(&id));
        // An item without labels is put back without reading them.
        let spared = usize::from(id == "work_items_update");
        let declared = declared(operation, extra, count) + fresh - spared;
        assert_eq!(answer.calls() as usize, declared, "{id} with {body:?}");
    }
}

#[tokio::test]
async fn archived_children_are_looked_at_and_detached() {
    let (place, delete) = (Place::new().await, operation("work_items_delete"));
    let archive = place.path(operation("work_items_archive"));
    for name in ["a", "b"] {
        let child = json!({"name": name, "parent_id": place.record("work_items")});
        let child = place.ask_with(operation("work_items_create"), Some(child)).await.expect(201).text("id");
        let path = archive.replace(place.record("work_items"), &child);
        place.send("ada", "POST", &path, None).await.expect(200);
    }
    warm(&place, delete).await;
    let answer = place.ask(delete).await.expect(204);
    assert_eq!(answer.calls() as usize, declared(delete, Extra::ArchivedChild, 2));
}

#[test]
fn every_extra_of_the_mappings_is_shown_here() {
    let all = PLAN.operations.iter().flat_map(|operation| {
        let extra =
            |made| if let Made::ForEach(extra) = made { Some((operation.id.as_str(), extra)) } else { None };
        operation.v1.iter().filter_map(move |call| extra(call.made))
    });
    let mut shown: HashSet<_> = cases().iter().map(|case| (case.id, case.extra)).collect();
    shown.insert(("work_items_delete", Extra::ArchivedChild));
    assert_eq!(all.collect::<HashSet<_>>(), shown);
}
