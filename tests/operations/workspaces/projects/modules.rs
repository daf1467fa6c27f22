//! `projects/{project_id}/modules/`.

use crate::operations::scene::{ADA, BOB, ONE, P, Scene, THEN, WEB, but, list};
use crate::support::gateway::Gateway;
use crate::support::past_gateway::in_web;
use crate::support::scripted::Exchange;
use causeway::sandbox::Seed;
use serde_json::{Value, json};
use std::time::Duration;

const FIELDS: &str = "id,name,description,status,start_date,target_date,lead,members,sort_order,logo_props,external_id,external_source,archived_at,created_at,created_by";

fn login() -> Value {
    json!({"id": ONE, "name": "Login", "description": "", "status": "planned", "start_date": "2027-01-10",
        "target_date": null, "lead": null, "members": [BOB, ADA, BOB], "sort_order": 65535.0, "logo_props": {},
        "external_id": null, "external_source": null, "archived_at": null, "created_at": THEN, "created_by": ADA})
}

#[tokio::test]
async fn list_and_retrieve_name_members_once() {
    let mut scene = Scene::in_project().await.then(list("modules", FIELDS, &[&login()]));
    let answer = scene.ask("GET", &format!("{WEB}/modules/?status__in=planned,paused"), None).await.expect(200);
    assert_eq!((answer.calls(), answer.column("member_ids")), (3, vec![json!([BOB, ADA])]));
    let one = scene.ask("GET", &format!("{WEB}/modules/{ONE}/"), None).await.expect(200);
    assert_eq!((one.calls(), &one.json), (0, &answer.data()[0]));
    scene.end();
}

#[tokio::test]
async fn create_looks_the_lead_up_first() {
    let roster = json!([{"id": BOB, "first_name": "Bob", "last_name": "X", "email": "b@acme.test", "avatar_url": "",
        "display_name": "bob"}]);
    let made = but(&login(), json!({"lead": BOB, "start_date": null, "members": []}));
    let mut scene = Scene::in_project()
        .await
        .then(Exchange::get(&format!("{P}/members/")).reply(200, roster.clone()))
        .then(
            Exchange::post(&format!("{P}/modules/"))
                .body(json!({"name": "Login", "status": "planned", "lead": BOB}))
                .reply(201, made.clone()),
        )
        .then(Exchange::get(&format!("{P}/modules/{ONE}/")).reply(200, made))
        .then(Exchange::get(&format!("{P}/members/")).reply(200, roster));
    let body = json!({"name": "Login", "lead_id": BOB});
    let answer = scene.ask("POST", &format!("{WEB}/modules/"), Some(body)).await.expect(201);
    assert_eq!((answer.calls(), answer.text("lead_id")), (5, BOB.into()));
    let stranger = json!({"name": "x", "lead_id": "00000000-0000-4000-a000-00000000dead"});
    let refused = scene.ask("POST", &format!("{WEB}/modules/"), Some(stranger)).await;
    assert_eq!(
        (refused.calls(), refused.error_fields()),
        (1, vec!["lead_id"]),
        "somebody missing is looked for afresh"
    );
    scene.end();
}

#[tokio::test]
async fn the_body_is_judged_before_the_switch_of_the_project() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let project = json!({"name": "Off", "identifier": "OFF", "module_view": false});
    let project = gateway.post("ada", "/api/v1/workspaces/acme/projects/", project).await.expect(201).text("id");
    let modules = format!("/api/v2/workspaces/acme/projects/{project}/modules/");
    let stranger = json!({"name": "x", "lead_id": "00000000-0000-4000-a000-00000000dead"});
    let refused = gateway.post("ada", &modules, stranger).await.expect_problem(400, "validation_error");
    assert_eq!(refused.error_fields(), ["lead_id"]);
    gateway.post("ada", &modules, json!({"name": "x"})).await.expect_problem(409, "conflict");
}

#[tokio::test]
async fn update_judges_one_date_against_the_stored_other() {
    let mut scene = Scene::in_project()
        .await
        .then(list("modules", FIELDS, &[&login()]))
        .then(list("modules", FIELDS, &[&login()]))
        .then(
            Exchange::patch(&format!("{P}/modules/{ONE}/"))
                .body(json!({"target_date": "2027-01-10"}))
                .reply(200, but(&login(), json!({"target_date": "2027-01-10"}))),
        );
    let path = format!("{WEB}/modules/{ONE}/");
    let early = scene.ask("PATCH", &path, Some(json!({"target_date": "2027-01-09"}))).await;
    assert_eq!(early.expect_problem(400, "validation_error").error_fields(), ["target_date"]);
    let same = scene.ask("PATCH", &path, Some(json!({"target_date": "2027-01-10"}))).await.expect(200);
    assert_eq!((same.calls(), same.text("target_date")), (2, "2027-01-10".into()));
    scene.end();
}

#[tokio::test]
async fn overlay_values_cost_no_call_and_show_until_v1_changes() {
    let moved = but(&login(), json!({"sort_order": 12.0}));
    let mut scene = Scene::in_project().await.then(list("modules", FIELDS, &[&login()])).then(list(
        "modules",
        FIELDS,
        &[&moved],
    ));
    let path = format!("{WEB}/modules/{ONE}/");
    let body = json!({"sort_order": 0.1, "logo_props": [1, null]});
    let answer = scene.ask("PATCH", &path, Some(body)).await.expect(200);
    assert_eq!((answer.calls(), &answer.json["sort_order"]), (3, &json!(0.1)));
    // An id that is not cached makes the gateway read again; in v1 the module has been moved meanwhile.
    let absent = format!("{WEB}/modules/00000000-0000-4000-a000-00000000dead/");
    let mut scene = scene.then(
        Exchange::get(&format!("{P}/archived-modules/?per_page=1000&fields={FIELDS}"))
            .reply(200, json!({"total_count": 0, "next_page_results": false, "results": []})),
    );
    scene.ask("GET", &absent, None).await.expect_problem(404, "resource_not_found");
    let now = scene.ask("GET", &path, None).await.expect(200);
    assert_eq!((&now.json["sort_order"], &now.json["logo_props"]), (&json!(12.0), &json!([1, null])));
    scene.end();
}

#[tokio::test]
async fn a_new_one_goes_in_front_also_of_those_that_v1_does_not_know_to_be_there() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let path = format!("{WEB}/modules/");
    let made = async |name: &str| {
        let body = json!({"name": name, "sort_order": 70_000});
        gateway.post("ada", &path, body).await.expect(201).text("id")
    };
    let first = async |many| {
        let mut names = gateway.get("ada", &path).await.expect(200).column("name");
        names.truncate(many);
        names
    };
    let moved = made("moved").await;
    assert_eq!(first(1).await, ["moved"], "v1 puts it there");
    gateway.patch("ada", &format!("{path}{moved}/"), json!({"sort_order": -90_000.5})).await.expect(200);
    made("new").await;
    made("newer").await;
    assert_eq!(first(3).await, ["newer", "new", "moved"]);
}

#[tokio::test]
async fn delete_is_one_call() {
    let mut scene = Scene::in_project().await.then(Exchange::delete(&format!("{P}/modules/{ONE}/")));
    assert_eq!(scene.ask("DELETE", &format!("{WEB}/modules/{ONE}/"), None).await.expect(204).calls(), 3);
    scene.end();
}

#[tokio::test]
async fn an_archived_one_is_shown_and_v1_says_that_it_takes_no_change() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let made = gateway.post("ada", &format!("{WEB}/modules/"), json!({"name": "Old", "status": "completed"})).await;
    let path = format!("{WEB}/modules/{}/", made.expect(201).text("id"));
    let v1 = path.replace("/v2/", "/v1/");
    gateway.send(Some("ada"), "POST", &format!("{v1}archive/"), None).await.expect(204);
    gateway.get("ada", &path).await.expect(200);
    let refused = gateway.patch("ada", &path, json!({"name": "New"})).await;
    let problem = refused.expect_problem(400, "validation_error");
    assert!(problem.text("detail").contains("Archived module cannot be edited"), "{}", problem.json);
    let absent = format!("{WEB}/modules/00000000-0000-4000-a000-00000000dead/");
    gateway.patch("ada", &absent, json!({"name": "New"})).await.expect_problem(404, "resource_not_found");
}

/// v1 is not asked about such a change, and once the module came back into the list for everybody.
#[tokio::test]
async fn an_archived_one_that_is_changed_in_the_store_alone_stays_out_of_the_list() {
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &[("cache.collection", "1s")]).await;
    let path = format!("{WEB}/modules/");
    let body = json!({"name": "old", "status": "completed"});
    let old = gateway.post("ada", &path, body).await.expect(201).text("id");
    in_web(gateway.sandbox(), "POST", &format!("modules/{old}/archive/"), &json!({}));
    tokio::time::sleep(Duration::from_millis(1200)).await;
    let before = gateway.get("ada", &path).await.expect(200).column("id");
    assert!(!before.contains(&json!(old)));
    for body in [json!({}), json!({"logo_props": {"emoji": "x"}})] {
        gateway.patch("ada", &format!("{path}{old}/"), body).await.expect(200);
        let after = gateway.get("ada", &path).await.expect(200);
        assert_eq!(after.column("id"), before);
    }
}
