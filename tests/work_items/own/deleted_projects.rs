//! The remaining data of a project, or of a work item, that was deleted at v1 through the pass-through.

use super::Place;
use crate::support::gateway::Gateway;
use crate::work_items::world::ITEMS;
use serde_json::json;
use sqlx::{Connection, SqliteConnection};
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

const ACME: &str = "/api/v2/workspaces/acme";
const PROJECTS: &str = "/api/v1/workspaces/acme/projects/";

/// Creates a project for deletion.
async fn new_project(gateway: &Gateway) -> String {
    gateway.post("ada", PROJECTS, json!({"name": "Short", "identifier": "SHORT"})).await.expect(201).text("id")
}

#[tokio::test]
async fn contexts_forget_it_and_what_its_items_had_can_be_swept() {
    let place = Place::new().await;
    let gateway = &place.gateway;
    let on = json!({"is_work_item_types_enabled": true});
    gateway.patch("ada", &format!("{ACME}/features/"), on).await.expect(200);
    let types = gateway.get("ada", &format!("{ACME}/work-item-types/")).await.expect(200);
    let task = types.data()[0]["id"].clone();
    let (short, web) = (new_project(gateway).await, super::web());
    let import = format!("{ACME}/projects/{short}/work-item-types/import/");
    gateway.post("ada", &import, json!({"work_item_types": [task]})).await.expect(200);
    let items = format!("{ACME}/projects/{short}/work-items/");
    let item = gateway.post("ada", &items, json!({"name": "n"})).await.expect(201);
    assert_eq!(item.json["type_id"], task);
    let property = json!({"display_name": "Risk", "property_type": "TEXT"});
    let property = gateway.post("ada", &format!("{ACME}/work-item-properties/"), property).await.expect(201);
    let contexts = format!("{ACME}/work-item-properties/{}/contexts/", property.text("id"));
    let only = json!({"name": "Only", "project_ids": [short], "applies_to_all_work_item_types": true});
    let only = gateway.post("ada", &contexts, only).await.expect(201).text("id");
    let both = json!({"name": "Both", "project_ids": [short, web], "issue_type_ids": [task]});
    let both = gateway.post("ada", &contexts, both).await.expect(201).text("id");

    // Archiving and unarchiving, the latter a DELETE too, delete nothing.
    let project = format!("{PROJECTS}{short}/");
    gateway.post("ada", &format!("{project}archive/"), json!({})).await.expect(204);
    gateway.delete("ada", &format!("{project}archive/")).await.expect(204);
    gateway.delete("bob", &project).await.expect(403);
    gateway.get("ada", &format!("{contexts}{only}/")).await.expect(200);

    gateway.delete("ada", &project).await.expect(204);
    gateway.get("ada", &format!("{contexts}{only}/")).await.expect_problem(404, "resource_not_found");
    let both = gateway.get("ada", &format!("{contexts}{both}/")).await.expect(200);
    assert_eq!(both.json["project_ids"], json!([web]));
    let log = format!("{ACME}/audit-logs/?target_type=work_item_property_context&per_page=2");
    let log = gateway.get("ada", &log).await.expect(200);
    let events = log.column("event_name");
    assert!(events.contains(&json!("work_item_property_context.deleted")), "{events:?}");
    assert!(events.contains(&json!("work_item_property_context.updated")), "{events:?}");
    let types = gateway.get("ada", &format!("{ACME}/audit-logs/?target_type=work_item_type")).await.expect(200);
    let imports = types.column("event_name").iter().filter(|name| *name == "work_item_type.imported").count();
    assert_eq!(imports, 1, "an import that is gone is none");
    assert!(log.data().iter().all(|entry| entry["actor_type"] == "system"
        && entry["source"] == "system"
        && entry["actor_id"].is_null()));
    assert_eq!(place.store.missing_items().await.expect("a count"), 1);
}

#[tokio::test]
async fn definitions_of_a_deleted_project_are_deleted_with_it() {
    let place = Place::new().await;
    let gateway = &place.gateway;
    let short = new_project(gateway).await;
    let own = format!("{ACME}/projects/{short}");
    let bug = gateway.post("ada", &format!("{own}/work-item-types/"), json!({"name": "Bug"})).await.expect(201);
    let risk = json!({"display_name": "Risk", "property_type": "OPTION", "options": [{"name": "High"}]});
    let risk = gateway.post("ada", &format!("{own}/work-item-properties/"), risk).await.expect(201);
    let attached = format!("{own}/work-item-types/{}/properties/", bug.text("id"));
    gateway.post("ada", &attached, json!({"properties": [risk.json["id"]]})).await.expect(201);
    let kept = place.store.catalogue(super::workspace()).await.expect("definitions");
    assert_eq!((kept.types.len(), kept.properties.len(), kept.options.len(), kept.attachments.len()), (1, 1, 1, 1));
    gateway.delete("ada", &format!("{PROJECTS}{short}/")).await.expect(204);
    let kept = place.store.catalogue(super::workspace()).await.expect("definitions");
    assert_eq!((kept.types.len(), kept.properties.len(), kept.options.len(), kept.attachments.len()), (0, 0, 0, 0));
    let log = gateway.get("ada", &format!("{ACME}/audit-logs/?target_type=work_item_type")).await.expect(200);
    assert_eq!(
        (&log.data()[0]["event_name"], &log.data()[0]["source"]),
        (&json!("work_item_type.deleted"), &json!("system"))
    );
}

#[tokio::test]
async fn its_end_is_noted_when_the_client_of_the_delete_leaves_before_v1_answers() {
    let place = Place::new().await;
    let gateway = &place.gateway;
    let short = new_project(gateway).await;
    let types = format!("{ACME}/projects/{short}/work-item-types/");
    gateway.post("ada", &types, json!({"name": "Bug"})).await.expect(201);
    place.wire.hold("DELETE");
    let address = gateway.base().trim_start_matches("http://");
    let mut client = TcpStream::connect(address).await.expect("a connection");
    let head = format!("DELETE {PROJECTS}{short}/ HTTP/1.1\r\nHost: x\r\nX-Api-Key: ada\r\n\r\n");
    client.write_all(head.as_bytes()).await.expect("sent");
    place.wire.held().await;
    drop(client);
    // The gateway sees within this time that the client has left.
    tokio::time::sleep(Duration::from_millis(300)).await;
    place.wire.let_go();
    let begun = Instant::now();
    while !place.store.catalogue(super::workspace()).await.expect("definitions").types.is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "nobody has seen v1's answer");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn its_end_is_noted_later_when_the_store_cannot_be_written() {
    let place = Place::new().await;
    let gateway = &place.gateway;
    let short = new_project(gateway).await;
    let types = format!("{ACME}/projects/{short}/work-item-types/");
    gateway.post("ada", &types, json!({"name": "Bug"})).await.expect(201);
    let mut writer = SqliteConnection::connect(&place.url).await.expect("the store");
    sqlx::query("BEGIN IMMEDIATE").execute(&mut writer).await.expect("the only writer");
    gateway.delete("ada", &format!("{PROJECTS}{short}/")).await.expect(204);
    let kept = async || place.store.catalogue(super::workspace()).await.expect("definitions").types.len();
    assert_eq!(kept().await, 1);
    sqlx::query("ROLLBACK").execute(&mut writer).await.expect("rolled back");
    let begun = Instant::now();
    while kept().await > 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "nobody tried again");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn a_type_stays_in_use_until_what_is_kept_of_a_deleted_work_item_is_swept() {
    let place = Place::new().await;
    let gateway = &place.gateway;
    place.enabled().await;
    let bug = place.new_type("Bug").await;
    let item = gateway.post("ada", ITEMS, json!({"name": "n", "type_id": bug})).await.expect(201).text("id");
    gateway.delete("ada", &format!("{PROJECTS}{}/work-items/{item}/", super::web())).await.expect(204);
    let kind = format!("{ACME}/projects/{}/work-item-types/{bug}/", super::web());
    let refused = gateway.delete("ada", &kind).await.expect_problem(409, "conflict");
    assert!(refused.text("detail").starts_with("0 work items have this type, and 1 more"), "{}", refused.json);
    assert_eq!(place.store.missing_items().await.expect("a count"), 1);
    place.store.sweep(Duration::ZERO).await.expect("swept");
    gateway.delete("ada", &kind).await.expect(204);
}
