//! Create and update.

use super::{BUG, UNSTARTED, WHOLE, first, labels, read, record, shown, states};
use crate::operations::scene::{BOB, ONE, P, Scene, WEB, but};
use crate::support::scripted::Exchange;
use serde_json::{Value, json};

fn collection() -> String {
    format!("{P}/work-items/")
}

fn people() -> Exchange {
    let row = json!({"id": BOB, "email": "bob@acme.test", "display_name": "bob", "avatar_url": null,
        "first_name": "Bob", "last_name": "X", "avatar": ""});
    Exchange::get(&format!("{P}/members/")).reply(200, json!([row]))
}

/// The item as v1 shows it just after its creation.
fn made(changes: Value) -> Value {
    but(&but(&first(), json!({"created_at": jiff::Timestamp::now().to_string()})), changes)
}

fn create(body: Value) -> Exchange {
    Exchange::post(&collection()).body(body).reply(201, first())
}

#[tokio::test]
async fn create_needs_a_name_and_reads_back() {
    let mut scene = Scene::in_project().await.then(create(json!({"name": "First", "priority": "none"}))).then(
        Exchange::get(&format!("{}?{WHOLE}", record())).reply(200, but(&first(), json!({"priority": "none"}))),
    );
    let body = json!({"name": " First ", "id": ONE, "created_at": "1999-01-01T00:00:00Z", "sequence_id": 99});
    let answer = scene.ask("POST", &format!("{WEB}/work-items/"), Some(body)).await.expect(201);
    assert_eq!((answer.calls(), answer.json), (4, but(&shown(json!({})), json!({"priority": "none"}))));
    scene.end();
}

#[tokio::test]
async fn names_become_ids_before_anything_is_written() {
    let mut scene = Scene::in_project().await.then(states()).then(people()).then(labels());
    let sent = json!({"name": "First", "priority": "high", "state": UNSTARTED, "assignees": [BOB], "labels": [BUG],
        "target_date": "2026-12-24"});
    scene = scene.then(create(sent)).then(read());
    let body = json!({"name": "First", "priority": "high", "state": "tODo", "assignees": ["BOB@acme.test"],
        "labels": ["Bug"], "target_date": "2026-12-24"});
    let answer = scene.ask("POST", &format!("{WEB}/work-items/"), Some(body)).await.expect(201);
    assert_eq!((answer.calls(), &answer.json), (7, &shown(json!({}))));
    let unknown = json!({"name": "x", "state": "nowhere", "labels": ["bug", "nothing"]});
    // Unknown names are looked up once more in a fresh read.
    scene = scene.then(states()).then(labels());
    let refused = scene.ask("POST", &format!("{WEB}/work-items/"), Some(unknown)).await;
    let refused = refused.expect_problem(400, "validation_error");
    assert_eq!(refused.error_fields(), ["state", "labels"]);
    scene.end();
}

#[tokio::test]
async fn an_assignee_dropped_by_v1_undoes_the_create() {
    let stored = made(json!({"assignees": []}));
    let mut scene = Scene::in_project()
        .await
        .then(people())
        .then(create(json!({"name": "First", "priority": "high", "assignees": [BOB]})))
        .then(Exchange::get(&format!("{}?{WHOLE}", record())).reply(200, stored))
        .then(Exchange::delete(&record()));
    let body = json!({"name": "First", "priority": "high", "assignee_ids": [BOB]});
    let answer = scene.ask("POST", &format!("{WEB}/work-items/"), Some(body)).await;
    assert_eq!(answer.expect_problem(400, "validation_error").error_fields(), ["assignee_ids"]);
    scene.end();
}

#[tokio::test]
async fn an_empty_list_of_assignees_overrides_the_default_of_the_project() {
    let stored = made(json!({"assignees": [BOB]}));
    let mended = but(&first(), json!({"assignees": []}));
    let mut scene = Scene::in_project()
        .await
        .then(create(json!({"name": "First", "priority": "high", "assignees": []})))
        .then(Exchange::get(&format!("{}?{WHOLE}", record())).reply(200, stored))
        .then(Exchange::patch(&record()).body(json!({"assignees": []})).reply(200, mended));
    let body = json!({"name": "First", "priority": "high", "assignee_ids": []});
    let answer = scene.ask("POST", &format!("{WEB}/work-items/"), Some(body)).await.expect(201);
    assert_eq!((answer.calls(), &answer.json["assignee_ids"]), (5, &json!([])));
    scene.end();
}

#[tokio::test]
async fn a_taken_pair_is_a_conflict() {
    let taken = json!({"error": "Issue with the same external id and external source already exists", "id": ONE});
    let sent = json!({"name": "x", "priority": "none", "external_id": "e-1", "external_source": "tracker"});
    let mut scene =
        Scene::in_project().await.then(Exchange::post(&collection()).body(sent.clone()).reply(409, taken));
    let answer = scene.ask("POST", &format!("{WEB}/work-items/"), Some(sent)).await;
    assert_eq!(answer.expect_problem(409, "conflict").calls(), 3);
    scene.end();
}

#[tokio::test]
async fn update_sends_what_differs_and_answers_what_is_stored() {
    let renamed = but(&first(), json!({"name": "Renamed", "labels": []}));
    let mut scene = Scene::in_project()
        .await
        .then(read())
        .then(Exchange::patch(&record()).body(json!({"name": "Renamed", "labels": []})).reply(200, renamed))
        .then(read());
    let path = format!("{WEB}/work-items/{ONE}/");
    let body = json!({"name": "Renamed", "label_ids": [], "priority": "high", "parent_id": null});
    let answer = scene.ask("PATCH", &path, Some(body)).await.expect(200);
    assert_eq!((answer.calls(), answer.text("name")), (4, "Renamed".into()));
    let nothing = scene.ask("PATCH", &path, Some(json!({}))).await.expect(200);
    assert_eq!((nothing.calls(), &nothing.json), (1, &shown(json!({}))), "an empty one sends nothing");
    scene.end();
}

#[tokio::test]
async fn one_date_alone_is_judged_against_the_stored_other() {
    let mut scene = Scene::in_project().await.then(read());
    let body = json!({"start_date": "2026-12-25"});
    let answer = scene.ask("PATCH", &format!("{WEB}/work-items/{ONE}/"), Some(body)).await;
    let answer = answer.expect_problem(400, "validation_error");
    assert_eq!((answer.error_fields(), answer.calls()), (vec!["target_date"], 3));
    scene.end();
}

#[tokio::test]
async fn a_write_that_v1_carries_out_otherwise_is_told() {
    let other = but(&first(), json!({"priority": "low"}));
    let mut scene = Scene::in_project()
        .await
        .then(read())
        .then(Exchange::patch(&record()).body(json!({"priority": "urgent"})).reply(200, other.clone()))
        .then(Exchange::get(&record()).reply(200, other));
    let body = json!({"priority": "urgent"});
    let answer = scene.ask("PATCH", &format!("{WEB}/work-items/{ONE}/"), Some(body)).await;
    let answer = answer.expect_problem(502, "upstream_error");
    assert!(answer.text("detail").contains("priority"), "{}", answer.text("detail"));
    scene.end();
}
