//! `workspaces/{slug}/work-item-properties/`.

use crate::operations::scene::{ACME, Scene};
use serde_json::json;

#[tokio::test]
async fn a_property_is_born_with_a_context_that_covers_everything() {
    let mut scene = Scene::in_workspace_mode().await;
    let path = format!("{ACME}/work-item-properties/");
    let body = json!({"display_name": "Risk", "property_type": "DECIMAL", "is_required": true,
        "default_value": ["12.5"]});
    let made = scene.ask("POST", &path, Some(body)).await.expect(201);
    assert_eq!((made.calls(), &made.json["default_value"]), (0, &json!(["12.5"])));
    let contexts = format!("{path}{}/contexts/", made.text("id"));
    let seeded = scene.ask("GET", &contexts, None).await.expect(200);
    let seeded = &seeded.data()[0];
    assert_eq!((&seeded["name"], &seeded["is_default"]), (&json!("Default"), &json!(true)));
    assert_eq!((&seeded["is_required"], &seeded["default_value"]), (&json!(true), &json!(["12.5"])));
    assert_eq!((&seeded["project_ids"], &seeded["sort_order"]), (&json!([]), &json!(65535)));
    scene.ask("DELETE", &format!("{path}{}/", made.text("id")), None).await.expect(204);
    scene.ask("GET", &contexts, None).await.expect_problem(404, "resource_not_found");
    scene.end();
}
