//! Items that v1 stops showing keep their recorded values.

use super::Place;
use crate::work_items::world::{ITEMS, one};
use serde_json::{Value, json};
use uuid::Uuid;

async fn place() -> (Place, String) {
    let place = Place::with(&[("index.freshness", "0s"), ("index.sweep", "1ms")]).await;
    let task = place.enabled().await;
    place.new_property(task, json!({"display_name": "text", "property_type": "TEXT"})).await;
    let body = json!({"name": "n", "custom_fields": {"text": "kept"}});
    let made = place.gateway.post("ada", ITEMS, body).await.expect(201).text("id");
    (place, made)
}

#[tokio::test]
async fn an_item_archived_on_v1_returns_with_its_values() {
    let (place, made) = place().await;
    let through = one(&made).replace("/api/v2/", "/api/v1/");
    place.gateway.patch("bob", &through, json!({"archived_at": "2026-11-20"})).await.expect(200);
    for _ in 0..3 {
        place.gateway.get("ada", &format!("{ITEMS}?search=n")).await.expect(200);
        place.gateway.get("ada", &one(&made)).await.expect(404);
    }
    let recorded = place.store.project_items(super::web()).await.unwrap();
    let id: Uuid = made.parse().unwrap();
    assert!(recorded.missing.contains(&id) && recorded.knows(id));
    place.gateway.patch("bob", &through, json!({"archived_at": null})).await.expect(200);
    let read = place.gateway.get("ada", &one(&made)).await.expect(200);
    assert_eq!(read.json["custom_fields"]["text"]["value"], "kept");
    let recorded = place.store.project_items(super::web()).await.unwrap();
    assert!(!recorded.missing.contains(&id), "it is no longer missing");
}

#[tokio::test]
async fn archiving_tells_the_instant_and_keeps_the_values() {
    let (place, made) = place().await;
    let before = jiff::Timestamp::now();
    let path = format!("{}archive/", one(&made));
    let archived = place.gateway.post("ada", &path, json!({})).await.expect(200);
    let at: jiff::Timestamp = archived.text("archived_at").parse().unwrap();
    assert!(at >= before.round(jiff::Unit::Second).unwrap() - jiff::SignedDuration::from_secs(1));
    assert_ne!(archived.json["type_id"], Value::Null);
    place.gateway.get("ada", &one(&made)).await.expect(404);
    let recorded = place.store.project_items(super::web()).await.unwrap();
    let id: Uuid = made.parse().unwrap();
    assert!(recorded.archived.contains(&id) && !recorded.missing.contains(&id));
    place.gateway.post("ada", &format!("{}unarchive/", one(&made)), json!({})).await.expect(200);
    let read = place.gateway.get("ada", &one(&made)).await.expect(200);
    assert_eq!(read.json["custom_fields"]["text"]["value"], "kept");
    assert!(!place.store.project_items(super::web()).await.unwrap().archived.contains(&id));
}

#[tokio::test]
async fn a_delete_through_v2_takes_everything() {
    let (place, made) = place().await;
    place.gateway.delete("ada", &one(&made)).await.expect(204);
    let id: Uuid = made.parse().unwrap();
    assert!(!place.store.project_items(super::web()).await.unwrap().knows(id));
    assert!(place.store.values_of(id).await.unwrap().is_empty());
}
