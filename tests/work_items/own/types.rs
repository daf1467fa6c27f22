//! Types: defaults, names, filters, expansion, and deletes that they guard.

use super::{Place, members, web, workspace};
use crate::work_items::world::{ITEMS, id, one};
use serde_json::{Value, json};
use uuid::Uuid;

#[tokio::test]
async fn types_are_off_until_the_project_has_one() {
    let place = Place::new().await;
    let gateway = &place.gateway;
    let made = gateway.post("ada", ITEMS, json!({"name": "n"})).await.expect(201);
    assert_eq!((&made.json["type_id"], &made.json["custom_fields"]), (&Value::Null, &json!({})));
    for body in [json!({"name": "n", "type_id": id('f', 1)}), json!({"name": "n", "type": "Bug"})] {
        gateway.post("ada", ITEMS, body).await.expect_problem(400, "validation_error");
    }
    let refused = gateway.post("ada", ITEMS, json!({"name": "n", "custom_fields": {"a": 1}})).await.expect(400);
    assert_eq!(refused.error_fields(), ["custom_fields"]);
}

#[tokio::test]
async fn a_type_shows_in_every_read_shape() {
    let place = Place::new().await;
    let gateway = &place.gateway;
    let (task, bug) = (place.enabled().await, place.new_type("Bug").await);
    let made = gateway.post("ada", ITEMS, json!({"name": "a"})).await.expect(201);
    assert_eq!(made.json["type_id"], json!(task));
    let untyped = gateway.post("ada", ITEMS, json!({"name": "b", "type_id": null})).await.expect(201);
    assert_eq!(untyped.json["type_id"], Value::Null);
    let named = gateway.post("ada", &format!("{ITEMS}?expand=type"), json!({"name": "c", "type": " bUG "})).await;
    let icon = json!({"in_use": "icon", "icon": {"name": "Check", "background_color": "#119988"}});
    let leaf = json!({"id": bug, "name": "Bug", "logo_props": icon, "is_epic": false});
    assert_eq!(named.expect(201).json["type"], leaf);
    let path = one(&made.text("id"));
    let before = place.sandbox.journal().iter().filter(|entry| entry.method == "PATCH").count();
    assert_eq!(gateway.patch("ada", &path, json!({"type": "Bug"})).await.expect(200).json["type_id"], json!(bug));
    let after = place.sandbox.journal().iter().filter(|entry| entry.method == "PATCH").count();
    assert_eq!(before, after, "v1 is not written to for a type");
    assert_eq!(gateway.get("ada", &path).await.expect(200).json["type_id"], json!(bug));
    let key = format!("/api/v2/workspaces/acme/work-items/{}/?expand=type", made.text("identifier"));
    assert_eq!(gateway.get("ada", &key).await.expect(200).json["type"], leaf);
    for (query, names) in [
        (format!("type_id={bug}"), json!(["c", "a"])),
        (format!("type_id={task}"), json!([])),
        (format!("type_id__in={bug},{task}&expand=type"), json!(["c", "a"])),
        ("per_page=3&expand=type".to_owned(), json!(["c", "b", "a"])),
    ] {
        let list = gateway.get("ada", &format!("{ITEMS}?{query}")).await.expect(200);
        assert_eq!(Value::Array(list.column("name")), names, "{query}");
        for row in list.data() {
            let expected = if row["name"] == "b" { Value::Null } else { json!(bug) };
            assert_eq!(row["type_id"], expected, "{query}");
        }
    }
    for verb in ["archive", "unarchive"] {
        let answer = gateway.post("ada", &format!("{path}{verb}/?expand=type"), json!({})).await.expect(200);
        assert_eq!((&answer.json["type_id"], &answer.json["type"]), (&json!(bug), &leaf), "{verb}");
    }
    let cleared = gateway.patch("ada", &path, json!({"type_id": null})).await.expect(200);
    assert_eq!(cleared.json["type_id"], Value::Null);
}

#[tokio::test]
async fn only_active_types_of_the_project_can_be_chosen() {
    let place = Place::new().await;
    let gateway = &place.gateway;
    let (task, bug) = (place.enabled().await, place.new_type("Bug").await);
    let other = members(json!({"name": "Elsewhere"}));
    let elsewhere: Uuid = id('c', 3).parse().unwrap();
    let foreign = place.edit(|edit| edit.create_type(Some(elsewhere), &other)).await.unwrap();
    let kept = gateway.post("ada", ITEMS, json!({"name": "n", "type_id": bug})).await.expect(201);
    let off = members(json!({"is_active": false}));
    place.edit(|edit| edit.update_type(bug, &off)).await.unwrap();
    place.new_type("task").await;
    for (body, field) in [
        (json!({"name": "n", "type_id": bug}), "type_id"),
        (json!({"name": "n", "type_id": foreign}), "type_id"),
        (json!({"name": "n", "type": "Bug"}), "type"),
        (json!({"name": "n", "type": "Task"}), "type"),
        (json!({"name": "n", "type": "Elsewhere"}), "type"),
    ] {
        let refused = gateway.post("ada", ITEMS, body.clone()).await.expect(400);
        assert_eq!(refused.error_fields(), [field], "{body}");
    }
    // The present type of the item may be sent again.
    let path = one(&kept.text("id"));
    gateway.patch("ada", &path, json!({"type_id": bug, "name": "m"})).await.expect(200);
    let list = gateway.get("ada", &format!("{ITEMS}?type_id={bug}")).await.expect(200);
    assert_eq!(list.column("name"), [json!("m")]);
    assert_eq!(gateway.post("ada", ITEMS, json!({"name": "d"})).await.expect(201).json["type_id"], json!(task));
}

#[tokio::test]
async fn a_type_in_use_cannot_be_deleted() {
    let place = Place::new().await;
    place.enabled().await;
    let bug = place.new_type("Bug").await;
    let made = place.gateway.post("ada", ITEMS, json!({"name": "n", "type_id": bug})).await.expect(201);
    assert_eq!(place.edit(|edit| edit.delete_type(bug)).await.unwrap_err().status(), 409);
    place.gateway.delete("ada", &one(&made.text("id"))).await.expect(204);
    place.edit(|edit| edit.delete_type(bug)).await.unwrap();
    let catalogue = place.store.catalogue(workspace()).await.unwrap();
    assert!(!catalogue.types_on_project(web()).iter().any(|kind| kind.id == bug));
}
