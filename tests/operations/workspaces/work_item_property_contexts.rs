//! `workspaces/{slug}/work-item-properties/{property_id}/contexts/`.

use crate::operations::scene::{ACME, ONE, P, Scene, TWO, card};
use crate::support::gateway::Gateway;
use crate::support::proofs::CARD;
use crate::support::scripted::Exchange;
use causeway::sandbox::Seed;
use serde_json::{Value, json};

fn web() -> &'static str {
    &P[P.len() - 36..]
}

async fn property(scene: &mut Scene, kind: &str) -> String {
    let body = json!({"display_name": "Risk", "property_type": kind});
    scene.made(&format!("{ACME}/work-item-properties/"), body).await
}

#[tokio::test]
async fn listed_projects_are_proven_by_their_cards_once() {
    let mut scene = Scene::in_workspace_mode().await;
    let path = format!("{ACME}/work-item-properties/{}/contexts/", property(&mut scene, "TEXT").await);
    scene.expect(card());
    let body = json!({"name": "Web", "project_ids": [web()], "applies_to_all_work_item_types": true,
        "is_required": true});
    let made = scene.ask("POST", &path, Some(body)).await.expect(201);
    assert_eq!((made.calls(), &made.json["project_ids"]), (1, &json!([web()])));
    assert_eq!((&made.json["issue_type_ids"], &made.json["sort_order"]), (&json!([]), &json!(75535)));
    let one = format!("{path}{}/", made.text("id"));
    let again = scene.ask("PATCH", &one, Some(json!({"project_ids": [web()]}))).await.expect(200);
    assert_eq!((again.calls(), &again.json), (0, &made.json));
    let foreign = format!("workspaces/acme/projects/{ONE}/{CARD}");
    scene.expect(Exchange::get(&foreign).reply(404, json!({"error": "The requested resource does not exist."})));
    let answer = scene.ask("PATCH", &one, Some(json!({"project_ids": [web(), ONE]}))).await;
    assert_eq!(answer.expect_problem(400, "validation_error").error_fields(), ["project_ids"]);
    scene.ask("DELETE", &one, None).await.expect(204);
    scene.end();
}

#[tokio::test]
async fn many_listed_projects_are_proven_by_one_list() {
    let mut scene = Scene::in_workspace_mode().await;
    let path = format!("{ACME}/work-item-properties/{}/contexts/", property(&mut scene, "TEXT").await);
    let others: Vec<String> = (1..4).map(|n| format!("33333333-3333-4333-8333-{n:012}")).collect();
    let rows: Vec<Value> = [web().to_owned()]
        .iter()
        .chain(&others)
        .map(|id| json!({"id": id, "identifier": "P", "archived_at": (*id == others[2]).then_some("2026-11-20T00:00:00Z")}))
        .collect();
    let page = json!({"total_count": 4, "next_page_results": false, "results": rows});
    let list = "workspaces/acme/projects/?per_page=1000&fields=id,identifier,archived_at&order_by=-created_at";
    let mut all = others.clone();
    all.push(web().to_owned());
    let body = |ids: &[String]| json!({"name": "Many", "project_ids": ids, "applies_to_all_work_item_types": true});
    scene.expect(Exchange::get(list).reply(200, page.clone()));
    let refused = scene.ask("POST", &path, Some(body(&all))).await.expect_problem(400, "validation_error");
    assert_eq!(refused.error_fields(), ["project_ids"], "an archived project is none");
    assert!(refused.json["errors"][0]["message"].as_str().is_some_and(|text| text.contains(&others[2])));
    // The project is unarchived: the cached list is read again before a refusal, and the new list is cached.
    let back = page["results"].as_array().expect("rows").iter();
    let back: Vec<Value> =
        back.map(|row| json!({"id": row["id"], "identifier": "P", "archived_at": null})).collect();
    scene.expect(
        Exchange::get(list).reply(200, json!({"total_count": 4, "next_page_results": false, "results": back})),
    );
    let made = scene.ask("POST", &path, Some(body(&all))).await.expect(201);
    assert_eq!(made.calls(), 1);
    let one = format!("{path}{}/", made.text("id"));
    let again = scene.ask("PATCH", &one, Some(json!({"project_ids": all}))).await.expect(200);
    assert_eq!(again.calls(), 0);
    scene.end();
}

#[tokio::test]
async fn a_context_can_be_written_back_after_one_of_its_projects_was_archived() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let on = json!({"is_work_item_types_enabled": true});
    gateway.patch("ada", &format!("{ACME}/features/"), on).await.expect(200);
    let projects = "/api/v1/workspaces/acme/projects/";
    let short = gateway.post("ada", projects, json!({"name": "Short", "identifier": "SHORT"})).await;
    let short = short.expect(201).text("id");
    let property = json!({"display_name": "Risk", "property_type": "TEXT"});
    let property = gateway.post("ada", &format!("{ACME}/work-item-properties/"), property).await.expect(201);
    let path = format!("{ACME}/work-item-properties/{}/contexts/", property.text("id"));
    let body = json!({"name": "Both", "project_ids": [short, web()], "applies_to_all_work_item_types": true});
    let one = format!("{path}{}/", gateway.post("ada", &path, body).await.expect(201).text("id"));
    gateway.post("ada", &format!("{projects}{short}/archive/"), json!({})).await.expect(204);
    let read = gateway.get("ada", &one).await.expect(200).json["project_ids"].clone();
    assert_eq!(read, json!([short, web()]));
    let kept = gateway.patch("ada", &one, json!({"name": "Kept", "project_ids": read})).await.expect(200);
    assert_eq!((&kept.json["project_ids"], kept.text("name")), (&read, "Kept".into()));
    // A caller cannot add a project that they do not see.
    gateway.patch("ada", &one, json!({"project_ids": [web()]})).await.expect(200);
    let refused = gateway.patch("ada", &one, json!({"project_ids": read})).await;
    assert_eq!(refused.expect_problem(400, "validation_error").error_fields(), ["project_ids"]);
}

#[tokio::test]
async fn scopes_are_pinned_and_do_not_overlap() {
    let mut scene = Scene::in_workspace_mode().await;
    let path = format!("{ACME}/work-item-properties/{}/contexts/", property(&mut scene, "TEXT").await);
    let unpinned = scene.ask("POST", &path, Some(json!({"name": "None"}))).await;
    let refused = unpinned.expect_problem(400, "validation_error");
    assert_eq!(refused.error_fields(), ["project_ids", "issue_type_ids"]);
    let wide = json!({"name": "Wide", "applies_to_all_projects": true, "applies_to_all_work_item_types": true});
    scene.ask("POST", &path, Some(wide)).await.expect_problem(400, "validation_error");
    scene.expect(card());
    let web = |name: &str| json!({"name": name, "project_ids": [web()], "applies_to_all_work_item_types": true});
    let first = scene.made(&path, web("Web")).await;
    scene.ask("POST", &path, Some(web("Again"))).await.expect_problem(400, "validation_error");
    let mut both = web("Web");
    both["issue_type_ids"] = json!([TWO]);
    let answer = scene.ask("POST", &path, Some(both)).await.expect_problem(400, "validation_error");
    assert!(answer.error_fields().contains(&"issue_type_ids") && answer.error_fields().contains(&"name"));
    let one = format!("{path}{first}/");
    let empty = scene.ask("PATCH", &one, Some(json!({"project_ids": []}))).await;
    assert_eq!(empty.expect_problem(400, "validation_error").error_fields(), ["project_ids"]);
    let half = scene.ask("PATCH", &one, Some(json!({"external_id": "1"}))).await;
    assert_eq!(half.expect_problem(400, "validation_error").error_fields(), ["external_source"]);
    for (id, missing) in
        [(json!(" "), "external_id"), (json!(null), "external_id"), (json!("1"), "external_source")]
    {
        let source = if missing == "external_id" { json!("q") } else { json!("") };
        let blank = json!({"external_id": id, "external_source": source});
        let refused = scene.ask("PATCH", &one, Some(blank)).await.expect_problem(400, "validation_error");
        assert_eq!(refused.error_fields(), [missing], "a blank half is as good as none");
    }
    let pair = json!({"external_id": " 1 ", "external_source": "q"});
    let trimmed = scene.ask("PATCH", &one, Some(pair)).await.expect(200);
    assert_eq!(trimmed.text("external_id"), "1");
    scene.end();
}

#[tokio::test]
async fn a_context_offers_its_own_choices() {
    let mut scene = Scene::in_workspace_mode().await;
    let risk = property(&mut scene, "OPTION").await;
    let options = format!("{ACME}/work-item-properties/{risk}/options/");
    let high = scene.made(&options, json!({"name": "High"})).await;
    let path = format!("{ACME}/work-item-properties/{risk}/contexts/");
    scene.expect(card());
    let body = json!({"name": "Web", "project_ids": [web()], "applies_to_all_work_item_types": true,
        "options": [{"name": "Low", "is_default": true}, {"id": high}]});
    let made = scene.ask("POST", &path, Some(body)).await.expect(201);
    let offered = made.json["options"].as_array().expect("options");
    assert_eq!((&offered[0]["name"], &offered[1]["id"]), (&json!("Low"), &json!(high)));
    let keys: Vec<&String> = offered[0].as_object().expect("an option").keys().collect();
    assert_eq!(keys, ["id", "name", "is_default", "sort_order"]);
    let one = format!("{path}{}/", made.text("id"));
    let narrowed = scene.ask("PATCH", &one, Some(json!({"options": [{"id": high}]}))).await.expect(200);
    assert_eq!(narrowed.json["options"].as_array().map(Vec::len), Some(1));
    assert_eq!(scene.ask("GET", &options, None).await.expect(200).column("name"), [json!("High")]);
    let faulty = json!({"options": [{"description": "x"}, {"id": ONE}]});
    let refused = scene.ask("PATCH", &one, Some(faulty)).await.expect_problem(400, "validation_error");
    assert_eq!(refused.error_fields(), ["options.0.name", "options.1.id"]);
    let faulty = json!({"is_multi": 1, "options": [{"description": "x"}], "settings": 4});
    let refused = scene.ask("PATCH", &one, Some(faulty)).await.expect_problem(400, "validation_error");
    assert_eq!(refused.error_fields(), ["is_multi", "options.0.name", "settings"]);
    scene.end();
}

#[tokio::test]
async fn a_property_is_written_back_as_read_when_several_contexts_have_a_default() {
    let mut scene = Scene::in_workspace_mode().await;
    let one = format!("{ACME}/work-item-properties/{}/", property(&mut scene, "OPTION").await);
    let everywhere = json!({"options": [{"name": "a", "is_default": true}, {"name": "b"}]});
    scene.ask("PATCH", &one, Some(everywhere)).await.expect(200);
    scene.expect(card());
    let body = json!({"name": "Web", "project_ids": [web()], "applies_to_all_work_item_types": true,
        "options": [{"name": "x", "is_default": true}]});
    scene.ask("POST", &format!("{one}contexts/"), Some(body)).await.expect(201);
    let read = scene.ask("GET", &one, None).await.expect(200).json;
    let flags = |read: &Value| {
        let options = read["options"].as_array().expect("options").iter();
        options.map(|option| (option["name"].clone(), option["is_default"].clone())).collect::<Vec<_>>()
    };
    let (yes, no) = (json!(true), json!(false));
    assert_eq!(flags(&read), [(json!("a"), yes.clone()), (json!("b"), no), (json!("x"), yes)]);
    let again = scene.ask("PATCH", &one, Some(json!({"options": read["options"]}))).await.expect(200);
    assert_eq!(flags(&again.json), flags(&read));
    let mut two = read["options"].clone();
    two[1]["is_default"] = json!(true);
    let refused = scene.ask("PATCH", &one, Some(json!({ "options": two }))).await;
    assert_eq!(refused.expect_problem(400, "validation_error").error_fields(), ["options.1.is_default"]);
    scene.end();
}

#[tokio::test]
async fn an_option_is_named_once_by_id_or_by_name() {
    let mut scene = Scene::in_workspace_mode().await;
    let one = format!("{ACME}/work-item-properties/{}/", property(&mut scene, "OPTION").await);
    let made = json!({"options": [{"name": "Red"}, {"name": "Blue"}]});
    let made = scene.ask("PATCH", &one, Some(made)).await.expect(200).json;
    let red = made["options"][0]["id"].clone();
    for options in [json!([{"id": red}, {"name": "red"}]), json!([{"name": "RED"}, {"id": red}])] {
        let at = usize::from(options[0]["id"].is_string());
        let refused = scene.ask("PATCH", &one, Some(json!({ "options": options }))).await;
        let refused = refused.expect_problem(400, "validation_error");
        assert_eq!(refused.error_fields(), [format!("options.{at}.name")]);
    }
    // A name that becomes free can be used again.
    let options = json!([{"id": red, "name": "Crimson"}, {"name": "red"}]);
    let renamed = scene.ask("PATCH", &one, Some(json!({ "options": options }))).await.expect(200).json;
    assert_eq!((&renamed["options"][0]["id"], &renamed["options"][1]["name"]), (&red, &json!("red")));
    scene.end();
}

#[tokio::test]
async fn a_default_value_goes_and_is_renamed_with_its_option() {
    let mut scene = Scene::in_workspace_mode().await;
    let risk = property(&mut scene, "OPTION").await;
    let options = format!("{ACME}/work-item-properties/{risk}/options/");
    let high = scene.made(&options, json!({"name": "High"})).await;
    let mid = scene.made(&options, json!({"name": "Mid"})).await;
    let path = format!("{ACME}/work-item-properties/{risk}/contexts/");
    scene.expect(card());
    let body = json!({"name": "Web", "project_ids": [web()], "applies_to_all_work_item_types": true,
        "options": [{"id": high}, {"id": mid}], "default_value": ["Mid"]});
    let one = format!("{path}{}/", scene.made(&path, body).await);
    let renamed = json!({"options": [{"id": high}, {"id": mid, "name": "Medium"}]});
    let renamed = scene.ask("PATCH", &one, Some(renamed)).await.expect(200);
    assert_eq!(renamed.json["default_value"], json!(["Medium"]));
    // The option still exists in the seeded context, but is no choice here.
    let narrowed = scene.ask("PATCH", &one, Some(json!({"options": [{"id": high}]}))).await.expect(200);
    assert_eq!(narrowed.json["default_value"], json!([]));
    scene.ask("PATCH", &one, Some(json!({"is_multi": false}))).await.expect(200);
    let unfit = json!({"options": [{"id": high}], "default_value": ["Medium"]});
    let refused = scene.ask("PATCH", &one, Some(unfit)).await.expect_problem(400, "validation_error");
    assert_eq!(refused.error_fields(), ["default_value.0"]);
    scene.end();
}

#[tokio::test]
async fn a_property_becomes_single_when_its_seeded_context_can() {
    let mut scene = Scene::in_workspace_mode().await;
    let body = json!({"display_name": "Risk", "property_type": "OPTION", "is_multi": true});
    let property = format!(
        "{ACME}/work-item-properties/{}/",
        scene.made(&format!("{ACME}/work-item-properties/"), body).await
    );
    let mut options = Vec::new();
    for name in ["High", "Low"] {
        options.push(scene.made(&format!("{property}options/"), json!({"name": name})).await);
    }
    let listed = scene.ask("GET", &format!("{property}contexts/"), None).await.expect(200);
    let seeded = format!("{property}contexts/{}/", listed.data()[0]["id"].as_str().expect("an id"));
    let preselected = |second: bool| json!({"options": [{"id": options[0], "is_default": true}, {"id": options[1], "is_default": second}]});
    scene.ask("PATCH", &seeded, Some(preselected(true))).await.expect(200);
    let refused = scene.ask("PATCH", &property, Some(json!({"is_multi": false}))).await;
    assert_eq!(refused.expect_problem(400, "validation_error").error_fields(), ["is_multi"]);
    let unchanged = scene.ask("GET", &seeded, None).await.expect(200);
    assert_eq!(unchanged.json["is_multi"], json!(true));
    scene.ask("PATCH", &seeded, Some(preselected(false))).await.expect(200);
    scene.ask("PATCH", &property, Some(json!({"is_multi": false}))).await.expect(200);
    assert_eq!(scene.ask("GET", &seeded, None).await.expect(200).json["is_multi"], json!(false));
    scene.end();
}

/// A gateway in workspace mode, and the paths of a property and of its contexts.
async fn with_property(body: Value) -> (Gateway, String, String) {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let on = json!({"is_work_item_types_enabled": true});
    gateway.patch("ada", &format!("{ACME}/features/"), on).await.expect(200);
    let made = gateway.post("ada", &format!("{ACME}/work-item-properties/"), body).await.expect(201).text("id");
    let property = format!("{ACME}/work-item-properties/{made}/");
    let contexts = format!("{property}contexts/");
    (gateway, property, contexts)
}

#[tokio::test]
async fn a_default_that_another_type_cannot_read_is_not_lost() {
    let text = json!({"display_name": "Risk", "property_type": "TEXT"});
    let (gateway, property, contexts) = with_property(text).await;
    let body = json!({"name": "Web", "project_ids": [web()], "applies_to_all_work_item_types": true,
        "default_value": ["abc"]});
    let one = format!("{contexts}{}/", gateway.post("ada", &contexts, body).await.expect(201).text("id"));
    let refused = gateway.patch("ada", &property, json!({"property_type": "DECIMAL"})).await;
    let refused = refused.expect_problem(400, "validation_error");
    assert_eq!(refused.error_fields(), ["property_type"]);
    assert!(refused.json["errors"][0]["message"].as_str().is_some_and(|told| told.contains("\"Web\"")));
    assert_eq!(gateway.get("ada", &one).await.expect(200).json["default_value"], json!(["abc"]));
    gateway.patch("ada", &one, json!({"default_value": ["12"]})).await.expect(200);
    gateway.patch("ada", &property, json!({"property_type": "DECIMAL"})).await.expect(200);
    assert_eq!(gateway.get("ada", &one).await.expect(200).json["default_value"], json!(["12"]));
}

#[tokio::test]
async fn restated_options_have_places_of_their_own_in_each_context() {
    let choice =
        json!({"display_name": "Risk", "property_type": "OPTION", "options": [{"name": "a"}, {"name": "b"}]});
    let (gateway, property, contexts) = with_property(choice).await;
    let all = gateway.get("ada", &property).await.expect(200).json["options"].clone();
    let body = json!({"name": "Web", "project_ids": [web()], "applies_to_all_work_item_types": true,
        "options": [{"id": all[1]["id"]}, {"name": "x"}, {"name": "y"}]});
    let one = format!("{contexts}{}/", gateway.post("ada", &contexts, body).await.expect(201).text("id"));
    let restated = ["y", "b", "x", "a"].map(|name| json!({"name": name}));
    gateway.patch("ada", &property, json!({"options": restated})).await.expect(200);
    let shown = gateway.get("ada", &one).await.expect(200).json["options"].clone();
    let shown: Vec<_> =
        shown.as_array().expect("options").iter().map(|one| (&one["name"], &one["sort_order"])).collect();
    let expected = [("y", 10_000), ("b", 20_000), ("x", 30_000)].map(|(name, place)| (json!(name), json!(place)));
    assert_eq!(shown, expected.each_ref().map(|(name, place)| (name, place)));
}

/// Returns the path of the one context below `contexts`.
async fn only_context(gateway: &Gateway, contexts: &str) -> String {
    let listed = gateway.get("ada", contexts).await.expect(200);
    assert_eq!(listed.data().len(), 1);
    format!("{contexts}{}/", listed.data()[0]["id"].as_str().expect("an id"))
}

/// A seeded context that went its own way takes no default that it would refuse from a client.
#[tokio::test]
async fn the_seeded_context_follows_no_default_that_its_own_rules_refuse() {
    let body = json!({"display_name": "Risk", "property_type": "TEXT", "is_multi": true, "default_value": ["z"]});
    let (gateway, property, contexts) = with_property(body).await;
    let seeded = only_context(&gateway, &contexts).await;
    gateway.patch("ada", &seeded, json!({"is_multi": false})).await.expect(200);
    let changed = gateway.patch("ada", &property, json!({"default_value": ["a", "b"]})).await.expect(200);
    assert_eq!(changed.json["default_value"], json!(["a", "b"]));
    let read = gateway.get("ada", &seeded).await.expect(200).json;
    assert_eq!((&read["is_multi"], &read["default_value"]), (&json!(false), &json!(["z"])));
    let same = json!({"is_multi": read["is_multi"], "default_value": read["default_value"]});
    gateway.patch("ada", &seeded, same).await.expect(200);

    let body = json!({"display_name": "Area", "property_type": "OPTION", "options": [{"name": "a"}]});
    let (gateway, property, contexts) = with_property(body).await;
    let seeded = only_context(&gateway, &contexts).await;
    let other = json!({"name": "Other", "project_ids": [web()], "applies_to_all_work_item_types": true,
        "options": [{"name": "elsewhere"}]});
    gateway.post("ada", &contexts, other).await.expect(201);
    for (default, followed) in
        [(json!(["elsewhere"]), json!([])), (json!([]), json!([])), (json!(["A"]), json!(["A"]))]
    {
        gateway.patch("ada", &property, json!({"default_value": default})).await.expect(200);
        let read = gateway.get("ada", &seeded).await.expect(200).json;
        assert_eq!(read["default_value"], followed, "{default}");
        gateway.patch("ada", &seeded, json!({"default_value": read["default_value"]})).await.expect(200);
    }
}
