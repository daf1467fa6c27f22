//! A v1 that accepts fewer orders: since Plane 1.4.0 an order that is not on v1's own list, such as `id`, silently
//! becomes its default.

use super::{ITEMS, Scene};
use crate::support::furnished::id;
use crate::support::gateway::WEB;
use crate::support::past_gateway::{ask_v1, in_web};
use causeway::sandbox::{Config, Sandbox, Seed};
use serde_json::{Value, json};

/// Orders of work items that this v1 accepts.
const ALLOWED: [&str; 7] =
    ["created_at", "updated_at", "sequence_id", "sort_order", "priority", "state__group", "target_date"];

/// Returns the path with the order that v1 uses instead of the requested one.
fn as_taken(path: &str) -> Option<String> {
    let (_, rest) = path.split_once("order_by=")?;
    let asked = rest.split('&').next().unwrap_or_default();
    let default = if path.contains("-issues/") { "created_at" } else { "-created_at" };
    let is_taken = ALLOWED.contains(&asked.trim_start_matches('-'));
    (!is_taken && path.contains("/projects/0"))
        .then(|| path.replace(&format!("order_by={asked}"), &format!("order_by={default}")))
}

async fn scene() -> Scene {
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    Scene::before(sandbox, |sandbox, asked, status, body| {
        if let Some(other) = as_taken(&asked.path).filter(|_| asked.method == "GET") {
            (*status, *body) = ask_v1(sandbox, "ada", "GET", &other, &Value::Null);
        }
    })
    .await
}

/// Returns the ids of v1's list, in its order.
fn ids_at_v1(scene: &Scene, query: &str) -> Vec<String> {
    let page = in_web(&scene.sandbox, "GET", &format!("work-items/?{query}"), &Value::Null);
    page["results"].as_array().expect("rows").iter().map(id).collect()
}

/// A few rows are in the order of their ids by chance.
#[tokio::test]
async fn a_short_page_by_id_is_not_taken_from_a_v1_that_does_not_order_by_id() {
    let scene = scene().await;
    for number in 0.. {
        in_web(&scene.sandbox, "POST", "work-items/", &json!({"name": format!("n{number}")}));
        if number > 30 && ids_at_v1(&scene, "per_page=2&order_by=-created_at").is_sorted() {
            break;
        }
    }
    let mut ids = ids_at_v1(&scene, "fields=id");
    ids.sort();
    let first = scene.gateway.get("ada", &format!("{ITEMS}?order_by=id&per_page=1")).await.expect(200);
    assert_eq!(first.column("id"), [json!(ids[0])]);
    let last = scene.gateway.get("ada", &format!("{ITEMS}?order_by=-id&per_page=1")).await.expect(200);
    assert_eq!(last.column("id"), [json!(ids[ids.len() - 1])]);
}

/// One call shows it, and no other project needs that call again.
#[tokio::test]
async fn that_v1_does_not_order_by_id_is_learned_once() {
    let scene = scene().await;
    for number in 0..30 {
        in_web(&scene.sandbox, "POST", "work-items/", &json!({"name": format!("n{number}")}));
    }
    let by_id = || scene.wire.asked().into_iter().filter(|asked| asked.path.contains("order_by=id")).count();
    scene.gateway.get("ada", &format!("{ITEMS}?order_by=id")).await.expect(200);
    assert_eq!(by_id(), 1);
    let new = json!({"name": "Other", "identifier": "NEWER"});
    let other = scene.gateway.post("ada", "/api/v1/workspaces/acme/projects/", new).await.expect(201).text("id");
    let items = format!("/api/v2/workspaces/acme/projects/{other}/work-items/");
    let mut made = Vec::new();
    for name in ["a", "b", "c"] {
        made.push(scene.gateway.post("ada", &items, json!({"name": name})).await.expect(201).text("id"));
    }
    made.sort();
    let listed = scene.gateway.get("ada", &format!("{items}?order_by=id")).await.expect(200);
    assert_eq!((listed.column("id"), by_id()), (made.into_iter().map(Value::from).collect(), 1));
}

/// Members with the same value in the default order come on two pages or on none (trap 44).
#[tokio::test]
async fn a_cycle_of_more_than_one_page_is_read_whole() {
    let scene = scene().await;
    let set = json!({"name": "long"});
    let cycle = scene.gateway.post("ada", &format!("{WEB}/cycles/"), set).await.expect(201).text("id");
    // All made at one instant, as by an import; v1 obeys `created_at` (trap 17).
    let item = json!({"name": "n", "created_at": "2026-01-02T03:04:05Z"});
    let made = (0..1_050).map(|_| id(&in_web(&scene.sandbox, "POST", "work-items/", &item)));
    let made: Vec<String> = made.collect();
    in_web(&scene.sandbox, "POST", &format!("cycles/{cycle}/cycle-issues/"), &json!({"issues": made}));
    let listed = scene.gateway.get("ada", &format!("{ITEMS}?cycle_id={cycle}&per_page=1")).await.expect(200);
    assert_eq!(listed.json["total_count"], json!(1_050));
    let asked = scene.wire.asked().into_iter().filter(|asked| asked.path.contains("/cycle-issues/")).count();
    assert_eq!(asked, 2, "each page once");
}
