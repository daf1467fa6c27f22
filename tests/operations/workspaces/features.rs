//! `workspaces/{slug}/features/`.

use crate::operations::scene::{ACME, BOB, Scene};
use crate::support::gateway::Gateway;
use causeway::sandbox::Seed;
use serde_json::{Value, json};

#[tokio::test]
async fn a_change_costs_the_proofs_and_answers_the_whole_record() {
    let mut scene = Scene::in_workspace().await;
    let path = format!("{ACME}/features/");
    let first = scene.ask("GET", &path, None).await.expect(200);
    assert_eq!((first.calls(), &first.json["is_wiki_enabled"]), (3, &json!(false)));
    let body = json!({"is_wiki_enabled": true, "work_item_type_default_level": -2, "id": BOB, "nonsense": 1});
    let changed = scene.ask("PATCH", &path, Some(body)).await.expect(200);
    let mut expected = first.json.clone();
    expected["is_wiki_enabled"] = json!(true);
    expected["work_item_type_default_level"] = json!(-2);
    assert_eq!((changed.calls(), &changed.json), (0, &expected));
    let bad = json!({"is_wiki_enabled": null, "is_pi_enabled": "true", "work_item_type_default_level": 1.5});
    let refused = scene.ask("PATCH", &path, Some(bad)).await.expect_problem(400, "validation_error");
    let fields = ["work_item_type_default_level", "is_wiki_enabled", "is_pi_enabled"];
    assert_eq!(refused.error_fields(), fields);
    assert_eq!(scene.ask("GET", &path, None).await.expect(200).json, expected);
    // For JSON Schema, 7.0 is an integer.
    let whole = scene.ask("PATCH", &path, Some(json!({"work_item_type_default_level": 7.0}))).await.expect(200);
    assert_eq!(whole.json["work_item_type_default_level"], json!(7));
    scene.end();
}

#[tokio::test]
async fn entering_workspace_mode_provides_a_default_type() {
    let mut scene = Scene::in_workspace_mode().await;
    let types = scene.ask("GET", &format!("{ACME}/work-item-types/"), None).await.expect(200);
    assert_eq!((types.column("name"), types.column("is_default")), (vec![json!("Task")], vec![json!(true)]));
    // Switching the mode off and on again creates no second one (O61).
    for on in [false, true] {
        let body = json!({"is_work_item_types_enabled": on});
        scene.ask("PATCH", &format!("{ACME}/features/"), Some(body)).await.expect(200);
    }
    assert_eq!(scene.ask("GET", &format!("{ACME}/work-item-types/"), None).await.expect(200).json, types.json);
    scene.end();
}

/// Anybody can repeat a refused request, and entries stay for ever.
#[tokio::test]
async fn a_person_fills_the_log_with_no_more_than_sixty_refused_changes_a_minute() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let path = format!("{ACME}/features/");
    for _ in 0..63 {
        gateway.patch("gil", &path, json!({"is_wiki_enabled": true})).await.expect_problem(403, "forbidden");
    }
    gateway.patch("bob", &path, json!({"is_wiki_enabled": true})).await.expect_problem(403, "forbidden");
    let log = gateway.get("ada", &format!("{ACME}/audit-logs/?outcome=failure&per_page=100")).await.expect(200);
    assert_eq!(log.data().len(), 61, "60 of gil and one of bob");
}

#[tokio::test]
async fn changes_and_refused_changes_are_in_the_log() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let path = format!("{ACME}/features/");
    gateway.patch("ada", &path, json!({"is_wiki_enabled": true})).await.expect(200);
    gateway.patch("ada", &path, json!({"is_wiki_enabled": true})).await.expect(200);
    for key in ["bob", "gil"] {
        gateway.get(key, &path).await.expect(200);
        gateway.patch(key, &path, json!({"is_wiki_enabled": "no"})).await.expect_problem(403, "forbidden");
    }
    let log = gateway.get("ada", &format!("{ACME}/audit-logs/?order_by=created_at")).await.expect(200);
    assert_eq!(log.column("event_name"), vec![json!("settings.features_updated"); 3], "no entry for no change");
    assert_eq!(log.column("outcome"), [json!("success"), json!("failure"), json!("failure")]);
    assert_eq!(log.column("actor_display_name"), [json!("ada"), json!("bob"), json!("gil")]);
    assert_eq!(log.data()[1]["reason"], "insufficient_permissions");
    let flag = |entry: usize, value: &str| log.data()[entry][value]["is_wiki_enabled"].clone();
    assert_eq!((flag(0, "old_value"), flag(0, "new_value")), (json!(false), json!(true)));
}

#[tokio::test]
async fn nothing_is_stored_for_a_workspace_whose_id_v1_does_not_tell() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let projects = gateway.get("ada", "/api/v1/workspaces/acme/projects/").await.expect(200);
    for project in projects.json["results"].as_array().expect("projects") {
        let path = format!("/api/v1/workspaces/acme/projects/{}/", project["id"].as_str().expect("an id"));
        gateway.delete("ada", &path).await;
    }
    let left = gateway.get("ada", "/api/v1/workspaces/acme/projects/").await.expect(200);
    assert_eq!(left.json["results"], json!([]), "ada sees none any more");
    let path = "/api/v2/workspaces/acme/features/";
    let before = gateway.get("ada", path).await.expect(200);
    let refused = gateway.patch("ada", path, json!({"is_wiki_enabled": true})).await;
    let refused = refused.expect_problem(409, "conflict");
    assert!(refused.text("detail").contains("no project"), "{}", refused.json);
    assert_eq!(gateway.get("ada", path).await.expect(200).json["is_wiki_enabled"], before.json["is_wiki_enabled"]);
    // No entry is made either, because it could not be found later.
    gateway.patch("bob", path, json!({"is_wiki_enabled": true})).await.expect_problem(403, "forbidden");
    let log = gateway.get("ada", &format!("{ACME}/audit-logs/")).await.expect(200);
    assert_eq!(log.data(), &[Value::Null; 0]);
}
