//! The cache agrees with v1 after own writes, refused writes, writes on the pass-through, and writes of others.

use crate::costs::place::{OfItems, PLAN, Place, operation};
use causeway::plan::{Operation, Source};
use serde_json::json;
use std::time::Duration;

/// Returns the cached collections of v1; for work items see `items`.
fn lists_with_writes() -> impl Iterator<Item = (&'static Operation, &'static str)> {
    let lists = PLAN.operations.iter().filter(|operation| operation.works() && operation.is_list());
    let lists = lists.filter(|list| !list.resource_is_of_items());
    let lists = lists.filter(|list| PLAN.resource_of(list).source == Source::V1);
    lists.filter_map(|list| {
        let name = PLAN.resource_of(list).name.as_str();
        PLAN.operation(&format!("{name}_create")).map(|_| (list, name))
    })
}

#[tokio::test]
async fn own_writes_are_seen_by_the_next_read_without_a_call() {
    for (list, name) in lists_with_writes() {
        let place = Place::new().await;
        place.ask(list).await.expect(200);
        let created = place.ask(operation(&format!("{name}_create"))).await.expect(201);
        let seen = place.ask(list).await.expect(200);
        assert_eq!(seen.calls(), 0, "{name}");
        assert!(seen.data().contains(&created.json), "{name}");
        let changed = place.ask(operation(&format!("{name}_update"))).await.expect(200);
        let seen = place.ask(list).await.expect(200);
        assert!(seen.calls() == 0 && seen.data().contains(&changed.json), "{name}");
        let one = place.ask(operation(&format!("{name}_retrieve"))).await.expect(200);
        assert_eq!((one.calls(), &one.json), (0, &changed.json), "{name}");
        place.ask(operation(&format!("{name}_delete"))).await.expect(204);
        let seen = place.ask(list).await.expect(200);
        assert!(seen.calls() == 0 && !seen.column("id").contains(&changed.json["id"]), "{name}");
        assert_eq!(place.at_v1("ada", "GET", &format!("{name}/"), &json!({}))["total_count"], seen.data().len());
    }
}

#[tokio::test]
async fn a_write_that_v1_refused_keeps_what_is_kept() {
    for (list, name) in lists_with_writes() {
        let place = Place::new().await;
        place.ask(list).await.expect(200);
        let create = operation(&format!("{name}_create"));
        let pair = json!({"name": "x", "color": "#1", "external_id": "1", "external_source": "s"});
        place.ask_with(create, Some(pair.clone())).await.expect(201);
        let mut again = pair;
        again["name"] = "y".into();
        place.ask_with(create, Some(again)).await.expect(409);
        let guest = place.send("gil", "POST", &place.path(create), Some(json!({"name": "z", "color": "#1"}))).await;
        guest.expect(403);
        assert_eq!(place.ask(list).await.expect(200).calls(), 0, "{name}");
    }
}

#[tokio::test]
async fn a_write_of_another_credential_is_seen_at_once() {
    for (list, name) in lists_with_writes() {
        let place = Place::new().await;
        let path = place.path(list);
        for key in ["ada", "bob", "gil"] {
            place.send(key, "GET", &path, None).await.expect(200);
        }
        let update = place.path(operation(&format!("{name}_update")));
        let changed = place.send("bob", "PATCH", &update, Some(json!({"description": "bob was here"}))).await;
        let changed = changed.expect(200);
        let seen = place.send("ada", "GET", &path, None).await.expect(200);
        assert!(seen.data().contains(&changed.json) && seen.calls() == 0, "{name}: members share");
        let seen = place.send("gil", "GET", &path, None).await.expect(200);
        assert!(seen.data().contains(&changed.json) && seen.calls() == 1, "{name}: guests have their own");
    }
}

#[tokio::test]
async fn a_write_on_the_pass_through_is_seen_at_once_and_what_it_started_a_little_later() {
    let place = Place::with(&[("cache.collection", "10m")]).await;
    let lists: Vec<_> = lists_with_writes().map(|(list, _)| list).collect();
    for list in &lists {
        place.ask(list).await.expect(200);
        assert_eq!(place.ask(list).await.expect(200).calls(), 0);
    }
    let label = place.path(operation("labels_update")).replace("/v2/", "/v1/");
    place.gateway.patch("ada", &label, json!({"color": "#abcdef"})).await.expect(200);
    for list in &lists {
        let seen = place.ask(list).await.expect(200);
        assert!(seen.calls() >= 1, "{} may have changed", list.id);
        assert_eq!(list.id == "labels_list", seen.json.to_string().contains("#abcdef"));
    }
    // v1 cascades in the background, so the gateway invalidates everything a second time. 20 s are far more than the
    // 2 s until then and far less than the time to live of a collection.
    let labels = operation("labels_list");
    let mut calls = 0;
    for _ in 0..200 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        calls = place.ask(labels).await.expect(200).calls();
        if calls > 0 {
            break;
        }
    }
    assert!(calls > 0, "nothing was dropped a second time");
    assert_eq!(place.ask(labels).await.expect(200).calls(), 0, "and then it is kept again");
}

#[tokio::test]
async fn reads_on_the_pass_through_drop_nothing() {
    let place = Place::new().await;
    let labels = operation("labels_list");
    place.ask(labels).await.expect(200);
    place.gateway.get("ada", &place.path(labels).replace("/v2/", "/v1/")).await.expect(200);
    assert_eq!(place.ask(labels).await.expect(200).calls(), 0);
}

/// v1 refuses these before it looks at what they write, mostly without knowing who sent them.
#[tokio::test]
async fn writes_on_the_pass_through_that_v1_refuses_at_the_door_drop_nothing() {
    let place = Place::with(&[("cache.collection", "10m")]).await;
    let labels = operation("labels_list");
    place.ask(labels).await.expect(200);
    let path = place.path(labels).replace("/v2/", "/v1/");
    let without_slash = path.trim_end_matches('/').to_owned();
    let (unknown, format) = (format!("{path}x/"), format!("{path}?format=xml"));
    let xml = ("accept", "application/xml");
    let key = |key| ("x-api-key", key);
    for (status, method, path, headers) in [
        // The fixtures `errors_slash_missing_post`, `auth_missing_key_unknown_path`, `errors_format_param`,
        // `errors_accept_xml_no_key`.
        (301, "POST", &without_slash, vec![]),
        (404, "POST", &unknown, vec![]),
        (404, "POST", &format, vec![]),
        (406, "POST", &path, vec![xml]),
        // `auth_missing_key`, `auth_wrong_key`, and a person of another workspace.
        (401, "POST", &path, vec![]),
        (403, "POST", &path, vec![key("nobody")]),
        (403, "POST", &path, vec![key("eve")]),
        // `errors_405_put`.
        (405, "PUT", &path, vec![key("ada")]),
    ] {
        place.gateway.send_bare(method, path, &headers).await.expect(status);
        assert_eq!(place.ask(labels).await.expect(200).calls(), 0, "{status} {method} {path}");
    }
    // Nor a little later.
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert_eq!(place.ask(labels).await.expect(200).calls(), 0);
    // A later refusal may leave something behind (trap 17).
    place.gateway.post("ada", &path, json!({})).await.expect(400);
    assert!(place.ask(labels).await.expect(200).calls() > 0);
}

#[tokio::test]
async fn not_found_is_never_said_on_the_word_of_a_cache() {
    for (list, name) in lists_with_writes() {
        let place = Place::new().await;
        place.ask(list).await.expect(200);
        let body = json!({"name": "behind the back", "color": "#1", "project_id": crate::costs::place::project()});
        let id = place.at_v1("bob", "POST", &format!("{name}/"), &body)["id"].as_str().expect("an id").to_owned();
        let path = format!("{}{id}/", place.path(list));
        assert_eq!(place.send("ada", "GET", &path, None).await.expect(200).text("name"), "behind the back");
        let body = json!({"name": "once more", "color": "#1", "project_id": crate::costs::place::project()});
        let id = place.at_v1("bob", "POST", &format!("{name}/"), &body)["id"].as_str().expect("an id").to_owned();
        let path = format!("{}{id}/", place.path(list));
        place.send("ada", "PATCH", &path, Some(json!({"description": "d"}))).await.expect(200);
    }
}
