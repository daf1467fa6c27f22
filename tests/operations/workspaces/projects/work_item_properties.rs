//! `projects/{project_id}/work-item-properties/`.

use crate::operations::scene::{BOB, ONE, Scene, WEB};
use serde_json::{Value, json};

#[tokio::test]
async fn a_property_keeps_its_slug_and_takes_its_options_with_it() {
    let mut scene = Scene::in_project().await;
    let path = format!("{WEB}/work-item-properties/");
    let options = json!([{"name": "High", "is_default": true}, {"name": "Low", "external_id": "2"}]);
    let body = json!({"display_name": " Risk level ", "property_type": "OPTION", "options": options});
    let made = scene.ask("POST", &path, Some(body)).await.expect(201);
    assert_eq!(
        (made.calls(), made.text("name"), made.text("display_name")),
        (2, "risk_level".into(), "Risk level".into())
    );
    let shown = made.json["options"].as_array().expect("options");
    assert_eq!((&shown[0]["sort_order"], &shown[1]["sort_order"]), (&json!(10000), &json!(20000)));
    assert_eq!((&shown[0]["is_default"], &shown[1]["external_id"]), (&json!(true), &json!("2")));
    assert_eq!((&made.json["settings"], &made.json["relation_type"]), (&json!({}), &Value::Null));
    let one = format!("{path}{}/", made.text("id"));
    let renamed = scene.ask("PATCH", &one, Some(json!({"display_name": "Danger"}))).await.expect(200);
    assert_eq!((renamed.text("name"), renamed.text("display_name")), ("risk_level".into(), "Danger".into()));
    let again = json!({"display_name": "Risk Level", "property_type": "TEXT"});
    assert_eq!(scene.ask("POST", &path, Some(again)).await.expect(201).text("name"), "risk_level_2");
    scene.ask("DELETE", &one, None).await.expect(204);
    scene.ask("GET", &format!("{one}options/"), None).await.expect_problem(404, "resource_not_found");
    scene.end();
}

#[tokio::test]
async fn every_fault_of_a_definition_is_told_at_once() {
    let mut scene = Scene::in_project().await;
    let path = format!("{WEB}/work-item-properties/");
    let body = json!({"display_name": "x", "property_type": "DECIMAL", "relation_type": "USER", "settings": [],
        "default_value": ["many"], "options": [{"name": "a"}]});
    let refused = scene.ask("POST", &path, Some(body)).await.expect_problem(400, "validation_error");
    for field in ["relation_type", "settings", "options"] {
        assert!(refused.error_fields().contains(&field), "{field}: {}", refused.json);
    }
    let nested = json!({"display_name": "x", "property_type": "OPTION", "options": [{"name": "a"}, {"name": 5}]});
    let refused = scene.ask("POST", &path, Some(nested)).await.expect_problem(400, "validation_error");
    assert_eq!(refused.error_fields(), ["options.1.name"]);
    let everywhere = json!({"display_name": " ", "property_type": "OPTION", "is_multi": 3, "settings": [],
        "validation_rules": null, "default_value": [3], "options": [{"name": "a"}, {"name": "A"}, {"id": "x"}, 4]});
    let refused = scene.ask("POST", &path, Some(everywhere)).await.expect_problem(400, "validation_error");
    let single = ["display_name", "is_multi", "validation_rules"];
    let inside = ["default_value.0", "options.1.name", "options.2.name", "options.3", "settings"];
    assert_eq!(refused.error_fields(), [&single[..], &inside].concat());
    assert!(scene.ask("GET", &path, None).await.expect(200).data().is_empty());
    let one =
        format!("{path}{}/", scene.made(&path, json!({"display_name": "x", "property_type": "OPTION"})).await);
    let restated = json!({"is_active": null, "options": [{"id": "x"}]});
    let refused = scene.ask("PATCH", &one, Some(restated)).await.expect_problem(400, "validation_error");
    assert_eq!(refused.error_fields(), ["is_active", "options.0.id"]);
    scene.end();
}

#[tokio::test]
async fn restated_options_have_the_order_in_which_they_were_sent() {
    let mut scene = Scene::in_project().await;
    let path = format!("{WEB}/work-item-properties/");
    let options = json!([{"name": "Low"}, {"name": "High"}]);
    let body = json!({"display_name": "Risk", "property_type": "OPTION", "options": options});
    let made = scene.ask("POST", &path, Some(body)).await.expect(201);
    let low = made.json["options"][0]["id"].clone();
    let one = format!("{path}{}/", made.text("id"));
    let restated = json!({"options": [{"name": "Highest"}, {"name": "high"}, {"id": low}]});
    let changed = scene.ask("PATCH", &one, Some(restated)).await.expect(200);
    let listed = scene.ask("GET", &format!("{one}options/?order_by=sort_order"), None).await.expect(200);
    let places = |options: &[Value]| -> Vec<(Value, Value)> {
        options.iter().map(|option| (option["name"].clone(), option["sort_order"].clone())).collect()
    };
    let expected = [("Highest", 10_000), ("high", 20_000), ("Low", 30_000)];
    let expected = expected.map(|(name, place)| (json!(name), json!(place)));
    assert_eq!(places(changed.json["options"].as_array().expect("options")), expected);
    assert_eq!(places(listed.data()), expected);
    scene.end();
}

/// Names in one body must differ by more than letter case, but the options route takes such names.
#[tokio::test]
async fn options_whose_names_differ_in_letter_case_are_told_apart_by_the_exact_name() {
    let mut scene = Scene::in_project().await;
    let path = format!("{WEB}/work-item-properties/");
    let one =
        format!("{path}{}/", scene.made(&path, json!({"display_name": "Hue", "property_type": "OPTION"})).await);
    let options = format!("{one}options/");
    let mut ids = Vec::new();
    for name in ["Red", "red"] {
        ids.push(json!(scene.made(&options, json!({ "name": name })).await));
    }
    let unclear = json!({"options": [{"name": "RED"}]});
    let refused = scene.ask("PATCH", &one, Some(unclear)).await.expect_problem(400, "validation_error");
    assert_eq!(refused.error_fields(), ["options.0.name"]);
    let exact = json!({"options": [{"name": "red"}]});
    let changed = scene.ask("PATCH", &one, Some(exact)).await.expect(200);
    let left: Vec<_> =
        changed.json["options"].as_array().expect("options").iter().map(|left| &left["id"]).collect();
    assert_eq!(left, [&ids[1]]);
    scene.end();
}

#[tokio::test]
async fn a_default_that_the_new_type_cannot_read_is_told_and_not_dropped() {
    let mut scene = Scene::in_project().await;
    let path = format!("{WEB}/work-item-properties/");
    let body = json!({"display_name": "x", "property_type": "TEXT", "default_value": ["many"]});
    let one = format!("{path}{}/", scene.made(&path, body).await);
    let decimal = json!({"property_type": "DECIMAL"});
    let refused = scene.ask("PATCH", &one, Some(decimal)).await.expect_problem(400, "validation_error");
    assert_eq!(refused.error_fields(), ["default_value.0"]);
    let kept = scene.ask("GET", &one, None).await.expect(200);
    assert_eq!((&kept.json["property_type"], &kept.json["default_value"]), (&json!("TEXT"), &json!(["many"])));
    let with_default = json!({"property_type": "DECIMAL", "default_value": ["3"]});
    let changed = scene.ask("PATCH", &one, Some(with_default)).await.expect(200);
    assert_eq!(changed.json["default_value"], json!(["3"]));
    scene.end();
}

/// Otherwise each create that relies on the default would be refused, or would lose it.
#[tokio::test]
async fn a_default_is_judged_as_a_value_is_and_kept_as_sent() {
    let mut scene = Scene::in_project().await;
    let path = format!("{WEB}/work-item-properties/");
    for (kind, relation, good, bad) in [
        ("DATETIME", None, vec!["2026-01-01", "2026-01-01T02:00:00+02:00"], vec![" 2026-01-01", "2026-01-01 "]),
        ("RELATION", Some("USER"), vec![BOB, "bob@acme.test", " bob@acme.test"], vec!["bob", "a b@acme.test", ""]),
        ("RELATION", Some("ISSUE"), vec![ONE, "WEB-1", "web-1"], vec!["WEB", "WEB-0", "soon", ""]),
        ("RELATION", Some("RELEASE"), vec![ONE], vec!["r-1", "WEB-1"]),
    ] {
        let body = |default: &[&str]| {
            json!({"display_name": "x", "property_type": kind, "relation_type": relation, "is_multi": true,
                "default_value": default})
        };
        let refused = scene.ask("POST", &path, Some(body(&bad))).await.expect_problem(400, "validation_error");
        let fields: Vec<String> = (0..bad.len()).map(|index| format!("default_value.{index}")).collect();
        assert_eq!(refused.error_fields(), fields, "{kind} {relation:?}");
        let made = scene.ask("POST", &path, Some(body(&good))).await.expect(201);
        assert_eq!(made.json["default_value"], json!(good), "{kind} {relation:?}");
        let one = format!("{path}{}/", made.text("id"));
        let again = json!({"default_value": bad});
        let refused = scene.ask("PATCH", &one, Some(again)).await.expect_problem(400, "validation_error");
        assert_eq!(refused.error_fields(), fields, "{kind} {relation:?}");
    }
    scene.end();
}
