//! `projects/{project_id}/work-item-types/{type_id}/properties/`.

use crate::operations::scene::{ONE, Scene, WEB};
use serde_json::json;

#[tokio::test]
async fn attaching_is_all_or_nothing_and_keeps_its_order() {
    let mut scene = Scene::in_project().await;
    let kind = scene.made(&format!("{WEB}/work-item-types/"), json!({"name": "Bug"})).await;
    let mut properties = Vec::new();
    for name in ["Points", "Cause"] {
        let body = json!({"display_name": name, "property_type": "TEXT"});
        properties.push(scene.made(&format!("{WEB}/work-item-properties/"), body).await);
    }
    let path = format!("{WEB}/work-item-types/{kind}/properties/");
    let bad = scene.ask("POST", &path, Some(json!({"properties": [properties[0], ONE]}))).await;
    assert_eq!(bad.expect_problem(400, "validation_error").error_fields(), ["properties"]);
    assert!(scene.ask("GET", &path, None).await.expect(200).data().is_empty());
    let body = json!({"properties": [properties[1], properties[0]]});
    let attached = scene.ask("POST", &path, Some(body.clone())).await.expect(201);
    assert_eq!((attached.calls(), &attached.json), (0, &body));
    let again = scene.ask("POST", &path, Some(json!({"properties": [properties[0]]}))).await.expect(201);
    assert_eq!(again.json, body);
    assert_eq!(scene.ask("GET", &path, None).await.expect(200).column("name"), [json!("cause"), json!("points")]);
    let one = format!("{path}{}/", properties[0]);
    let read = scene.ask("GET", &one, None).await.expect(200);
    assert_eq!((read.calls(), read.text("display_name")), (0, "Points".into()));
    scene.ask("DELETE", &one, None).await.expect(204);
    for method in ["GET", "DELETE"] {
        scene.ask(method, &one, None).await.expect_problem(404, "resource_not_found");
    }
    let definition = format!("{WEB}/work-item-properties/{}/", properties[0]);
    scene.ask("GET", &definition, None).await.expect(200);
    scene.end();
}
