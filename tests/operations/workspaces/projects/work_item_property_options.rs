//! `projects/{project_id}/work-item-properties/{property_id}/options/`.

use crate::operations::scene::{ONE, Scene, WEB};
use serde_json::json;

#[tokio::test]
async fn choices_are_appended_and_the_default_moves() {
    let mut scene = Scene::in_project().await;
    let body = json!({"display_name": "Risk", "property_type": "OPTION"});
    let property = scene.made(&format!("{WEB}/work-item-properties/"), body).await;
    let path = format!("{WEB}/work-item-properties/{property}/options/");
    let high = scene.ask("POST", &path, Some(json!({"name": "High", "is_default": true}))).await.expect(201);
    assert_eq!((high.calls(), &high.json["sort_order"]), (0, &json!(10000)));
    let low = scene.ask("POST", &path, Some(json!({"name": "Low", "is_default": true, "sort_order": 1}))).await;
    assert_eq!(low.expect(201).json["sort_order"], 20000, "never movable");
    let listed = scene.ask("GET", &path, None).await.expect(200);
    assert_eq!(listed.column("is_default"), [json!(false), json!(true)]);
    let one = format!("{path}{}/", high.text("id"));
    scene.ask("DELETE", &one, None).await.expect(204);
    scene.ask("PATCH", &one, Some(json!({}))).await.expect_problem(404, "resource_not_found");
    let foreign = format!("{WEB}/work-item-properties/{ONE}/options/");
    scene.ask("GET", &foreign, None).await.expect_problem(404, "resource_not_found");
    scene.end();
}

#[tokio::test]
async fn only_option_properties_have_choices() {
    let mut scene = Scene::in_project().await;
    let body = json!({"display_name": "Note", "property_type": "TEXT"});
    let property = scene.made(&format!("{WEB}/work-item-properties/"), body).await;
    let path = format!("{WEB}/work-item-properties/{property}/options/");
    assert!(scene.ask("GET", &path, None).await.expect(200).data().is_empty());
    scene.ask("POST", &path, Some(json!({"name": "x"}))).await.expect_problem(400, "validation_error");
    scene.end();
}
