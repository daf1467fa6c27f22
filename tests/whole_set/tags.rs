//! Every answer with one record has its version: a write returns the version that the next read shows, and a change
//! makes another one. Every operation on one record obeys a condition in `If-Match`.

use super::document::described;
use super::operations::{Contract, NOWHERE, PLAN, working};
use super::world::World;
use crate::support::gateway::Answer;
use causeway::plan::Answer as Form;
use serde_json::{Value, json};

/// Operations that answer one object without a path of its own: the relation of a type to its properties.
const WITHOUT_A_PATH: [&str; 2] =
    ["project_work_item_type_properties_attach", "workspace_work_item_type_properties_attach"];

fn shows_one(operation: &Contract) -> bool {
    operation.planned().answer == Form::Record && !WITHOUT_A_PATH.contains(&operation.id())
}

#[track_caller]
fn tag(answer: &Answer, what: &str) -> String {
    let tag = answer.headers.get("etag").unwrap_or_else(|| panic!("{what} tells no version")).clone();
    assert!(tag.starts_with('"') && tag.ends_with('"') && tag.len() > 10, "{what}: {tag} is no strong tag");
    assert_eq!(answer.headers["cache-control"], "no-store", "{what}");
    tag
}

/// Returns the operations; verbs that change the state of the world come last.
fn in_order() -> Vec<&'static Contract> {
    let late = |operation: &Contract| match operation.id() {
        "work_items_archive" => 1,
        "work_items_unarchive" => 2,
        _ => 0,
    };
    let mut operations: Vec<_> = working().filter(|operation| operation.method() != "DELETE").collect();
    operations.sort_by_key(|operation| late(operation));
    operations
}

/// Returns a body that makes a new change each time.
fn changed(operation: &Contract, world: &World) -> Value {
    let fresh = format!("fresh {}", uuid::Uuid::new_v4());
    match operation.resource() {
        "workspace_features" => json!({"is_work_item_types_enabled": fresh.as_bytes()[6] % 2 == 0}),
        "work_item_comments" => json!({"comment_html": format!("<p>{fresh}</p>")}),
        resource if resource.ends_with("_properties") => json!({"display_name": fresh}),
        _ if operation.method() == "PATCH" => json!({"name": fresh}),
        _ => world.body_for(operation),
    }
}

/// Headers that say nothing about the API.
const OF_HTTP: [&str; 7] =
    ["content-type", "content-length", "date", "cache-control", "vary", "x-content-type-options", "connection"];

/// The document describes the headers that successes have, and 304 for the reads that answer it.
#[tokio::test]
async fn headers_and_unchanged_answers_are_described() {
    let world = World::new().await;
    let mut unchanged = 0;
    for operation in in_order() {
        let (id, path) = (operation.id(), world.path(operation));
        let answer = world.ask(Some("ada"), operation, &path).await.expect(operation.status());
        let responses = &described(operation)["responses"];
        let success = responses[&operation.status().to_string()]["headers"].as_object().expect("headers");
        let told: Vec<String> = success.keys().map(|name| name.to_ascii_lowercase()).collect();
        for name in answer.headers.keys().filter(|name| !OF_HTTP.contains(&name.as_str())) {
            assert!(told.contains(name), "{id} does not describe {name}");
        }
        if operation.writes() {
            continue;
        }
        let etag = answer.headers.get("etag");
        assert_eq!(etag.is_some(), responses.get("304").is_some(), "{id}");
        let Some(etag) = etag else { continue };
        let again = world.gateway.send_with("ada", "GET", &path, None, &[("if-none-match", etag)]).await;
        // A work item with custom values is shown in full in any case.
        assert!(again.status == 304 || operation.resource() == "work_items", "{id}: {}", again.status);
        unchanged += usize::from(again.status == 304);
    }
    assert!(unchanged > 20, "{unchanged}");
}

#[tokio::test]
async fn every_answer_with_one_record_tells_its_version() {
    let world = World::new().await;
    let (mut reads, mut writes) = (0, 0);
    for operation in in_order() {
        let (id, path) = (operation.id(), world.path(operation));
        let answer = world.ask(Some("ada"), operation, &path).await.expect(operation.status());
        if !shows_one(operation) {
            // A list may have a tag of its own; an answer that is neither list nor record has none.
            let list = operation.planned().answer == Form::Page;
            assert!(list || !answer.headers.contains_key("etag"), "{id} shows no single record");
            continue;
        }
        let told = tag(&answer, id);
        if !operation.writes() {
            reads += 1;
            let again = world.gateway.get("ada", &path).await.expect(200);
            assert_eq!(tag(&again, id), told, "{id} twice");
            continue;
        }
        writes += 1;
        if id == "work_items_archive" {
            // v2 shows no archived item.
            continue;
        }
        let read = match PLAN.showing(operation.planned()) {
            Some(showing) => world.path(working().find(|op| op.id() == PLAN.operations[showing].id).expect("it")),
            None => format!("{}{}/", path.trim_end_matches("enable/"), answer.text("id")),
        };
        let read = world.gateway.get("ada", &read).await.expect(200);
        assert_eq!(tag(&read, id), told, "what follows {id}: {}", read.json);
    }
    assert_eq!((reads, writes), (20, 32));
}

#[tokio::test]
async fn a_change_makes_another_version() {
    let world = World::new().await;
    let mut seen = 0;
    for operation in working().filter(|operation| operation.method() == "PATCH") {
        world.enter(operation).await;
        let (id, path) = (operation.id(), world.path(operation));
        let before = tag(&world.gateway.get("ada", &path).await.expect(200), id);
        let mut body = changed(operation, &world);
        if operation.resource() == "workspace_features" {
            let now = world.gateway.get("ada", &path).await.json["is_work_item_types_enabled"] == true;
            body["is_work_item_types_enabled"] = (!now).into();
        }
        let after = tag(&world.gateway.patch("ada", &path, body.clone()).await.expect(200), id);
        assert_ne!(after, before, "{id}");
        let stale = world.gateway.send_with("ada", "PATCH", &path, Some(&body), &[("if-match", &before)]).await;
        world.problem(stale, 412, "precondition_failed");
        let fresh = changed(operation, &world);
        let done = world.gateway.send_with("ada", "PATCH", &path, Some(&fresh), &[("if-match", &after)]).await;
        assert_eq!(done.status, 200, "{id}: {}", done.json);
        seen += 1;
    }
    assert_eq!(seen, 14);
}

/// Every operation on one record obeys the condition, and checks it after the record and before the body.
#[tokio::test]
async fn every_write_to_one_record_holds_what_is_demanded() {
    let world = World::new().await;
    let mut held = 0;
    for operation in working().filter(|operation| operation.writes()) {
        let (id, path) = (operation.id(), world.path(operation));
        let demand = async |path: &str, tag: &str| {
            world.enter(operation).await;
            world.gateway.send_with("ada", operation.method(), path, Some(&json!([])), &[("if-match", tag)]).await
        };
        if PLAN.showing(operation.planned()).is_none() {
            let answer = demand(&path, "not a tag").await;
            assert_ne!(answer.status, 412, "{id} is addressed to no single record");
            continue;
        }
        held += 1;
        for tag in ["*", "W/\"a\", *, \"b\""] {
            let other = [("if-none-match", tag)];
            world.enter(operation).await;
            let answer = world.gateway.send_with("ada", operation.method(), &path, Some(&json!([])), &other).await;
            match tag {
                "*" => world.problem(answer, 412, "precondition_failed"),
                _ => world.refused(answer, &["If-None-Match"]),
            };
        }
        world.problem(demand(&path, "\"another\"").await, 412, "precondition_failed");
        world.problem(demand(&path, "W/\"another\", \"yet-another\"").await, 412, "precondition_failed");
        world.refused(demand(&path, "not a tag").await, &["If-Match"]);
        if operation.resource() != "workspace_features" {
            let nowhere = world.path_but(operation, "pk", NOWHERE);
            let absent = demand(&nowhere, "\"another\"").await;
            // An archived item cannot be compared, and v1 answers as for a missing one.
            let (status, code) = match id {
                "work_items_unarchive" => (412, "precondition_failed"),
                _ => (404, "resource_not_found"),
            };
            world.problem(absent, status, code);
            let unread = demand(&nowhere, "not a tag").await;
            let (status, code) = if status == 412 { (400, "validation_error") } else { (status, code) };
            world.problem(unread, status, code);
        }
    }
    assert_eq!(held, 33);
}

/// A delete with the right version is carried out.
#[tokio::test]
async fn every_delete_of_the_version_that_is_there_is_done() {
    let world = World::new().await;
    let mut deletes: Vec<_> = working().filter(|operation| operation.method() == "DELETE").collect();
    let late = |operation: &Contract| match operation.id() {
        "work_items_delete" => 5,
        id if id.ends_with("properties_delete") || id.ends_with("types_delete") => 4,
        _ => 0,
    };
    deletes.sort_by_key(|operation| late(operation));
    for operation in deletes {
        world.enter(operation).await;
        let (id, path) = (operation.id(), world.path(operation));
        let now = tag(&world.gateway.get("ada", &path).await.expect(200), id);
        let done = world.gateway.send_with("ada", "DELETE", &path, None, &[("if-match", &now)]).await;
        assert_eq!(done.status, 204, "{id}: {}", done.json);
        assert!(!done.headers.contains_key("etag"), "{id}");
    }
}

/// Every POST with a key is carried out once: the same request gets the same answer, another one is refused.
#[tokio::test]
async fn every_post_may_be_sent_again_with_a_key() {
    let world = World::new().await;
    let late = |operation: &Contract| match operation.id() {
        "work_items_archive" => 1,
        "work_items_unarchive" => 2,
        _ => 0,
    };
    let mut posts: Vec<_> = working().filter(|operation| operation.method() == "POST").collect();
    posts.sort_by_key(|operation| late(operation));
    for operation in &posts {
        world.enter(operation).await;
        let (id, path) = (operation.id(), world.path(operation));
        let body = operation.0["body"].is_array().then(|| world.body_for(operation));
        let send = async |body: &Option<Value>| {
            world.gateway.send_with("ada", "POST", &path, body.as_ref(), &[("idempotency-key", "k")]).await
        };
        let first = send(&body).await;
        assert_eq!(first.status, operation.status(), "{id}: {}", first.json);
        assert!(!first.headers.contains_key("idempotency-replayed"), "{id}");
        let writes = world.v1_writes();
        let again = send(&body).await;
        assert_eq!((again.status, &again.bytes), (first.status, &first.bytes), "{id}");
        assert_eq!(again.headers.get("etag"), first.headers.get("etag"), "{id}");
        assert_eq!(again.headers["idempotency-replayed"], "true", "{id}");
        assert_eq!(world.v1_writes(), writes, "{id} was carried out twice");
        world.problem(send(&Some(json!({"another": 1}))).await, 422, "idempotency_key_reused");
    }
    assert_eq!(posts.len(), 21);
}

#[tokio::test]
async fn a_list_that_a_client_has_already_is_not_sent_again() {
    let world = World::new().await;
    let operation = working().find(|operation| operation.id() == "states_list").expect("the list of states");
    let path = world.path(operation);
    let first = world.gateway.get("ada", &path).await.expect(200);
    let known = tag(&first, "a list");
    let conditional =
        async |known: &str| world.gateway.send_with("ada", "GET", &path, None, &[("if-none-match", known)]).await;
    let again = conditional(&format!("\"other\", W/{known}")).await.expect(304);
    assert_eq!((again.bytes.len(), tag(&again, "the same")), (0, known.clone()));
    let other = world.gateway.get("ada", &format!("{path}?count=false")).await.expect(200);
    assert_ne!(tag(&other, "another answer"), known);
    world
        .gateway
        .post("ada", &path, json!({"name": "New", "group": "started", "color": "#123456"}))
        .await
        .expect(201);
    let changed = conditional(&known).await.expect(200);
    assert_ne!(tag(&changed, "after a write"), known);
}
