//! The statements that reads cost at the store: none where nothing is recorded, one where something is. And the
//! statements that refused writes on the pass-through cost: none.

use crate::support::gateway::{Gateway, WEB};
use crate::support::pg_wire::PgWire;
use crate::support::postgres::Database;
use causeway::sandbox::Seed;
use serde_json::json;
use std::time::Duration;
use uuid::Uuid;

/// Requests of each kind that are counted together.
const READS: u64 = 100;
/// Statements that are not the reads': of leases, counts, upkeep, and of entries that a busy machine forgot.
const BESIDE: u64 = 30;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_takes_no_statement_or_one() {
    let database = Database::create().await;
    let wire = PgWire::before(&database.url()).await;
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &[("store.url", wire.url())]).await;
    let post = async |path: &str, body| gateway.post("ada", &format!("{WEB}/{path}"), body).await;
    let plain = post("work-items/", json!({"name": "plain"})).await.expect(201).text("id");
    post("work-item-types/enable/", json!({})).await.expect(200);
    let kind = post("work-item-types/", json!({"name": "Bug"})).await.expect(201).text("id");
    let property = json!({"display_name": "points", "property_type": "DECIMAL"});
    let property = post("work-item-properties/", property).await.expect(201).json;
    let attached = json!({"properties": [property["id"]]});
    post(&format!("work-item-types/{kind}/properties/"), attached).await.expect(201);
    let name = property["name"].as_str().expect("a name").to_owned();
    let typed = json!({"name": "typed", "type_id": kind, "custom_fields": {name: 3}});
    let typed = post("work-items/", typed).await.expect(201).text("id");

    let cases = [
        ("an item about which nothing is recorded", format!("{WEB}/work-items/{plain}/"), 0),
        ("an item with a type and a value", format!("{WEB}/work-items/{typed}/"), 1),
        ("a page of items with types", format!("{WEB}/work-items/?per_page=100"), 0),
        ("items of a type", format!("{WEB}/work-items/?type_id={kind}"), 0),
        ("a list of v1", format!("{WEB}/labels/"), 0),
        ("the types", format!("{WEB}/work-item-types/"), 0),
    ];
    for (what, path, most) in cases {
        gateway.get("ada", &path).await.expect(200);
        let before = wire.statements();
        for _ in 0..READS {
            gateway.get("ada", &path).await.expect(200);
        }
        let statements = wire.statements() - before;
        println!("{what}: {statements} statements for {READS} reads");
        assert!(statements <= most * READS + BESIDE, "{what}: {statements} statements for {READS} reads");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_on_the_pass_through_that_v1_refuses_takes_no_statement() {
    let database = Database::create().await;
    let wire = PgWire::before(&database.url()).await;
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &[("store.url", wire.url())]).await;
    let before = wire.statements();
    for number in 0..READS {
        let project = Uuid::from_u128(number.into());
        let path = format!("/api/v1/workspaces/nosuch/projects/{project}/");
        gateway.send(None, "DELETE", &path, None).await.expect(401);
    }
    // By then the work that v1 does in the background would be announced.
    tokio::time::sleep(Duration::from_millis(2500)).await;
    let statements = wire.statements() - before;
    assert!(statements < READS, "{statements} statements for {READS} refused writes");
}
