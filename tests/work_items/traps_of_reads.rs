//! Traps of v1 in reading work items, by number.

use crate::support::gateway::Gateway;
use crate::support::past_gateway::{ask_v1, in_web};
use crate::work_items::world::{ARCHIVED, ITEMS, V1_WEB, id, new_item, one, recorded};
use serde_json::{Value, json};

const PROJECTS: &str = "/api/v1/workspaces/acme/projects/";

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
    assert!(
        crate::work_items::world::steps(&gateway).is_empty(),
        "{:?}",
        crate::work_items::world::steps(&gateway)
    );
}

/// Creates two live items of `WEB` with one number, which v1 allows (`items_patch_sequence_id_accepted`).
async fn doubled() -> (Gateway, String, String) {
    let gateway = recorded().await;
    let (first, second) = (id('e', 1), new_item(&gateway, json!({"name": "twin"})).await.text("id"));
    gateway.patch("ada", &format!("{V1_WEB}work-items/{second}/"), json!({"sequence_id": 1})).await.expect(200);
    (gateway, first, second)
}

#[tokio::test]
async fn trap_18_a_key_that_two_items_have_shows_the_older() {
    let (gateway, first, second) = doubled().await;
    let path = "/api/v2/workspaces/acme/work-items/WEB-1/";
    let v1 = gateway.get("ada", &path.replace("/v2/", "/v1/")).await;
    assert_eq!(v1.status, 500, "as recorded");
    for warm in [false, true] {
        let answer = gateway.get("ada", path).await.expect(200);
        assert_eq!((answer.text("id"), answer.text("identifier")), (first.clone(), "WEB-1".to_owned()));
        // The list still shows both.
        let list = gateway.get("ada", &format!("{ITEMS}?sequence_id=1")).await.expect(200);
        assert_eq!(list.data().len(), 2, "{warm}");
    }
    // As a reference the key means neither item.
    let body = json!({"name": "child", "parent": "WEB-1"});
    let refused = gateway.post("ada", ITEMS, body).await.expect_problem(400, "validation_error");
    assert_eq!(refused.error_fields(), ["parent"]);
    // A caller without access to the project learns nothing.
    gateway.get("eve", path).await.expect_problem(404, "resource_not_found");
    // When only one of them is live, the key is unique again.
    gateway.delete("ada", &one(&second)).await.expect(204);
    assert_eq!(gateway.get("ada", path).await.expect(200).text("id"), first);
}

#[tokio::test]
async fn trap_18_a_doubled_pair_is_looked_up_in_the_index() {
    let gateway = recorded().await;
    let pair = json!({"name": "one", "external_id": "x-1", "external_source": "gh"});
    let one = new_item(&gateway, pair).await.text("id");
    let other = new_item(&gateway, json!({"name": "two", "external_id": "x-1"})).await.text("id");
    // v1 does not check for a taken pair when only its source changes (trap 38).
    let source = json!({"external_source": "gh"});
    gateway.patch("ada", &format!("{V1_WEB}work-items/{other}/"), source).await.expect(200);
    let found = gateway.get("ada", &format!("{ITEMS}?external_id=x-1&external_source=gh")).await.expect(200);
    let mut ids: Vec<String> = found.column("id").iter().filter_map(|id| id.as_str().map(str::to_owned)).collect();
    ids.sort();
    let mut wanted = vec![one, other];
    wanted.sort();
    assert_eq!(ids, wanted);
}

/// Moves the identifier `WEB` to a new project past the gateway, which still has the older card and list of projects.
/// The number 1 of the new project has two items. Returns the first of them.
fn key_given_away(gateway: &Gateway) -> String {
    let at_v1 = |method: &str, path: &str, body: Value| {
        let (status, answer) = ask_v1(gateway.sandbox(), "ada", method, &format!("{PROJECTS}{path}"), &body);
        assert!((200..300).contains(&status), "{path}: {answer}");
        answer["id"].as_str().expect("an id").to_owned()
    };
    in_web(gateway.sandbox(), "PATCH", "", &json!({"identifier": "OLD"}));
    let other = at_v1("POST", "", json!({"name": "Other", "identifier": "WEB"}));
    let items = format!("{other}/work-items/");
    let first = at_v1("POST", &items, json!({"name": "of the other"}));
    let second = at_v1("POST", &items, json!({"name": "twin"}));
    at_v1("PATCH", &format!("{items}{second}/"), json!({"sequence_id": 1}));
    first
}

/// v1 does not say whose the key is when it fails, and what is kept is from before.
#[tokio::test]
async fn trap_18_a_key_that_went_to_another_project_shows_an_item_of_that_one() {
    for met in [true, false] {
        let gateway = recorded().await;
        let other = new_item(&gateway, json!({"name": "another"})).await.text("identifier");
        if met {
            // The project is known by its identifier then, and no answer about the key itself is kept.
            gateway.get("ada", &format!("/api/v2/workspaces/acme/work-items/{other}/")).await.expect(200);
        }
        let first = key_given_away(&gateway);
        let read = gateway.get("ada", "/api/v2/workspaces/acme/work-items/WEB-1/").await.expect(200);
        assert_eq!((read.text("id"), read.text("identifier")), (first, "WEB-1".to_owned()), "{met}");
    }
}

/// The project of the call has one item with the number, which is not the one that the key names.
#[tokio::test]
async fn trap_18_a_reference_by_a_key_that_went_to_another_project_names_nothing() {
    let gateway = recorded().await;
    gateway.get("ada", ITEMS).await.expect(200);
    key_given_away(&gateway);
    let body = json!({"name": "child", "parent": "WEB-1"});
    let refused = gateway.post("ada", ITEMS, body).await.expect_problem(400, "validation_error");
    assert_eq!(refused.error_fields(), ["parent"]);
}
