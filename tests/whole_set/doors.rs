//! Decisions before an operation runs: credential, route, method, slash; and which operations work at all.

use super::operations::{Contract, OPERATIONS, PLAN};
use super::world::World;
use causeway::describe;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

#[tokio::test]
async fn nothing_is_said_without_a_credential_or_with_a_bad_one() {
    let world = World::new().await;
    for operation in OPERATIONS.iter() {
        let path = world.path(operation);
        for key in [None, Some(""), Some("nobody"), Some("expired"), Some("inactive")] {
            let answer = world.ask(key, operation, &path).await;
            let answer = world.problem(answer, 401, "unauthorized");
            assert!(answer.headers.contains_key("www-authenticate"), "{}", operation.id());
        }
    }
    let unknown = world.gateway.send(None, "GET", "/api/v2/projects/", None).await;
    world.problem(unknown, 401, "unauthorized");
    let schema = world.gateway.send(None, "GET", "/api/v2/schema/", None).await;
    world.problem(schema, 401, "unauthorized");
}

#[tokio::test]
async fn every_path_knows_its_methods_and_no_others() {
    let world = World::new().await;
    let mut known: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for operation in OPERATIONS.iter() {
        known.entry(operation.text("path")).or_default().insert(operation.method());
    }
    for operation in OPERATIONS.iter() {
        let methods = &known[operation.text("path")];
        let mut allow: BTreeSet<&str> = methods.clone();
        if methods.contains("GET") {
            allow.insert("HEAD");
        }
        for method in ["PUT", "OPTIONS", "PURGE", "POST", "PATCH", "DELETE", "GET"] {
            if methods.contains(method) {
                continue;
            }
            let answer = world.gateway.send(Some("ada"), method, &world.path(operation), None).await;
            let answer = world.problem(answer, 405, "method_not_allowed");
            let told: BTreeSet<&str> = answer.headers["allow"].split(", ").collect();
            assert_eq!(told, allow, "{method} {}", operation.text("path"));
        }
    }
}

#[tokio::test]
async fn a_missing_slash_is_another_url_and_the_right_one_is_named() {
    let world = World::new().await;
    for operation in OPERATIONS.iter() {
        let right = world.path(operation);
        let answer = world.ask(Some("ada"), operation, right.trim_end_matches('/')).await;
        let answer = world.problem(answer, 404, "resource_not_found");
        assert!(answer.text("detail").ends_with(&right), "{}", answer.text("detail"));
        let doubled = world.ask(Some("ada"), operation, &format!("{right}/")).await;
        world.problem(doubled, 404, "resource_not_found");
    }
}

#[tokio::test]
async fn head_is_get_without_a_body() {
    let world = World::new().await;
    for operation in OPERATIONS.iter().filter(|operation| operation.method() == "GET") {
        let path = world.path(operation);
        let got = world.gateway.get("ada", &path).await;
        let head = world.gateway.send(Some("ada"), "HEAD", &path, None).await;
        assert_eq!(head.status, got.status, "{}", operation.id());
        assert!(head.bytes.is_empty(), "{}", operation.id());
        for name in ["content-type", "content-length"] {
            assert_eq!(head.headers.get(name), got.headers.get(name), "{} of {}", name, operation.id());
        }
    }
}

#[tokio::test]
async fn only_pending_operations_are_501() {
    let world = World::new().await;
    for operation in OPERATIONS.iter() {
        let answer = world.ask(Some("ada"), operation, &world.path(operation)).await;
        if operation.works() {
            assert_ne!(answer.status, 501, "{}", operation.id());
        } else {
            let answer = world.problem(answer, 501, "not_implemented");
            assert!(answer.text("detail").contains(operation.id()), "{}", answer.text("detail"));
        }
    }
}

#[tokio::test]
async fn the_list_of_operations_tells_what_is_served() {
    let world = World::new().await;
    let listed: Vec<Value> = serde_json::from_str(&describe::operations::json(&PLAN)).expect("JSON");
    assert_eq!(listed.len(), OPERATIONS.len());
    for entry in &listed {
        let text = |name: &str| entry[name].as_str().expect("text");
        let operation = OPERATIONS.iter().find(|operation| operation.id() == text("id")).expect("of the contract");
        assert_eq!((text("method"), text("path")), (operation.method(), operation.text("path")));
        assert_eq!(entry["scopes"], operation.0["scopes_any"], "{}", operation.id());
        let answer = world.ask(Some("ada"), operation, &world.path(operation)).await;
        assert_eq!(text("status") == "works", answer.status != 501, "{}", operation.id());
        assert_eq!(entry["v1_calls"].is_null(), answer.status == 501, "{}", operation.id());
    }
}

#[tokio::test]
async fn paths_that_v2_lacks_are_404() {
    let world = World::new().await;
    let project = OPERATIONS.iter().find(|operation| operation.id() == "states_list").map(|list| world.path(list));
    let project = project.expect("states").replace("states/", "");
    for inner in
        ["", "pages/", "intake-issues/", "estimates/", "work-items/x/links/", "archived-cycles/", "issues/"]
    {
        let answer = world.gateway.get("ada", &format!("{project}{inner}")).await;
        world.problem(answer, 404, "resource_not_found");
    }
}

/// The order O2: each request has one fault and all later ones, and gets the answer for the first.
#[tokio::test]
async fn faults_are_told_in_the_fixed_order() {
    let world = World::new().await;
    let bodies: Vec<&Contract> = super::operations::writes_with_body().collect();
    for operation in bodies {
        let bad = serde_json::json!([]);
        world.enter(operation).await;
        let send = |key: &'static str, path: String| {
            let (world, bad) = (&world, &bad);
            async move { world.gateway.send(Some(key), operation.method(), &path, Some(bad)).await }
        };
        world.problem(send("nobody", world.path_but(operation, "project_id", "x")).await, 401, "unauthorized");
        let mut invisible = world.path_but(operation, "slug", "other");
        if operation.text("surface") == "project" {
            world.refused(send("gil", world.path_but(operation, "project_id", "x")).await, &["project_id"]);
            invisible = world.path_but(operation, "project_id", super::world::SEC);
        }
        world.problem(send("gil", invisible).await, 404, "resource_not_found");
        let absent = world.path_but(operation, "pk", super::operations::NOWHERE);
        if !operation.guests_may_write() {
            world.problem(send("gil", absent.clone()).await, 403, "forbidden");
        }
        if operation.variables().contains(&"pk".to_owned()) {
            world.problem(send("ada", absent).await, 404, "resource_not_found");
        }
        world.refused(send("ada", world.path(operation)).await, &[]);
    }
}
