//! Every success has the shape the contract gives it, closed records and envelopes included.

use super::operations::{lists, working};
use super::world::World;
use crate::support::schema::SENT;
use serde_json::Value;

#[tokio::test]
async fn every_success_has_the_declared_status_and_shape() {
    let world = World::new().await;
    world.crowd(4).await;
    // Deletes come last, that of the work item after that of its comment, so that the other operations find records.
    let late = |operation: &super::operations::Contract| match operation.id() {
        "work_items_delete" => 5,
        id if id.ends_with("properties_delete") || id.ends_with("types_delete") => 4,
        _ if operation.method() == "DELETE" => 3,
        "work_items_unarchive" => 2,
        "work_items_archive" => 1,
        _ => 0,
    };
    let mut operations: Vec<_> = working().collect();
    operations.sort_by_key(|operation| late(operation));
    for operation in operations {
        let answer = world.ask(Some("ada"), operation, &world.path(operation)).await.expect(operation.status());
        assert!(answer.headers.contains_key("causeway-v1-calls"), "{}", operation.id());
        if operation.0["empty_body"] == true {
            assert!(answer.bytes.is_empty(), "{}", operation.id());
            continue;
        }
        assert_eq!(answer.headers["content-type"], "application/json");
        let shape = operation.text("response");
        if operation.0["envelope"] == true {
            SENT.assert("OffsetEnvelope", &answer.json);
            assert!(!answer.data().is_empty(), "{}", operation.id());
            answer.data().iter().for_each(|row| SENT.assert(shape, row));
        } else {
            SENT.assert(shape, &answer.json);
        }
    }
}

#[tokio::test]
async fn cursor_envelopes_and_expanded_rows_have_their_shape_too() {
    let world = World::new().await;
    world.crowd(4).await;
    for operation in lists() {
        let shape = operation.text("response");
        let mut query = "paginate=cursor&order_by=id&per_page=2".to_owned();
        if operation.0["expand"].as_array().is_some_and(|expand| !expand.is_empty()) {
            query.push_str(&format!("&expand={}", operation.expands().join(",")));
        }
        let path = world.path(operation);
        let mut cursor = String::new();
        loop {
            let page = world.gateway.get("ada", &format!("{path}?{query}{cursor}")).await.expect(200);
            SENT.assert("CursorEnvelope", &page.json);
            page.data().iter().for_each(|row| SENT.assert(shape, row));
            match page.json["next_cursor"].as_str() {
                Some(token) => cursor = format!("&cursor={token}"),
                None => break,
            }
        }
        assert!(!cursor.is_empty(), "{} has one page only", operation.id());
    }
}

#[tokio::test]
async fn a_create_an_update_a_retrieve_and_the_list_show_the_same_record() {
    let world = World::new().await;
    for create in working().filter(|operation| operation.id().ends_with("_create")) {
        let (member, other) = (create.text_member(), "other");
        let collection = world.path(create);
        world.enter(create).await;
        let created = world.gateway.post("ada", &collection, world.body_for(create)).await.expect(201);
        let one = format!("{collection}{}/", created.text("id"));
        let got = world.gateway.get("ada", &one).await.expect(200);
        assert_eq!(created.json, got.json, "{}", create.id());
        let changed = world.gateway.patch("ada", &one, serde_json::json!({member: other})).await.expect(200);
        assert_eq!(changed.json[member], other);
        let mut expected = got.json.clone();
        expected[member] = other.into();
        if create.resource() == "work_item_comments" {
            assert!(changed.json["edited_at"].is_string() && got.json["edited_at"].is_null());
            expected["edited_at"] = changed.json["edited_at"].clone();
            expected["comment_stripped"] = other.into();
        }
        assert_eq!(changed.json, expected, "{}", create.id());
        let mut changed = changed.json;
        if create.resource() == "work_items" {
            assert_eq!(changed["custom_fields"], serde_json::json!({}));
            changed["custom_fields"] = Value::Null;
        }
        let rows = world.rows(&collection, None).await;
        let listed: Vec<&Value> = rows.iter().filter(|row| row["id"] == created.json["id"]).collect();
        assert_eq!(listed, [&changed], "{}", create.id());
        if !super::own::is_own(create) {
            assert_eq!(created.json["created_by_id"], "00000000-0000-4000-a000-000000000001");
        }
        world.gateway.delete("ada", &one).await.expect(204);
        for method in ["GET", "DELETE", "PATCH"] {
            let again = world.gateway.send(Some("ada"), method, &one, Some(&serde_json::json!({}))).await;
            world.problem(again, 404, "resource_not_found");
        }
    }
}
