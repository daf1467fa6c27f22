//! Cycles, leads, parents: dates that lose their time, owners that change, ids that v1 does not check.

use crate::support::gateway::Gateway;
use crate::support::scripted::Exchange;
use crate::traps::scene::{
    ADA, BOB, EVE, MEL, NOWHERE, PROJECT, Scene, THROUGH, V1, id, journal, list, record, stored_one, web,
};
use causeway::sandbox::Seed;
use serde_json::{Value, json};

#[tokio::test]
async fn trap_24_25_26_27_a_cycle_is_created_without_dates_and_gets_each_in_a_write_of_its_own() {
    let cycle = |changes: Value| record("cycles", "cycles_create_minimal", changes);
    let created = cycle(json!({}));
    let one = format!("cycles/{}/", id(&created));
    let (start, end) = ("2099-01-05T10:30:00.000000Z", "2099-01-20T18:45:30.250000Z");
    let carried = |mut body: Value| {
        body["owned_by"] = created["owned_by"].clone();
        body["sort_order"] = created["sort_order"].clone();
        body
    };
    let patch = |body: Value, answer: Value| Exchange::patch(&format!("{V1}{one}")).body(body).reply(200, answer);
    let begun = cycle(json!({"start_date": start}));
    let done = cycle(json!({"start_date": start, "end_date": end}));
    // A v1 that reads from a replica of its database may show the cycle as it was before a date.
    for shown in [&done, &begun, &created] {
        let scene = Scene::new().await;
        scene.expect(list("cycles", &[]));
        let post = Exchange::post(&format!("{V1}cycles/"))
            .body(json!({"name": "C1", "timezone": "UTC", "project_id": PROJECT}));
        scene.expect(post.reply(201, created.clone()));
        scene.expect(patch(carried(json!({"start_date": start})), begun.clone()));
        scene.expect(patch(carried(json!({"end_date": end})), done.clone()));
        scene.expect(Exchange::get(&format!("{V1}{one}")).reply(200, shown.clone()));
        let body = json!({"name": "C1", "timezone": "UTC", "project_id": NOWHERE,
            "start_date": "2099-01-05T16:00:00+05:30", "end_date": "2099-01-20T18:45:30.25Z"});
        let answer = scene.post("cycles/", body).await.expect(201);
        assert_eq!((answer.text("start_date"), answer.text("end_date")), (start.to_owned(), end.to_owned()));
        let order: Vec<String> =
            scene.calls().iter().map(|call| call.split('/').next().unwrap().to_owned()).collect();
        assert_eq!(order, ["GET cycles", "POST cycles", "PATCH cycles", "PATCH cycles", "GET cycles"]);
        scene.v1.finish();
    }
}

#[tokio::test]
async fn trap_25_dates_keep_their_instant_whatever_the_callers_zone_and_bare_dates_are_midnight_in_the_cycles() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    for (key, name) in [("ada", "utc"), ("kim", "kolkata")] {
        let body =
            json!({"name": name, "start_date": "2099-04-01T20:00:00Z", "end_date": "2099-04-10T03:04:05.5+09:00"});
        let cycle = gateway.post(key, &web("cycles/"), body).await.expect(201);
        assert_eq!(cycle.text("start_date"), "2099-04-01T20:00:00.000000Z", "{key}");
        assert_eq!(cycle.text("end_date"), "2099-04-09T18:04:05.500000Z", "{key}");
        let one = format!("cycles/{}/", cycle.text("id"));
        let body = json!({"start_date": "2099-04-02", "end_date": "2099-04-03", "timezone": "America/New_York"});
        let cycle = gateway.patch(key, &web(&one), body).await.expect(200);
        assert_eq!(cycle.text("start_date"), "2099-04-02T04:00:00.000000Z", "{key}");
        assert_eq!(cycle.text("end_date"), "2099-04-03T04:00:00.000000Z", "{key}");
        let v1 = stored_one(&gateway, "ada", "cycles", &cycle.text("id")).await;
        assert_eq!(v1["start_date"], "2099-04-02T04:00:00Z", "{key}");
        // One date alone, and null.
        let cycle = gateway.patch(key, &web(&one), json!({"end_date": null})).await.expect(200);
        assert_eq!(cycle.json["end_date"], Value::Null);
        let cycle = gateway.patch(key, &web(&one), json!({"start_date": null, "end_date": null})).await.expect(200);
        assert_eq!((&cycle.json["start_date"], &cycle.json["end_date"]), (&Value::Null, &Value::Null));
    }
}

#[tokio::test]
async fn trap_26_an_update_leaves_the_owner_alone() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let cycle = gateway.post("ada", &web("cycles/"), json!({"name": "c"})).await.expect(201);
    let one = format!("cycles/{}/", cycle.text("id"));
    let both =
        json!({"description": "by bob", "start_date": "2099-01-01T01:00:00Z", "end_date": "2099-01-02T01:00:00Z"});
    assert_eq!(gateway.patch("bob", &web(&one), both).await.expect(200).text("owned_by_id"), ADA);
    assert_eq!(stored_one(&gateway, "ada", "cycles", &cycle.text("id")).await["owned_by"], ADA);
    // Handed over on v1, past the gateway: the present owner counts.
    gateway.patch("bob", &format!("{THROUGH}{one}"), json!({"description": "mine"})).await.expect(200);
    let updated = gateway.patch("ada", &web(&one), json!({"name": "d"})).await.expect(200);
    assert_eq!(updated.text("owned_by_id"), BOB);
}

#[tokio::test]
async fn trap_27_a_completed_cycle_can_be_updated() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let body = json!({"name": "Past", "start_date": "2020-01-01T00:00:00Z", "end_date": "2020-01-10T00:00:00Z"});
    let cycle = gateway.post("ada", &web("cycles/"), body).await.expect(201);
    let one = web(&format!("cycles/{}/", cycle.text("id")));
    assert_eq!(gateway.patch("ada", &one, json!({"name": "Past 2"})).await.expect(200).text("name"), "Past 2");
    let dates = json!({"start_date": "2020-02-01T00:00:00Z", "end_date": "2020-02-10T00:00:00Z"});
    assert_eq!(gateway.patch("ada", &one, dates).await.expect(200).text("end_date"), "2020-02-10T00:00:00.000000Z");
}

#[tokio::test]
async fn trap_28_dates_are_compared_with_the_stored_ones() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    for (resource, start, end, [first, second, third]) in [
        (
            "cycles",
            "start_date",
            "end_date",
            ["2099-01-05T00:00:00Z", "2099-01-10T00:00:00Z", "2099-02-01T00:00:00Z"],
        ),
        ("modules", "start_date", "target_date", ["2099-01-05", "2099-01-10", "2099-02-01"]),
    ] {
        let body = json!({"name": "x", start: first, end: second});
        let record = gateway.post("ada", &web(&format!("{resource}/")), body).await.expect(201);
        let one = format!("{resource}/{}/", record.text("id"));
        let reversed = json!({"name": "y", start: second, end: first});
        let answer = gateway.post("ada", &web(&format!("{resource}/")), reversed).await;
        assert_eq!(answer.expect_problem(400, "validation_error").error_fields(), [end]);
        let answer = gateway.patch("ada", &web(&one), json!({start: third})).await;
        assert_eq!(answer.expect_problem(400, "validation_error").error_fields(), [end]);
        // Moved on v1 meanwhile: the present value counts, not the cached one.
        gateway.patch("ada", &format!("{THROUGH}{one}"), json!({end: third})).await.expect(200);
        gateway.patch("ada", &web(&one), json!({start: third})).await.expect(200);
        gateway.patch("ada", &web(&one), json!({end: null})).await.expect(200);
        let answer = gateway.patch("ada", &web(&one), json!({end: first})).await;
        assert_eq!(answer.expect_problem(400, "validation_error").error_fields(), [end]);
    }
}

#[tokio::test]
async fn trap_29_a_lead_is_a_member_of_the_project() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let modules = web("modules/");
    for lead in [EVE, MEL, NOWHERE] {
        let body = json!({"name": "m", "lead_id": lead});
        let answer = gateway.post("ada", &modules, body).await.expect_problem(400, "validation_error");
        assert_eq!(answer.error_fields(), ["lead_id"]);
    }
    let module = gateway.post("ada", &modules, json!({"name": "m", "lead_id": BOB})).await.expect(201);
    let one = format!("{modules}{}/", module.text("id"));
    let answer = gateway.patch("ada", &one, json!({"lead_id": MEL})).await;
    assert_eq!(answer.expect_problem(400, "validation_error").error_fields(), ["lead_id"]);
    // A person who has just joined is found.
    gateway.post("ada", &format!("{THROUGH}members/"), json!({"member": MEL, "role": 15})).await.expect(201);
    assert_eq!(gateway.patch("ada", &one, json!({"lead_id": MEL})).await.expect(200).text("lead_id"), MEL);
    assert_eq!(gateway.patch("ada", &one, json!({"lead_id": null})).await.expect(200).json["lead_id"], Value::Null);
}

#[tokio::test]
async fn trap_30_a_parent_is_a_label_of_the_project_and_never_leads_back() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let labels = web("labels/");
    let foreign = "00000000-0000-4000-7000-000000000002";
    let workspace_wide = "00000000-0000-4000-7000-000000000001";
    let a = gateway.post("ada", &labels, json!({"name": "a"})).await.expect(201).text("id");
    let b = gateway.post("ada", &labels, json!({"name": "b", "parent_id": a})).await.expect(201).text("id");
    let c = gateway.post("ada", &labels, json!({"name": "c", "parent_id": b})).await.expect(201).text("id");
    for parent in [foreign, workspace_wide, NOWHERE] {
        let answer = gateway.post("ada", &labels, json!({"name": "x", "parent_id": parent})).await;
        assert_eq!(answer.expect_problem(400, "validation_error").error_fields(), ["parent_id"]);
    }
    for (child, parent) in [(&a, &a), (&a, &b), (&a, &c), (&b, &c)] {
        let answer = gateway.patch("ada", &format!("{labels}{child}/"), json!({"parent_id": parent})).await;
        assert_eq!(answer.expect_problem(400, "validation_error").error_fields(), ["parent_id"]);
    }
    gateway.patch("ada", &format!("{labels}{c}/"), json!({"parent_id": a})).await.expect(200);
    // A loop made on v1 does not hang the check.
    gateway.patch("ada", &format!("{THROUGH}labels/{a}/"), json!({"parent": c})).await.expect(200);
    gateway.patch("ada", &format!("{labels}{b}/"), json!({"parent_id": c})).await.expect(200);
}

#[tokio::test]
async fn trap_39_labels_below_a_deleted_one_stay() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let labels = web("labels/");
    let parent = gateway.post("ada", &labels, json!({"name": "parent"})).await.expect(201).text("id");
    let child =
        gateway.post("ada", &labels, json!({"name": "child", "parent_id": parent})).await.expect(201).text("id");
    // Nested on v1, past the gateway.
    let body = json!({"name": "second", "parent": parent});
    let second = gateway.post("ada", &format!("{THROUGH}labels/"), body).await.expect(201).text("id");
    gateway.sandbox().clear_journal();
    gateway.delete("ada", &format!("{labels}{parent}/")).await.expect(204);
    let calls = journal(&gateway);
    assert_eq!(calls.last(), Some(&format!("DELETE labels/{parent}/")), "{calls:?}");
    for id in [&child, &second] {
        assert!(calls.contains(&format!("PATCH labels/{id}/")), "{calls:?}");
        assert_eq!(stored_one(&gateway, "ada", "labels", id).await["parent"], Value::Null);
        assert_eq!(gateway.get("ada", &format!("{labels}{id}/")).await.expect(200).json["parent_id"], Value::Null);
    }
    gateway.delete("ada", &format!("{labels}{parent}/")).await.expect_problem(404, "resource_not_found");
}

#[tokio::test]
async fn trap_40_v1s_reason_for_refusing_a_delete_is_told() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    for (resource, word) in [("cycles", "cycle"), ("modules", "module")] {
        let record = gateway.post("ada", &web(&format!("{resource}/")), json!({"name": "x"})).await.expect(201);
        let one = web(&format!("{resource}/{}/", record.text("id")));
        let answer = gateway.delete("bob", &one).await.expect_problem(403, "forbidden");
        assert_eq!(answer.text("detail"), format!("Only admin or creator can delete the {word}."));
        gateway.get("bob", &one).await.expect(200);
        gateway.delete("ada", &one).await.expect(204);
    }
    // Any member may delete states and labels.
    let label = gateway.post("ada", &web("labels/"), json!({"name": "x"})).await.expect(201);
    gateway.delete("bob", &web(&format!("labels/{}/", label.text("id")))).await.expect(204);
}
