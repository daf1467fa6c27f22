//! Traps of v1 in the writes of work items, by number.

use crate::work_items::world::{
    ARCHIVED, ITEMS, TYPED, V1_WEB, at_v1, id, new_item, new_label, one, recorded, steps,
};
use serde_json::{Value, json};

#[tokio::test]
async fn trap_14_names_of_v2_are_translated_not_passed_on() {
    let gateway = recorded().await;
    let label = new_label(&gateway, "a").await;
    let body = json!({"name": "n", "state_id": id('d', 103), "parent_id": id('e', 1), "assignee_ids": [id('a', 5)],
        "label_ids": [label]});
    let made = new_item(&gateway, body).await;
    let v1 = at_v1(&gateway, &made.text("id")).await;
    assert_eq!((&v1["state"], &v1["parent"]), (&json!(id('d', 103)), &json!(id('e', 1))));
    assert_eq!((&v1["assignees"], &v1["labels"]), (&json!([id('a', 5)]), &json!([label])));
}

#[tokio::test]
async fn trap_15_a_guest_v1_drops_takes_the_new_item_back() {
    let gateway = recorded().await;
    gateway.sandbox().clear_journal();
    let body = json!({"name": "n", "assignee_ids": [id('a', 2), id('a', 4)]});
    let answer = gateway.post("ada", ITEMS, body).await.expect_problem(400, "validation_error");
    assert_eq!(answer.error_fields(), ["assignee_ids"]);
    let message = answer.json["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains(&id('a', 4)) && !message.contains(&id('a', 2)), "{message}");
    let steps = steps(&gateway);
    assert_eq!(steps, ["GET members", "POST work-items", "GET work-items", "DELETE work-items"]);
    let left = gateway.get("ada", &format!("{V1_WEB}work-items/")).await;
    assert_eq!(left.json["total_count"], 1);
}

#[tokio::test]
async fn trap_15_an_update_with_a_guest_is_refused_before_it_clears_the_set() {
    let gateway = recorded().await;
    let made = new_item(&gateway, json!({"name": "n", "assignee_ids": [id('a', 2)]})).await;
    let item = one(&made.text("id"));
    for (body, sent) in [
        (json!({"assignee_ids": [id('a', 4)]}), id('a', 4)),
        (json!({"assignees": ["bob@acme.test", "gil@acme.test"]}), "gil@acme.test".to_owned()),
    ] {
        let refused = gateway.patch("ada", &item, body).await.expect_problem(400, "validation_error");
        let message = refused.json["errors"][0]["message"].as_str().unwrap();
        assert_eq!(message, format!("guests cannot be assigned: {sent}"));
    }
    assert_eq!(gateway.get("ada", &item).await.json["assignee_ids"], json!([id('a', 2)]));
}

#[tokio::test]
async fn trap_15_an_update_of_which_v1_drops_somebody_is_undone() {
    let gateway = recorded().await;
    let body = json!({"name": "n", "assignee_ids": [id('a', 2)], "priority": "low"});
    let made = new_item(&gateway, body).await;
    let item = one(&made.text("id"));
    // The membership of a:7 has ended, which v1 shows nowhere.
    for body in [json!({"assignee_ids": [id('a', 7)]}), json!({"assignees": ["ada@acme.test", "dan@acme.test"]})] {
        let mut with_more = body.clone();
        with_more["name"] = json!("m");
        with_more["priority"] = json!("high");
        for body in [body, with_more] {
            let refused = gateway.patch("ada", &item, body.clone()).await.expect_problem(400, "validation_error");
            assert_eq!(refused.error_fields(), body.as_object().unwrap().keys().take(1).collect::<Vec<_>>());
            assert_eq!(gateway.get("ada", &item).await.expect(200).json, made.json, "{body}");
        }
    }
    // Not every earlier value is known.
    let body = json!({"assignee_ids": [id('a', 7)], "description_html": "<p>x</p>"});
    let told = gateway.patch("ada", &item, body).await.expect_problem(502, "upstream_error").text("detail");
    let expected = "did not store: assignee_ids. Stored: description_html. assignee_ids is now [].";
    assert!(told.ends_with(expected), "{told}");
}

#[tokio::test]
async fn trap_16_nobody_means_nobody_although_the_project_has_a_default() {
    let gateway = recorded().await;
    gateway.patch("ada", V1_WEB, json!({"default_assignee": id('a', 2)})).await.expect(200);
    let omitted = new_item(&gateway, json!({"name": "n"})).await;
    assert_eq!(omitted.json["assignee_ids"], json!([id('a', 2)]));
    for body in [json!({"name": "n", "assignee_ids": []}), json!({"name": "n", "assignees": []})] {
        gateway.sandbox().clear_journal();
        let made = new_item(&gateway, body).await;
        assert_eq!(made.json["assignee_ids"], json!([]));
        assert_eq!(steps(&gateway), ["POST work-items", "GET work-items", "PATCH work-items"]);
        assert_eq!(at_v1(&gateway, &made.text("id")).await["assignees"], json!([]));
    }
}

#[tokio::test]
async fn trap_17_18_what_v1_would_obey_is_not_sent() {
    let gateway = recorded().await;
    let surprises = json!({"name": "n", "created_at": "2001-01-01T00:00:00Z", "created_by": id('a', 2),
        "created_by_id": id('a', 2), "archived_at": "2026-01-01", "is_draft": true, "sequence_id": 1,
        "sort_order": 7.5, "completed_at": "2020-01-01T00:00:00Z", "point": 3, "deleted_at": "2026-01-01T00:00:00Z",
        "estimate_point": id('6', 12), "type": null});
    let mut create = surprises.clone();
    create.as_object_mut().unwrap().shift_remove("type");
    let made = new_item(&gateway, create.clone()).await;
    let before = at_v1(&gateway, &made.text("id")).await;
    assert_eq!((&before["created_by"], &before["is_draft"]), (&json!(id('a', 1)), &json!(false)));
    assert_eq!((&before["point"], &before["completed_at"]), (&Value::Null, &Value::Null));
    assert_ne!(before["sequence_id"], 1);
    let same = gateway.patch("ada", &one(&made.text("id")), create).await.expect(200);
    assert_eq!(same.json, made.json);
    assert_eq!(at_v1(&gateway, &made.text("id")).await, before);
}

#[tokio::test]
async fn trap_19_a_number_that_is_none_is_refused() {
    let gateway = recorded().await;
    let request = |method: &str, path: &str| {
        http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", gateway.base()))
            .header("X-Api-Key", "ada")
            .header("Content-Type", "application/json")
            .body(http_body_util::Full::new(bytes::Bytes::from_static(b"{\"name\": \"n\", \"sort_order\": 1e999}")))
            .unwrap()
    };
    gateway.request(request("POST", ITEMS)).await.expect_problem(400, "validation_error");
    gateway.request(request("PATCH", &one(&id('e', 1)))).await.expect_problem(400, "validation_error");
}

#[tokio::test]
async fn trap_20_the_answer_to_a_create_is_what_later_reads_give() {
    let gateway = recorded().await;
    for who in ["ada", "kim"] {
        let made = gateway.post(who, ITEMS, json!({"name": "n"})).await.expect(201);
        assert_eq!(gateway.get("bob", &one(&made.text("id"))).await.expect(200).json, made.json);
        assert!(made.text("created_at").ends_with('Z'));
    }
}

#[tokio::test]
async fn trap_28_dates_are_compared_with_the_stored_ones() {
    let gateway = recorded().await;
    let made =
        new_item(&gateway, json!({"name": "n", "start_date": "2026-01-12", "target_date": "2026-01-20"})).await;
    let item = one(&made.text("id"));
    for body in [json!({"start_date": "2026-03-01"}), json!({"target_date": "2026-01-01"})] {
        let answer = gateway.patch("ada", &item, body).await.expect_problem(400, "validation_error");
        assert_eq!(answer.error_fields(), ["target_date"]);
    }
    gateway.patch("ada", &item, json!({"start_date": "2026-03-01", "target_date": null})).await.expect(200);
    gateway.patch("ada", &item, json!({"target_date": "2026-03-01"})).await.expect(200);
}

#[tokio::test]
async fn trap_30_a_parent_is_of_the_project_and_not_below_the_item() {
    let gateway = recorded().await;
    let a = new_item(&gateway, json!({"name": "a"})).await.text("id");
    let b = new_item(&gateway, json!({"name": "b", "parent_id": a})).await.text("id");
    let c = new_item(&gateway, json!({"name": "c", "parent_id": b})).await;
    for parent in [a.clone(), b.clone(), c.text("id")] {
        let answer = gateway.patch("ada", &one(&a), json!({"parent_id": parent})).await;
        assert_eq!(answer.expect_problem(400, "validation_error").error_fields(), ["parent_id"]);
    }
    let by_key = gateway.patch("ada", &one(&a), json!({"parent": c.text("identifier")})).await;
    assert_eq!(by_key.expect_problem(400, "validation_error").error_fields(), ["parent"]);
    let elsewhere = gateway.patch("ada", &one(&a), json!({"parent_id": id('e', 11)})).await;
    assert_eq!(elsewhere.expect_problem(400, "validation_error").error_fields(), ["parent_id"]);
    gateway.patch("ada", &one(&c.text("id")), json!({"parent_id": a})).await.expect(200);
}

#[tokio::test]
async fn trap_31_types_of_v1_are_neither_shown_nor_written() {
    let gateway = recorded().await;
    let sized = format!("{TYPED}{}/", id('e', 21));
    assert_eq!(gateway.get("ada", &sized).await.expect(200).json["type_id"], Value::Null);
    let made = gateway.post("ada", TYPED, json!({"name": "n", "type_id": null})).await.expect(201);
    assert_eq!(made.json["type_id"], Value::Null);
    gateway.patch("ada", &sized, json!({"type_id": null})).await.expect(200);
    assert_eq!(gateway.get("ada", &sized.replace("/v2/", "/v1/")).await.json["type_id"], json!(id('f', 2)));
    let refused = gateway.patch("ada", &sized, json!({"type_id": id('f', 5)})).await;
    assert_eq!(refused.expect_problem(400, "validation_error").error_fields(), ["type_id"]);
}

#[tokio::test]
async fn trap_32_html_is_cleaned_and_empty_html_is_taken() {
    let gateway = recorded().await;
    let sent = "<p onclick=\"x()\">ok</p><script>alert(1)</script>";
    let made = new_item(&gateway, json!({"name": "n", "description_html": sent})).await;
    assert!(made.json.get("description_html").is_none());
    let stored = at_v1(&gateway, &made.text("id")).await["description_html"].to_string();
    assert!(stored.contains("ok") && !stored.contains("script") && !stored.contains("onclick"), "{stored}");
    for empty in ["", "   ", "<!-- only -->", "&nbsp;", "\u{a0}", "<!-- only --> &#160;\n"] {
        let body = json!({"description_html": empty});
        gateway.patch("ada", &one(&made.text("id")), body).await.expect(200);
        assert_eq!(at_v1(&gateway, &made.text("id")).await["description_html"], "<p></p>", "{empty:?}");
        new_item(&gateway, json!({"name": "n", "description_html": empty})).await;
    }
    let null = gateway.patch("ada", &one(&made.text("id")), json!({"description_html": null})).await;
    assert_eq!(null.expect_problem(400, "validation_error").error_fields(), ["description_html"]);
}

#[tokio::test]
async fn trap_37_a_hidden_state_is_none() {
    let gateway = recorded().await;
    for body in [json!({"name": "n", "state_id": id('d', 106)}), json!({"name": "n", "state": "Triage"})] {
        gateway.post("ada", ITEMS, body.clone()).await.expect_problem(400, "validation_error");
        gateway.patch("ada", &one(&id('e', 1)), body).await.expect_problem(400, "validation_error");
    }
}

#[tokio::test]
async fn trap_38_a_pair_is_checked_whichever_half_changes() {
    let gateway = recorded().await;
    new_item(&gateway, json!({"name": "n", "external_id": "e 1", "external_source": "gh"})).await;
    let other = new_item(&gateway, json!({"name": "m", "external_id": "e 1", "external_source": "gl"})).await;
    let item = one(&other.text("id"));
    for body in [
        json!({"external_source": "gh"}),
        json!({"external_source": "gh", "external_id": "e 1"}),
        json!({"name": "x", "external_source": "gh"}),
    ] {
        let answer = gateway.patch("ada", &item, body).await.expect_problem(409, "conflict");
        assert!(!answer.json["detail"].as_str().unwrap().contains(&other.text("id")));
    }
    assert_eq!(gateway.get("ada", &item).await.text("name"), "m");
}

/// Two items that already share the pair make v1's look-up of it fail (`items_find_by_shared_external_pair`).
#[tokio::test]
async fn trap_38_a_pair_that_two_items_have_is_taken_too() {
    let gateway = recorded().await;
    new_item(&gateway, json!({"name": "one", "external_id": "e", "external_source": "gh"})).await;
    let two = new_item(&gateway, json!({"name": "two", "external_id": "e"})).await.text("id");
    let source = json!({"external_source": "gh"});
    gateway.patch("ada", &format!("{V1_WEB}work-items/{two}/"), source.clone()).await.expect(200);
    let three = new_item(&gateway, json!({"name": "three", "external_id": "e"})).await.text("id");
    gateway.patch("ada", &one(&three), source).await.expect_problem(409, "conflict");
    assert_eq!(at_v1(&gateway, &three).await["external_source"], Value::Null);
}

/// No list shows the item that has the pair (`archived_external_pair_conflict`), so the refusal says it.
#[tokio::test]
async fn trap_38_the_pair_of_an_archived_item_is_taken_with_the_reason() {
    let gateway = recorded().await;
    let pair = json!({"name": "n", "external_id": "e", "external_source": "gh"});
    let archived = new_item(&gateway, pair.clone()).await.text("id");
    gateway.post("ada", &format!("{}archive/", one(&archived)), json!({})).await.expect(200);
    let found = gateway.get("ada", &format!("{ITEMS}?external_id=e&external_source=gh")).await.expect(200);
    assert!(found.data().is_empty(), "{}", found.json);
    let bare = one(&new_item(&gateway, json!({"name": "m"})).await.text("id"));
    let half = one(&new_item(&gateway, json!({"name": "h", "external_id": "e"})).await.text("id"));
    for answer in [
        gateway.post("ada", ITEMS, pair.clone()).await,
        gateway.patch("ada", &bare, pair.clone()).await,
        gateway.patch("ada", &half, json!({"external_source": "gh"})).await,
    ] {
        let detail = answer.expect_problem(409, "conflict").text("detail");
        assert!(detail.contains("archived ones count"), "{detail}");
    }
}

/// Without a source there is no pair (O41), but for v1 no source is the same as no source.
#[tokio::test]
async fn trap_38_an_id_that_another_item_without_a_source_has_is_refused_with_the_reason() {
    let gateway = recorded().await;
    new_item(&gateway, json!({"name": "n", "external_id": "e1"})).await;
    let other = new_item(&gateway, json!({"name": "m"})).await;
    let item = one(&other.text("id"));
    for body in [json!({"external_id": "e1"}), json!({"external_id": "e1", "external_source": null})] {
        let answer = gateway.patch("ada", &item, body).await.expect_problem(409, "conflict");
        assert!(answer.text("detail").contains("no external_source either"), "{}", answer.json);
    }
    gateway.patch("ada", &item, json!({"external_id": "e1", "external_source": "gh"})).await.expect(200);
    let taken = new_item(&gateway, json!({"name": "t", "external_source": "gh"})).await.text("id");
    let answer = gateway.patch("ada", &one(&taken), json!({"external_id": "e1"})).await;
    let detail = answer.expect_problem(409, "conflict").text("detail");
    assert!(detail.contains("has this external pair"), "{detail}");
}

#[tokio::test]
async fn trap_39_children_outlive_their_parent() {
    let gateway = recorded().await;
    let parent = new_item(&gateway, json!({"name": "p"})).await.text("id");
    let mut children = Vec::new();
    for name in ["a", "b"] {
        children.push(new_item(&gateway, json!({"name": name, "parent_id": parent})).await.text("id"));
    }
    gateway.sandbox().clear_journal();
    gateway.delete("ada", &one(&parent)).await.expect(204);
    let steps = steps(&gateway);
    let last: Vec<&str> = steps.iter().map(|step| step.split(' ').next().unwrap()).collect();
    assert_eq!(last, ["GET", "GET", "PATCH", "PATCH", "DELETE"]);
    gateway.sandbox().advance(std::time::Duration::from_secs(5));
    for child in children {
        assert_eq!(gateway.get("ada", &one(&child)).await.expect(200).json["parent_id"], Value::Null);
    }
}

#[tokio::test]
async fn trap_39_a_child_archived_here_outlives_its_parent_too() {
    let gateway = recorded().await;
    let parent = new_item(&gateway, json!({"name": "p"})).await.text("id");
    let mut children = Vec::new();
    for name in ["stays", "comes back", "moved"] {
        let child = new_item(&gateway, json!({"name": name, "parent_id": parent})).await.text("id");
        gateway.post("ada", &format!("{}archive/", one(&child)), json!({})).await.expect(200);
        children.push(child);
    }
    // Unarchived and moved by v1's own users; their value of the parent counts.
    let path = format!("{V1_WEB}work-items/{}/", children[2]);
    let changed = json!({"archived_at": null, "parent": id('e', 1)});
    gateway.patch("ada", &path, changed).await.expect(200);
    gateway.delete("bob", &one(&parent)).await.expect_problem(403, "forbidden");
    gateway.delete("ada", &one(&parent)).await.expect(204);
    gateway.sandbox().advance(std::time::Duration::from_secs(5));
    for child in &children[..2] {
        let back = gateway.post("ada", &format!("{}unarchive/", one(child)), json!({})).await.expect(200);
        assert_eq!(back.json["parent_id"], Value::Null);
    }
    assert_eq!(gateway.get("ada", &one(&children[2])).await.expect(200).json["parent_id"], id('e', 1));
}

#[tokio::test]
async fn trap_40_only_admin_or_creator_deletes_and_children_stay_where_they_are() {
    let gateway = recorded().await;
    let lone = new_item(&gateway, json!({"name": "lone"})).await.text("id");
    let refused = gateway.delete("bob", &one(&lone)).await.expect_problem(403, "forbidden");
    assert!(refused.text("detail").contains("Only admin or creator"));
    let parent = new_item(&gateway, json!({"name": "p"})).await.text("id");
    let child = new_item(&gateway, json!({"name": "c", "parent_id": parent})).await.text("id");
    gateway.delete("bob", &one(&parent)).await.expect_problem(403, "forbidden");
    assert_eq!(gateway.get("bob", &one(&child)).await.json["parent_id"], json!(parent));
    let own = gateway.post("bob", ITEMS, json!({"name": "own"})).await.expect(201);
    gateway.delete("bob", &one(&own.text("id"))).await.expect(204);
}

#[tokio::test]
async fn trap_47_an_archived_item_holds_its_pair() {
    let gateway = recorded().await;
    let pair = json!({"name": "n", "external_id": "7", "external_source": "gh"});
    let made = gateway.post("ada", ARCHIVED, pair.clone()).await.expect(201);
    gateway.post("ada", &format!("{ARCHIVED}{}/archive/", made.text("id")), json!({})).await.expect(200);
    gateway.post("ada", ARCHIVED, pair).await.expect_problem(409, "conflict");
}

#[tokio::test]
async fn trap_55_an_estimate_is_found_by_value_where_an_item_shows_it() {
    let gateway = recorded().await;
    let made = gateway.post("ada", TYPED, json!({"name": "n", "estimate": " 1 "})).await.expect(201);
    let v1 = format!("{TYPED}{}/", made.text("id")).replace("/v2/", "/v1/");
    assert_eq!(gateway.get("ada", &v1).await.json["estimate_point"], json!(id('6', 12)));
    let unseen = gateway.post("ada", TYPED, json!({"name": "n", "estimate": "3"})).await;
    let unseen = unseen.expect_problem(400, "validation_error");
    assert_eq!(unseen.error_fields(), ["estimate"]);
    assert!(unseen.json["errors"][0]["message"].as_str().unwrap().contains("estimate_point_id"));
}
