//! States that v1 shows on work items but lists nowhere, and work items without a state.
//!
//! v1's flag `is_triage` hides a state from its list (trap 37), but not the items in it; and v1, when it closes old
//! items itself, takes a state of another project where the project names none.

use crate::support::gateway::Gateway;
use crate::work_items::world::{ITEMS, V1_WEB, at_v1, id, new_item, one, recorded, steps};
use serde_json::{Value, json};

/// Creates a work item whose state v1 no longer lists, and returns both.
async fn in_unlisted_state(gateway: &Gateway) -> (String, String) {
    let body = json!({"name": "Parked", "color": "#123456", "group": "cancelled"});
    let state = gateway.post("ada", &format!("{V1_WEB}states/"), body).await.expect(200).text("id");
    let body = json!({"name": "parked", "state_id": state, "external_id": "p 1", "external_source": "gh"});
    let item = new_item(gateway, body).await.text("id");
    let hidden = json!({"is_triage": true});
    gateway.patch("ada", &format!("{V1_WEB}states/{state}/"), hidden).await.expect(200);
    let states = gateway.get("ada", &format!("{}states/", ITEMS.trim_end_matches("work-items/"))).await.expect(200);
    assert!(states.data().iter().all(|listed| listed["id"] != state));
    (item, state)
}

#[tokio::test]
async fn it_expands_to_what_v1_shows_of_it() {
    let gateway = recorded().await;
    let (item, state) = in_unlisted_state(&gateway).await;
    let leaf = json!({"id": state, "name": "Parked", "color": "#123456", "group": "cancelled"});
    let read = gateway.get("ada", &format!("{}?expand=state", one(&item))).await.expect(200);
    assert_eq!((&read.json["state_id"], &read.json["state"]), (&json!(state), &leaf));
    let list = format!("{ITEMS}?expand=state&search=parked");
    assert_eq!(gateway.get("ada", &list).await.expect(200).data()[0]["state"], leaf);
    gateway.sandbox().clear_journal();
    assert_eq!(gateway.get("ada", &list).await.expect(200).data()[0]["state"], leaf);
    assert!(steps(&gateway).is_empty(), "it is kept as long as the states are");
}

#[tokio::test]
async fn its_group_is_filtered_and_ordered_by() {
    let gateway = recorded().await;
    let (item, _) = in_unlisted_state(&gateway).await;
    let cancelled = gateway.get("ada", &format!("{ITEMS}?state_group=cancelled")).await.expect(200);
    assert_eq!(cancelled.column("id"), std::slice::from_ref(&item));
    let begun = gateway.get("ada", &format!("{ITEMS}?state_group__in=backlog,started")).await.expect(200);
    assert!(!begun.column("id").contains(&json!(item)));
    let ordered = gateway.get("ada", &format!("{ITEMS}?order_by=-state_group")).await.expect(200);
    assert_eq!(ordered.column("id").first(), Some(&json!(item)));
}

#[tokio::test]
async fn an_external_pair_finds_the_item() {
    let gateway = recorded().await;
    let (item, _) = in_unlisted_state(&gateway).await;
    let found = gateway.get("ada", &format!("{ITEMS}?external_id=p+1&external_source=gh")).await.expect(200);
    assert_eq!(found.column("id"), [item]);
}

#[tokio::test]
async fn the_item_is_archived_and_brought_back() {
    let gateway = recorded().await;
    let (item, state) = in_unlisted_state(&gateway).await;
    gateway.post("ada", &format!("{}archive/", one(&item)), json!({})).await.expect(200);
    let back = gateway.post("ada", &format!("{}unarchive/", one(&item)), json!({})).await.expect(200);
    assert_eq!((&back.json["archived_at"], &back.json["state_id"]), (&Value::Null, &json!(state)));
    gateway.get("ada", &one(&item)).await.expect(200);
}

/// v1 hides an archived item, and with it the only place where it shows such a state.
#[tokio::test]
async fn the_answer_to_its_archiving_expands_it() {
    let gateway = recorded().await;
    let (item, state) = in_unlisted_state(&gateway).await;
    let archive = format!("{}archive/?expand=state", one(&item));
    let leaf = json!({"id": state, "name": "Parked", "color": "#123456", "group": "cancelled"});
    gateway.sandbox().clear_journal();
    assert_eq!(gateway.post("ada", &archive, json!({})).await.expect(200).json["state"], leaf);
    let asked = steps(&gateway);
    assert_eq!(asked.iter().filter(|step| *step != "GET states").collect::<Vec<_>>().len(), 3, "{asked:?}");
    let unarchive = format!("{}unarchive/?expand=state", one(&item));
    assert_eq!(gateway.post("ada", &unarchive, json!({})).await.expect(200).json["state"], leaf);
}

/// v1 accepts it again, unless it belongs to another project; and it is no change.
#[tokio::test]
async fn an_update_may_repeat_it() {
    let gateway = recorded().await;
    let (item, state) = in_unlisted_state(&gateway).await;
    let body = json!({"state_id": state, "name": "still parked"});
    let update = gateway.patch("ada", &one(&item), body.clone()).await.expect(200);
    assert_eq!((update.text("name"), update.text("state_id")), ("still parked".to_owned(), state.clone()));
    // The index row has the item's state, and v1 is asked whether it still has it.
    gateway.get("ada", &format!("{ITEMS}?search=parked")).await.expect(200);
    gateway.sandbox().clear_journal();
    gateway.patch("ada", &one(&item), body).await.expect(200);
    let asked = steps(&gateway);
    assert!(
        asked.contains(&"GET work-items".to_owned()) && !asked.contains(&"PATCH work-items".to_owned()),
        "{asked:?}"
    );
    let elsewhere = json!({"state_id": state});
    gateway.patch("ada", &one(&id('e', 1)), elsewhere.clone()).await.expect_problem(400, "validation_error");
    gateway.patch("ada", &one(&item), json!({"state_id": id('d', 103)})).await.expect(200);
    gateway.patch("ada", &one(&item), elsewhere).await.expect_problem(400, "validation_error");
}

/// A state shown by `expand` may be sent back, but no other item can be moved to it.
#[tokio::test]
async fn an_update_may_repeat_its_name() {
    let gateway = recorded().await;
    let (item, state) = in_unlisted_state(&gateway).await;
    let body = json!({"state": " parkED", "name": "still parked"});
    let update = gateway.patch("ada", &one(&item), body).await.expect(200);
    assert_eq!((update.text("name"), update.text("state_id")), ("still parked".to_owned(), state));
    let refused = gateway.patch("ada", &one(&item), json!({"state": "Park"})).await;
    assert_eq!(refused.expect_problem(400, "validation_error").error_fields(), ["state"]);
    let elsewhere = gateway.patch("ada", &one(&id('e', 1)), json!({"state": "Parked"})).await;
    assert_eq!(elsewhere.expect_problem(400, "validation_error").error_fields(), ["state"]);
    let new = gateway.post("ada", ITEMS, json!({"name": "n", "state": "Parked"})).await;
    assert_eq!(new.expect_problem(400, "validation_error").error_fields(), ["state"]);
}

/// v1 gives a new item no state when the project has none.
#[tokio::test]
async fn an_item_without_a_state_is_shown_with_the_nil_id() {
    let gateway = recorded().await;
    let listed = gateway.get("ada", &format!("{V1_WEB}states/")).await.expect(200);
    let states: Vec<String> =
        listed.json["results"].as_array().unwrap().iter().map(|s| s["id"].to_string()).collect();
    for state in states.iter().map(|id| id.trim_matches('"')) {
        let free = json!({"is_triage": true, "default": false});
        gateway.patch("ada", &format!("{V1_WEB}states/{state}/"), free).await.expect(200);
    }
    let made = new_item(&gateway, json!({"name": "stateless"})).await;
    let nil = "00000000-0000-0000-0000-000000000000";
    assert_eq!(made.text("state_id"), nil);
    assert_eq!(at_v1(&gateway, &made.text("id")).await["state"], Value::Null);
    for query in ["", "?search=stateless", "?order_by=state_group"] {
        let listed = gateway.get("ada", &format!("{ITEMS}{query}")).await.expect(200);
        let row = listed.data().iter().find(|row| row["id"] == made.json["id"]).cloned();
        assert_eq!(row.map(|row| row["state_id"].clone()), Some(json!(nil)), "{query}");
    }
    let repeated = json!({"name": "s", "state_id": nil});
    let renamed = gateway.patch("ada", &one(&made.text("id")), repeated).await.expect(200);
    assert_eq!(renamed.text("name"), "s");
}
