//! `workspaces/{slug}/work-item-types/`.

use crate::operations::scene::{ACME, Scene, WEB, roster};
use serde_json::json;

#[tokio::test]
async fn names_are_unique_and_the_default_is_protected() {
    let mut scene = Scene::in_workspace_mode().await;
    let path = format!("{ACME}/work-item-types/");
    let bug = scene.ask("POST", &path, Some(json!({"name": " Bug ", "level": 9}))).await.expect(201);
    assert_eq!((bug.calls(), bug.text("name"), &bug.json["level"]), (0, "Bug".into(), &json!(0)));
    let again = scene.ask("POST", &path, Some(json!({"name": "Bug"}))).await;
    again.expect_problem(409, "conflict");
    let one = format!("{path}{}/", bug.text("id"));
    let renamed = scene.ask("PATCH", &one, Some(json!({"name": "Task"}))).await;
    renamed.expect_problem(409, "conflict");
    let marked = scene.ask("POST", &format!("{one}mark-default/"), None).await.expect(200);
    assert_eq!((marked.calls(), &marked.json["is_default"]), (0, &json!(true)));
    let listed = scene.ask("GET", &path, None).await.expect(200);
    assert_eq!(listed.column("is_default"), [json!(false), json!(true)]);
    scene.ask("DELETE", &one, None).await.expect_problem(409, "conflict");
    let off = scene.ask("PATCH", &one, Some(json!({"is_active": false}))).await;
    assert_eq!(off.expect_problem(400, "validation_error").error_fields(), ["is_active"]);
    let task = listed.data()[0]["id"].as_str().expect("an id").to_owned();
    scene.ask("DELETE", &format!("{path}{task}/"), None).await.expect(204);
    scene.end();
}

#[tokio::test]
async fn a_type_of_a_project_is_not_found_on_the_workspace() {
    // The project's card has the id of the workspace, so that only the role must be read.
    let mut scene = Scene::in_project().await.then(roster());
    let id = scene.made(&format!("{WEB}/work-item-types/"), json!({"name": "Bug"})).await;
    let path = format!("{ACME}/work-item-types/{id}/");
    scene.ask("GET", &path, None).await.expect_problem(404, "resource_not_found");
    let on = json!({"is_work_item_types_enabled": true});
    scene.ask("PATCH", &format!("{ACME}/features/"), Some(on)).await.expect(200);
    for method in ["PATCH", "DELETE"] {
        let answer = scene.ask(method, &path, Some(json!({}))).await;
        answer.expect_problem(404, "resource_not_found");
    }
    scene.end();
}
