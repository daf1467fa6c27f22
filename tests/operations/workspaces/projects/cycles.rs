//! `projects/{project_id}/cycles/`.

use crate::operations::scene::{ADA, BOB, ONE, P, Scene, THEN, TWO, WEB, but, card, list, me};
use crate::support::audit::ACME;
use crate::support::gateway::{Answer, Gateway};
use crate::support::past_gateway::{V1_WEB, until_not_kept};
use crate::support::scripted::{Exchange, Gate, ScriptedV1};
use causeway::sandbox::Seed;
use causeway::store::OverlayValue;
use serde_json::{Value, json};
use tempfile::TempDir;

const FIELDS: &str = "id,name,description,start_date,end_date,timezone,owned_by,sort_order,logo_props,external_id,external_source,created_at,created_by";

fn sprint() -> Value {
    json!({"id": ONE, "name": "Sprint 1", "description": "", "start_date": null, "end_date": null, "timezone": "UTC",
        "owned_by": BOB, "sort_order": 55535.0, "logo_props": {}, "external_id": null, "external_source": null,
        "created_at": THEN, "created_by": ADA})
}

#[tokio::test]
async fn list_and_retrieve_write_instants_in_utc() {
    let dated =
        but(&sprint(), json!({"start_date": "2027-01-04T13:30:00+05:30", "end_date": "2027-01-15T00:00:00Z"}));
    let mut scene = Scene::in_project().await.then(list("cycles", FIELDS, &[&dated]));
    let answer = scene.ask("GET", &format!("{WEB}/cycles/?owned_by_id={BOB}"), None).await.expect(200);
    assert_eq!(answer.calls(), 3);
    let one = scene.ask("GET", &format!("{WEB}/cycles/{ONE}/"), None).await.expect(200);
    assert_eq!((one.calls(), &one.json), (0, &answer.data()[0]));
    assert_eq!(one.text("start_date"), "2027-01-04T08:00:00.000000Z");
    assert_eq!(one.text("end_date"), "2027-01-15T00:00:00.000000Z");
    scene.end();
}

#[tokio::test]
async fn a_create_whose_date_v1_refuses_leaves_nothing_behind() {
    let made = but(&sprint(), json!({"id": TWO, "name": "Last", "owned_by": ADA}));
    let record = format!("{P}/cycles/{TWO}/");
    let mut scene = Scene::in_project()
        .await
        .then(list("cycles", FIELDS, &[&sprint()]))
        .then(
            Exchange::post(&format!("{P}/cycles/"))
                .body(json!({"name": "Last", "project_id": &P[P.len() - 36..]}))
                .reply(201, made),
        )
        .then(
            Exchange::patch(&record)
                .body(json!({"end_date": "9998-12-31T00:00:00.000000Z", "owned_by": ADA, "sort_order": 55535.0}))
                .reply(400, json!({"end_date": ["Datetime value out of range."]})),
        )
        .then(Exchange::delete(&record));
    let body = json!({"name": "Last", "end_date": "9998-12-31"});
    let refused = scene.ask("POST", &format!("{WEB}/cycles/"), Some(body)).await;
    let refused = refused.expect_problem(400, "validation_error");
    assert_eq!((refused.error_fields(), refused.calls()), (vec!["end_date"], 6));
    scene.end();
}

#[tokio::test]
async fn create_guards_the_name_and_writes_each_date_by_itself() {
    let (start, end) = ("2027-01-04T08:00:00.000000Z", "2027-01-15T17:30:00.500000Z");
    let made = but(&sprint(), json!({"id": TWO, "name": "Sprint 2", "owned_by": ADA}));
    let carried = |key: &str, value: &str| json!({key: value, "owned_by": ADA, "sort_order": 55535.0});
    let record = format!("{P}/cycles/{TWO}/");
    let whole = but(&made, json!({"start_date": start, "end_date": end}));
    let mut scene = Scene::in_project()
        .await
        .then(list("cycles", FIELDS, &[&sprint()]))
        .then(
            Exchange::post(&format!("{P}/cycles/"))
                .body(json!({"name": "Sprint 2", "project_id": &P[P.len() - 36..]}))
                .reply(201, made.clone()),
        )
        .then(
            Exchange::patch(&record)
                .body(carried("start_date", start))
                .reply(200, but(&made, json!({"start_date": start}))),
        )
        .then(Exchange::patch(&record).body(carried("end_date", end)).reply(200, whole.clone()))
        .then(Exchange::get(&record).reply(200, whole));
    let body = json!({"name": "Sprint 2", "start_date": "2027-01-04T10:00:00+02:00", "end_date": "2027-01-15T17:30:00.5Z"});
    let answer = scene.ask("POST", &format!("{WEB}/cycles/"), Some(body)).await.expect(201);
    assert_eq!((answer.calls(), answer.text("end_date")), (7, end.into()));
    let listed = scene.ask("GET", &format!("{WEB}/cycles/"), None).await.expect(200);
    assert_eq!((listed.calls(), listed.data().len()), (0, 2));
    scene.end();
}

#[tokio::test]
async fn a_name_that_is_taken_writes_nothing() {
    let mut scene = Scene::in_project().await.then(list("cycles", FIELDS, &[&sprint()]));
    let answer = scene.ask("POST", &format!("{WEB}/cycles/"), Some(json!({"name": " Sprint 1"}))).await;
    answer.expect_problem(409, "conflict");
    scene.end();
}

#[tokio::test]
async fn update_carries_the_owner_and_keeps_the_rest_apart() {
    let mut scene = Scene::in_project().await.then(list("cycles", FIELDS, &[&sprint()])).then(
        Exchange::patch(&format!("{P}/cycles/{ONE}/"))
            .body(json!({"description": "d", "owned_by": BOB, "sort_order": 55535.0}))
            .reply(200, but(&sprint(), json!({"description": "d"}))),
    );
    let body =
        json!({"description": "d", "sort_order": 3.25, "logo_props": {"in_use": "icon"}, "owned_by_id": ADA});
    let answer = scene.ask("PATCH", &format!("{WEB}/cycles/{ONE}/"), Some(body)).await.expect(200);
    assert_eq!(answer.calls(), 4);
    let shown = (&answer.json["sort_order"], &answer.json["logo_props"], &answer.json["owned_by_id"]);
    assert_eq!(shown, (&json!(3.25), &json!({"in_use": "icon"}), &json!(BOB)));
    scene.end();
}

/// What only the gateway stores is not lost with an end date that v1 refuses.
#[tokio::test]
async fn an_update_whose_end_date_v1_refuses_keeps_everything_else() {
    let record = format!("{P}/cycles/{ONE}/");
    let started = but(&sprint(), json!({"start_date": "2027-01-04T08:00:00.000000Z"}));
    let carried = |key: &str, value: &str| json!({key: value, "owned_by": BOB, "sort_order": 55535.0});
    let mut scene = Scene::in_project()
        .await
        .then(list("cycles", FIELDS, &[&sprint()]))
        .then(
            Exchange::patch(&record)
                .body(carried("start_date", "2027-01-04T08:00:00.000000Z"))
                .reply(200, started.clone()),
        )
        .then(
            Exchange::patch(&record)
                .body(carried("end_date", "9998-12-31T00:00:00.000000Z"))
                .reply(400, json!({"end_date": ["Datetime value out of range."]})),
        )
        .then(list("cycles", FIELDS, &[&started]));
    let one = format!("{WEB}/cycles/{ONE}/");
    let body = json!({"start_date": "2027-01-04T08:00:00Z", "end_date": "9998-12-31", "sort_order": 3.25});
    let told = scene.ask("PATCH", &one, Some(body)).await.expect_problem(502, "upstream_error").text("detail");
    assert!(told.starts_with("Everything but end_date was stored; end_date could not be written:"), "{told}");
    let now = scene.ask("GET", &one, None).await.expect(200);
    assert_eq!(
        (&now.json["sort_order"], now.text("start_date")),
        (&json!(3.25), "2027-01-04T08:00:00.000000Z".into())
    );
    scene.end();
}

/// v1's own pages can store any name, also one with a special meaning for the JSON reader.
#[tokio::test]
async fn a_logo_of_v1_may_hold_any_name_and_any_depth() {
    let deep = (0..200).fold(json!(1), |inside, _| json!([inside]));
    for logo in [json!({"$serde_json::private::RawValue": "no JSON"}), json!({"deep": deep})] {
        let cycle = but(&sprint(), json!({"logo_props": logo}));
        let described = but(&cycle, json!({"description": "d"}));
        let patch = Exchange::patch(&format!("{P}/cycles/{ONE}/"))
            .body(json!({"description": "d", "owned_by": BOB, "sort_order": 55535.0}))
            .reply(200, described.clone());
        let before = list("cycles", FIELDS, &[&cycle]);
        let mut scene =
            Scene::in_project().await.then(before).then(patch).then(list("cycles", FIELDS, &[&described]));
        let (one, icon) = (format!("{WEB}/cycles/{ONE}/"), json!({"in_use": "icon"}));
        let logo_in = |answer: &Answer| {
            let text = String::from_utf8_lossy(&answer.bytes).into_owned();
            text.split("\"logo_props\":").nth(1).and_then(|rest| rest.split(",\"").next().map(str::to_owned))
        };
        let read = Scene::in_project().await.then(list("cycles", FIELDS, &[&cycle])).ask("GET", &one, None).await;
        // First the value as v1 shows it, then the value of the overlay.
        let first = scene.ask("PATCH", &one, Some(json!({"description": "d"}))).await.expect(200);
        let shown = String::from_utf8_lossy(&first.bytes).contains(&logo.to_string());
        assert!(shown || logo.get("deep").is_some(), "{}", first.json);
        assert_eq!(logo_in(&read.expect(200)), logo_in(&first), "a read and a write show the same");
        let changed = scene.ask("PATCH", &one, Some(json!({"logo_props": icon}))).await.expect(200);
        assert_eq!((&changed.json["logo_props"], changed.text("description")), (&icon, "d".into()));
        for path in [one, format!("{WEB}/cycles/")] {
            let shown = scene.ask("GET", &path, None).await.expect(200);
            assert!(String::from_utf8_lossy(&shown.bytes).contains(&icon.to_string()), "{path}");
        }
        scene.end();
    }
}

#[tokio::test]
async fn delete_is_one_call_beside_a_list_that_shows_the_cycle() {
    let delete = Exchange::delete(&format!("{P}/cycles/{ONE}/"));
    let mut scene = Scene::in_project().await.then(list("cycles", FIELDS, &[&sprint()])).then(delete);
    assert_eq!(scene.ask("DELETE", &format!("{WEB}/cycles/{ONE}/"), None).await.expect(204).calls(), 4);
    scene.end();
    let delete = Exchange::delete(&format!("{P}/cycles/{ONE}/"));
    let mut scene = Scene::in_project().await.then(list("cycles", FIELDS, &[&sprint()])).then(delete);
    scene.ask("GET", &format!("{WEB}/cycles/{ONE}/"), None).await.expect(200);
    assert_eq!(scene.ask("DELETE", &format!("{WEB}/cycles/{ONE}/"), None).await.expect(204).calls(), 1);
    scene.end();
}

#[tokio::test]
async fn one_answer_tells_all_faults_of_a_body_the_zone_among_them() {
    let mut scene = Scene::in_project().await;
    let body = json!({"name": "", "start_date": "soon", "timezone": "Mars/Base"});
    let answer = scene.ask("POST", &format!("{WEB}/cycles/"), Some(body)).await;
    assert_eq!(answer.expect_problem(400, "validation_error").error_fields(), ["name", "start_date", "timezone"]);
    scene.end();
}

#[tokio::test]
async fn a_change_while_cycles_are_switched_off_is_a_conflict() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    for (kind, what) in [("cycles", "Cycles"), ("modules", "Modules")] {
        let list = format!("{WEB}/{kind}/");
        let one =
            format!("{list}{}/", gateway.post("ada", &list, json!({"name": "n"})).await.expect(201).text("id"));
        let project = format!("/api/v1/{P}/");
        let off = json!({"cycle_view": false, "module_view": false});
        gateway.patch("ada", &project, off).await.expect(200);
        let refused = gateway.patch("ada", &one, json!({"name": "m"})).await.expect_problem(409, "conflict");
        assert_eq!(refused.text("detail"), format!("{what} are switched off in this project."));
        gateway.patch("ada", &project, json!({"cycle_view": true, "module_view": true})).await.expect(200);
    }
}

/// A folder for the store of a gateway, and the setting that puts the store there.
fn store_on_disk() -> (TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("sqlite:{}", folder.path().join("store.db").display());
    (folder, url)
}

/// People may change a value on v1 under the one that the gateway keeps, and change it back.
#[tokio::test]
async fn a_value_beside_v1_does_not_return_after_a_change_on_v1() {
    let (_folder, url) = store_on_disk();
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &[("store.url", &url)]).await;
    let icon = json!({"in_use": "icon"});
    let body = json!({"name": "c", "timezone": "EST", "logo_props": icon});
    let cycle = gateway.post("ada", &format!("{WEB}/cycles/"), body).await.expect(201);
    let one = format!("cycles/{}/", cycle.text("id"));
    let moved_to = async |zone: &str| {
        gateway.patch("ada", &format!("{V1_WEB}{one}"), json!({"timezone": zone})).await.expect(200);
        let shown = gateway.get("ada", &format!("{WEB}/{one}")).await.expect(200);
        assert_eq!((shown.text("timezone"), &shown.json["logo_props"]), (zone.to_owned(), &icon));
    };
    gateway.age_overlay().await;
    // A read is answered also when the store cannot remove a value; a later read removes it.
    let refuse = "CREATE TRIGGER refuse BEFORE DELETE ON overlay BEGIN SELECT RAISE(ABORT, 'not now'); END";
    gateway.change_store(refuse).await;
    moved_to("Europe/Berlin").await;
    gateway.change_store("DROP TRIGGER refuse").await;
    moved_to("Europe/London").await;
    until_not_kept(&gateway, "cycles", &["timezone"]).await;
    moved_to("UTC").await;
}

/// Such a read may show an older state of v1 than the write saw.
#[tokio::test]
async fn a_read_that_began_before_a_write_does_not_remove_its_value() {
    let (v1, gate, (_folder, url)) = (ScriptedV1::start().await, Gate::default(), store_on_disk());
    let in_zone = |zone: &str| list("cycles", FIELDS, &[&but(&sprint(), json!({"timezone": zone}))]);
    v1.expect(me().repeated()).expect(card().repeated()).expect(in_zone("Europe/Berlin").held(&gate));
    let gateway = Gateway::with(v1.base_url(), &[("store.url", &url)]).await;
    let one = format!("{WEB}/cycles/{ONE}/");
    let writing = async {
        v1.until_called(3).await;
        let zone = OverlayValue::new("timezone", json!("EST"), json!("UTC"));
        let id = ONE.parse().expect("an id");
        gateway.store().await.put_overlay(ACME, "cycles", id, &[zone]).await.expect("a value");
        gate.open();
    };
    let (read, ()) = tokio::join!(gateway.get("ada", &one), writing);
    assert_eq!(read.expect(200).text("timezone"), "Europe/Berlin");
    // An id that is not cached makes the gateway read again.
    v1.expect(in_zone("UTC"));
    gateway.get("ada", &format!("{WEB}/cycles/{TWO}/")).await.expect_problem(404, "resource_not_found");
    assert_eq!(gateway.get("ada", &one).await.expect(200).text("timezone"), "EST");
    v1.finish();
    // The end of the gateway waits for what its reads began.
    let store = gateway.store().await;
    gateway.stop().await;
    assert_eq!(store.overlay_of(ACME, "cycles").await.expect("overlay values").len(), 1);
}
