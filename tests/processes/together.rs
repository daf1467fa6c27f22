//! Two gateways on one PostgreSQL database.

use super::child::Child;
use super::support::gateway::serve_sandbox;
use super::support::random::Random;
use super::{send_again, sound, support};
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::task::spawn;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const ACME: &str = "/api/v2/workspaces/acme/";
const WEB: &str = "/api/v2/workspaces/acme/projects/00000000-0000-4000-c000-000000000001/";
/// Requests sent against both, at once.
const OPERATIONS: usize = 10_000;
const CLIENTS: usize = 8;

/// Two gateways in front of one sandbox, sharing a database.
struct Pair {
    children: [Child; 2],
    v1: String,
    database: support::postgres::Database,
    client: reqwest::Client,
}

impl Pair {
    async fn new() -> Self {
        let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
        let v1 = serve_sandbox(&sandbox).await;
        let database = support::postgres::Database::create().await;
        let children = [Child::start(&v1, &database.url()).await, Child::start(&v1, &database.url()).await];
        Self { children, v1, database, client: super::client() }
    }

    async fn send(&self, which: usize, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        send_again(&self.client, self.children[which].base(), method, path, body).await
    }

    async fn made(&self, which: usize, path: &str, body: Value) -> String {
        let (status, answer) = self.send(which, "POST", path, Some(body)).await;
        assert!((200..300).contains(&status), "{path}: {answer}");
        answer["id"].as_str().expect("an id").to_owned()
    }
}

fn rows(page: &Value) -> &Vec<Value> {
    page["data"].as_array().expect("a page")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invariants_hold_under_two_gateways_at_once() {
    let pair = Pair::new().await;
    let types = format!("{WEB}work-item-types/");
    let mut of_project = vec![pair.made(0, &format!("{types}enable/"), json!({})).await];
    for name in ["Bug", "Story", "Chore"] {
        of_project.push(pair.made(1, &types, json!({"name": name})).await);
    }
    let properties = format!("{WEB}work-item-properties/");
    let choice = json!({"display_name": "Size", "property_type": "OPTION",
        "options": [{"name": "S"}, {"name": "M"}, {"name": "L"}]});
    let size = pair.made(0, &properties, choice).await;
    let options: Vec<String> = rows(&pair.send(1, "GET", &format!("{properties}{size}/options/"), None).await.1)
        .iter()
        .map(|option| option["id"].as_str().expect("an id").to_owned())
        .collect();
    let on = json!({"is_work_item_types_enabled": true});
    assert_eq!(pair.send(0, "PATCH", &format!("{ACME}features/"), Some(on)).await.0, 200);
    let spread = json!({"display_name": "Spread", "property_type": "TEXT"});
    let spread = pair.made(1, &format!("{ACME}work-item-properties/"), spread).await;
    let workspace_type = pair.made(0, &format!("{ACME}work-item-types/"), json!({"name": "Wide"})).await;
    let bases: Vec<String> = pair.children.iter().map(|child| child.base().to_owned()).collect();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let (bases, client) = (bases.clone(), pair.client.clone());
            let (of_project, options) = (of_project.clone(), options.clone());
            let (size, spread, wide) = (size.clone(), spread.clone(), workspace_type.clone());
            spawn(async move {
                let mut random = Random::new(number as u64);
                let mut statuses: BTreeMap<u16, usize> = BTreeMap::new();
                for turn in 0..OPERATIONS / CLIENTS {
                    let pick = |random: &mut Random, from: &[String]| from[random.below(from.len())].clone();
                    let (method, path, body) = match random.below(10) {
                        0 => {
                            let on = random.below(3) > 0;
                            ("PATCH", format!("{ACME}features/"), json!({"is_work_item_types_enabled": on}))
                        }
                        1..=3 => {
                            let id = pick(&mut random, &of_project);
                            ("POST", format!("{WEB}work-item-types/{id}/mark-default/"), json!({}))
                        }
                        4..=6 => {
                            let id = pick(&mut random, &options);
                            let path = format!("{WEB}work-item-properties/{size}/options/{id}/");
                            ("PATCH", path, json!({"is_default": random.below(4) > 0}))
                        }
                        7 => {
                            let body = json!({"name": "Everywhere", "applies_to_all_projects": true,
                                "issue_type_ids": [wide]});
                            ("POST", format!("{ACME}work-item-properties/{spread}/contexts/"), body)
                        }
                        8 => {
                            let project = WEB.trim_end_matches('/').rsplit('/').next();
                            let body = json!({"name": format!("c{}", random.below(5)), "project_ids": [project],
                                "applies_to_all_work_item_types": true});
                            ("POST", format!("{ACME}work-item-properties/{spread}/contexts/"), body)
                        }
                        _ => ("POST", format!("{ACME}work-item-types/{wide}/mark-default/"), json!({})),
                    };
                    let base = &bases[(turn + number) % 2];
                    let (status, answer) = send_again(&client, base, method, &path, Some(body)).await;
                    assert!([200, 201, 400, 409].contains(&status), "{method} {path}: {status} {answer}");
                    *statuses.entry(status).or_default() += 1;
                }
                statuses
            })
        })
        .collect();
    let mut statuses: BTreeMap<u16, usize> = BTreeMap::new();
    for client in clients {
        for (status, count) in client.await.expect("a client") {
            *statuses.entry(status).or_default() += count;
        }
    }
    assert!(statuses.get(&200).is_some_and(|done| *done > OPERATIONS / 10), "{statuses:?}");
    for which in 0..2 {
        let all = pair.send(which, "GET", &types, None).await.1;
        let own = rows(&all).iter().filter(|row| of_project.iter().any(|id| row["id"] == id.as_str()));
        assert_eq!(own.filter(|row| row["is_default"] == true).count(), 1, "{all}");
        let contexts = format!("{ACME}work-item-properties/{spread}/contexts/");
        let contexts = pair.send(which, "GET", &contexts, None).await.1;
        let everywhere = rows(&contexts).iter().filter(|row| row["applies_to_all_projects"] == true).count();
        assert!(everywhere <= 1, "{contexts}");
        let listed = rows(&contexts).iter().filter(|row| row["project_ids"] != json!([])).count();
        assert!(listed <= 1, "two contexts of one tier share a project: {contexts}");
        let defaults = pair.send(which, "GET", &format!("{properties}{size}/options/"), None).await.1;
        assert!(rows(&defaults).iter().filter(|row| row["is_default"] == true).count() <= 1, "{defaults}");
    }
    let (url, v1) = (pair.database.url(), pair.v1.clone());
    sound(&url, &v1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_on_one_is_visible_to_the_next_read_on_the_other() {
    let pair = Pair::new().await;
    assert_eq!(pair.send(0, "POST", &format!("{WEB}work-item-types/enable/"), None).await.0, 200);
    let item = pair.made(0, &format!("{WEB}work-items/"), json!({"name": "first"})).await;
    let collections = [
        (format!("{WEB}states/"), json!({"name": "New state", "color": "#112233"})),
        (format!("{WEB}labels/"), json!({"name": "New label"})),
        (format!("{WEB}cycles/"), json!({"name": "New cycle"})),
        (format!("{WEB}modules/"), json!({"name": "New module"})),
        (format!("{WEB}work-items/"), json!({"name": "New item"})),
        (format!("{WEB}work-items/{item}/comments/"), json!({"comment_html": "<p>New</p>"})),
        (format!("{WEB}work-item-types/"), json!({"name": "New type"})),
        (format!("{WEB}work-item-properties/"), json!({"display_name": "New", "property_type": "TEXT"})),
    ];
    for turn in 0..4 {
        let (here, there) = (turn % 2, (turn + 1) % 2);
        for (path, body) in &collections {
            // The other gateway caches the list as it is before.
            let before = pair.send(there, "GET", path, None).await.1;
            let mut body = body.clone();
            for name in ["name", "display_name"] {
                if let Some(text) = body[name].as_str() {
                    body[name] = json!(format!("{text} {turn}"));
                }
            }
            let id = pair.made(here, path, body).await;
            let after = pair.send(there, "GET", path, None).await.1;
            assert!(rows(&after).iter().any(|row| row["id"] == id.as_str()), "{path} {id} in {after}");
            assert_eq!(after["total_count"], before["total_count"].as_u64().expect("a count") + 1, "{path}");
            let one = format!("{path}{id}/");
            assert_eq!(pair.send(there, "GET", &one, None).await.0, 200, "{one}");
            assert_eq!(pair.send(here, "DELETE", &one, None).await.0, 204, "{one}");
            let gone = pair.send(there, "GET", path, None).await.1;
            assert_eq!(gone["total_count"], before["total_count"], "{path}");
            assert_eq!(pair.send(there, "GET", &one, None).await.0, 404, "{one}");
        }
        let flag = json!({"is_wiki_enabled": turn % 2 == 0});
        assert_eq!(pair.send(here, "PATCH", &format!("{ACME}features/"), Some(flag)).await.0, 200);
        let features = pair.send(there, "GET", &format!("{ACME}features/"), None).await.1;
        assert_eq!(features["is_wiki_enabled"], turn % 2 == 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_on_the_pass_through_of_one_is_visible_to_the_next_read_on_the_other() {
    let pair = Pair::new().await;
    let labels = format!("{WEB}labels/");
    let passed = labels.replace("/api/v2/", "/api/v1/");
    for turn in 0..4 {
        let (here, there) = (turn % 2, (turn + 1) % 2);
        // The other gateway caches the list as it is before.
        let before = pair.send(there, "GET", &labels, None).await.1;
        let id = pair.made(here, &passed, json!({"name": format!("Passed {turn}")})).await;
        let after = pair.send(there, "GET", &labels, None).await.1;
        assert!(rows(&after).iter().any(|row| row["id"] == id.as_str()), "{id} in {after}");
        assert_eq!(pair.send(here, "DELETE", &format!("{passed}{id}/"), None).await.0, 204);
        let gone = pair.send(there, "GET", &labels, None).await.1;
        assert_eq!(gone["total_count"], before["total_count"]);
    }
}
