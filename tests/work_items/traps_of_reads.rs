//! Traps of v1 in reading work items, by number.

use crate::world::{ARCHIVED, id, new_item, one, recorded};
use serde_json::{Value, json};

#[tokio::test]
async fn trap_49_an_expansion_never_replaces_an_id_and_null_stays_null() {
    let gateway = recorded().await;
    let read = gateway.get("ada", &format!("{}?expand=state,parent,type", one(&id('e', 1)))).await.expect(200);
    assert_eq!(read.json["state_id"], json!(id('d', 101)));
    assert_eq!(read.json["state"]["id"], json!(id('d', 101)));
    assert_eq!((&read.json["parent"], &read.json["type"]), (&Value::Null, &Value::Null));
}

#[tokio::test]
async fn trap_50_a_parent_has_its_name() {
    let gateway = recorded().await;
    let child = new_item(&gateway, json!({"name": "c", "parent_id": id('e', 1)})).await;
    let read = gateway.get("ada", &format!("{}?expand=parent", one(&child.text("id")))).await.expect(200);
    assert_eq!(read.json["parent"], json!({"id": id('e', 1), "name": "First", "sequence_id": 1}));
}

#[tokio::test]
async fn trap_53_writes_do_not_reach_what_reads_hide() {
    let gateway = recorded().await;
    let before =
        gateway.patch("ada", &format!("{ARCHIVED}{}/", id('e', 12)).replace("/v2/", "/v1/"), json!({})).await;
    for number in [12, 13, 14, 16] {
        let item = format!("{ARCHIVED}{}/", id('e', number));
        gateway.patch("ada", &item, json!({"name": "reached"})).await.expect_problem(404, "resource_not_found");
        gateway.delete("ada", &item).await.expect_problem(404, "resource_not_found");
        let archive = format!("{item}archive/");
        gateway.post("ada", &archive, json!({})).await.expect_problem(404, "resource_not_found");
    }
    let after =
        gateway.patch("ada", &format!("{ARCHIVED}{}/", id('e', 12)).replace("/v2/", "/v1/"), json!({})).await;
    assert_eq!(
        (&before.json["name"], &before.json["archived_at"]),
        (&after.json["name"], &after.json["archived_at"])
    );
}

#[tokio::test]
async fn trap_54_the_form_of_a_key_is_checked_before_v1_is_asked() {
    let gateway = recorded().await;
    let key = |key: &str| format!("/api/v2/workspaces/acme/work-items/{key}/");
    gateway.get("ada", &key("web-1")).await.expect(200);
    gateway.sandbox().clear_journal();
    for lax in
        ["WEB-001", "WEB-+1", "WEB-abc", "WEB-1.0", "WEB-%D9%A1", "WEB--1", "A-B-1", "WEB-0", "WEB-99999999999"]
    {
        gateway.get("ada", &key(lax)).await.expect_problem(404, "resource_not_found");
    }
    assert!(crate::world::steps(&gateway).is_empty(), "{:?}", crate::world::steps(&gateway));
}
