//! Writes with unexpected effects: ignored keys, unwanted keys, answers that are not the truth.

use crate::support::gateway::Gateway;
use crate::support::scripted::Exchange;
use crate::traps::scene::{NOWHERE, Scene, THROUGH, V1, id, journal, list, record, stored, web};
use bytes::Bytes;
use causeway::sandbox::Seed;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};

#[tokio::test]
async fn trap_14_17_18_37_only_named_keys_are_ever_sent() {
    let unwanted = json!({"created_at": "2020-01-01T00:00:00Z", "created_by": NOWHERE, "created_by_id": NOWHERE,
        "id": NOWHERE, "project": NOWHERE, "workspace": NOWHERE, "default": true, "is_triage": true,
        "archived_at": "2020-01-01", "deleted_at": "2020-01-01", "owned_by": NOWHERE, "owned_by_id": NOWHERE,
        "members": [NOWHERE], "member_ids": [NOWHERE], "parent": NOWHERE, "lead": NOWHERE, "slug": "x",
        "view_props": {}, "nonsense": 1});
    let with = |body: Value| {
        let mut all = unwanted.clone();
        all.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        all
    };
    for (resource, row, sent, posted) in [
        (
            "states",
            "states_create_minimal",
            json!({"name": "Review", "color": "#3f76ff"}),
            json!({"name": "Review", "color": "#3f76ff", "group": "backlog"}),
        ),
        ("labels", "labels_create_minimal", json!({"name": "bug"}), json!({"name": "bug"})),
        ("modules", "modules_create_minimal", json!({"name": "M1"}), json!({"name": "M1", "status": "planned"})),
    ] {
        let scene = Scene::new().await;
        let row = record(resource, row, json!({}));
        let one = format!("{resource}/{}/", id(&row));
        scene.expect(Exchange::post(&format!("{V1}{resource}/")).body(posted.clone()).reply(201, row.clone()));
        scene.expect(Exchange::get(&format!("{V1}{one}")).reply(200, row.clone()));
        scene.post(&format!("{resource}/"), with(sent)).await.expect(201);
        // An update with no other member sends nothing at all.
        scene.expect(list(resource, std::slice::from_ref(&row)));
        scene.patch(&one, unwanted.clone()).await.expect(200);
        let writes = scene.calls().into_iter().filter(|call| !call.starts_with("GET")).collect::<Vec<_>>();
        assert_eq!(writes, [format!("POST {resource}/ {posted}")]);
        scene.v1.finish();
    }
}

#[tokio::test]
async fn trap_14_a_write_that_v1_accepts_and_ignores_is_502_naming_what_was_lost() {
    let scene = Scene::new().await;
    let label = record("labels", "labels_create_minimal", json!({}));
    let one = format!("labels/{}/", id(&label));
    scene.expect(list("labels", std::slice::from_ref(&label)).repeated());
    let half_done = record("labels", "labels_create_minimal", json!({"description": "d"}));
    scene.expect(Exchange::patch(&format!("{V1}{one}")).reply(200, half_done.clone()));
    scene.expect(Exchange::get(&format!("{V1}{one}")).reply(200, half_done));
    let body = json!({"color": "#111111", "description": "d"});
    let answer = scene.patch(&one, body).await.expect_problem(502, "upstream_error");
    let detail = answer.text("detail");
    assert!(detail.contains("did not store: color") && detail.contains("Stored: description"), "{detail}");
    scene.v1.finish();
}

#[tokio::test]
async fn trap_19_numbers_that_are_not_finite_never_reach_v1() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let cycle = gateway.post("ada", &web("cycles/"), json!({"name": "c"})).await.expect(201);
    gateway.sandbox().clear_journal();
    let one = web(&format!("cycles/{}/", cycle.text("id")));
    for (method, path, body) in [
        ("POST", web("labels/"), r#"{"name": "x", "sort_order": 1e999}"#),
        ("POST", web("states/"), r##"{"name": "x", "color": "#000", "sequence": -1e999}"##),
        ("PATCH", one.clone(), r#"{"logo_props": {"deep": [1e999]}}"#),
        ("PATCH", one.clone(), r#"{"sort_order": NaN}"#),
        ("PATCH", one.clone(), r#"{"sort_order": Infinity}"#),
    ] {
        let request = Request::builder().method(method).uri(format!("{}{path}", gateway.base()));
        let request = request.header("X-Api-Key", "ada").header("Content-Type", "application/json");
        let answer = gateway.request(request.body(Full::new(Bytes::from(body))).unwrap()).await;
        answer.expect_problem(400, "validation_error");
    }
    assert!(journal(&gateway).iter().all(|call| call.starts_with("GET")));
    assert_eq!(gateway.get("ada", &one).await.expect(200).json["sort_order"], cycle.json["sort_order"]);
}

#[tokio::test]
async fn trap_20_a_create_answers_with_the_stored_record() {
    let scene = Scene::new().await;
    let answered = record("labels", "labels_create_minimal", json!({}));
    let stored = record("labels", "labels_create_minimal", json!({"created_at": "2026-11-21T10:36:17.449000Z"}));
    scene.expect(Exchange::post(&format!("{V1}labels/")).reply(201, answered));
    scene.expect(Exchange::get(&format!("{V1}labels/{}/", id(&stored))).reply(200, stored));
    let label = scene.post("labels/", json!({"name": "bug"})).await.expect(201);
    assert_eq!(label.text("created_at"), "2026-11-21T10:36:17.449000Z");
    scene.v1.finish();
}

#[tokio::test]
async fn trap_20_the_answer_to_a_module_update_is_laid_over_the_stored_record() {
    let scene = Scene::new().await;
    let module = record("modules", "modules_create_full", json!({}));
    let one = format!("modules/{}/", id(&module));
    scene.expect(list("modules", std::slice::from_ref(&module)));
    let patch = Exchange::patch(&format!("{V1}{one}")).body(json!({"name": "Full 2"}));
    scene.expect(patch.recorded("modules", "modules_patch_name"));
    let updated = scene.patch(&one, json!({"name": "Full 2"})).await.expect(200);
    assert_eq!(updated.text("id"), id(&module));
    assert_eq!(updated.text("name"), "Full 2");
    assert_eq!(updated.json["created_by_id"], module["created_by"]);
    assert_eq!(scene.get(&one).await.expect(200).json, updated.json, "what is kept is what was answered");
    scene.v1.finish();
}

#[tokio::test]
async fn trap_21_22_a_state_create_is_201_and_its_sequence_follows_in_a_patch() {
    let scene = Scene::new().await;
    let state = record("states", "states_create_minimal", json!({}));
    assert_eq!(crate::support::recorded::recorded("states", "states_create_minimal").status, 200);
    let one = format!("states/{}/", id(&state));
    scene.expect(Exchange::post(&format!("{V1}states/")).recorded("states", "states_create_minimal"));
    let patched = record("states", "states_create_minimal", json!({"sequence": 1.5}));
    scene.expect(Exchange::patch(&format!("{V1}{one}")).reply(200, patched));
    let body = json!({"name": "Review", "color": "#3f76ff", "sequence": 1.5});
    let created = scene.post("states/", body).await.expect(201);
    assert_eq!(created.json["sequence"], 1.5);
    let post = r##"POST states/ {"name":"Review","color":"#3f76ff","group":"backlog"}"##;
    let calls = scene.calls();
    assert_eq!(
        serde_json::from_str::<Value>(&calls[0][13..]).unwrap(),
        serde_json::from_str::<Value>(&post[13..]).unwrap()
    );
    assert_eq!(calls[1..], [format!("PATCH {one} {}", json!({"sequence": 1.5}))]);
    scene.v1.finish();
}

#[tokio::test]
async fn trap_22_what_v1_cannot_hold_is_kept_and_a_change_made_on_v1_is_never_masked() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let body = json!({"name": "c", "sort_order": 5, "logo_props": {"x": 1}, "timezone": "EST"});
    let cycle = gateway.post("ada", &web("cycles/"), body).await.expect(201);
    let one = format!("cycles/{}/", cycle.text("id"));
    for answer in [cycle.clone(), gateway.get("bob", &web(&one)).await.expect(200)] {
        assert_eq!(answer.json["sort_order"], 5.0);
        assert_eq!(answer.json["logo_props"], json!({"x": 1}));
        assert_eq!(answer.json["timezone"], "EST");
    }
    let v1 = stored(&gateway, "ada", "cycles").await;
    assert_eq!((&v1[0]["logo_props"], &v1[0]["timezone"]), (&json!({}), &json!("UTC")));
    gateway.patch("ada", &web(&one), json!({"logo_props": {}, "sort_order": -2.5})).await.expect(200);
    let shown = gateway.get("ada", &web(&one)).await.expect(200);
    assert_eq!((&shown.json["logo_props"], &shown.json["sort_order"]), (&json!({}), &json!(-2.5)));
    let moved = json!({"timezone": "Europe/London"});
    gateway.patch("ada", &format!("{THROUGH}{one}"), moved).await.expect(200);
    assert_eq!(gateway.get("ada", &web(&one)).await.expect(200).json["timezone"], "Europe/London");
    // Stored by v1 itself, so no value of the overlay may come back.
    gateway.patch("ada", &web(&one), json!({"timezone": "UTC"})).await.expect(200);
    assert_eq!(gateway.get("ada", &web(&one)).await.expect(200).json["timezone"], "UTC");
}

#[tokio::test]
async fn trap_23_a_refused_create_never_costs_the_project_its_default_state() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let body = json!({"name": "Done", "color": "#000", "is_default": true});
    gateway.post("ada", &web("states/"), body).await.expect_problem(409, "conflict");
    assert_eq!(defaults(&gateway).await, ["Backlog"]);
    let body = json!({"name": "New", "color": "#000", "is_default": true});
    assert_eq!(gateway.post("ada", &web("states/"), body).await.expect(201).json["is_default"], true);
    assert_eq!(defaults(&gateway).await, ["New"]);
}

#[tokio::test]
async fn trap_23_two_defaults_on_v1_become_one_with_the_next_promotion() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let states = stored(&gateway, "ada", "states").await;
    let id_of = |name: &str| id(states.iter().find(|state| state["name"] == name).unwrap()).to_owned();
    let through = format!("{THROUGH}states/{}/", id_of("Todo"));
    for promoted in ["Todo", "Done"] {
        gateway.patch("ada", &through, json!({"default": true})).await.expect(200);
        assert_ne!(defaults(&gateway).await.len(), 1);
        let one = web(&format!("states/{}/", id_of(promoted)));
        let answer = gateway.patch("ada", &one, json!({"is_default": true})).await.expect(200);
        assert_eq!(answer.json["is_default"], true);
        assert_eq!(defaults(&gateway).await, [promoted]);
        if promoted == "Todo" {
            let backlog = format!("{THROUGH}states/{}/", id_of("Backlog"));
            gateway.patch("ada", &backlog, json!({"default": true})).await.expect(200);
        }
    }
    let one = web(&format!("states/{}/", id_of("Done")));
    let answer = gateway.patch("ada", &one, json!({"is_default": false})).await;
    assert_eq!(answer.expect_problem(400, "validation_error").error_fields(), ["is_default"]);
}

#[tokio::test]
async fn trap_23_a_second_default_of_v1_is_none_in_what_a_write_answers_either() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let states = stored(&gateway, "ada", "states").await;
    let todo = id(states.iter().find(|state| state["name"] == "Todo").unwrap()).to_owned();
    gateway.patch("ada", &format!("{THROUGH}states/{todo}/"), json!({"default": true})).await.expect(200);
    assert_eq!(defaults(&gateway).await.len(), 2);
    let one = web(&format!("states/{todo}/"));
    let read = gateway.get("ada", &one).await.expect(200).json;
    let again = json!({"name": read["name"], "color": read["color"], "is_default": read["is_default"]});
    // A client that sends `false` clears the second flag, which would make v1 refuse the delete of the state.
    for (body, left) in [(json!({"description": "x"}), 2), (again, 1), (json!({"description": "x"}), 1)] {
        let answer = gateway.patch("ada", &one, body).await.expect(200);
        assert_eq!(answer.json["is_default"], false);
        assert_eq!(defaults(&gateway).await.len(), left);
    }
    let answer = gateway.patch("ada", &one, json!({"is_default": true})).await.expect(200);
    assert_eq!(
        (answer.json["is_default"].as_bool(), defaults(&gateway).await),
        (Some(true), vec!["Todo".to_owned()])
    );
}

async fn defaults(gateway: &Gateway) -> Vec<String> {
    let states = stored(gateway, "ada", "states").await;
    let flagged = states.iter().filter(|state| state["default"] == true);
    let v1: Vec<String> = flagged.map(|state| state["name"].as_str().unwrap().to_owned()).collect();
    // v2 promises a single default, even while v1 has two: the first in its order, which v1 itself uses.
    let shown = gateway.get("ada", &web("states/?is_default=true")).await.expect(200);
    assert_eq!(shown.column("name"), v1[..1], "{v1:?}");
    let all = gateway.get("ada", &web("states/")).await.expect(200);
    let flagged = all.data().iter().filter(|state| state["is_default"] == true).count();
    assert_eq!(flagged, 1, "{v1:?}");
    v1
}

#[tokio::test]
async fn trap_37_a_state_that_v1_hides_is_404_and_triage_is_no_group_to_give() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let body = json!({"name": "Hidden", "color": "#000", "is_triage": true});
    let hidden = gateway.post("ada", &format!("{THROUGH}states/"), body).await.expect(200).text("id");
    let one = web(&format!("states/{hidden}/"));
    gateway.get("ada", &one).await.expect_problem(404, "resource_not_found");
    gateway.patch("ada", &one, json!({"color": "#111"})).await.expect_problem(404, "resource_not_found");
    gateway.delete("ada", &one).await.expect_problem(404, "resource_not_found");
    let body = json!({"name": "T", "color": "#000", "group": "triage"});
    let answer = gateway.post("ada", &web("states/"), body).await.expect_problem(400, "validation_error");
    assert_eq!(answer.error_fields(), ["group"]);
}

#[tokio::test]
async fn refusals_of_v1_come_back_in_v2_names() {
    let scene = Scene::new().await;
    let label = record("labels", "labels_create_minimal", json!({}));
    scene.expect(list("labels", std::slice::from_ref(&label)));
    scene.expect(Exchange::post(&format!("{V1}labels/")).recorded("labels", "labels_create_parent_random"));
    let body = json!({"name": "p", "parent_id": id(&label)});
    let answer = scene.post("labels/", body).await.expect_problem(400, "validation_error");
    assert_eq!(answer.error_fields(), ["parent_id"]);
    scene.v1.finish();
}
