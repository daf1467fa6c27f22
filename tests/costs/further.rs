//! Calls beyond the declared number happen only where the mapping's `why` names them.

use crate::costs::place::{Place, operation};
use serde_json::{Value, json};

const BOB: &str = "00000000-0000-4000-a000-000000000002";

/// Asserts the cost of a warm write, and that its mapping gives the reason.
async fn costs(place: &Place, id: &str, body: Value, calls: u32, because: &str) {
    let operation = operation(id);
    place.warm(operation).await;
    let answer = place.ask_with(operation, Some(body.clone())).await.expect(operation.status);
    assert_eq!(answer.calls(), calls, "{id} with {body}");
    let declared = operation.calls.as_ref().expect("declared calls");
    if calls > declared.warm {
        let why = declared.why.as_deref().unwrap_or_default();
        assert!(why.contains(because), "{id} does not say why {body} costs {calls}: {why}");
    }
}

#[tokio::test]
async fn the_default_flag_of_states_costs_the_list_and_the_others() {
    let place = Place::new().await;
    costs(&place, "states_create", json!({"name": "a", "color": "#1"}), 2, "").await;
    costs(&place, "states_create", json!({"name": "b", "color": "#1", "sequence": 5}), 2, "").await;
    costs(&place, "states_update", json!({"is_default": true}), 3, "is_default").await;
    costs(&place, "states_update", json!({"sequence": 3, "color": "#2"}), 1, "").await;
    let path = format!("{}?is_default=true", place.path(operation("states_list")));
    let flagged = place.send("ada", "GET", &path, None).await.expect(200);
    assert_eq!((flagged.column("id"), flagged.calls()), (vec![json!(place.record("states"))], 0));
}

#[tokio::test]
async fn labels_cost_a_patch_for_each_child_of_a_deleted_one() {
    let place = Place::new().await;
    let parent = place.record("labels").to_owned();
    costs(&place, "labels_create", json!({"name": "a", "parent_id": parent}), 2, "").await;
    costs(&place, "labels_create", json!({"name": "b", "parent_id": parent, "sort_order": 4}), 2, "").await;
    costs(&place, "labels_update", json!({"color": "#12"}), 1, "").await;
    costs(&place, "labels_update", json!({"parent_id": null}), 1, "").await;
    let other = place.ask(operation("labels_create")).await.expect(201).text("id");
    costs(&place, "labels_update", json!({"parent_id": other}), 2, "a parent_id").await;
    let delete = operation("labels_delete");
    let deleted = place.ask(delete).await.expect(204);
    assert_eq!(deleted.calls(), 4, "the list, two children, the label");
    assert!(delete.calls.as_ref().and_then(|calls| calls.why.as_deref()).is_some_and(|why| why.contains("below")));
    let left = place.ask(operation("labels_list")).await.expect(200);
    assert_eq!((left.column("parent_id"), left.calls()), (vec![Value::Null; 3], 0));
}

#[tokio::test]
async fn modules_cost_the_roster_for_a_lead_and_a_fresh_list_for_one_date() {
    let place = Place::new().await;
    costs(&place, "modules_create", json!({"name": "a"}), 2, "").await;
    costs(&place, "modules_create", json!({"name": "b", "lead_id": BOB}), 3, "lead_id").await;
    costs(&place, "modules_create", json!({"name": "c", "lead_id": BOB}), 2, "").await;
    costs(&place, "modules_create", json!({"name": "d", "sort_order": 3}), 3, "sort_order").await;
    costs(&place, "modules_update", json!({"status": "paused"}), 1, "").await;
    costs(&place, "modules_update", json!({"lead_id": BOB}), 1, "").await;
    costs(&place, "modules_update", json!({"start_date": "2027-01-01", "target_date": "2027-01-02"}), 1, "").await;
    costs(&place, "modules_update", json!({"target_date": "2027-01-03"}), 2, "one date without the other").await;
    costs(&place, "modules_update", json!({"sort_order": 3, "logo_props": []}), 0, "").await;
    let fresh = Place::new().await;
    costs(&fresh, "modules_update", json!({"lead_id": BOB}), 2, "lead_id").await;
}

#[tokio::test]
async fn an_archived_module_costs_one_call_more() {
    let place = Place::new().await;
    let retrieve = operation("modules_retrieve");
    place.at_v1("ada", "PATCH", &format!("modules/{}/", place.record("modules")), &json!({"status": "completed"}));
    place.at_v1("ada", "POST", &format!("modules/{}/archive/", place.record("modules")), &json!({}));
    place.gateway.sandbox().clear_journal();
    place.warm(retrieve).await;
    let found = place.ask(retrieve).await.expect(200);
    assert!(found.json["archived_at"].is_string());
    assert_eq!(found.calls(), 2, "the list is read anew before an id is said to be missing from it");
    assert!(place.ask(operation("modules_list")).await.expect(200).data().is_empty());
}

#[tokio::test]
async fn a_guest_pays_for_the_way_round_to_the_workspace() {
    let place = Place::new().await;
    let roster = operation("project_members_list");
    let path = place.path(roster);
    let first = place.send("gil", "GET", &path, None).await.expect(200);
    // The caller, the project card, the members; the workspace's members are refused, so its projects are read.
    assert_eq!(first.calls(), 5);
    assert_eq!(place.send("gil", "GET", &path, None).await.expect(200).calls(), 0);
    let others: Vec<Value> = first.column("role").into_iter().filter(|role| role != "guest").collect();
    assert!(others.iter().all(|role| role == "unknown") && !others.is_empty(), "{others:?}");
}
