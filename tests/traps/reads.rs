//! Lists and members: what v1 ignores, shifts, repeats and writes in other time zones.

use crate::support::gateway::{Gateway, serve_sandbox};
use crate::support::past_gateway::in_web;
use crate::support::scripted::Exchange;
use crate::traps::scene::{ADA, BOB, Scene, THROUGH, V1, id, journal, list, list_target, page, record, shown, web};
use causeway::sandbox::{Config, Sandbox, Seed};
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::test]
async fn trap_10_47_48_49_the_clients_query_never_reaches_v1() {
    let scene = Scene::new().await;
    scene.expect(Exchange::get(&list_target("states")).recorded("states", "states_list_default_set"));
    for (query, status) in [
        ("order_by=nosuch", 200),
        ("order_by=", 200),
        ("order_by=-sequence&per_page=1000", 200),
        ("group=started&search=x&is_default=true", 200),
        ("per_page=0", 400),
        ("per_page=-1", 400),
        ("per_page=x", 400),
        ("limit=x", 400),
        ("cursor=3:1:0", 400),
        ("expand=created_by", 400),
        ("group=%00", 400),
        ("default=true", 400),
    ] {
        scene.get(&format!("states/?{query}")).await.expect(status);
    }
    scene.finish(&["GET states/"]);
}

#[tokio::test]
async fn trap_42_instants_are_in_utc_with_six_digits_whoever_filled_the_cache() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let body = json!({"name": "c", "start_date": "2099-06-01T02:00:00Z"});
    gateway.post("kim", &web("cycles/"), body).await.expect(201);
    gateway.post("kim", &web("labels/"), json!({"name": "by kim"})).await.expect(201);
    for resource in ["cycles", "labels", "states"] {
        let kim = gateway.get("kim", &web(&format!("{resource}/"))).await.expect(200);
        let ada = gateway.get("ada", &web(&format!("{resource}/"))).await.expect(200);
        assert_eq!(kim.bytes, ada.bytes, "{resource}");
        let v1 = gateway.get("kim", &format!("{THROUGH}{resource}/")).await.expect(200);
        assert!(v1.json["results"][0]["created_at"].as_str().unwrap().ends_with("+05:30"));
        for created in ada.column("created_at") {
            let text = created.as_str().unwrap();
            assert!(text.len() == 27 && text.ends_with('Z'), "{text}");
        }
        let same = crate::traps::reference::instant(&v1.json["results"][0]["created_at"]);
        assert!(ada.column("created_at").contains(&same));
    }
    let cycles = gateway.get("ada", &web("cycles/")).await.expect(200);
    assert_eq!(cycles.column("start_date"), [json!("2099-06-01T02:00:00.000000Z")]);
}

fn labels(numbers: std::ops::Range<usize>) -> Vec<Value> {
    let label = shown("labels", "labels_create_minimal");
    let numbered = |number: usize| {
        let mut label = label.clone();
        label["id"] = json!(format!("00000000-0000-4000-8000-{number:012}"));
        label["name"] = json!(format!("label {number}"));
        label
    };
    numbers.map(numbered).collect()
}

#[tokio::test]
async fn trap_43_every_page_names_its_size_and_all_rows_are_there() {
    let scene = Scene::new().await;
    let first = list_target("labels");
    let second = first.replace("per_page=1000&", "per_page=1000&cursor=1000:1:0&");
    scene.expect(Exchange::get(&first).reply(200, page(&labels(0..1000), 1001, true)));
    scene.expect(Exchange::get(&second).reply(200, page(&labels(1000..1001), 1001, false)));
    let last = scene.get("labels/?order_by=id&per_page=1&offset=1000").await.expect(200);
    assert_eq!(last.json["total_count"], 1001);
    assert_eq!(last.column("name"), [json!("label 1000")]);
    scene.v1.finish();
}

#[tokio::test]
async fn trap_43_a_collection_that_moves_is_read_again_and_never_shown_with_gaps() {
    let first = list_target("labels");
    let second = first.replace("per_page=1000&", "per_page=1000&cursor=1000:1:0&");
    // A row of the first page was deleted between the pages, so that a row of the second slid past unseen.
    let moved = || {
        [
            Exchange::get(&first).reply(200, page(&labels(0..1000), 1002, true)),
            Exchange::get(&second).reply(200, page(&labels(1001..1002), 1001, false)),
        ]
    };
    let scene = Scene::new().await;
    for exchange in moved() {
        scene.expect(exchange);
    }
    scene.expect(Exchange::get(&first).reply(200, page(&labels(1..1001), 1001, true)));
    scene.expect(Exchange::get(&second).reply(200, page(&labels(1001..1002), 1001, false)));
    let answer = scene.get("labels/?per_page=1").await.expect(200);
    assert_eq!(answer.json["total_count"], 1001);
    scene.v1.finish();

    // Counts that the rows never confirm.
    let scene = Scene::new().await;
    scene.expect(Exchange::get(&first).reply(200, page(&labels(0..1000), 1500, true)).times(4));
    scene.expect(Exchange::get(&second).reply(200, page(&labels(1001..1002), 1400, false)).times(4));
    let answer = scene.get("labels/").await.expect_problem(503, "upstream_unavailable");
    assert!(answer.headers.contains_key("retry-after"));
    scene.v1.finish();
}

#[tokio::test]
async fn trap_47_filters_are_evaluated_here() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let names = async |path: &str| gateway.get("ada", &web(path)).await.expect(200).column("name");
    assert_eq!(names("states/?group__in=started,completed").await, ["In Progress", "Done"]);
    assert_eq!(names("states/?is_default=true").await, ["Backlog"]);
    assert_eq!(names("states/?search=PROGRESS").await, ["In Progress"]);
    assert_eq!(names("states/?name=Done").await, ["Done"]);
    assert!(names("states/?group=triage").await.is_empty());
    let a = gateway.post("ada", &web("labels/"), json!({"name": "a"})).await.expect(201).text("id");
    gateway.post("ada", &web("labels/"), json!({"name": "b", "parent_id": a})).await.expect(201);
    assert_eq!(names(&format!("labels/?parent_id={a}")).await, ["b"]);
    assert_eq!(names("labels/?parent_id__isnull=true").await, ["a"]);
}

#[tokio::test]
async fn trap_48_orders_are_made_here_and_ties_are_broken_by_id() {
    let scene = Scene::new().await;
    let tied = |number: usize, order: f64| {
        let mut label = labels(number..number + 1).remove(0);
        label["sort_order"] = json!(order);
        label
    };
    scene.expect(list("labels", &[tied(3, 1.0), tied(1, 1.0), tied(4, 0.5), tied(2, 1.0)]));
    let names = async |path: &str| scene.get(path).await.expect(200).column("name");
    assert_eq!(names("labels/").await, ["label 4", "label 1", "label 2", "label 3"]);
    assert_eq!(names("labels/?order_by=-sort_order").await, ["label 3", "label 2", "label 1", "label 4"]);
    assert_eq!(names("labels/?order_by=-id&per_page=2&offset=1").await, ["label 3", "label 2"]);
    scene.v1.finish();
}

#[tokio::test]
async fn trap_49_expansions_stand_beside_the_id() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let members = gateway.get("ada", &web("members/?expand=member&search=bob@")).await.expect(200);
    let row = &members.data()[0];
    assert_eq!((&row["member_id"], &row["member"]["id"]), (&json!(BOB), &json!(BOB)));
    assert_eq!(row["member"]["avatar_url"], Value::Null);
    let plain = gateway.get("ada", &web("members/")).await.expect(200);
    assert!(plain.data().iter().all(|row| row.get("member").is_none()));
    let answer = gateway.get("ada", &web("labels/?expand=parent")).await.expect_problem(400, "validation_error");
    assert_eq!(answer.error_fields(), ["expand"]);
    assert!(!journal(&gateway).iter().any(|call| call.contains("expand")));
}

#[tokio::test]
async fn trap_51_members_of_a_module_are_named_once() {
    let scene = Scene::new().await;
    let members = shown("modules", "modules_get_after_members_again")["members"].clone();
    let module = record("modules", "modules_create_minimal", json!({"members": members}));
    scene.expect(list("modules", std::slice::from_ref(&module)));
    let shown = scene.get(&format!("modules/{}/", id(&module))).await.expect(200);
    let once = ["5", "4", "2", "1"].map(|number| json!(format!("00000000-0000-4000-a000-00000000000{number}")));
    assert_eq!(shown.json["member_ids"], json!(once));
    scene.v1.finish();
}

#[tokio::test]
async fn trap_41_52_rosters_list_who_left_with_derived_ids_and_the_roles_v1_tells() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let roster = gateway.get("bob", &web("members/?per_page=200")).await.expect(200);
    let role = |roster: &crate::support::gateway::Answer, person: &str| {
        let row = roster.data().iter().find(|row| row["member_id"] == person).expect("on the roster").clone();
        (row["id"].clone(), row["role"].as_str().unwrap().to_owned())
    };
    // Dan's membership is switched off; v1 lists him all the same.
    assert_eq!(roster.data().len(), 6);
    assert_eq!(role(&roster, BOB).1, "contributor", "the own role is the card's");
    assert_eq!(role(&roster, ADA).1, "admin", "that of others is the workspace's");
    let again = gateway.get("ada", &web("members/")).await.expect(200);
    assert_eq!(role(&again, BOB).0, role(&roster, BOB).0, "ids do not depend on who asks");
    let guest = gateway.get("gil", &web("members/")).await.expect(200);
    assert_eq!(role(&guest, ADA).1, "unknown");
    assert_eq!(role(&guest, "00000000-0000-4000-a000-000000000004").1, "guest");
    let workspace = "/api/v2/workspaces/acme/members/";
    let all = gateway.get("ada", workspace).await.expect(200);
    assert_eq!((all.data().len(), role(&all, ADA).1), (8, "admin".to_owned()));
    assert_ne!(role(&all, ADA).0, role(&roster, ADA).0, "another roster, another membership");
    gateway.get("gil", workspace).await.expect_problem(403, "forbidden");
    // Removed on v1: still listed on both sides, and without access.
    let removed = format!("{THROUGH}members/00000000-0000-4000-9000-000000000102/");
    gateway.delete("ada", &removed).await.expect(204);
    assert_eq!(gateway.get("ada", &web("members/")).await.expect(200).data().len(), 6);
    gateway.get("bob", &web("members/")).await.expect_problem(403, "forbidden");
}

#[tokio::test]
async fn trap_56_writes_through_v1_are_seen_at_once() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let labels = web("labels/");
    assert!(gateway.get("ada", &labels).await.expect(200).data().is_empty());
    let through = format!("{THROUGH}labels/");
    let label = gateway.post("bob", &through, json!({"name": "x"})).await.expect(201).text("id");
    assert_eq!(gateway.get("ada", &labels).await.expect(200).column("name"), ["x"]);
    gateway.patch("bob", &format!("{through}{label}/"), json!({"name": "y"})).await.expect(200);
    assert_eq!(gateway.get("ada", &labels).await.expect(200).column("name"), ["y"]);
    gateway.delete("bob", &format!("{through}{label}/")).await.expect(204);
    assert!(gateway.get("ada", &labels).await.expect(200).data().is_empty());
}

#[tokio::test]
async fn trap_56_what_a_write_through_v1_may_still_change_is_dropped_once_more() {
    let scene = Scene::new().await;
    scene.expect(Exchange::delete(&format!("{V1}work-items/{}/", crate::traps::scene::NOWHERE)));
    scene.expect(list("labels", &[]).times(2));
    scene
        .gateway
        .delete("ada", &format!("{THROUGH}work-items/{}/", crate::traps::scene::NOWHERE))
        .await
        .expect(204);
    let lists = |scene: &Scene| scene.calls().iter().filter(|call| call.starts_with("GET labels/")).count();
    // Otherwise cached for ten seconds; the second read of v1 comes as soon as the background task may be done.
    for _ in 0..80 {
        scene.get("labels/").await.expect(200);
        if lists(&scene) == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    scene.v1.finish();
}

#[tokio::test]
async fn a_creator_v1_does_not_know_is_the_nil_id() {
    let scene = Scene::new().await;
    let label = record("labels", "labels_create_minimal", json!({"created_by": null}));
    scene.expect(list("labels", &[label]));
    let labels = scene.get("labels/").await.expect(200);
    assert_eq!(labels.column("created_by_id"), [json!("00000000-0000-0000-0000-000000000000")]);
    scene.v1.finish();
}

#[tokio::test]
async fn trap_23_a_project_without_a_default_state_shows_the_one_that_v1_takes() {
    let v1 = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let states = in_web(&v1, "GET", "states/", &Value::Null);
    let is_default = |row: &&Value| row["default"] == true;
    let default = states["results"].as_array().expect("rows").iter().find(is_default).expect("a default");
    in_web(&v1, "PATCH", &format!("states/{}/", id(default)), &json!({"default": false}));
    let gateway = Gateway::before(&serve_sandbox(&v1).await).await;
    let item = gateway.post("ada", &web("work-items/"), json!({"name": "without a state"})).await.expect(201);
    let shown = gateway.get("ada", &web("states/?is_default=true")).await.expect(200);
    assert_eq!(shown.column("id"), [item.json["state_id"].clone()]);
    // A state that is made the default becomes the default at v1 as well, and at once.
    let all = gateway.get("ada", &web("states/")).await.expect(200);
    for wanted in [&all.data()[2], &all.data()[0]] {
        let path = format!("states/{}/", id(wanted));
        let made = gateway.patch("ada", &web(&path), json!({"is_default": true})).await.expect(200);
        assert_eq!(made.json["is_default"], true);
        assert_eq!(in_web(&v1, "GET", &path, &Value::Null)["default"], true);
        let shown = gateway.get("ada", &web("states/?is_default=true")).await.expect(200);
        assert_eq!(shown.column("id"), [wanted["id"].clone()]);
    }
}

#[tokio::test]
async fn an_archived_cycle_which_is_not_served_cannot_be_deleted_either() {
    let v1 = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let project = "00000000-0000-4000-c000-000000000001";
    let cycle = json!({
        "name": "Over", "project_id": project, "start_date": "2025-01-01T00:00:00Z", "end_date": "2025-01-02T00:00:00Z",
    });
    let path = format!("cycles/{}/", id(&in_web(&v1, "POST", "cycles/", &cycle)));
    in_web(&v1, "POST", &format!("{path}archive/"), &Value::Null);
    let gateway = Gateway::before(&serve_sandbox(&v1).await).await;
    gateway.get("ada", &web(&path)).await.expect_problem(404, "resource_not_found");
    gateway.delete("ada", &web(&path)).await.expect_problem(404, "resource_not_found");
    let archived = in_web(&v1, "GET", "archived-cycles/", &Value::Null);
    assert_eq!(archived["results"].as_array().map(Vec::len), Some(1), "{archived}");
}

/// Somebody else has deleted it on v1. A list that still shows a record for which v1 answers 404 is read again.
#[tokio::test]
async fn a_write_that_v1_answers_with_404_drops_the_list_that_shows_the_record() {
    let v1 = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let gateway = Gateway::before(&serve_sandbox(&v1).await).await;
    for (collection, body) in [
        ("states/", json!({"name": "gone", "color": "#112233"})),
        ("cycles/", json!({"name": "gone"})),
        ("modules/", json!({"name": "gone"})),
    ] {
        for method in ["PATCH", "DELETE"] {
            let made = gateway.post("ada", &web(collection), body.clone()).await.expect(201);
            let path = format!("{collection}{}/", id(&made.json));
            let list = web(&format!("{collection}?per_page=100"));
            let shows =
                async || gateway.get("ada", &list).await.expect(200).column("id").contains(&made.json["id"]);
            assert!(shows().await, "{path}");
            in_web(&v1, "DELETE", &path, &Value::Null);
            let change = (method == "PATCH").then(|| json!({"name": "other"}));
            let refused = gateway.send_with("ada", method, &web(&path), change.as_ref(), &[]).await;
            refused.expect_problem(404, "resource_not_found");
            assert!(!shows().await, "{method} {path}");
        }
    }
}
