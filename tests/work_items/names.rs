//! Names and ids in bodies: every pair, no and several matches, both forms together.

use crate::support::gateway::Gateway;
use crate::support::past_gateway::in_web;
use crate::work_items::world::{ARCHIVED, ITEMS, TYPED, id, new_item, new_label, one, recorded, steps};
use causeway::sandbox::Seed;
use serde_json::{Value, json};

async fn refused(gateway: &Gateway, body: Value, fields: &[&str]) {
    let answer = gateway.post("ada", ITEMS, body.clone()).await.expect_problem(400, "validation_error");
    assert_eq!(answer.error_fields(), fields, "{body} {}", answer.json);
    let item = one(&id('e', 1));
    let answer = gateway.patch("ada", &item, body.clone()).await.expect_problem(400, "validation_error");
    assert_eq!(answer.error_fields(), fields, "{body} {}", answer.json);
}

#[tokio::test]
async fn every_pair_takes_names_and_ids() {
    let gateway = recorded().await;
    let (bug, ui) = (new_label(&gateway, "Bug").await, new_label(&gateway, "UI").await);
    let by_id = new_item(
        &gateway,
        json!({"name": "ids", "state_id": id('d', 103), "parent_id": id('e', 1), "assignee_ids": [id('a', 2)],
            "label_ids": [bug, ui], "type_id": null}),
    )
    .await;
    let by_name = new_item(
        &gateway,
        json!({"name": "names", "state": "in progress", "parent": "web-1", "assignees": ["BOB@acme.test"],
            "labels": ["bug", "ui"]}),
    )
    .await;
    for key in ["state_id", "parent_id", "assignee_ids", "label_ids", "type_id"] {
        assert_eq!(by_name.json[key], by_id.json[key], "{key}");
    }
    assert_eq!(by_id.json["state_id"], json!(id('d', 103)));
    assert_eq!(by_id.json["parent_id"], json!(id('e', 1)));
    assert_eq!(by_id.json["label_ids"].as_array().unwrap().len(), 2);
    let item = one(&by_id.text("id"));
    let changed = json!({"state": "DONE", "assignees": ["kim@acme.test", "ada@acme.test"], "labels": ["ui"]});
    let changed = gateway.patch("ada", &item, changed).await.expect(200);
    assert_eq!(changed.json["state_id"], json!(id('d', 104)));
    assert_eq!(changed.json["label_ids"], json!([ui]));
    assert_eq!(changed.json["assignee_ids"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn both_of_a_pair_name_both() {
    let gateway = recorded().await;
    for (name, value, with) in [
        ("state", json!("Todo"), json!(id('d', 102))),
        ("type", json!("Bug"), Value::Null),
        ("parent", json!("WEB-1"), Value::Null),
        ("assignees", json!([]), json!([])),
        ("labels", json!([]), json!([])),
    ] {
        let id = if name.ends_with('s') { name.trim_end_matches('s') } else { name };
        let id = if name.ends_with('s') { format!("{id}_ids") } else { format!("{id}_id") };
        let body = json!({"name": "n", name: value, id.as_str(): with});
        let answer = gateway.post("ada", ITEMS, body).await.expect_problem(400, "validation_error");
        assert_eq!(answer.error_fields()[..2], [name, id.as_str()]);
    }
    let body = json!({"name": "n", "estimate": "1", "estimate_point_id": id('6', 12)});
    let answer = gateway.post("ada", TYPED, body).await.expect_problem(400, "validation_error");
    assert_eq!(answer.error_fields(), ["estimate", "estimate_point_id"]);
}

#[tokio::test]
async fn unknown_and_ambiguous_references_are_refused_before_any_write() {
    let gateway = recorded().await;
    let (a, b) = (new_label(&gateway, "twin").await, new_label(&gateway, "Twin").await);
    gateway.sandbox().clear_journal();
    refused(&gateway, json!({"name": "n", "state": "nowhere"}), &["state"]).await;
    refused(&gateway, json!({"name": "n", "state_id": id('d', 201)}), &["state_id"]).await;
    refused(&gateway, json!({"name": "n", "labels": ["twin"]}), &["labels"]).await;
    refused(&gateway, json!({"name": "n", "labels": ["ws-wide", "none"]}), &["labels"]).await;
    refused(&gateway, json!({"name": "n", "labels": [7]}), &["labels.0"]).await;
    refused(&gateway, json!({"name": "n", "label_ids": [a, id('7', 1)]}), &["label_ids"]).await;
    refused(&gateway, json!({"name": "n", "assignees": ["mel@acme.test"]}), &["assignees"]).await;
    refused(&gateway, json!({"name": "n", "assignee_ids": [id('a', 3), id('a', 2)]}), &["assignee_ids"]).await;
    refused(&gateway, json!({"name": "n", "parent": "SEC-1"}), &["parent"]).await;
    refused(&gateway, json!({"name": "n", "parent": "WEB-77"}), &["parent"]).await;
    refused(&gateway, json!({"name": "n", "parent": "nonsense"}), &["parent"]).await;
    refused(&gateway, json!({"name": "n", "parent_id": id('e', 11)}), &["parent_id"]).await;
    refused(&gateway, json!({"name": "n", "type": "Bug"}), &["type"]).await;
    refused(&gateway, json!({"name": "n", "type_id": id('f', 1)}), &["type_id"]).await;
    refused(&gateway, json!({"name": "n", "custom_fields": {"points": 3}}), &["custom_fields"]).await;
    refused(&gateway, json!({"name": "n", "estimate": "3"}), &["estimate"]).await;
    refused(&gateway, json!({"name": "n", "estimate_point_id": id('6', 12)}), &["estimate_point_id"]).await;
    refused(
        &gateway,
        json!({"name": "n", "state": "x", "labels": ["x"], "parent": "x"}),
        &["state", "parent", "labels"],
    )
    .await;
    assert!(steps(&gateway).iter().all(|step| step.starts_with("GET")), "{:?}", steps(&gateway));
    assert!(gateway.patch("ada", &one(&id('e', 1)), json!({"label_ids": [a, b]})).await.status == 200);
}

/// v1 does not limit the levels. From 50 reads on the gateway builds the index, which knows all parents.
#[tokio::test]
async fn a_parent_may_have_any_number_of_levels_above_it() {
    let gateway = recorded().await;
    let top = new_item(&gateway, json!({"name": "top"})).await.text("id");
    let mut deepest = top.clone();
    for level in 0..60 {
        let child = json!({"name": format!("level {level}"), "parent_id": deepest});
        deepest = new_item(&gateway, child).await.text("id");
    }
    gateway.sandbox().clear_journal();
    let below = gateway.patch("ada", &one(&top), json!({"parent_id": deepest})).await;
    assert_eq!(below.expect_problem(400, "validation_error").error_fields(), ["parent_id"]);
    let reads = steps(&gateway).len();
    assert!(reads < 55, "{reads} calls of v1");
    gateway.sandbox().clear_journal();
    gateway.patch("ada", &one(&id('e', 1)), json!({"parent_id": deepest})).await.expect(200);
    assert!(steps(&gateway).len() < 5, "{:?}", steps(&gateway));
}

#[tokio::test]
async fn a_message_names_the_offenders_and_the_way_out() {
    let gateway = recorded().await;
    let body = json!({"name": "n", "assignees": ["bob@acme.test", "mel@acme.test", "eve@other.test"]});
    let answer = gateway.post("ada", ITEMS, body).await.expect(400);
    let message = answer.json["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains("mel@acme.test") && message.contains("eve@other.test"), "{message}");
    assert!(!message.contains("bob@acme.test") && message.contains("assignee_ids"), "{message}");
    for (body, advised) in
        [(json!({"name": "n", "parent": "WEB-77"}), true), (json!({"name": "n", "parent_id": id('e', 99)}), false)]
    {
        let answer = gateway.post("ada", ITEMS, body).await.expect(400);
        let message = answer.json["errors"][0]["message"].as_str().unwrap();
        assert_eq!(message.ends_with("; use parent_id"), advised, "{message}");
    }
}

#[tokio::test]
async fn hidden_items_are_no_parents() {
    let gateway = recorded().await;
    for number in [12, 13, 14, 16] {
        let body = json!({"name": "n", "parent_id": id('e', number)});
        let answer = gateway.post("ada", ARCHIVED, body).await.expect_problem(400, "validation_error");
        assert_eq!(answer.error_fields(), ["parent_id"]);
    }
    let by_key = json!({"name": "n", "parent": "ARC-2"});
    assert_eq!(gateway.post("ada", ARCHIVED, by_key).await.expect(400).error_fields(), ["parent"]);
}

/// As long as a card lives, its identifier may be an old one.
#[tokio::test]
async fn a_parent_is_found_by_a_key_that_it_has_since_a_moment() {
    let gateway = recorded().await;
    gateway.get("ada", &one(&id('e', 1))).await.expect(200);
    // Past the gateway, so that the project card still has the old identifier.
    in_web(gateway.sandbox(), "PATCH", "", &json!({"identifier": "NEW"}));
    let made = gateway.post("ada", ITEMS, json!({"name": "n", "parent": "NEW-1"})).await.expect(201);
    assert_eq!(made.json["parent_id"], json!(id('e', 1)));
    refused(&gateway, json!({"name": "n", "parent": "WEB-1"}), &["parent"]).await;
}

/// The gateway asks once whether a key belongs to another project, and not for each request with it.
#[tokio::test]
async fn a_key_of_another_project_costs_one_look_at_the_project() {
    let gateway = recorded().await;
    gateway.get("ada", &one(&id('e', 1))).await.expect(200);
    gateway.sandbox().clear_journal();
    for _ in 0..3 {
        let body = json!({"name": "n", "parent": "SEC-1"});
        gateway.post("ada", ITEMS, body).await.expect_problem(400, "validation_error");
    }
    let asked: Vec<String> = gateway.sandbox().journal().into_iter().map(|entry| entry.path).collect();
    let looks = asked.iter().filter(|path| path.contains("/?fields=id,is_member")).count();
    assert_eq!((looks, steps(&gateway).len()), (1, 0), "{asked:?}");
}

/// v1 has no path for a key with a slash, so the index finds its item.
#[tokio::test]
async fn a_key_with_a_slash_costs_one_read_of_the_index() {
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &[("index.freshness", "0s")]).await;
    in_web(gateway.sandbox(), "PATCH", "", &json!({"identifier": "X/Y"}));
    let body = json!({"name": "n", "parent": "X/Y-999"});
    refused(&gateway, body.clone(), &["parent"]).await;
    gateway.sandbox().clear_journal();
    gateway.post("ada", ITEMS, body).await.expect_problem(400, "validation_error");
    assert_eq!(steps(&gateway), ["GET work-items"]);
}
