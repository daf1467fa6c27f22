//! Every success has the shape the contract gives it, closed records and envelopes included.

use super::catalogue::{lists, working};
use super::world::{World, body_for};
use serde_json::Value;

#[tokio::test]
async fn every_success_has_the_declared_status_and_shape() {
    let world = World::new().await;
    world.crowd(4);
    // Deletes last, so that the others have something to work on.
    let deletes_last = |method: &str| usize::from(method == "DELETE");
    let mut operations: Vec<_> = working().collect();
    operations.sort_by_key(|operation| deletes_last(operation.method()));
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
            world.shapes.assert("OffsetEnvelope", &answer.json);
            assert!(!answer.data().is_empty(), "{}", operation.id());
            answer.data().iter().for_each(|row| world.shapes.assert(shape, row));
        } else {
            world.shapes.assert(shape, &answer.json);
        }
    }
}

#[tokio::test]
async fn cursor_envelopes_and_expanded_rows_have_their_shape_too() {
    let world = World::new().await;
    world.crowd(4);
    for operation in lists() {
        let shape = operation.text("response");
        let mut query = "paginate=cursor&order_by=id&per_page=2".to_owned();
        if operation.0["expand"].as_array().is_some_and(|expand| !expand.is_empty()) {
            query.push_str("&expand=member");
        }
        let path = world.path(operation);
        let mut cursor = String::new();
        loop {
            let page = world.gateway.get("ada", &format!("{path}?{query}{cursor}")).await.expect(200);
            world.shapes.assert("CursorEnvelope", &page.json);
            page.data().iter().for_each(|row| world.shapes.assert(shape, row));
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
    for create in working().filter(|operation| operation.method() == "POST") {
        let collection = world.path(create);
        let created = world.gateway.post("ada", &collection, body_for(create)).await.expect(201);
        let one = format!("{collection}{}/", created.text("id"));
        let got = world.gateway.get("ada", &one).await.expect(200);
        assert_eq!(created.json, got.json, "{}", create.id());
        let changed =
            world.gateway.patch("ada", &one, serde_json::json!({"description": "other"})).await.expect(200);
        assert_eq!(changed.json["description"], "other");
        let mut expected = got.json.clone();
        expected["description"] = "other".into();
        assert_eq!(changed.json, expected, "{}", create.id());
        let rows = world.rows(&collection, None).await;
        let listed: Vec<&Value> = rows.iter().filter(|row| row["id"] == created.json["id"]).collect();
        assert_eq!(listed, [&changed.json], "{}", create.id());
        assert_eq!(created.json["created_by_id"], "00000000-0000-4000-a000-000000000001");
        world.gateway.delete("ada", &one).await.expect(204);
        for method in ["GET", "DELETE", "PATCH"] {
            let again = world.gateway.send(Some("ada"), method, &one, Some(&serde_json::json!({}))).await;
            world.problem(again, 404, "resource_not_found");
        }
    }
}
