//! Archive and unarchive.

use crate::support::past_gateway::in_web;
use crate::work_items::world::{ARCHIVED, ITEMS, id, new_item, one, recorded, steps};
use serde_json::{Value, json};

#[tokio::test]
async fn an_archived_item_is_found_by_unarchive_alone() {
    let gateway = recorded().await;
    let made = new_item(&gateway, json!({"name": "n", "priority": "low"})).await;
    let item = one(&made.text("id"));
    let (archive, unarchive) = (format!("{item}archive/"), format!("{item}unarchive/"));
    let archived = gateway.post("bob", &archive, json!({"name": "ignored"})).await.expect(200);
    assert!(!archived.text("archived_at").ends_with("T00:00:00.000000Z"), "the instant, not the day");
    assert_eq!((&archived.json["custom_fields"], &archived.json["name"]), (&Value::Null, &json!("n")));
    gateway.post("bob", &archive, json!({})).await.expect_problem(404, "resource_not_found");
    gateway.get("bob", &item).await.expect_problem(404, "resource_not_found");
    gateway.patch("bob", &item, json!({"name": "m"})).await.expect_problem(404, "resource_not_found");
    gateway.delete("ada", &item).await.expect_problem(404, "resource_not_found");
    let key = format!("/api/v2/workspaces/acme/work-items/{}/", made.text("identifier"));
    gateway.get("bob", &key).await.expect_problem(404, "resource_not_found");
    let back = gateway.post("bob", &unarchive, json!({})).await.expect(200);
    assert_eq!((&back.json["archived_at"], &back.json["custom_fields"]), (&Value::Null, &Value::Null));
    assert_eq!(gateway.post("bob", &unarchive, json!({})).await.expect(200).json, back.json);
    assert_eq!(gateway.get("bob", &item).await.expect(200).json, made.json);
}

/// v1 takes comments and changes of items that it does not show (traps 36, 53), and the index may still have the item.
#[tokio::test]
async fn an_item_that_was_just_answered_with_404_is_not_written_to() {
    for (method, body) in [("DELETE", Value::Null), ("PATCH", json!({"archived_at": "2026-01-15"}))] {
        let gateway = recorded().await;
        let item = new_item(&gateway, json!({"name": "n"})).await.text("id");
        let listed = gateway.get("ada", &format!("{ITEMS}?search=n")).await.expect(200);
        assert!(listed.data().iter().any(|row| row["id"] == item), "the index has it");
        in_web(gateway.sandbox(), method, &format!("work-items/{item}/"), &body);
        gateway.get("ada", &one(&item)).await.expect_problem(404, "resource_not_found");
        let comment = json!({"comment_html": "<p>lost</p>"});
        let comments = format!("{}comments/", one(&item));
        gateway.post("ada", &comments, comment).await.expect_problem(404, "resource_not_found");
        gateway.patch("ada", &one(&item), json!({"name": "m"})).await.expect_problem(404, "resource_not_found");
        gateway.get("ada", &comments).await.expect_problem(404, "resource_not_found");
    }
}

/// Somebody else has deleted it on v1.
#[tokio::test]
async fn a_write_that_v1_answers_with_404_makes_lists_ask_for_the_item() {
    for (method, verb) in [("PATCH", ""), ("DELETE", ""), ("POST", "archive/")] {
        let gateway = recorded().await;
        let item = new_item(&gateway, json!({"name": "n"})).await.json["id"].clone();
        let list = format!("{ITEMS}?search=n");
        let shows = async || gateway.get("ada", &list).await.expect(200).column("id").contains(&item);
        assert!(shows().await, "the index has it");
        let id = item.as_str().expect("an id");
        in_web(gateway.sandbox(), "DELETE", &format!("work-items/{id}/"), &Value::Null);
        let path = format!("{}{verb}", one(id));
        let body = (method != "DELETE").then(|| json!({"name": "m"}));
        let refused = gateway.send_with("ada", method, &path, body.as_ref(), &[]).await;
        refused.expect_problem(404, "resource_not_found");
        assert!(!shows().await, "{method} {path}");
    }
}

/// The index has not noticed that v1 shows the item again, so the gateway has nothing to send for the unarchive.
#[tokio::test]
async fn an_item_that_came_back_past_the_gateway_is_listed_after_its_unarchive() {
    let gateway = recorded().await;
    let item = new_item(&gateway, json!({"name": "n"})).await.text("id");
    let list = format!("{ITEMS}?search=n");
    let shows = async || gateway.get("ada", &list).await.expect(200).column("id").contains(&json!(item));
    assert!(shows().await);
    gateway.post("ada", &format!("{}archive/", one(&item)), json!({})).await.expect(200);
    assert!(!shows().await);
    in_web(gateway.sandbox(), "PATCH", &format!("work-items/{item}/"), &json!({"archived_at": null}));
    gateway.sandbox().clear_journal();
    gateway.post("ada", &format!("{}unarchive/", one(&item)), json!({})).await.expect(200);
    assert_eq!(steps(&gateway), ["GET work-items"]);
    assert!(shows().await);
}

/// v1 lists an archived item in no cycle or module, and the gateway may have read that list while it was archived.
#[tokio::test]
async fn an_item_that_comes_back_is_in_its_cycle_and_module_at_once() {
    let gateway = recorded().await;
    let item = new_item(&gateway, json!({"name": "n"})).await.text("id");
    let v1 = format!("/api/v1/workspaces/acme/projects/{}", id('c', 1));
    for (kind, below) in [("cycles", "cycle-issues"), ("modules", "module-issues")] {
        let body = json!({"name": "k", "project_id": id('c', 1)});
        let set = gateway.post("ada", &format!("{v1}/{kind}/"), body).await.expect(201).text("id");
        let added = gateway.post("ada", &format!("{v1}/{kind}/{set}/{below}/"), json!({"issues": [item]})).await;
        assert!(added.status < 300, "{}", added.json);
        let field = kind.trim_end_matches('s');
        let within = format!("{ITEMS}?{field}_id={set}");
        let without = format!("{ITEMS}?{field}_id__isnull=true&search=n");
        for past_the_gateway in [false, true] {
            gateway.post("ada", &format!("{}archive/", one(&item)), json!({})).await.expect(200);
            for list in [&within, &without] {
                let listed = gateway.get("ada", list).await.expect(200);
                assert!(listed.data().iter().all(|row| row["id"] != item), "{list}");
            }
            if past_the_gateway {
                in_web(gateway.sandbox(), "PATCH", &format!("work-items/{item}/"), &json!({"archived_at": null}));
            }
            gateway.post("ada", &format!("{}unarchive/", one(&item)), json!({})).await.expect(200);
            for (list, is_there) in [(&within, true), (&without, false)] {
                let listed = gateway.get("ada", list).await.expect(200);
                assert_eq!(listed.data().iter().any(|row| row["id"] == item), is_there, "{list}");
            }
        }
    }
}

#[tokio::test]
async fn archived_at_cannot_be_written() {
    let gateway = recorded().await;
    let made = new_item(&gateway, json!({"name": "n", "archived_at": "2026-01-01"})).await;
    assert_eq!(made.json["archived_at"], Value::Null);
    let item = one(&made.text("id"));
    let same = gateway.patch("ada", &item, json!({"archived_at": "2026-01-01T00:00:00Z"})).await.expect(200);
    assert_eq!(same.json["archived_at"], Value::Null);
}

#[tokio::test]
async fn only_archived_items_of_the_project_come_back() {
    let gateway = recorded().await;
    let path = |number| format!("{ARCHIVED}{}/unarchive/", id('e', number));
    gateway.post("ada", &path(12), json!({})).await.expect(200);
    gateway.post("ada", &path(12), json!({})).await.expect(200);
    for number in [13, 14, 16, 99, 1] {
        gateway.post("ada", &path(number), json!({})).await.expect_problem(404, "resource_not_found");
        gateway.get("ada", &format!("{ARCHIVED}{}/", id('e', number))).await.expect(404);
    }
    for number in [13, 14] {
        let archive = format!("{ARCHIVED}{}/archive/", id('e', number));
        gateway.post("ada", &archive, json!({})).await.expect_problem(404, "resource_not_found");
    }
}

#[tokio::test]
async fn expand_is_honoured_and_checked_before_the_write() {
    let gateway = recorded().await;
    let item = one(&id('e', 1));
    let unknown = gateway.post("ada", &format!("{item}archive/?expand=cycle"), json!({})).await.expect(400);
    assert_eq!(unknown.error_fields(), ["expand"]);
    gateway.get("ada", &item).await.expect(200);
    for verb in ["archive", "unarchive"] {
        let answer = gateway.post("ada", &format!("{item}{verb}/?expand=state,type"), json!({})).await.expect(200);
        assert_eq!(answer.json["state"]["name"], "Backlog");
        assert_eq!(answer.json["type"], Value::Null);
    }
}

/// v1 shows a parent that was archived past the gateway only in its child, and an archived child nowhere.
#[tokio::test]
async fn the_answer_to_an_archiving_expands_a_hidden_parent() {
    let gateway = recorded().await;
    let child = format!("{ARCHIVED}{}/", id('e', 15));
    let parent = json!({"id": id('e', 12), "name": "", "sequence_id": 2});
    for path in [format!("{child}archive/"), format!("{child}unarchive/")] {
        let answer = gateway.post("ada", &format!("{path}?expand=parent"), json!({})).await.expect(200);
        assert_eq!(answer.json["parent"], parent, "{path}");
    }
}
