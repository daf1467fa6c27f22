//! Labels created and deleted on v1, past the gateway, while the gateway caches the list of labels.

use crate::support::gateway::Gateway;
use crate::support::past_gateway::in_web;
use crate::work_items::world::{ITEMS, new_item, steps};
use causeway::sandbox::Seed;
use serde_json::{Value, json};

/// A gateway whose every list asks v1 for changes; it has the index and the labels, and an item with a label.
async fn scene() -> (Gateway, String, String) {
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &[("index.freshness", "0s")]).await;
    let first = label(&gateway, "first");
    let item = new_item(&gateway, json!({"name": "labelled", "label_ids": [first]})).await.text("id");
    gateway.get("ada", &list("search=labelled")).await.expect(200);
    (gateway, item, first)
}

fn list(query: &str) -> String {
    format!("{ITEMS}?{query}")
}

fn label(gateway: &Gateway, name: &str) -> String {
    let made = in_web(gateway.sandbox(), "POST", "labels/", &json!({"name": name}));
    made["id"].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn one_that_was_just_made_is_shown_and_filtered_by() {
    let (gateway, item, first) = scene().await;
    let second = label(&gateway, "second");
    let labels = json!({"labels": [first, second], "name": "labelled twice"});
    in_web(gateway.sandbox(), "PATCH", &format!("work-items/{item}/"), &labels);
    let expected = sorted(&json!([first, second]));
    let read = gateway.get("ada", &list("search=labelled")).await.expect(200);
    assert_eq!(read.column("name"), ["labelled twice"]);
    assert_eq!(sorted(&read.data()[0]["label_ids"]), expected);

    let third = label(&gateway, "third");
    in_web(gateway.sandbox(), "PATCH", &format!("work-items/{item}/"), &json!({"labels": [third]}));
    let found = gateway.get("ada", &list(&format!("label_id={third}"))).await.expect(200);
    assert_eq!(found.column("id"), [item]);
}

/// Rows of the index still have it. The gateway looks for it once.
#[tokio::test]
async fn one_that_was_deleted_costs_one_call_at_most() {
    let (gateway, item, first) = scene().await;
    in_web(gateway.sandbox(), "DELETE", &format!("labels/{first}/"), &Value::Null);
    // A write of labels through the gateway, after which their list is read again.
    let labels = ITEMS.replace("work-items", "labels");
    gateway.post("ada", &labels, json!({"name": "third"})).await.expect(201);
    let mut asked = 0;
    for _ in 0..4 {
        gateway.sandbox().clear_journal();
        let read = gateway.get("ada", &list("search=labelled")).await.expect(200);
        assert_eq!((read.column("id"), &read.data()[0]["label_ids"]), (vec![json!(item)], &json!([])));
        let found = gateway.get("ada", &list(&format!("label_id={first}"))).await.expect(200);
        assert_eq!(found.data(), &[Value::Null; 0]);
        asked += steps(&gateway).iter().filter(|step| *step == "GET labels").count();
    }
    assert!(asked <= 1, "{asked} calls");
}

fn sorted(ids: &Value) -> Vec<String> {
    let mut ids: Vec<String> = serde_json::from_value(ids.clone()).expect("ids");
    ids.sort_unstable();
    ids
}

/// A write of the label asks v1, which proves that the kept list is old.
#[tokio::test]
async fn one_that_was_just_answered_with_404_is_not_listed() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let first = label(&gateway, "first");
    let labels = ITEMS.replace("work-items", "labels");
    let one = format!("{labels}{first}/");
    gateway.get("ada", &one).await.expect(200);
    in_web(gateway.sandbox(), "DELETE", &format!("labels/{first}/"), &Value::Null);
    gateway.get("ada", &one).await.expect(200);
    gateway.delete("ada", &one).await.expect_problem(404, "resource_not_found");
    gateway.get("ada", &one).await.expect_problem(404, "resource_not_found");
    assert!(!gateway.get("ada", &labels).await.expect(200).column("id").contains(&json!(first)));
}
