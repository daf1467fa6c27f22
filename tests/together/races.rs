//! Writers of the same record, of the same external pair and of each other's parents, all at once, in front of a v1
//! that saves whole rows.

use crate::support::gateway::{Gateway, WEB, serve_sandbox};
use crate::support::losing::Losing;
use crate::support::switch::{Line, Switch};
use crate::together::scene::{Scene, at_once, statuses};
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::task::spawn;
use futures_util::future::join;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Number of runs of each race; a single round may pass by luck even without any lock.
const ROUNDS: u64 = 4;

fn patch(id: &str, body: Value) -> (&'static str, String, Value) {
    ("PATCH", format!("work-items/{id}/"), body)
}

#[tokio::test]
async fn patches_of_different_fields_all_stay() {
    let scene = Scene::new(1).await;
    for round in 0..ROUNDS {
        let id = scene.item(&format!("before {round}")).await;
        let bodies = [
            json!({"name": "after"}),
            json!({"priority": "urgent"}),
            json!({"description_html": "<p>after</p>"}),
            json!({"start_date": "2026-03-01", "target_date": "2026-03-02"}),
        ];
        let answers = at_once(&scene.gateway, bodies.into_iter().map(|body| patch(&id, body)).collect()).await;
        assert_eq!(statuses(&answers), [200; 4]);
        let stored = scene.stored("work-items", &id).await.expect(200).json;
        let wanted = json!({"name": "after", "priority": "urgent", "description_html": "<p>after</p>",
            "start_date": "2026-03-01", "target_date": "2026-03-02"});
        for (name, value) in wanted.as_object().expect("an object") {
            assert_eq!(&stored[name], value, "{name} of {stored}");
        }
        let shown = scene.shown("work-items", &id).await;
        assert_eq!((shown["name"].as_str(), shown["priority"].as_str()), (Some("after"), Some("urgent")));
    }
}

#[tokio::test]
async fn patches_of_every_kind_of_record_all_stay() {
    let scene = Scene::new(2).await;
    let id = scene.item("commented").await;
    let comments = format!("work-items/{id}/comments");
    let kinds = [
        ("states".to_owned(), json!({"name": "S", "color": "#111111"}), ["description", "color", "external_id"]),
        ("labels".to_owned(), json!({"name": "L"}), ["description", "color", "external_id"]),
        ("cycles".to_owned(), json!({"name": "C"}), ["description", "name", "external_id"]),
        ("modules".to_owned(), json!({"name": "M"}), ["description", "name", "external_id"]),
        (comments, json!({"comment_html": "<p>c</p>"}), ["comment_html", "external_source", "external_id"]),
    ];
    for (kind, body, fields) in kinds {
        let id = scene.made(&kind, body).await;
        let value = |field: &str| match field {
            "color" => json!("#222222"),
            "comment_html" => json!("<p>after</p>"),
            _ => json!("after"),
        };
        let requests = fields.iter().map(|field| {
            let mut body = json!({});
            body[*field] = value(field);
            ("PATCH", format!("{kind}/{id}/"), body)
        });
        assert_eq!(statuses(&at_once(&scene.gateway, requests.collect()).await), [200; 3], "{kind}");
        let stored = scene.stored(&kind, &id).await.expect(200).json;
        for field in fields {
            assert_eq!(stored[field], value(field), "{field} of {kind}: {stored}");
        }
    }
}

#[tokio::test]
async fn an_archive_beside_a_patch_is_not_undone() {
    let scene = Scene::new(3).await;
    for round in 0..2 * ROUNDS {
        let id = scene.item(&format!("archived {round}")).await;
        let requests = vec![
            patch(&id, json!({"priority": "high"})),
            ("POST", format!("work-items/{id}/archive/"), Value::Null),
            patch(&id, json!({"name": "renamed"})),
        ];
        let answers = at_once(&scene.gateway, requests).await;
        answers[1].clone().expect(200);
        for patched in [&answers[0], &answers[2]] {
            // For a later PATCH an archived item does not exist.
            assert!([200, 404].contains(&patched.status), "{}", patched.json);
        }
        assert_eq!(scene.stored("work-items", &id).await.status, 404, "round {round}: v1 shows it again");
        let back = format!("{}/work-items/{id}/unarchive/", crate::together::WEB);
        scene.gateway.post("ada", &back, Value::Null).await.expect(200);
        let stored = scene.stored("work-items", &id).await.expect(200).json;
        assert_eq!(stored["priority"] == "high", answers[0].status == 200, "{stored}");
        assert_eq!(stored["name"] == "renamed", answers[2].status == 200, "{stored}");
    }
}

#[tokio::test]
async fn a_deleted_item_does_not_come_back() {
    let scene = Scene::new(4).await;
    for round in 0..2 * ROUNDS {
        let id = scene.item(&format!("deleted {round}")).await;
        let requests = vec![
            patch(&id, json!({"priority": "high"})),
            ("DELETE", format!("work-items/{id}/"), Value::Null),
            patch(&id, json!({"name": "renamed"})),
        ];
        let answers = at_once(&scene.gateway, requests).await;
        answers[1].clone().expect(204);
        assert_eq!(scene.stored("work-items", &id).await.status, 404, "round {round}");
    }
}

#[tokio::test]
async fn an_external_pair_is_given_once() {
    let scene = Scene::new(5).await;
    for round in 0..ROUNDS {
        let pair = json!({"external_source": "tracker", "external_id": format!("{round}")});
        let with = |name: &str| {
            let mut body = pair.clone();
            body["name"] = json!(name);
            body
        };
        let creates = (0..4).map(|number| ("POST", "work-items/".to_owned(), with(&format!("{round}.{number}"))));
        let answers = at_once(&scene.gateway, creates.collect()).await;
        assert_eq!(statuses(&answers), [201, 409, 409, 409], "creates of round {round}");
        let mut ids = Vec::new();
        for number in 0..4 {
            ids.push(scene.item(&format!("bare {round}.{number}")).await);
        }
        let pair = json!({"external_source": "tracker", "external_id": format!("p{round}")});
        let answers = at_once(&scene.gateway, ids.iter().map(|id| patch(id, pair.clone())).collect()).await;
        assert_eq!(statuses(&answers), [200, 409, 409, 409], "updates of round {round}");
        // Two writes of one half each make a pair in the end.
        let halves = ids.iter().map(|id| patch(id, json!({"external_id": format!("h{round}")})));
        at_once(&scene.gateway, halves.collect()).await;
        let sources = ids.iter().map(|id| patch(id, json!({"external_source": "halves"})));
        let answers = at_once(&scene.gateway, sources.collect()).await;
        let given = answers.iter().filter(|answer| answer.status == 200).count();
        let found = format!("{}/work-items/?external_source=halves&external_id=h{round}", crate::together::WEB);
        let found = scene.gateway.get("ada", &found).await.expect(200).data().len();
        assert!(given >= 1 && found <= 1, "{given} given, {found} found");
    }
}

#[tokio::test]
async fn every_kind_of_record_keeps_its_pairs_and_names_apart() {
    let scene = Scene::new(6).await;
    let pair = json!({"external_source": "tracker", "external_id": "one"});
    for kind in ["states", "labels", "cycles", "modules"] {
        let creates = (0..4).map(|number| {
            let mut body = pair.clone();
            body["name"] = json!(format!("n{number}"));
            body["color"] = json!("#111111");
            ("POST", format!("{kind}/"), body)
        });
        assert_eq!(statuses(&at_once(&scene.gateway, creates.collect()).await), [201, 409, 409, 409], "{kind}");
        let same = (0..4).map(|_| ("POST", format!("{kind}/"), json!({"name": "same", "color": "#111111"})));
        assert_eq!(statuses(&at_once(&scene.gateway, same.collect()).await), [201, 409, 409, 409], "{kind}");
    }
}

#[tokio::test]
async fn parents_never_form_a_loop() {
    let scene = Scene::new(7).await;
    for round in 0..ROUNDS {
        let (one, other) = (scene.item(&format!("a {round}")).await, scene.item(&format!("b {round}")).await);
        let requests = vec![patch(&one, json!({"parent_id": other})), patch(&other, json!({"parent_id": one}))];
        assert_eq!(statuses(&at_once(&scene.gateway, requests).await), [200, 400], "round {round}");
    }
    let mut three = Vec::new();
    for number in 0..3 {
        three.push(scene.item(&format!("ring {number}")).await);
    }
    let ring = (0..3).map(|at| patch(&three[at], json!({"parent_id": three[(at + 1) % 3]})));
    assert_eq!(statuses(&at_once(&scene.gateway, ring.collect()).await), [200, 200, 400]);
}

#[tokio::test]
async fn numbers_are_given_once() {
    let scene = Scene::new(8).await;
    let creates = (0..8).map(|number| ("POST", "work-items/".to_owned(), json!({"name": format!("{number}")})));
    let answers = at_once(&scene.gateway, creates.collect()).await;
    assert_eq!(statuses(&answers), [201; 8]);
    let numbers = answers.iter().map(|answer| answer.json["sequence_id"].as_u64().expect("a number"));
    let numbers: std::collections::BTreeSet<u64> = numbers.collect();
    assert_eq!(numbers.len(), 8, "{numbers:?}");
}

#[tokio::test]
async fn there_is_always_one_default_state() {
    let scene = Scene::new(9).await;
    let mut states = Vec::new();
    for number in 0..3 {
        states.push(scene.made("states", json!({"name": format!("d{number}"), "color": "#111111"})).await);
    }
    for _ in 0..ROUNDS {
        let all = states.iter().map(|id| ("PATCH", format!("states/{id}/"), json!({"is_default": true})));
        assert_eq!(statuses(&at_once(&scene.gateway, all.collect()).await), [200; 3]);
        let listed = scene.gateway.get("ada", &format!("{}/states/", crate::together::WEB)).await.expect(200);
        assert_eq!(listed.column("is_default").iter().filter(|flag| **flag == json!(true)).count(), 1);
    }
}

/// A body that is refused anyway does not wait: a create that v1 does not answer holds its line.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_create_that_is_refused_takes_no_turn() {
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let wire = Switch::before(&serve_sandbox(&sandbox).await).await;
    let gateway = Arc::new(Gateway::with(&wire.base_url(), &[("limits.deadline", "20s")]).await);
    let labels = format!("{WEB}/labels/");
    // So that the caller is known.
    gateway.post("ada", &labels, json!({"name": "First"})).await.expect(201);
    wire.set(Line::HangingFor("/labels/")).await;
    let held = spawn({
        let (gateway, labels) = (Arc::clone(&gateway), labels.clone());
        async move { gateway.post("ada", &labels, json!({"name": "Held"})).await.status }
    });
    while wire.asked() < 2 || sandbox.journal().len() as u32 >= wire.asked() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for body in [json!({"name": 5}), json!({"name": ""}), json!([])] {
        let refused = tokio::time::timeout(Duration::from_secs(10), gateway.post("ada", &labels, body)).await;
        refused.expect("no wait for others").expect_problem(400, "validation_error");
    }
    assert!(!held.is_finished());
    held.abort();
}

/// A cycle with dates takes three writes and a read at v1; no read shows it without dates or with only one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_during_a_write_shows_the_cycle_with_both_dates() {
    let v1 = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let wire = Losing::before(&serve_sandbox(&v1).await).await;
    let gateway = Gateway::before(wire.base_url()).await;
    let cycles = format!("{WEB}/cycles/");
    let made = json!({"name": "whole", "start_date": "2026-03-02T10:00:00Z", "end_date": "2026-03-09T10:00:00Z"});
    let moved = json!({"start_date": "2026-04-02T10:00:00Z", "end_date": "2026-04-09T10:00:00Z"});
    let dates = |cycle: &Value| [cycle["start_date"].clone(), cycle["end_date"].clone()];
    let mut one = String::new();
    for (method, body, month) in [("POST", made, "03"), ("PATCH", moved, "04")] {
        // The answer to the write of the start.
        wire.hold("PATCH");
        let path = format!("{cycles}{one}");
        let write = gateway.send(Some("ada"), method, &path, Some(&body));
        let reads = async {
            wire.held().await;
            let later = async {
                tokio::time::sleep(Duration::from_millis(300)).await;
                wire.let_go();
            };
            join(gateway.get("bob", &cycles), later).await.0.expect(200)
        };
        let (written, list) = join(write, reads).await;
        let written = written.expect(if method == "POST" { 201 } else { 200 }).json;
        let whole = ["02", "09"].map(|day| json!(format!("2026-{month}-{day}T10:00:00.000000Z")));
        assert_eq!(dates(&written), whole, "{method}");
        let shown = list.data().iter().find(|cycle| cycle["name"] == "whole").expect("the cycle");
        assert_eq!(dates(shown), whole, "{method}");
        one = format!("{}/", written["id"].as_str().expect("an id"));
    }
}
