//! `workspaces/{slug}/work-item-properties/{property_id}/options/`.

use crate::operations::scene::{ACME, ONE, Scene};
use serde_json::json;

#[tokio::test]
async fn a_second_default_is_refused_and_listing_only_filters() {
    let mut scene = Scene::in_workspace_mode().await;
    let properties = format!("{ACME}/work-item-properties/");
    let risk = scene.made(&properties, json!({"display_name": "Risk", "property_type": "OPTION"})).await;
    let note = scene.made(&properties, json!({"display_name": "Note", "property_type": "TEXT"})).await;
    let path = format!("{properties}{risk}/options/");
    let high = scene.made(&path, json!({"name": "High", "is_default": true})).await;
    let second = scene.ask("POST", &path, Some(json!({"name": "Low", "is_default": true}))).await;
    assert_eq!(second.expect_problem(400, "validation_error").error_fields(), ["is_default"]);
    scene.ask("PATCH", &format!("{path}{high}/"), Some(json!({"is_default": false}))).await.expect(200);
    scene.made(&path, json!({"name": "Low", "is_default": true})).await;
    for other in [ONE.to_owned(), note.clone()] {
        let page = scene.ask("GET", &format!("{properties}{other}/options/"), None).await.expect(200);
        assert_eq!((page.calls(), page.data().len(), &page.json["total_count"]), (0, 0, &json!(0)));
        let one = format!("{properties}{other}/options/{high}/");
        scene.ask("GET", &one, None).await.expect_problem(404, "resource_not_found");
    }
    let create = |property: &str| format!("{properties}{property}/options/");
    let body = json!({"name": "x"});
    scene.ask("POST", &create(&note), Some(body.clone())).await.expect_problem(400, "validation_error");
    scene.ask("POST", &create(ONE), Some(body)).await.expect_problem(404, "resource_not_found");
    scene.end();
}
