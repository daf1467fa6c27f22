//! `workspaces/{slug}/work-item-types/{type_id}/properties/`.

use crate::operations::scene::{ACME, Scene, WEB, card};
use serde_json::json;

#[tokio::test]
async fn properties_of_a_type_show_in_the_projects_that_import_it() {
    let mut scene = Scene::in_workspace_mode().await;
    scene.expect(card());
    let kind = scene.made(&format!("{ACME}/work-item-types/"), json!({"name": "Bug"})).await;
    let body = json!({"display_name": "Risk", "property_type": "TEXT"});
    let property = scene.made(&format!("{ACME}/work-item-properties/"), body).await;
    let path = format!("{ACME}/work-item-types/{kind}/properties/");
    let attached = scene.ask("POST", &path, Some(json!({"properties": [property]}))).await.expect(201);
    assert_eq!((attached.calls(), attached.json), (0, json!({"properties": [property]})));
    let on_project = format!("{WEB}/work-item-types/{kind}/properties/");
    scene.ask("GET", &on_project, None).await.expect_problem(404, "resource_not_found");
    let import = format!("{WEB}/work-item-types/import/");
    scene.ask("POST", &import, Some(json!({"work_item_types": [kind]}))).await.expect(200);
    let shown = scene.ask("GET", &on_project, None).await.expect(200);
    assert_eq!((shown.calls(), shown.column("id")), (0, vec![json!(property)]));
    let listed = scene.ask("GET", &format!("{WEB}/work-item-properties/"), None).await.expect(200);
    assert_eq!(listed.column("id"), [json!(property)]);
    scene.ask("DELETE", &format!("{path}{property}/"), None).await.expect(204);
    assert!(scene.ask("GET", &on_project, None).await.expect(200).data().is_empty());
    scene.end();
}
