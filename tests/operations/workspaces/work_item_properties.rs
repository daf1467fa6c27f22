//! `workspaces/{slug}/work-item-properties/`.

use crate::operations::scene::{ACME, Scene, WEB};
use crate::support::gateway::Gateway;
use causeway::sandbox::Seed;
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

#[tokio::test]
async fn options_given_with_a_property_have_an_external_pair_on_a_project_alone() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let option = |pair: serde_json::Value| {
        let option = json!({"name": "High", "external_id": pair, "external_source": pair});
        json!({"display_name": "Risk", "property_type": "OPTION", "options": [option]})
    };
    let of_project = format!("{WEB}/work-item-properties/");
    let made = gateway.post("ada", &of_project, option(json!("e"))).await.expect(201);
    assert_eq!(made.json["options"][0]["external_id"], "e");
    let refused = gateway.post("ada", &of_project, option(json!(5))).await;
    let refused = refused.expect_problem(400, "validation_error");
    assert_eq!(refused.error_fields(), ["options.0.external_id", "options.0.external_source"]);
    let on = json!({"is_work_item_types_enabled": true});
    gateway.patch("ada", &format!("{ACME}/features/"), on).await.expect(200);
    let path = format!("{ACME}/work-item-properties/");
    for pair in [json!("e"), json!(5)] {
        let made = gateway.post("ada", &path, option(pair.clone())).await.expect(201);
        assert!(made.headers["causeway-ignored"].contains("options.0.external_id"));
        assert_eq!(made.json["options"][0]["external_id"], json!(null));
        let one = format!("{path}{}/", made.text("id"));
        // Values that the option got from its own route stay.
        let options = format!("{one}options/{}/", made.json["options"][0]["id"].as_str().expect("an id"));
        let of_its_own = json!({"external_id": "own", "external_source": "own"});
        gateway.patch("ada", &options, of_its_own).await.expect(200);
        let again = gateway.patch("ada", &one, option(pair)).await.expect(200);
        assert_eq!(again.json["options"][0]["external_id"], "own");
    }
}

#[tokio::test]
async fn each_faulty_default_is_named_by_its_place() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let on = json!({"is_work_item_types_enabled": true});
    gateway.patch("ada", &format!("{ACME}/features/"), on).await.expect(200);
    let path = format!("{ACME}/work-item-properties/");
    let body = |defaults: serde_json::Value| {
        let mut body = json!({"display_name": "Cost", "property_type": "DECIMAL", "is_multi": true});
        body["default_value"] = defaults;
        body
    };
    let refused = gateway.post("ada", &path, body(json!([1, "abc", "a\0", "2", "x"]))).await;
    let refused = refused.expect_problem(400, "validation_error");
    assert_eq!(refused.error_fields(), ["0", "2", "1", "4"].map(|place| format!("default_value.{place}")));
    // The number of elements is that of the request.
    let single = json!({"display_name": "Cost", "property_type": "DECIMAL", "default_value": [1, "2"]});
    let refused = gateway.post("ada", &path, single).await.expect_problem(400, "validation_error");
    assert_eq!(refused.error_fields(), ["default_value.0", "default_value"]);
}
