//! Retrieve and look-up by human key.

use crate::support::gateway::{Gateway, serve_sandbox};
use crate::support::past_gateway::{ask_v1, in_web};
use crate::work_items::world::{ARCHIVED, ITEMS, id, new_item, one, recorded};
use causeway::sandbox::{Config, Sandbox, Seed};
use serde_json::{Value, json};

/// Projects at v1.
const PROJECTS: &str = "/api/v1/workspaces/acme/projects/";

fn key(key: &str) -> String {
    format!("/api/v2/workspaces/acme/work-items/{key}/")
}

#[tokio::test]
async fn an_item_has_the_read_shape_and_nothing_more() {
    let gateway = recorded().await;
    let made = new_item(
        &gateway,
        json!({"name": "Full", "description_html": "<p>x</p>", "external_id": "1", "external_source": "gh"}),
    )
    .await;
    let read = gateway.get("bob", &one(&made.text("id"))).await.expect(200);
    assert_eq!(read.json, made.json);
    let keys: Vec<&str> = read.json.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        keys.join(" "),
        "id name identifier sequence_id priority state_id type_id assignee_ids label_ids parent_id start_date \
         target_date is_draft archived_at created_at created_by_id custom_fields"
    );
    assert_eq!(read.json["custom_fields"], json!({}));
    assert_eq!(read.text("identifier"), format!("WEB-{}", read.json["sequence_id"]));
    assert_eq!(gateway.get("gil", &one(&made.text("id"))).await.expect(200).json, made.json);
}

#[tokio::test]
async fn invisible_items_are_404() {
    let gateway = recorded().await;
    for number in [12, 13, 14, 16, 99] {
        let path = format!("{ARCHIVED}{}/", id('e', number));
        gateway.get("ada", &path).await.expect_problem(404, "resource_not_found");
    }
    for elsewhere in [2, 5, 11] {
        gateway.get("ada", &one(&id('e', elsewhere))).await.expect_problem(404, "resource_not_found");
    }
    gateway.get("eve", &one(&id('e', 1))).await.expect_problem(404, "resource_not_found");
    gateway.get("mel", &one(&id('e', 1))).await.expect_problem(403, "forbidden");
    gateway.get("ada", &format!("{ITEMS}WEB-1/")).await.expect_problem(404, "resource_not_found");
    let malformed = gateway.get("ada", &format!("{ITEMS}seven/")).await.expect_problem(400, "validation_error");
    assert_eq!(malformed.error_fields(), ["pk"]);
    gateway
        .get("ada", &format!("{}?expand=cycle", one(&id('e', 99))))
        .await
        .expect_problem(404, "resource_not_found");
    let unknown = gateway.get("ada", &format!("{}?expand=cycle,state", one(&id('e', 1)))).await.expect(400);
    assert_eq!(unknown.error_fields(), ["expand"]);
}

#[tokio::test]
async fn a_key_finds_what_its_id_finds() {
    let gateway = recorded().await;
    let read = gateway.get("ada", &one(&id('e', 1))).await.expect(200);
    for form in ["WEB-1", "web-1", "Web-1"] {
        assert_eq!(gateway.get("ada", &key(form)).await.expect(200).json, read.json, "{form}");
    }
    assert_eq!(gateway.get("gil", &key("WEB-1")).await.expect(200).json, read.json);
    let typed = gateway.get("ada", &key("TYP-1")).await.expect(200);
    assert_eq!(typed.json["type_id"], Value::Null);
}

#[tokio::test]
async fn a_key_with_a_blank_finds_its_item() {
    let gateway = recorded().await;
    let project = json!({"name": "Spacey", "identifier": "A b"});
    let project = gateway.post("ada", "/api/v1/workspaces/acme/projects/", project).await.expect(201).text("id");
    let items = format!("/api/v2/workspaces/acme/projects/{project}/work-items/");
    let made = gateway.post("ada", &items, json!({"name": "n"})).await.expect(201);
    assert_eq!(made.text("identifier"), "A B-1");
    for form in ["A%20B-1", "a%20b-1"] {
        assert_eq!(gateway.get("ada", &key(form)).await.expect(200).json, made.json, "{form}");
    }
    let child = gateway.post("ada", &items, json!({"name": "c", "parent": "a b-1"})).await.expect(201);
    assert_eq!(child.text("parent_id"), made.text("id"));
}

/// v1 forbids some characters in identifiers (`projects_create_special_identifier`), and no others.
#[tokio::test]
async fn a_key_with_uncommon_characters_finds_its_item() {
    let gateway = recorded().await;
    let project = json!({"name": "Uncommon", "identifier": "a[\"~b"});
    let project = gateway.post("ada", "/api/v1/workspaces/acme/projects/", project).await.expect(201).text("id");
    let items = format!("/api/v2/workspaces/acme/projects/{project}/work-items/");
    let made = gateway.post("ada", &items, json!({"name": "n"})).await.expect(201);
    assert_eq!(made.text("identifier"), "A[\"~B-1");
    assert_eq!(gateway.get("ada", &key("a%5B%22~b-1")).await.expect(200).json, made.json);
    gateway.get("ada", &format!("{items}A%5B%22~B-1/")).await.expect_problem(404, "resource_not_found");
    let child = gateway.post("ada", &items, json!({"name": "c", "parent": "a[\"~b-1"})).await.expect(201);
    assert_eq!(child.text("parent_id"), made.text("id"));
}

/// Keys in paths begin with a letter, but v1 has such identifiers, and a body can name their items.
#[tokio::test]
async fn a_parent_is_found_by_a_key_that_begins_with_a_digit_and_a_path_is_not() {
    let gateway = recorded().await;
    let project = json!({"name": "Digits", "identifier": "1AB"});
    let project = gateway.post("ada", "/api/v1/workspaces/acme/projects/", project).await.expect(201).text("id");
    let items = format!("/api/v2/workspaces/acme/projects/{project}/work-items/");
    let made = gateway.post("ada", &items, json!({"name": "n"})).await.expect(201);
    assert_eq!(made.text("identifier"), "1AB-1");
    let child = gateway.post("ada", &items, json!({"name": "c", "parent": "1ab-1"})).await.expect(201);
    assert_eq!(child.text("parent_id"), made.text("id"));
    gateway.get("ada", &key("1AB-1")).await.expect_problem(404, "resource_not_found");
}

#[tokio::test]
async fn every_failed_look_up_is_the_same_404() {
    let gateway = recorded().await;
    let mut bodies = Vec::new();
    for (who, form) in [
        ("ada", "ACME_7"),
        ("ada", "7"),
        ("ada", "-7"),
        ("ada", "WEB-999"),
        ("ada", "NOPE-1"),
        ("ada", "SEC-1"),
        ("ada", "OTH-1"),
        ("ada", "ARC-2"),
        ("ada", "ARC-3"),
        ("ada", "ARC-4"),
        ("mel", "WEB-1"),
        ("nia", "WEB-1"),
        ("eve", "WEB-1"),
        ("ada", "WEB-1x"),
    ] {
        let answer = gateway.get(who, &key(form)).await.expect_problem(404, "resource_not_found");
        bodies.push(answer.json["detail"].clone());
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "{bodies:?}");
    // The credential is checked first, whatever stands in the place of the key.
    for form in ["WEB-1%0A", "WEB-1%7F", "WEB%C2%85-1"] {
        gateway.get("ada", &key(form)).await.expect_problem(404, "resource_not_found");
        gateway.send(None, "GET", &key(form), None).await.expect_problem(401, "unauthorized");
    }
    let put = gateway.send(Some("ada"), "PATCH", &key("WEB-1"), Some(&json!({}))).await;
    put.expect_problem(405, "method_not_allowed");
    let unknown = gateway.get("ada", &format!("{}?expand=cycle", key("WEB-1"))).await.expect(400);
    assert_eq!(unknown.error_fields(), ["expand"]);
}

#[tokio::test]
async fn a_key_of_an_archived_project_finds_nothing() {
    let gateway: Gateway = recorded().await;
    gateway
        .post("ada", "/api/v1/workspaces/acme/projects/00000000-0000-4000-c000-000000000001/archive/", json!({}))
        .await;
    gateway.get("ada", &key("WEB-1")).await.expect_problem(404, "resource_not_found");
}

/// v1's look-up checks permissions by the current identifier (`updated_old_key_after_identifier_change`).
#[tokio::test]
async fn an_item_that_is_found_by_its_new_key_shows_that_key() {
    let gateway = recorded().await;
    let before = gateway.get("ada", &key("WEB-1")).await.expect(200);
    in_web(gateway.sandbox(), "PATCH", "", &json!({"identifier": "SITE"}));
    let found = gateway.get("ada", &key("SITE-1")).await.expect(200);
    assert_eq!((found.text("id"), found.text("identifier")), (before.text("id"), "SITE-1".to_owned()));
    gateway.get("ada", &key("WEB-1")).await.expect_problem(404, "resource_not_found");
    assert_eq!(gateway.get("ada", &one(&id('e', 1))).await.expect(200).text("identifier"), "SITE-1");
}

/// v1's column of the state accepts null, and it stays null when a project has no state to fall back to.
#[tokio::test]
async fn an_item_without_a_state_shows_the_nil_id_everywhere() {
    let gateway = recorded().await;
    let project = json!({"name": "Stateless", "identifier": "NOS"});
    let project = gateway.post("ada", PROJECTS, project).await.expect(201).text("id");
    let at_v1 = format!("{PROJECTS}{project}/");
    let states = gateway.get("ada", &format!("{at_v1}states/")).await.expect(200);
    for state in states.json["results"].as_array().expect("states") {
        let state = format!("{at_v1}states/{}/", state["id"].as_str().expect("an id"));
        gateway.send(Some("ada"), "PATCH", &state, Some(&json!({"default": false}))).await.expect(200);
        gateway.delete("ada", &state).await.expect(204);
    }
    let pair = json!({"name": "none", "external_id": "1", "external_source": "gh"});
    let item = gateway.post("ada", &format!("{at_v1}work-items/"), pair).await.expect(201);
    assert_eq!(item.json["state"], Value::Null);
    let items = format!("/api/v2/workspaces/acme/projects/{project}/work-items/");
    let nil = json!("00000000-0000-0000-0000-000000000000");
    for query in
        ["", "?order_by=priority", "?order_by=state_group", "?priority=none", "?external_id=1&external_source=gh"]
    {
        let list = gateway.get("ada", &format!("{items}{query}")).await.expect(200);
        assert_eq!(list.column("state_id"), std::slice::from_ref(&nil), "{query}");
    }
    let list = gateway.get("ada", &format!("{items}?state_group=backlog")).await.expect(200);
    assert!(list.data().is_empty());
    let path = format!("{items}{}/", item.text("id"));
    for read in [path.clone(), key("NOS-1")] {
        let read = gateway.get("ada", &format!("{read}?expand=state")).await.expect(200);
        assert_eq!((&read.json["state_id"], &read.json["state"]), (&nil, &Value::Null));
    }
    let made = gateway.post("ada", &items, json!({"name": "another"})).await.expect(201);
    assert_eq!(made.json["state_id"], nil);
    gateway.post("ada", &format!("{path}archive/"), json!({})).await.expect(200);
    assert_eq!(
        gateway.post("ada", &format!("{path}unarchive/"), json!({})).await.expect(200).json["state_id"],
        nil
    );
    // Once there is a state, v1 falls back to it with the next write.
    let states = items.replace("work-items", "states");
    let state = json!({"name": "Todo", "color": "#ffffff", "group": "unstarted"});
    let state = gateway.post("ada", &states, state).await.expect(201).text("id");
    let patched = gateway.patch("ada", &path, json!({"priority": "high"})).await.expect(200);
    assert_eq!(patched.text("state_id"), state);
}

/// A cached identifier, by which the index could answer, does not prove that no item has the key.
#[tokio::test]
async fn a_key_whose_identifier_went_to_another_project_is_found_while_the_quota_is_short() {
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let gateway = Gateway::with(&serve_sandbox(&sandbox).await, &[("upstream.quota", "40")]).await;
    let at_v1 = |who: &str, method: &str, path: &str, body: Value| {
        let (status, answer) = ask_v1(&sandbox, who, method, &format!("{PROJECTS}{path}"), &body);
        assert!((200..300).contains(&status), "{path}: {answer}");
        answer["id"].as_str().expect("an id").to_owned()
    };
    let bobs = at_v1("bob", "POST", "", json!({"name": "First", "identifier": "KEY"}));
    at_v1("bob", "POST", &format!("{bobs}/work-items/"), json!({"name": "of bob"}));
    gateway.get("bob", &key("KEY-1")).await.expect(200);
    at_v1("bob", "PATCH", &format!("{bobs}/"), json!({"identifier": "OLD"}));
    let adas = at_v1("ada", "POST", "", json!({"name": "Second", "identifier": "KEY"}));
    at_v1("ada", "POST", &format!("{adas}/work-items/"), json!({"name": "of ada"}));
    for _ in 0..30 {
        gateway.get("ada", "/api/v1/users/me/").await.expect(200);
    }
    assert_eq!(gateway.get("ada", &key("KEY-1")).await.expect(200).text("name"), "of ada");
}
