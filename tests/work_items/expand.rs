//! Expansions on every operation that answers with an item.

use crate::work_items::world::{ARCHIVED, ITEMS, id, new_item, new_label, one, recorded, steps};
use serde_json::{Value, json};

const ALL: &str = "?expand=state,type,parent,assignees,labels";

#[tokio::test]
async fn all_five_stand_beside_the_ids() {
    let gateway = recorded().await;
    let label = new_label(&gateway, "bug").await;
    let body = json!({"name": "n", "state": "Todo", "parent": "WEB-1", "assignees": ["bob@acme.test"],
        "labels": ["bug"]});
    let made = gateway.post("ada", &format!("{ITEMS}{ALL}"), body).await.expect(201);
    assert_eq!(
        made.json["state"],
        json!({"id": id('d', 102), "name": "Todo", "color": "#60646C", "group": "unstarted"})
    );
    assert_eq!(made.json["parent"], json!({"id": id('e', 1), "name": "First", "sequence_id": 1}));
    assert_eq!(
        made.json["assignees"],
        json!([{"id": id('a', 2), "display_name": "bob", "avatar_url": null, "email": "bob@acme.test"}])
    );
    assert_eq!(made.json["labels"], json!([{"id": label, "name": "bug", "color": ""}]));
    assert_eq!(made.json["type"], Value::Null);
    assert_eq!((&made.json["state_id"], &made.json["label_ids"]), (&json!(id('d', 102)), &json!([label])));
    let item = one(&made.text("id"));
    let read = gateway.get("gil", &format!("{item}{ALL}")).await.expect(200);
    assert_eq!(read.json, made.json);
    let key = format!("/api/v2/workspaces/acme/work-items/{}/{ALL}", made.text("identifier"));
    assert_eq!(gateway.get("gil", &key).await.expect(200).json, made.json);
    let updated = gateway.patch("ada", &format!("{item}{ALL}"), json!({"name": "m"})).await.expect(200);
    assert_eq!(updated.json["parent"], made.json["parent"]);
}

#[tokio::test]
async fn nothing_to_expand_is_null_or_empty_and_costs_nothing() {
    let gateway = recorded().await;
    let item = one(&id('e', 1));
    gateway.get("ada", &item).await.expect(200);
    gateway.sandbox().clear_journal();
    let read = gateway.get("ada", &format!("{item}?expand=parent,,labels,parent,assignees,type")).await.expect(200);
    for (key, value) in
        [("parent", json!(null)), ("labels", json!([])), ("assignees", json!([])), ("type", json!(null))]
    {
        assert_eq!(read.json.get(key), Some(&value), "{key}");
    }
    assert_eq!(read.json.get("state"), None);
    assert_eq!(steps(&gateway), ["GET work-items"]);
}

#[tokio::test]
async fn an_archived_parent_has_no_name() {
    let gateway = recorded().await;
    let read = gateway.get("ada", &format!("{ARCHIVED}{}/?expand=parent", id('e', 15))).await.expect(200);
    assert_eq!(read.json["parent"], json!({"id": id('e', 12), "name": "", "sequence_id": 2}));
}

#[tokio::test]
async fn a_parent_archived_here_keeps_its_name() {
    let gateway = recorded().await;
    let mut parents = Vec::new();
    for number in 1..=4 {
        let parent = new_item(&gateway, json!({"name": format!("parent {number}")})).await;
        let child = json!({"name": "child", "parent_id": parent.text("id")});
        let child = new_item(&gateway, child).await.text("id");
        gateway.post("ada", &format!("{}archive/", one(&parent.text("id"))), json!({})).await.expect(200);
        let told = json!({"id": parent.text("id"), "name": format!("parent {number}"),
            "sequence_id": parent.json["sequence_id"]});
        let read = gateway.get("bob", &format!("{}?expand=parent", one(&child))).await.expect(200);
        assert_eq!(read.json["parent"], told);
        parents.push(told);
    }
    // As many as one walk through the list finds.
    let rows = gateway.get("bob", &format!("{ITEMS}?search=child&order_by=id&expand=parent")).await.expect(200);
    let mut shown = rows.column("parent");
    shown.sort_by_key(|parent| parent["sequence_id"].as_i64());
    assert_eq!(shown, parents);
}
