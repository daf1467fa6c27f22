//! Every error case the contract declares for a working operation is provoked here, or is in the list of
//! impossible ones, with the reason.

use super::operations::{Contract, working};
use super::own::is_own;
use super::world::{SEC, WEB, World, at_v1, with};
use crate::support::gateway::{Answer, Gateway};
use crate::support::scripted::{Exchange, ScriptedV1};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Returns why a declared error is impossible in this version.
fn why_not(operation: &Contract, code: &str) -> Option<&'static str> {
    match (operation.id(), code) {
        ("users_me_retrieve", "forbidden") => Some("API keys always pass; see the tests on scopes"),
        ("users_me_retrieve", "resource_not_found") => Some("v1 resolves every key it takes to a person"),
        ("cycles_delete", "conflict") => Some("no cause is named for it; never raised (O58)"),
        ("work_items_retrieve_by_identifier", "forbidden") => Some("without scopes, what may not be read is 404"),
        ("work_items_delete" | "work_items_archive" | "work_items_unarchive", "conflict") => {
            Some("nothing protects a work item")
        }
        (id, "conflict") if id.starts_with("work_item_comments_") => Some("never raised (O51)"),
        ("workspace_work_item_types_mark_default", "conflict") => {
            Some("what cannot become the default is 400 (O60)")
        }
        ("workspace_features_update", "conflict") => Some("no cause is named for it; never raised (O79)"),
        (_, "forbidden")
            if is_own(operation) && !operation.writes() && operation.text("surface") == "workspace" =>
        {
            Some("whoever sees the workspace may read what is defined in it (O13)")
        }
        (_, "workflow_transition_denied") => Some("needs rules; see the test on workflows"),
        (_, "ordering_not_cursor_eligible") => {
            let order = &operation.0["order_by"];
            (order["allowed"] == order["cursor_eligible"]).then_some("every order of the list is eligible")
        }
        _ => None,
    }
}

async fn provoke(world: &World, operation: &Contract, code: &str) -> Answer {
    let path = world.path(operation);
    let has = |name: &str| operation.variables().iter().any(|known| known == name);
    world.enter(operation).await;
    match code {
        "work_item_types_managed_at_workspace" | "work_item_types_managed_at_project" => {
            world.enter_other_mode(operation).await;
            let body = operation.0["body"].is_array().then(|| world.body_for(operation));
            world.gateway.send(Some("ada"), operation.method(), &path, body.as_ref()).await
        }
        "validation_error" if operation.0["envelope"] == true => {
            world.gateway.get("ada", &format!("{path}?per_page=x")).await
        }
        "validation_error" if operation.0["body"].is_array() => {
            let mut bad = json!({"access": 5});
            for name in ["name", "display_name", "properties", "work_item_types", "is_teams_enabled"] {
                bad[name] = json!(5);
            }
            world.gateway.send(Some("ada"), operation.method(), &path, Some(&bad)).await
        }
        "validation_error" if has("identifier") || !has("pk") => {
            world.ask(Some("ada"), operation, &format!("{path}?expand=nothing")).await
        }
        "validation_error" => world.ask(Some("ada"), operation, &world.path_but(operation, "pk", "x")).await,
        "ordering_not_cursor_eligible" => {
            let eligible = operation.0["order_by"]["cursor_eligible"].as_array().expect("orders");
            let mut orders = operation.0["order_by"]["allowed"].as_array().expect("orders").iter();
            let order = orders.find(|order| !eligible.contains(order)).and_then(Value::as_str).expect("one");
            world.gateway.get("ada", &format!("{path}?paginate=cursor&order_by={order}")).await
        }
        "unauthorized" => world.ask(None, operation, &path).await,
        // Guests may not write; non-members may not read; guests may not read the workspace's members.
        // Guests may comment, but not change what others wrote; non-members may not comment.
        "forbidden" if operation.id() == "work_item_comments_create" => {
            world.ask(Some("mel"), operation, &path).await
        }
        "forbidden" if operation.writes() || !has("project_id") => world.ask(Some("gil"), operation, &path).await,
        "forbidden" => world.ask(Some("mel"), operation, &path).await,
        "resource_not_found" if has("project_id") => {
            world.ask(Some("ada"), operation, &world.path_but(operation, "project_id", SEC)).await
        }
        "resource_not_found" => {
            world.ask(Some("ada"), operation, &world.path_but(operation, "slug", "other")).await
        }
        "conflict" if operation.method() == "DELETE" && is_own(operation) => {
            let rows = world.rows(&world.collection(operation), None).await;
            let default = rows.iter().find(|row| row["is_default"] == true).expect("a default type");
            let path = world.path_but(operation, "pk", default["id"].as_str().expect("an id"));
            world.gateway.delete("ada", &path).await
        }
        "conflict" if operation.method() == "DELETE" => {
            let default = format!("/api/v2/workspaces/acme/projects/{WEB}/states/?is_default=true");
            let default = world.gateway.get("ada", &default).await.expect(200).column("id")[0].clone();
            let path = world.path_but(operation, "pk", default.as_str().expect("an id"));
            world.gateway.delete("ada", &path).await
        }
        "conflict" => {
            let collection = path.replace(&format!("{}/", world.record(operation.resource())), "");
            let mut taken = json!({"name": format!("taken {}", operation.id()), "color": "#000000"});
            if operation.resource() == "work_items" {
                taken = with(&with(&taken, "external_id", operation.id()), "external_source", "taken");
            }
            world.gateway.post("ada", &collection, taken.clone()).await.expect(201);
            world.gateway.send(Some("ada"), operation.method(), &path, Some(&taken)).await
        }
        "rate_limited" => throttled(operation, &path).await,
        other => panic!("{} declares {other}, which nothing provokes", operation.id()),
    }
}

/// Sends an operation when v1's own quota is used up; the limit of the credential has its own tests.
async fn throttled(operation: &Contract, path: &str) -> Answer {
    let v1 = ScriptedV1::start().await;
    let quota = json!({"error_code": 5900, "error_message": "RATE_LIMIT_EXCEEDED"});
    v1.expect(Exchange::get("users/me/").reply(429, quota).header("retry-after", "7").repeated());
    let gateway = Gateway::before(v1.base_url()).await;
    let answer = gateway.send(Some("ada"), operation.method(), path, None).await;
    v1.finish();
    assert!(answer.headers["retry-after"].parse::<u64>().is_ok_and(|seconds| seconds >= 1));
    answer
}

#[tokio::test]
async fn every_declared_error_is_provoked_or_has_its_reason() {
    let world = World::new().await;
    let (mut provoked, mut excused) = (0, 0);
    for operation in working() {
        let declared: BTreeSet<(u64, &str)> = operation
            .all("errors")
            .map(|case| (case["status"].as_u64().expect("a status"), case["code"].as_str().expect("a code")))
            .collect();
        for (status, code) in declared {
            if why_not(operation, code).is_some() {
                excused += 1;
                continue;
            }
            let answer = provoke(&world, operation, code).await;
            assert_eq!(
                (u64::from(answer.status), answer.code()),
                (status, code),
                "{}: {}",
                operation.id(),
                answer.json
            );
            world.problem(answer, status as u16, code);
            provoked += 1;
        }
    }
    assert_eq!((provoked > 450, excused), (true, 29), "{provoked}");
}

#[tokio::test]
async fn a_state_that_holds_work_items_is_not_deleted() {
    let world = World::new().await;
    let sandbox = world.gateway.sandbox();
    let state = at_v1(sandbox, "states", &json!({"name": "Busy", "color": "#010203"}));
    at_v1(sandbox, "work-items", &json!({"name": "in the way", "state": state}));
    let path = format!("/api/v2/workspaces/acme/projects/{WEB}/states/{state}/");
    world.problem(world.gateway.delete("ada", &path).await, 409, "conflict");
    world.gateway.get("ada", &path).await.expect(200);
}

#[tokio::test]
async fn a_repeated_external_pair_is_a_conflict() {
    let world = World::new().await;
    // Comments may repeat a pair, and the verbs of work items have no pair.
    let creates = working().filter(|operation| operation.id().ends_with("_create"));
    let unique = |operation: &&Contract| {
        operation.resource() != "work_item_comments"
            && (!is_own(operation) || operation.id().ends_with("_types_create"))
    };
    for operation in creates.filter(unique) {
        world.enter(operation).await;
        let pair = with(&with(&world.body_for(operation), "external_id", "E-1"), "external_source", "jira");
        let answer = world.gateway.post("ada", &world.path(operation), pair).await;
        world.problem(answer, 409, "conflict");
    }
}
