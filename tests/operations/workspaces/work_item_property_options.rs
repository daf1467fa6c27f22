//! `workspaces/{slug}/work-item-properties/{property_id}/options/`.

use crate::operations::scene::{ACME, ONE, Scene};
use crate::support::scripted::Exchange;
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

/// An entry about the context that offers the options would contain all options of the property, twice, for each added
/// or removed option.
#[tokio::test]
async fn an_option_that_comes_or_goes_is_told_once() {
    let mut scene = Scene::in_workspace_mode().await;
    let properties = format!("{ACME}/work-item-properties/");
    let risk = scene.made(&properties, json!({"display_name": "Risk", "property_type": "OPTION"})).await;
    let path = format!("{properties}{risk}/options/");
    let high = scene.made(&path, json!({"name": "High", "is_default": true})).await;
    let low = scene.made(&path, json!({"name": "Low"})).await;
    scene.ask("DELETE", &format!("{path}{high}/"), None).await.expect(204);
    let contexts = format!("{properties}{risk}/contexts/");
    let seeded = scene.ask("GET", &contexts, None).await.expect(200);
    let seeded = seeded.data()[0]["id"].as_str().expect("an id").to_owned();
    let log = format!("{ACME}/audit-logs/?order_by=created_at&per_page=200");
    let told = scene.ask("GET", &log, None).await.expect(200);
    let events: Vec<_> =
        told.data().iter().map(|entry| (entry["event_name"].clone(), entry["target_id"].clone())).collect();
    let of = |what: &str, id: &str| (json!(format!("work_item_property{what}")), json!(id));
    let expected = [
        of(".created", &risk),
        of("_option.created", &high),
        of("_option.created", &low),
        of("_option.deleted", &high),
    ];
    assert_eq!(events[events.len() - 4..], expected);
    let is_default = |at: usize| told.data()[events.len() - at]["new_value"]["is_default"].clone();
    assert_eq!([is_default(3), is_default(2)], [true, false]);
    // A change of the options that a context offers is logged for the context.
    let other = json!({"options": [{"id": low, "is_default": true}]});
    scene.ask("PATCH", &format!("{contexts}{seeded}/"), Some(other)).await.expect(200);
    let page = json!({"total_count": 0, "next_page_results": false, "results": []});
    let projects = "workspaces/acme/projects/?per_page=1000&fields=id,identifier,archived_at&order_by=-created_at";
    scene.expect(Exchange::get(projects).reply(200, page));
    let told = scene.ask("GET", &log, None).await.expect(200);
    let last = told.data().last().expect("an entry").clone();
    assert_eq!(
        (&last["event_name"], &last["target_id"]),
        (&json!("work_item_property_context.updated"), &json!(seeded))
    );
    scene.end();
}
