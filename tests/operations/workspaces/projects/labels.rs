//! `projects/{project_id}/labels/`.

use crate::operations::scene::{ADA, ONE, P, Scene, THEN, TWO, WEB, but, card, list};
use crate::support::scripted::Exchange;
use serde_json::{Value, json};

const FIELDS: &str =
    "id,name,description,color,sort_order,parent,external_id,external_source,created_at,created_by";

fn bug() -> Value {
    json!({"id": ONE, "name": "bug", "description": "", "color": "#e5484d", "sort_order": 65535.0, "parent": null,
        "external_id": null, "external_source": null, "created_at": THEN, "created_by": ADA})
}

fn crash() -> Value {
    but(&bug(), json!({"id": TWO, "name": "crash", "parent": ONE, "sort_order": 75535.0}))
}

#[tokio::test]
async fn list_and_retrieve_rename_the_parent() {
    let mut scene = Scene::in_project().await.then(list("labels", FIELDS, &[&bug(), &crash()]));
    let answer = scene.ask("GET", &format!("{WEB}/labels/?parent_id={ONE}"), None).await.expect(200);
    let expected = json!({"id": TWO, "name": "crash", "description": "", "color": "#e5484d", "sort_order": 75535.0,
        "parent_id": ONE, "external_id": null, "external_source": null, "created_at": THEN, "created_by_id": ADA});
    assert_eq!((answer.calls(), answer.data()), (3, &vec![expected.clone()]));
    let one = scene.ask("GET", &format!("{WEB}/labels/{TWO}/"), None).await.expect(200);
    assert_eq!((one.calls(), one.json), (0, expected));
    scene.end();
}

#[tokio::test]
async fn create_reads_back_what_is_stored() {
    let path = format!("{P}/labels/");
    let mut scene = Scene::in_project()
        .await
        .then(Exchange::post(&path).body(json!({"name": "bug"})).reply(201, bug()))
        .then(Exchange::get(&format!("{path}{ONE}/")).reply(200, bug()));
    let answer = scene.ask("POST", &format!("{WEB}/labels/"), Some(json!({"name": "bug\t"}))).await.expect(201);
    assert_eq!((answer.calls(), answer.text("id")), (4, ONE.into()));
    scene.end();
}

#[tokio::test]
async fn a_name_of_the_workspace_is_a_fault_of_the_name() {
    let taken = json!({"name": ["Label with this name already exists."]});
    let mut scene = Scene::in_project()
        .await
        .then(Exchange::post(&format!("{P}/labels/")).body(json!({"name": "ws"})).reply(400, taken));
    let answer = scene.ask("POST", &format!("{WEB}/labels/"), Some(json!({"name": "ws"}))).await;
    let answer = answer.expect_problem(400, "validation_error");
    assert_eq!(answer.error_fields(), ["name"]);
    assert!(answer.json["errors"][0]["message"].as_str().is_some_and(|text| text.contains("workspace")));
    scene.end();
}

#[tokio::test]
async fn update_refuses_loops_before_anything_is_written() {
    let mut scene = Scene::in_project().await.then(list("labels", FIELDS, &[&bug(), &crash()])).then(
        Exchange::patch(&format!("{P}/labels/{TWO}/"))
            .body(json!({"parent": null, "color": "#2"}))
            .reply(200, but(&crash(), json!({"parent": null, "color": "#2"}))),
    );
    let looping = scene.ask("PATCH", &format!("{WEB}/labels/{ONE}/"), Some(json!({"parent_id": TWO}))).await;
    assert_eq!(looping.expect_problem(400, "validation_error").error_fields(), ["parent_id"]);
    let body = json!({"parent_id": null, "color": "#2"});
    let moved = scene.ask("PATCH", &format!("{WEB}/labels/{TWO}/"), Some(body)).await.expect(200);
    assert_eq!((moved.calls(), &moved.json["parent_id"], moved.text("color")), (1, &Value::Null, "#2".into()));
    scene.end();
}

/// Deletes a label with a child, which is detached first; `answer` is v1's answer to the DELETE.
async fn deleting(answer: impl FnOnce(Exchange) -> Exchange) -> Scene {
    let path = format!("{P}/labels/");
    let detached = but(&crash(), json!({"parent": null}));
    let detach = Exchange::patch(&format!("{path}{TWO}/")).body(json!({"parent": null})).reply(200, detached);
    let all = list("labels", FIELDS, &[&bug(), &crash()]);
    let deleted = answer(Exchange::delete(&format!("{path}{ONE}/")));
    Scene::in_project().await.then(all).then(detach).then(deleted)
}

#[tokio::test]
async fn delete_detaches_the_labels_below_first() {
    let mut scene = deleting(|delete| delete).await;
    let answer = scene.ask("DELETE", &format!("{WEB}/labels/{ONE}/"), None).await.expect(204);
    assert_eq!((answer.calls(), answer.bytes.len()), (5, 0));
    let left = scene.ask("GET", &format!("{WEB}/labels/"), None).await.expect(200);
    assert_eq!((left.calls(), left.column("parent_id")), (0, vec![Value::Null]));
    scene.end();
}

/// When v1 refuses after that, the answer is not a plain refusal, which would mean that nothing was changed.
#[tokio::test]
async fn a_delete_that_v1_refuses_tells_what_it_detached() {
    for (status, body) in [
        (403, json!({"detail": "You do not have permission to perform this action."})),
        (404, json!({"error": "The requested resource does not exist."})),
    ] {
        let mut scene = deleting(|delete| delete.reply(status, body)).await;
        if status == 403 {
            // A check whether the project is still visible.
            scene.expect(card());
        }
        let answer = scene.ask("DELETE", &format!("{WEB}/labels/{ONE}/"), None).await;
        let told = answer.expect_problem(502, "upstream_error").text("detail");
        let is_certain =
            told.starts_with("1 records below it were made top-level, but the record was not deleted:");
        assert_eq!(is_certain, status == 403, "{told}");
        scene.end();
    }
}

#[tokio::test]
async fn a_delete_whose_answer_is_lost_is_not_told_as_refused() {
    let mut scene = deleting(|delete| delete.html(502, "<h1>Bad Gateway</h1>")).await;
    scene.expect(Exchange::get(&format!("{P}/labels/{ONE}/")).reply(200, bug()));
    let answer = scene.ask("DELETE", &format!("{WEB}/labels/{ONE}/"), None).await;
    let told = answer.expect_problem(502, "upstream_error").text("detail");
    let words = "1 records below it were made top-level; it is not certain whether the record itself was deleted:";
    assert!(told.starts_with(words), "{told}");
    scene.end();
}
