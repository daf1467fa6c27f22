//! A v1 with wrong answers in places: no wrong answer is passed on, a write that was carried out is not reported as
//! refused, and the client is not blamed.
//!
//! May use: the public interface of the crate and `tests/support`.

use super::world::{ARCHIVED, ITEMS, id, one};
use crate::support::gateway::{Gateway, serve_sandbox};
use crate::support::past_gateway::ask_v1;
use crate::support::planting::Planting;
use causeway::sandbox::{Config, Sandbox, Seed};
use http::Method;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// Changes an answer: gets the method and path of the call, its status and its body.
type Spoil = fn(&Method, &str, &mut u16, &mut Value);

/// A gateway before the recorded situation, whose answers are spoiled after [`Scene::answer_with`].
struct Scene {
    gateway: Gateway,
    spoil: Arc<Mutex<Option<Spoil>>>,
    _wire: Planting,
}

impl Scene {
    async fn new() -> Self {
        let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
        let spoil = Arc::new(Mutex::new(None::<Spoil>));
        let now = Arc::clone(&spoil);
        let behind = serve_sandbox(&sandbox).await;
        let wire = Planting::before(&behind, move |asked, _, status, body| {
            if let Some(spoil) = *now.lock().expect("no panic") {
                let path = asked.path.split('?').next().unwrap_or_default();
                spoil(&asked.method, path, status, body);
            }
        });
        let wire = wire.await;
        let gateway = Gateway::with(wire.base_url(), &[("cache.collection", "0s")]).await;
        Self { gateway, spoil, _wire: wire }
    }

    fn answer_with(&self, spoil: Spoil) {
        *self.spoil.lock().expect("no panic") = Some(spoil);
    }
}

/// Empties v1's list of states.
fn no_states(method: &Method, path: &str, status: &mut u16, body: &mut Value) {
    if *method == Method::GET && path.ends_with("/states/") {
        (*status, *body) = (404, json!({"error": "The requested resource does not exist."}));
    }
}

#[tokio::test]
async fn a_write_whose_answer_fails_is_not_reported_as_refused() {
    let scene = Scene::new().await;
    let gateway = &scene.gateway;
    let item = gateway.post("ada", ITEMS, json!({"name": "n"})).await.expect(201).text("id");
    let types = ITEMS.replace("work-items", "work-item-types");
    let bug = gateway.post("ada", &types, json!({"name": "Bug"})).await.expect(201).text("id");
    scene.answer_with(no_states);
    let expanded = format!("{}?expand=state", one(&item));
    for change in [json!({"priority": "urgent"}), json!({"type_id": bug})] {
        let told = gateway.patch("ada", &expanded, change.clone()).await.expect_problem(502, "upstream_error");
        assert!(told.text("detail").contains("was carried out"), "{change}: {}", told.json);
    }
    // A read reports the fault as it is.
    gateway.get("ada", &expanded).await.expect_problem(404, "resource_not_found");
    let read = gateway.get("ada", &one(&item)).await.expect(200);
    assert_eq!((&read.json["priority"], &read.json["type_id"]), (&json!("urgent"), &json!(bug)));
    let archive = format!("{}archive/?expand=state", one(&item));
    gateway.post("ada", &archive, json!({})).await.expect_problem(502, "upstream_error");
}

/// Expands every parent as v1 expands null (trap 49). No recording shows an expanded parent that v1 hides.
fn no_parent(_: &Method, path: &str, _: &mut u16, body: &mut Value) {
    let empty = |row: &mut Value| {
        if row["parent"].is_object() {
            row["parent"] = json!({});
        }
    };
    if path.contains("/work-items/") {
        match body["results"].as_array_mut() {
            Some(rows) => rows.iter_mut().for_each(empty),
            None => empty(body),
        }
    }
}

#[tokio::test]
async fn a_hidden_parent_that_v1_does_not_expand_is_not_shown_as_none() {
    let scene = Scene::new().await;
    let gateway = &scene.gateway;
    let child = format!("{ARCHIVED}{}/", id('e', 15));
    // As many as one walk through the list finds.
    for number in 1..=4 {
        let parent = json!({"name": format!("parent {number}")});
        let parent = gateway.post("ada", ITEMS, parent).await.expect(201).text("id");
        let below = json!({"name": "child", "parent_id": parent});
        gateway.post("ada", ITEMS, below).await.expect(201);
        let through = one(&parent).replace("/api/v2/", "/api/v1/");
        gateway.patch("ada", &through, json!({"archived_at": "2026-11-20"})).await.expect(200);
    }
    let expanded = [
        format!("{child}?expand=parent"),
        format!("{ARCHIVED}?expand=parent"),
        format!("{ITEMS}?search=child&expand=parent"),
    ];
    for path in &expanded {
        gateway.get("ada", path).await.expect(200);
    }
    scene.answer_with(no_parent);
    for path in &expanded {
        gateway.get("ada", path).await.expect_problem(502, "upstream_error");
    }
    gateway.get("ada", &child).await.expect(200);
}

#[tokio::test]
async fn a_set_that_is_none_is_no_set_from_which_v1_dropped_somebody() {
    let scene = Scene::new().await;
    let bob = id('a', 2);
    for shown in ["null", "1.5", "\"zzz\"", "[\"zzz\"]"] {
        scene.answer_with(match shown {
            "null" => |_, path, _, body| assignees(path, body, Value::Null),
            "1.5" => |_, path, _, body| assignees(path, body, json!(1.5)),
            "\"zzz\"" => |_, path, _, body| assignees(path, body, json!("zzz")),
            _ => |_, path, _, body| assignees(path, body, json!(["zzz"])),
        });
        let body = json!({"name": "n", "assignee_ids": [bob]});
        scene.gateway.post("ada", ITEMS, body).await.expect_problem(502, "upstream_error");
    }
}

fn assignees(path: &str, body: &mut Value, shown: Value) {
    if path.contains("/work-items/") && body.get("assignees").is_some() {
        body["assignees"] = shown;
    }
}

#[tokio::test]
async fn dates_that_are_none_do_not_go_out() {
    let scene = Scene::new().await;
    let item = one(&id('e', 1));
    let spoils: [Spoil; 4] = [
        |_, path, _, body| member(path, body, "start_date", "01.12.2026"),
        |_, path, _, body| member(path, body, "target_date", "2026-02-30"),
        |_, path, _, body| member(path, body, "start_date", "2026-12-01T10:00:00+02:00"),
        |_, path, _, body| member(path, body, "archived_at", "zzz"),
    ];
    for spoil in spoils {
        scene.answer_with(spoil);
        scene.gateway.get("ada", &item).await.expect_problem(502, "upstream_error");
    }
    scene.answer_with(|_, path, _, body| member(path, body, "start_date", "2028-02-29"));
    let read = scene.gateway.get("ada", &item).await.expect(200);
    assert_eq!(read.json["start_date"], "2028-02-29");
}

fn member(path: &str, body: &mut Value, name: &str, shown: &str) {
    if path.contains("/work-items/") {
        body[name] = json!(shown);
    }
}

#[tokio::test]
async fn a_card_or_roster_that_is_wrong_or_refused_does_not_mean_that_something_is_not_there() {
    let scene = Scene::new().await;
    scene.answer_with(|_, path, _, body| {
        if path.ends_with("/projects/00000000-0000-4000-c000-000000000001/") {
            body["archived_at"] = json!("zzz");
        }
    });
    scene.gateway.get("ada", ITEMS).await.expect_problem(502, "upstream_error");
    scene.answer_with(|_, path, status, body| {
        if path.ends_with("000000000001/members/") || path.ends_with("000000000001/project-members/") {
            (*status, *body) = (403, json!({"error": "You don't have the required permissions."}));
        }
    });
    let members = ITEMS.replace("work-items", "members");
    scene.gateway.get("ada", &members).await.expect_problem(403, "forbidden");
}

#[tokio::test]
async fn a_card_of_another_workspace_makes_no_tenant_of_it() {
    let scene = Scene::new().await;
    let features = "/api/v2/workspaces/acme/features/";
    let own = scene.gateway.get("ada", features).await.expect(200).json["id"].clone();
    scene.gateway.get("ada", ITEMS).await.expect(200);
    scene.answer_with(|_, path, _, body| {
        if path.ends_with("/projects/00000000-0000-4000-c000-000000000003/") {
            body["workspace"] = json!(id('b', 2));
        }
    });
    scene.gateway.get("ada", ARCHIVED).await.expect_problem(502, "upstream_error");
    scene.answer_with(|_, _, _, _| {});
    assert_eq!(scene.gateway.get("ada", features).await.expect(200).json["id"], own);
    scene.gateway.get("ada", ARCHIVED).await.expect(200);
    assert_eq!(scene.gateway.get("ada", features).await.expect(200).json["id"], own);
}

#[tokio::test]
async fn a_comment_of_another_item_is_not_shown_as_one_of_this() {
    let scene = Scene::new().await;
    let comments = format!("{}comments/", one(&id('e', 1)));
    let body = json!({"comment_html": "<p>here</p>"});
    let comment = scene.gateway.post("ada", &comments, body).await.expect(201).text("id");
    scene.answer_with(|_, path, _, body| {
        if path.contains("/comments/") {
            match body["results"].as_array_mut() {
                Some(rows) => rows.iter_mut().for_each(|row| row["issue"] = json!(id('e', 2))),
                None => body["issue"] = json!(id('e', 2)),
            }
        }
    });
    scene.gateway.get("ada", &comments).await.expect_problem(502, "upstream_error");
    scene.gateway.get("ada", &format!("{comments}{comment}/")).await.expect_problem(502, "upstream_error");
}

/// v1 closes old items itself; when the project names no state for that, v1 takes the first cancelled state of any
/// project.
fn closed_elsewhere(_: &Method, _: &str, _: &mut u16, body: &mut Value) {
    let place = |row: &mut Value| {
        if row["external_id"] == "closed" && row.get("state").is_some() {
            row["state"] = json!(id('d', 205));
        }
    };
    match body["results"].as_array_mut() {
        Some(rows) => rows.iter_mut().for_each(place),
        None => place(body),
    }
}

#[tokio::test]
async fn an_item_in_a_state_of_another_project_is_there_and_comes_back() {
    let scene = Scene::new().await;
    let gateway = &scene.gateway;
    let pair = json!({"name": "n", "external_id": "closed", "external_source": "gh"});
    let item = one(&gateway.post("ada", ITEMS, pair).await.expect(201).text("id"));
    scene.answer_with(closed_elsewhere);
    let found = gateway.get("ada", &format!("{ITEMS}?external_id=closed&external_source=gh")).await.expect(200);
    assert_eq!(found.column("state_id"), [json!(id('d', 205))]);
    gateway.post("ada", &format!("{item}archive/"), json!({})).await.expect(200);
    gateway.get("ada", &item).await.expect_problem(404, "resource_not_found");
    let back = gateway.post("ada", &format!("{item}unarchive/"), json!({})).await.expect(200);
    assert_eq!((&back.json["archived_at"], back.text("state_id")), (&Value::Null, id('d', 205)));
    gateway.get("ada", &item).await.expect(200);
}

#[tokio::test]
async fn a_page_that_v1_has_not_sorted_as_asked_is_not_used() {
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let behind = serve_sandbox(&sandbox).await;
    let wire = Planting::before(&behind, move |asked, _, status, body| {
        if asked.path.contains("&order_by=id&") {
            let other = asked.path.replace("&order_by=id&", "&order_by=-id&");
            (*status, *body) = ask_v1(&sandbox, "ada", "GET", &other, &Value::Null);
        }
    });
    let wire = wire.await;
    let gateway = Gateway::before(wire.base_url()).await;
    let mut ids = vec![id('e', 1)];
    for name in ["a", "b", "c", "d", "e"] {
        ids.push(gateway.post("ada", ITEMS, json!({"name": name})).await.expect(201).text("id"));
    }
    ids.sort();
    let mut seen = Vec::new();
    let mut path = Some(format!("{ITEMS}?order_by=id&per_page=2&paginate=cursor"));
    while let Some(page) = path {
        let page = gateway.get("ada", &page).await.expect(200);
        seen.extend(page.column("id").into_iter().map(|id| id.as_str().expect("an id").to_owned()));
        path = page.json["next_cursor"]
            .as_str()
            .map(|cursor| format!("{ITEMS}?order_by=id&per_page=2&paginate=cursor&cursor={cursor}"));
    }
    assert_eq!(seen, ids);
}
