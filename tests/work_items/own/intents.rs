//! Writes in two stores whose answer is lost: finished, dropped or reported, never half.

use super::Place;
use crate::support::past_gateway::in_web;
use crate::work_items::world::{ITEMS, one};
use causeway::store::IntentState;
use serde_json::{Value, json};

const NOW: &[(&str, &str)] = &[("store.late_write", "0s")];

async fn open(place: &Place) -> Vec<IntentState> {
    place.store.unsettled().await.unwrap().iter().map(|intent| intent.state).collect()
}

async fn with_text(settings: &[(&'static str, &'static str)]) -> Place {
    let place = Place::with(settings).await;
    let task = place.enabled().await;
    place.new_property(task, json!({"display_name": "text", "property_type": "TEXT"})).await;
    place
}

fn named(name: &str) -> Value {
    json!({"name": name, "custom_fields": {"text": name}})
}

#[tokio::test]
async fn a_create_whose_answer_is_lost_is_bound_after_a_restart() {
    let mut place = with_text(&[]).await;
    place.wire.lose("POST");
    place.gateway.post("ada", ITEMS, named("lost")).await.expect_problem(504, "upstream_timeout");
    assert_eq!(open(&place).await, [IntentState::Lost]);
    place.restart().await;
    let list = place.gateway.get("ada", &format!("{ITEMS}?search=lost")).await.expect(200);
    assert_eq!(list.data().len(), 1);
    assert_ne!(list.data()[0]["type_id"], Value::Null);
    let item = list.data()[0]["id"].as_str().unwrap().to_owned();
    let read = place.gateway.get("bob", &one(&item)).await.expect(200);
    assert_eq!(read.json["custom_fields"]["text"]["value"], "lost");
    assert!(open(&place).await.is_empty());
}

#[tokio::test]
async fn values_are_stored_for_the_item_that_v1_shows_and_not_for_a_wrong_id_in_its_answer() {
    let place = with_text(&[]).await;
    place.wire.rename("POST");
    let told = place.gateway.post("ada", ITEMS, named("renamed")).await.expect_problem(502, "upstream_error");
    assert!(told.text("detail").contains("may have been carried out"), "{}", told.json);
    assert_eq!(open(&place).await, [IntentState::Lost]);
    let list = place.gateway.get("ada", &format!("{ITEMS}?search=renamed")).await.expect(200);
    assert_eq!(list.data().len(), 1);
    let item = list.data()[0]["id"].as_str().unwrap().to_owned();
    let read = place.gateway.get("ada", &one(&item)).await.expect(200);
    assert_eq!(read.json["custom_fields"]["text"]["value"], "renamed");
    assert!(open(&place).await.is_empty());
}

#[tokio::test]
async fn several_candidates_are_reported_until_a_write_decides() {
    let place = with_text(&[]).await;
    let through = ITEMS.replace("/api/v2/", "/api/v1/");
    let twin = place.gateway.post("ada", &through, json!({"name": "twin"})).await.expect(201).text("id");
    place.wire.lose("POST");
    place.gateway.post("ada", ITEMS, named("twin")).await.expect(504);
    place.gateway.get("ada", &one(&twin)).await.expect_problem(503, "store_unavailable");
    place.gateway.get("ada", ITEMS).await.expect_problem(503, "store_unavailable");
    assert_eq!(open(&place).await, [IntentState::Ambiguous]);
    // Other items are not affected.
    let other = place.gateway.post("ada", ITEMS, named("other")).await.expect(201);
    place.gateway.get("ada", &one(&other.text("id"))).await.expect(200);
    place.gateway.patch("ada", &one(&twin), json!({"type_id": null})).await.expect(200);
    let list = place.gateway.get("ada", &format!("{ITEMS}?search=twin")).await.expect(200);
    let typed = list.data().iter().filter(|row| row["type_id"] != Value::Null).count();
    assert_eq!((list.data().len(), typed), (2, 1));
    assert!(open(&place).await.is_empty());
}

/// A client that repeats a create whose answer was lost, and loses the second answer too.
#[tokio::test]
async fn two_equal_lost_creates_take_one_item_each() {
    let place = with_text(&[]).await;
    for _ in 0..2 {
        place.wire.lose("POST");
        place.gateway.post("ada", ITEMS, named("twin")).await.expect(504);
    }
    let list = place.gateway.get("ada", &format!("{ITEMS}?search=twin")).await.expect(200);
    assert_eq!(list.data().len(), 2);
    for row in list.data() {
        let read = place.gateway.get("ada", &one(row["id"].as_str().unwrap())).await.expect(200);
        assert_eq!(read.json["custom_fields"]["text"]["value"], "twin");
    }
    assert!(open(&place).await.is_empty());
}

/// A list by type cannot leave an item out because it is not known yet to have a type.
#[tokio::test]
async fn a_list_by_type_shows_the_items_of_all_equal_lost_creates() {
    let place = Place::with(&[]).await;
    let task = place.enabled().await;
    place.new_property(task, json!({"display_name": "text", "property_type": "TEXT"})).await;
    for _ in 0..2 {
        place.wire.lose("POST");
        place.gateway.post("ada", ITEMS, named("twin")).await.expect(504);
    }
    let list = place.gateway.get("ada", &format!("{ITEMS}?type_id={task}")).await.expect(200);
    assert_eq!(list.json["total_count"], 2);
    for name in ["one", "two"] {
        place.wire.lose("POST");
        let body = json!({"name": "rival", "custom_fields": {"text": name}});
        place.gateway.post("ada", ITEMS, body).await.expect(504);
    }
    let undecided = place.gateway.get("ada", &format!("{ITEMS}?type_id={task}")).await;
    undecided.expect_problem(503, "store_unavailable");
}

/// The second create cannot have made the item of the first, which is older than the second request.
#[tokio::test]
async fn equal_lost_creates_are_decided_from_the_one_that_has_one_candidate() {
    let place = with_text(&[]).await;
    place.wire.lose("POST");
    place.gateway.post("ada", ITEMS, named("twin")).await.expect(504);
    tokio::time::sleep(std::time::Duration::from_millis(5500)).await;
    place.wire.lose("POST");
    place.gateway.post("ada", ITEMS, named("twin")).await.expect(504);
    let list = place.gateway.get("ada", ITEMS).await.expect(200);
    assert_eq!(list.data().iter().filter(|row| row["name"] == "twin" && !row["type_id"].is_null()).count(), 2);
    assert!(open(&place).await.is_empty());
}

#[tokio::test]
async fn an_item_of_another_request_never_gets_the_values_of_a_lost_create() {
    let place = with_text(NOW).await;
    let plain = json!({"name": "same", "type_id": null});
    let before = place.gateway.post("ada", ITEMS, plain.clone()).await.expect(201).text("id");
    place.wire.swallow("POST");
    place.gateway.post("ada", ITEMS, named("same")).await.expect_problem(504, "upstream_timeout");
    let mut items = vec![before];
    for _ in 0..2 {
        items.push(place.gateway.post("ada", ITEMS, plain.clone()).await.expect(201).text("id"));
    }
    for item in &items {
        let read = place.gateway.get("ada", &one(item)).await.expect(200);
        assert_eq!((&read.json["type_id"], &read.json["custom_fields"]), (&Value::Null, &json!({})));
    }
    let list = place.gateway.get("ada", &format!("{ITEMS}?search=same")).await.expect(200);
    assert!(list.data().len() == 3 && list.data().iter().all(|row| row["type_id"].is_null()), "{}", list.json);
}

#[tokio::test]
async fn an_update_whose_answer_is_lost_is_finished() {
    let place = with_text(&[]).await;
    let item = one(&place.gateway.post("ada", ITEMS, named("before")).await.expect(201).text("id"));
    place.wire.lose_unfound("PATCH");
    place.gateway.patch("ada", &item, named("after")).await.expect_problem(504, "upstream_timeout");
    let read = place.gateway.get("ada", &item).await.expect(200);
    assert_eq!(read.json["name"], "after");
    assert_eq!(read.json["custom_fields"]["text"]["value"], "after");
    assert!(open(&place).await.is_empty());
}

#[tokio::test]
async fn a_write_whose_answer_is_lost_is_looked_up_before_it_is_answered() {
    let place = with_text(&[]).await;
    let item = one(&place.gateway.post("ada", ITEMS, named("before")).await.expect(201).text("id"));
    place.wire.lose("PATCH");
    let done = place.gateway.patch("ada", &item, named("after")).await.expect(200);
    assert_eq!(
        (&done.json["name"], &done.json["custom_fields"]["text"]["value"]),
        (&"after".into(), &"after".into())
    );
    place.wire.lose("PATCH");
    place.gateway.post("ada", &format!("{item}archive/"), json!({})).await.expect(200);
    place.wire.lose("PATCH");
    place.gateway.post("ada", &format!("{item}unarchive/"), json!({})).await.expect(200);
    place.wire.lose("DELETE");
    place.gateway.delete("ada", &item).await.expect(204);
    assert!(open(&place).await.is_empty());
}

#[tokio::test]
async fn an_update_that_never_arrived_is_dropped_when_v1_can_no_longer_do_it() {
    let mut place = with_text(&[]).await;
    let item = one(&place.gateway.post("ada", ITEMS, named("before")).await.expect(201).text("id"));
    place.wire.swallow("PATCH");
    place.gateway.patch("ada", &item, named("after")).await.expect(504);
    let told = place.gateway.get("ada", &item).await.expect_problem(503, "store_unavailable").text("detail");
    assert!(told.starts_with("What became of an earlier write"), "{told}");
    place.settings = NOW.to_vec();
    place.restart().await;
    let read = place.gateway.get("ada", &item).await.expect(200);
    assert_eq!(read.json["name"], "before");
    assert_eq!(read.json["custom_fields"]["text"]["value"], "before");
    assert!(open(&place).await.is_empty());
}

/// A comment changes the time of an item's last change, and so does v1 itself after its answer (trap 56); neither
/// proves a write that v1 never got.
#[tokio::test]
async fn a_time_that_moves_proves_no_update() {
    for body in [
        json!({"description_html": "<p>new</p>", "custom_fields": {"text": "after"}}),
        json!({"name": "after", "custom_fields": {"text": "after"}}),
    ] {
        let mut place = Place { settings: NOW.to_vec(), ..with_text(&[]).await };
        let made = place.gateway.post("ada", ITEMS, named("before")).await.expect(201).text("id");
        let item = one(&made);
        let described = json!({"description_html": "<p>old</p>"});
        place.gateway.patch("ada", &item, described).await.expect(200);
        place.wire.swallow("PATCH");
        place.gateway.patch("ada", &item, body.clone()).await.expect(504);
        let comment = json!({"comment_html": "<p>moves it</p>"});
        place
            .gateway
            .post("bob", &format!("{item}comments/").replace("/api/v2/", "/api/v1/"), comment)
            .await
            .expect(201);
        place.gateway.get("ada", &item).await.expect_problem(503, "store_unavailable");
        place.restart().await;
        let read = place.gateway.get("ada", &item).await.expect(200);
        assert_eq!(
            (&read.json["name"], &read.json["custom_fields"]["text"]["value"]),
            (&json!("before"), &json!("before")),
            "{body}"
        );
        place.gateway.get("ada", ITEMS).await.expect(200);
        assert!(open(&place).await.is_empty(), "{body}");
    }
}

/// v1 stores a description in another form than the sent one.
#[tokio::test]
async fn a_description_that_is_another_than_before_is_the_one_that_was_sent() {
    let place = with_text(&[]).await;
    let item = one(&place.gateway.post("ada", ITEMS, named("before")).await.expect(201).text("id"));
    place.wire.lose_unfound("PATCH");
    let body = json!({"description_html": "<p>a</p><p>b</p>", "custom_fields": {"text": "after"}});
    place.gateway.patch("ada", &item, body).await.expect_problem(504, "upstream_timeout");
    let read = place.gateway.get("ada", &item).await.expect(200);
    assert_eq!(read.json["custom_fields"]["text"]["value"], "after");
    assert!(open(&place).await.is_empty());
}

#[tokio::test]
async fn an_update_that_v1_shows_otherwise_is_reported_until_a_write_decides() {
    let place = with_text(NOW).await;
    let made = place.gateway.post("ada", ITEMS, named("before")).await.expect(201).text("id");
    let item = one(&made);
    place.wire.lose_unfound("PATCH");
    place.gateway.patch("ada", &item, named("after")).await.expect(504);
    let through = item.replace("/api/v2/", "/api/v1/");
    place.gateway.patch("bob", &through, json!({"name": "third"})).await.expect(200);
    place.gateway.get("ada", &item).await.expect_problem(503, "store_unavailable");
    assert_eq!(open(&place).await, [IntentState::Conflicting]);
    // A write that is refused, or stores nothing, decides nothing.
    place.gateway.patch("ada", &item, json!({"custom_fields": {"txet": "x"}})).await.expect(400);
    place.gateway.patch("ada", &item, json!({"custom_fields": {}})).await.expect_problem(503, "store_unavailable");
    assert_eq!(open(&place).await, [IntentState::Conflicting]);
    let decided = place.gateway.patch("ada", &item, json!({"custom_fields": {"text": "third"}})).await.expect(200);
    assert_eq!(decided.json["custom_fields"]["text"]["value"], "third");
    assert!(open(&place).await.is_empty());
}

/// A row of the index may be from before v1 carried the write out.
#[tokio::test]
async fn a_row_of_the_index_ends_no_write_that_may_be_newer() {
    let settings = [("store.late_write", "0s"), ("index.freshness", "30s"), ("upstream.quota", "60")];
    let place = with_text(&settings).await;
    let item = one(&place.gateway.post("ada", ITEMS, named("before")).await.expect(201).text("id"));
    let other = one(&place.gateway.post("ada", ITEMS, named("other")).await.expect(201).text("id"));
    place.wire.swallow("PATCH");
    place.gateway.patch("ada", &item, named("after")).await.expect(504);
    // A list without the item builds the index.
    place.gateway.get("ada", &format!("{ITEMS}?search=another")).await.expect(200);
    let values = json!({"custom_fields": {"text": "third"}});
    place.gateway.patch("ada", &item, values).await.expect_problem(503, "store_unavailable");
    // The row also answers reads while v1's quota is short.
    place.gateway.get("bob", &format!("{ITEMS}?search=another")).await.expect(200);
    let mut short = false;
    for _ in 0..100 {
        short = place.gateway.get("bob", &other).await.expect(200).calls() == 0;
        if short {
            break;
        }
        place.gateway.get("bob", "/api/v1/users/me/").await.expect(200);
    }
    assert!(short, "an item without an open write is answered from its row");
    place.gateway.get("bob", &item).await.expect_problem(503, "store_unavailable");
    assert_eq!(open(&place).await, [IntentState::Lost]);
}

#[tokio::test]
async fn a_delete_whose_answer_is_lost_takes_the_values() {
    let place = with_text(&[]).await;
    let made = place.gateway.post("ada", ITEMS, named("n")).await.expect(201).text("id");
    place.wire.lose_unfound("DELETE");
    place.gateway.delete("ada", &one(&made)).await.expect_problem(504, "upstream_timeout");
    assert_eq!(open(&place).await.len(), 1);
    place.gateway.get("ada", &one(&made)).await.expect(404);
    assert!(open(&place).await.is_empty());
    assert!(place.store.values_of(made.parse().unwrap()).await.unwrap().is_empty());
}

/// A gateway with an item whose DELETE v1 did not get, and the item's id. v1 may still carry the delete out.
async fn with_lost_delete() -> (Place, String) {
    let place = with_text(&[("store.late_write", "1h")]).await;
    let item = place.gateway.post("ada", ITEMS, named("n")).await.expect(201).text("id");
    place.wire.swallow("DELETE");
    place.gateway.delete("ada", &one(&item)).await.expect_problem(504, "upstream_timeout");
    assert_eq!(open(&place).await, [IntentState::Lost]);
    (place, item)
}

/// While v1 shows the item, nothing of it was removed.
#[tokio::test]
async fn a_lost_delete_blocks_nobody_while_v1_shows_the_item() {
    let (place, id) = with_lost_delete().await;
    let item = one(&id);
    let read = place.gateway.get("bob", &item).await.expect(200);
    assert_eq!(read.json["custom_fields"]["text"]["value"], "n");
    for list in [ITEMS.to_owned(), format!("{ITEMS}?type_id={}", read.text("type_id"))] {
        let listed = place.gateway.get("bob", &list).await.expect(200);
        assert!(listed.column("id").contains(&read.json["id"]), "{list}");
    }
    let values = json!({"custom_fields": {"text": "m"}});
    let changed = place.gateway.patch("bob", &item, values).await.expect(200);
    assert_eq!(changed.json["custom_fields"]["text"]["value"], "m");
    // Once it is hidden, v1 would not show whether it was deleted too.
    let archive = format!("{item}archive/");
    place.gateway.post("ada", &archive, json!({})).await.expect_problem(503, "store_unavailable");
    assert_eq!(open(&place).await, [IntentState::Lost]);
    place.gateway.delete("ada", &item).await.expect(204);
    assert!(open(&place).await.is_empty());
    let id = id.parse().unwrap();
    assert!(place.store.values_of(id).await.unwrap().is_empty());
    assert!(!place.store.project_items(super::web()).await.unwrap().knows(id));
}

#[tokio::test]
async fn two_lost_deletes_end_with_the_item() {
    let (place, id) = with_lost_delete().await;
    let values = json!({"custom_fields": {"text": "m"}});
    place.gateway.patch("ada", &one(&id), values).await.expect(200);
    place.wire.lose_unfound("DELETE");
    place.gateway.delete("ada", &one(&id)).await.expect_problem(504, "upstream_timeout");
    assert_eq!(open(&place).await, [IntentState::Lost; 2]);
    place.gateway.get("ada", &one(&id)).await.expect(404);
    assert!(open(&place).await.is_empty());
    assert!(place.store.values_of(id.parse().unwrap()).await.unwrap().is_empty());
}

/// v1's own users may have archived the item since.
#[tokio::test]
async fn a_lost_delete_takes_no_values_that_were_written_after_it() {
    let (place, id) = with_lost_delete().await;
    let values = json!({"custom_fields": {"text": "m"}});
    place.gateway.patch("ada", &one(&id), values).await.expect(200);
    let v1 = format!("work-items/{id}/");
    in_web(&place.sandbox, "PATCH", &v1, &json!({"archived_at": "2026-11-20"}));
    place.gateway.get("ada", &one(&id)).await.expect(404);
    assert!(open(&place).await.is_empty());
    in_web(&place.sandbox, "PATCH", &v1, &json!({"archived_at": null}));
    let read = place.gateway.get("ada", &one(&id)).await.expect(200);
    assert_eq!(read.json["custom_fields"]["text"]["value"], "m");
}

#[tokio::test]
async fn a_lost_delete_is_dropped_when_v1_can_no_longer_do_it() {
    let (mut place, id) = with_lost_delete().await;
    place.settings = NOW.to_vec();
    place.restart().await;
    let read = place.gateway.get("ada", &one(&id)).await.expect(200);
    assert_eq!(read.json["custom_fields"]["text"]["value"], "n");
    assert!(open(&place).await.is_empty());
}

#[tokio::test]
async fn a_write_that_v1_refuses_leaves_nothing() {
    let place = with_text(&[]).await;
    let pair = json!({"name": "n", "external_id": "1", "external_source": "s"});
    place.gateway.post("ada", ITEMS, pair.clone()).await.expect(201);
    place.gateway.post("ada", ITEMS, pair).await.expect_problem(409, "conflict");
    assert!(open(&place).await.is_empty());
}

#[tokio::test]
async fn a_service_key_settles_at_start() {
    let mut place = with_text(&[]).await;
    place.wire.lose("POST");
    place.gateway.post("ada", ITEMS, named("lost")).await.expect(504);
    place.settings = vec![("upstream.service_key", "ada")];
    place.restart().await;
    for _ in 0..3000 {
        if open(&place).await.is_empty() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("still open: {:?}", open(&place).await);
}

#[tokio::test]
async fn readers_beside_creates_see_whole_items_only() {
    let place = with_text(&[]).await;
    let creates = async {
        for number in 0..15 {
            place.gateway.post("ada", ITEMS, named(&format!("n{number}"))).await.expect(201);
        }
    };
    let reads = async {
        for _ in 0..30 {
            let list = place.gateway.get("ada", &format!("{ITEMS}?per_page=5")).await.expect(200);
            for row in list.data().iter().filter(|row| row["name"].as_str().unwrap().starts_with('n')) {
                assert_ne!(row["type_id"], Value::Null, "{row}");
            }
        }
    };
    tokio::join!(creates, reads);
    assert!(open(&place).await.is_empty());
}
