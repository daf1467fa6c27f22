//! Create, update and delete: bodies, roles, refusals.

use crate::support::gateway::Gateway;
use crate::work_items::world::{ARCHIVED, ITEMS, V1_WEB, at_v1, id, new_item, new_label, one, recorded, steps};
use serde_json::{Value, json};

#[tokio::test]
async fn only_a_name_is_needed() {
    let gateway = recorded().await;
    let made = new_item(&gateway, json!({"name": "  Bare  "})).await;
    assert_eq!(made.text("name"), "Bare");
    assert_eq!(made.text("priority"), "none");
    assert_eq!(made.json["state_id"], json!(id('d', 101)));
    assert_eq!(made.json["assignee_ids"], json!([]));
    assert_eq!(made.json["created_by_id"], json!(id('a', 1)));
    for (body, fields) in [
        (json!({}), vec!["name"]),
        (json!({"name": " "}), vec!["name"]),
        (json!({"name": "n".repeat(256)}), vec!["name"]),
        (json!({"name": "n", "priority": "asap"}), vec!["priority"]),
        (json!({"name": "n", "priority": null, "state_id": null}), vec!["priority", "state_id"]),
        (
            json!({"name": "n", "start_date": "soon", "external_id": "x".repeat(256)}),
            vec!["start_date", "external_id"],
        ),
        (json!({"name": "n", "start_date": "2026-02-01", "target_date": "2026-01-01"}), vec!["target_date"]),
        (json!({"name": "n", "label_ids": ["x"], "assignee_ids": null}), vec!["assignee_ids", "label_ids.0"]),
        (json!({"name": "n", "estimate_point_id": null}), vec!["estimate_point_id"]),
        (json!({"name": "n", "description_html": "a\u{0}b"}), vec!["description_html"]),
    ] {
        let answer = gateway.post("ada", ITEMS, body.clone()).await.expect_problem(400, "validation_error");
        assert_eq!(answer.error_fields(), fields, "{body}");
    }
}

#[tokio::test]
async fn roles_and_visibility_come_first() {
    let gateway = recorded().await;
    let item = one(&id('e', 1));
    let body = json!({"name": ""});
    for (who, status, code) in [
        ("gil", 403, "forbidden"),
        ("mel", 403, "forbidden"),
        ("eve", 404, "resource_not_found"),
        ("expired", 401, "unauthorized"),
    ] {
        gateway.post(who, ITEMS, body.clone()).await.expect_problem(status, code);
        gateway.patch(who, &item, body.clone()).await.expect_problem(status, code);
        gateway.delete(who, &item).await.expect_problem(status, code);
        gateway.post(who, &format!("{item}archive/"), body.clone()).await.expect_problem(status, code);
        gateway.post(who, &format!("{item}unarchive/"), body.clone()).await.expect_problem(status, code);
    }
    // A missing record is reported before a bad body (O2).
    gateway.patch("ada", &one(&id('e', 99)), body).await.expect_problem(404, "resource_not_found");
}

#[tokio::test]
async fn an_update_changes_what_was_sent_and_nothing_else() {
    let gateway = recorded().await;
    let label = new_label(&gateway, "a").await;
    let made = new_item(
        &gateway,
        json!({"name": "n", "priority": "high", "start_date": "2026-01-12", "target_date": "2026-01-20",
            "label_ids": [label], "assignee_ids": [id('a', 2)], "parent_id": id('e', 1)}),
    )
    .await;
    let item = one(&made.text("id"));
    let renamed = gateway.patch("bob", &item, json!({"name": "m"})).await.expect(200);
    let mut expected = made.json.clone();
    expected["name"] = json!("m");
    assert_eq!(renamed.json, expected);
    let cleared =
        json!({"start_date": null, "target_date": null, "label_ids": [], "assignee_ids": [], "parent_id": null});
    let cleared = gateway.patch("bob", &item, cleared).await.expect(200);
    for key in ["start_date", "target_date", "parent_id"] {
        assert_eq!(cleared.json[key], Value::Null, "{key}");
    }
    assert_eq!((&cleared.json["label_ids"], &cleared.json["assignee_ids"]), (&json!([]), &json!([])));
    assert_eq!(cleared.json["priority"], "high");
    gateway.patch("bob", &item, json!({"state_id": null})).await.expect_problem(400, "validation_error");
}

#[tokio::test]
async fn nothing_to_change_writes_nothing() {
    let gateway = recorded().await;
    let made = new_item(&gateway, json!({"name": "n", "priority": "low"})).await;
    let item = one(&made.text("id"));
    gateway.sandbox().clear_journal();
    for body in [json!({}), json!({"nonsense": 1}), json!({"name": "n", "priority": "low", "type_id": null})] {
        assert_eq!(gateway.patch("ada", &item, body).await.expect(200).json, made.json);
    }
    assert_eq!(steps(&gateway), ["GET work-items"; 3]);
}

/// Requests a filtered list, after which the index vouches for the items.
async fn index(gateway: &Gateway) {
    gateway.get("ada", &format!("{ITEMS}?priority=none")).await.expect(200);
}

/// v1 refuses an archived parent, even for an item that already has it (`items_create_parent_other_project` shows the
/// words).
#[tokio::test]
async fn the_parent_an_item_has_may_be_sent_when_it_is_archived() {
    let gateway = recorded().await;
    let parent = new_item(&gateway, json!({"name": "p"})).await.text("id");
    let item = one(&new_item(&gateway, json!({"name": "c", "parent_id": parent})).await.text("id"));
    gateway.post("ada", &format!("{}archive/", one(&parent)), json!({})).await.expect(200);
    index(&gateway).await;
    gateway.sandbox().clear_journal();
    let changed = gateway.patch("ada", &item, json!({"parent_id": parent, "name": "m"})).await.expect(200);
    assert_eq!((changed.text("name"), changed.text("parent_id")), ("m".into(), parent.clone()));
    assert_eq!(steps(&gateway), ["GET work-items", "PATCH work-items"]);
    gateway.sandbox().clear_journal();
    gateway.patch("ada", &item, json!({"parent_id": parent})).await.expect(200);
    assert_eq!(steps(&gateway), ["GET work-items"]);
}

/// v1 drops former members (trap 15) and shows them until then; the other assignees in the same body must not be lost.
#[tokio::test]
async fn assignees_that_stay_are_kept_when_one_of_them_has_left() {
    let gateway = recorded().await;
    let both = json!([id('a', 2), id('a', 5)]);
    let item = one(&new_item(&gateway, json!({"name": "n", "assignee_ids": both})).await.text("id"));
    gateway.delete("ada", &format!("{V1_WEB}members/{}/", id('9', 104))).await.expect(204);
    index(&gateway).await;
    let body = json!({"assignee_ids": [id('a', 5), id('a', 2)], "name": "m"});
    let changed = gateway.patch("ada", &item, body).await.expect(200);
    assert_eq!(changed.text("name"), "m");
    let mut assigned: Vec<&str> =
        changed.json["assignee_ids"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assigned.sort_unstable();
    assert_eq!(json!(assigned), both);
}

#[tokio::test]
async fn a_taken_external_pair_is_a_conflict() {
    let gateway = recorded().await;
    let pair = json!({"name": "n", "external_id": "7", "external_source": "gh"});
    let first = new_item(&gateway, pair.clone()).await;
    let problem = gateway.post("ada", ITEMS, pair).await.expect_problem(409, "conflict");
    assert!(!problem.json.to_string().contains(&first.text("id")));
    let half = new_item(&gateway, json!({"name": "n", "external_id": "7"})).await;
    let item = one(&half.text("id"));
    gateway.patch("ada", &item, json!({"external_source": "gh"})).await.expect_problem(409, "conflict");
    gateway.patch("ada", &item, json!({"external_source": "gl"})).await.expect(200);
    gateway.delete("ada", &one(&first.text("id"))).await.expect(204);
    gateway.patch("ada", &item, json!({"external_source": "gh"})).await.expect(200);
}

/// v1 stores both halves without the blanks around them, but looks for a taken pair with the blanks.
#[tokio::test]
async fn a_taken_external_pair_is_a_conflict_with_blanks_around_it_too() {
    let gateway = recorded().await;
    new_item(&gateway, json!({"name": "n", "external_id": "k1", "external_source": "gh"})).await;
    for (id, source) in [(" k1", "gh"), ("k1", "gh "), ("\u{a0}k1\t", "\u{1f}gh")] {
        let pair = json!({"name": "n", "external_id": id, "external_source": source});
        gateway.post("ada", ITEMS, pair).await.expect_problem(409, "conflict");
    }
    let other_id = new_item(&gateway, json!({"name": "n", "external_id": "k2", "external_source": "gh"})).await;
    let other_source = new_item(&gateway, json!({"name": "n", "external_id": "k1", "external_source": "zd"})).await;
    for (item, body) in [
        (&other_id, json!({"external_id": " k1 "})),
        (&other_source, json!({"external_id": " k1", "external_source": "gh"})),
        (&other_source, json!({"external_source": "gh "})),
    ] {
        gateway.patch("ada", &one(&item.text("id")), body).await.expect_problem(409, "conflict");
    }
    // A value stored without blanks is found when the query has them.
    for (name, value) in [("external_id", "%20k1"), ("external_id", "k1%1F"), ("search", "n%1F")] {
        let found = gateway.get("ada", &format!("{ITEMS}?{name}={value}")).await.expect(200);
        assert!(found.data().iter().any(|row| row["id"] == other_source.json["id"]), "{name}={value}");
    }
    let longest = format!(" {} ", "x".repeat(255));
    new_item(&gateway, json!({"name": "n", "external_id": longest, "external_source": longest})).await;
    for _ in 0..2 {
        let blank = new_item(&gateway, json!({"name": "n", "external_id": "  ", "external_source": "gh"})).await;
        assert_eq!(at_v1(&gateway, &blank.text("id")).await["external_id"], "");
    }
}

#[tokio::test]
async fn deleted_is_gone_everywhere() {
    let gateway = recorded().await;
    let made = new_item(&gateway, json!({"name": "n"})).await;
    let item = one(&made.text("id"));
    gateway.delete("ada", &item).await.expect(204);
    gateway.get("ada", &item).await.expect_problem(404, "resource_not_found");
    gateway.patch("ada", &item, json!({"name": "m"})).await.expect_problem(404, "resource_not_found");
    gateway.delete("ada", &item).await.expect_problem(404, "resource_not_found");
    gateway.post("ada", &format!("{item}unarchive/"), json!({})).await.expect_problem(404, "resource_not_found");
    let archived = format!("{ARCHIVED}{}/", id('e', 12));
    gateway.delete("ada", &archived).await.expect_problem(404, "resource_not_found");
}

#[tokio::test]
async fn an_estimate_point_reaches_v1() {
    let gateway = recorded().await;
    let made = gateway
        .post("ada", crate::work_items::world::TYPED, json!({"name": "n", "estimate_point_id": id('6', 13)}))
        .await
        .expect(201);
    let item = format!("{}{}/", crate::work_items::world::TYPED, made.text("id"));
    let v1 = item.replace("/api/v2/", "/api/v1/");
    assert_eq!(gateway.get("ada", &v1).await.json["estimate_point"], json!(id('6', 13)));
    gateway.patch("ada", &item, json!({"estimate_point_id": null})).await.expect(200);
    assert_eq!(gateway.get("ada", &v1).await.json["estimate_point"], Value::Null);
    let foreign = json!({"estimate_point_id": id('6', 4)});
    let foreign = gateway.patch("ada", &item, foreign).await.expect_problem(400, "validation_error");
    assert_eq!(foreign.error_fields(), ["estimate_point_id"]);
    let unknown = json!({"estimate_point_id": id('6', 99)});
    assert_eq!(gateway.patch("ada", &item, unknown).await.expect(400).error_fields(), ["estimate_point_id"]);
    let _ = at_v1(&gateway, &id('e', 1)).await;
}
