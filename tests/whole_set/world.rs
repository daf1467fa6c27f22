//! A gateway in front of a sandbox whose first project has a record of every working resource.

use super::document::DOCUMENT;
use super::operations::{Contract, NOWHERE};
use crate::support::audit::{self, ACME};
use crate::support::furnished::{Furnished, id};
use crate::support::gateway::Answer;
use crate::support::past_gateway::in_web;
use crate::support::schema::SENT;
use causeway::sandbox::Sandbox;
use serde_json::{Value, json};
use std::ops::Deref;

/// The workspace of all tests.
pub const SLUG: &str = "acme";
/// Project `WEB`: ada is admin, bob and kim are members, gil is a guest, mel sees it without having joined.
pub const WEB: &str = "00000000-0000-4000-c000-000000000001";
/// Project `SEC`: private, bob alone.
pub const SEC: &str = "00000000-0000-4000-c000-000000000002";
/// Project of the workspace `other`, which none of these people belongs to.
pub const FOREIGN: &str = "00000000-0000-4000-c000-000000000005";

/// The gateway, the sandbox behind it, and one record of each resource.
pub struct World(Furnished);

impl Deref for World {
    type Target = Furnished;

    fn deref(&self) -> &Furnished {
        &self.0
    }
}

impl World {
    /// A world with a few records.
    pub async fn new() -> Self {
        Self::with(&[]).await
    }

    /// The same with settings.
    pub async fn with(settings: &[(&str, &str)]) -> Self {
        Self(Furnished::with(settings).await)
    }

    /// Id of a record of `resource`.
    pub fn record(&self, resource: &str) -> &str {
        self.0.record(resource).unwrap_or(NOWHERE)
    }

    /// Returns the path of an operation, with ids of existing records.
    pub fn path(&self, operation: &Contract) -> String {
        self.path_but(operation, "", "")
    }

    /// Returns the same path with another value of one variable.
    pub fn path_but(&self, operation: &Contract, variable: &str, value: &str) -> String {
        let known = |name: &str| self.variable(operation.planned(), name).unwrap_or(NOWHERE).to_owned();
        operation.path(|name| if name == variable { value.to_owned() } else { known(name) })
    }

    /// Sends an operation to `path` as `key`, with a valid body if it has one.
    pub async fn ask(&self, key: Option<&str>, operation: &Contract, path: &str) -> Answer {
        if key.is_some() {
            self.enter(operation).await;
        }
        let body = operation.0["body"].is_array().then(|| self.body_for(operation));
        self.gateway.send(key, operation.method(), path, body.as_ref()).await
    }

    /// Returns a body that creates a record, or changes it, without touching records that other tests use.
    pub fn body_for(&self, operation: &Contract) -> Value {
        let name = format!("fresh {}", uuid::Uuid::new_v4());
        if operation.id() == "work_item_property_contexts_create" {
            return json!({"name": name, "project_ids": [WEB], "applies_to_all_work_item_types": true});
        }
        let mut body = json!({});
        for input in operation.all("body").filter(|input| input["required"] == true) {
            let surface = operation.text("surface");
            body[input["name"].as_str().expect("a name")] = match input["name"].as_str() {
                Some("name" | "display_name") => name.as_str().into(),
                Some("comment_html") => format!("<p>{name}</p>").into(),
                Some("property_type") => "TEXT".into(),
                Some("properties") => json!([self.record(&format!("{surface}_work_item_properties"))]),
                Some("work_item_types") => json!([self.record("workspace_work_item_types")]),
                _ => "#445566".into(),
            };
        }
        body
    }

    /// Asserts a problem of the contract's shape.
    #[track_caller]
    pub fn problem(&self, answer: Answer, status: u16, code: &str) -> Answer {
        let answer = answer.expect_problem(status, code);
        SENT.assert("Problem", &answer.json);
        assert_eq!(answer.json["status"], status);
        let example = &DOCUMENT["components"]["examples"][code]["value"];
        assert_eq!(answer.json["title"], example["title"], "the document's example of {code}");
        let kind = answer.text("type");
        assert!(kind.ends_with(&format!("/errors/{code}")), "{kind}");
        assert_eq!(answer.json.get("errors").is_some(), code == "validation_error", "{}", answer.json);
        answer
    }

    /// Asserts a 400 with entries on exactly these fields.
    #[track_caller]
    pub fn refused(&self, answer: Answer, fields: &[&str]) -> Answer {
        let answer = self.problem(answer, 400, "validation_error");
        assert_eq!(answer.error_fields(), fields, "{}", answer.json);
        answer
    }

    /// Creates many records of each resource past the gateway.
    pub async fn crowd(&self, how_many: usize) {
        audit::written(&self.store, ACME, 1..1 + how_many).await;
        self.own_crowd(how_many).await;
        let sandbox = self.gateway.sandbox();
        let cycle = self.record("cycles");
        let module = self.record("modules");
        for n in 0..how_many {
            let pair =
                json!({"name": format!("Row {n:03}"), "external_id": format!("X-{n}"), "external_source": "s"});
            let label = at_v1(sandbox, "labels", &with(&pair, "description", "d"));
            if n % 3 == 0 {
                // Equal numbers, so that the tiebreak is needed.
                change_at_v1(sandbox, "labels", &label, &json!({"sort_order": 7.0}));
            }
            if n % 4 == 1 {
                change_at_v1(sandbox, "labels", &label, &json!({"parent": self.record("labels")}));
            }
            at_v1(sandbox, "cycles", &with(&pair, "project_id", WEB));
            let status = ["backlog", "planned", "in-progress", "paused", "completed", "cancelled"][n % 6];
            let lead = (n % 2 == 0).then_some("00000000-0000-4000-a000-000000000002");
            at_v1(sandbox, "modules", &with(&with(&pair, "status", status), "lead", lead));
            let group = ["backlog", "unstarted", "started", "completed", "cancelled"][n % 5];
            let state = at_v1(sandbox, "states", &with(&with(&pair, "color", "#000000"), "group", group));
            if n % 3 == 0 {
                change_at_v1(sandbox, "states", &state, &json!({"sequence": 7.0}));
            }
            let item = at_v1(sandbox, "work-items", &self.varied_item(n, &pair));
            if n % 3 == 0 {
                change_at_v1(sandbox, "work-items", &item, &json!({"sort_order": 7.0}));
            }
            if n % 5 == 1 {
                in_web(sandbox, "POST", &format!("cycles/{cycle}/cycle-issues/"), &json!({"issues": [item]}));
            }
            if n % 5 == 2 {
                in_web(sandbox, "POST", &format!("modules/{module}/module-issues/"), &json!({"issues": [item]}));
            }
            let access = if n % 2 == 0 { "EXTERNAL" } else { "INTERNAL" };
            let comment = json!({"comment_html": format!("<p>Row <b>{n:03}</b></p>"), "access": access,
                "external_id": format!("X-{n}"), "external_source": "s"});
            at_v1(sandbox, &format!("work-items/{}/comments", self.record("work_items")), &comment);
        }
    }

    /// A work item that differs from its neighbours in every member that lists use.
    fn varied_item(&self, n: usize, pair: &Value) -> Value {
        let state = format!("00000000-0000-4000-d000-{:012}", 101 + n % 5);
        let people = ["00000000-0000-4000-a000-000000000001", "00000000-0000-4000-a000-000000000002"];
        let labels: &[&str] = if n % 3 == 1 { &[self.record("labels")] } else { &[] };
        let parent = (n % 4 == 1).then(|| self.record("work_items"));
        let (start, target) = (format!("2026-02-{:02}", 1 + n % 9), format!("2026-03-{:02}", 1 + n % 9));
        let mut body = with(pair, "priority", ["urgent", "high", "medium", "low", "none"][n % 5]);
        body["state"] = state.into();
        body["assignees"] = json!(people[..n % 3]);
        body["labels"] = json!(labels);
        body["parent"] = json!(parent);
        body["start_date"] = json!(n.is_multiple_of(2).then_some(start));
        body["target_date"] = json!((!n.is_multiple_of(3)).then_some(target));
        body
    }

    /// Returns the rows of a list with the members of v1 by which v2 filters and orders but which it does not show.
    pub fn widened(&self, operation: &Contract, rows: &[Value]) -> Vec<Value> {
        if operation.resource() != "work_items" {
            return rows.to_vec();
        }
        let sandbox = self.gateway.sandbox();
        let get =
            |path: &str| in_web(sandbox, "GET", path, &json!({}))["results"].as_array().expect("rows").clone();
        let members = |path: String| -> Vec<Value> { get(&path).iter().map(|row| row["id"].clone()).collect() };
        let held = get("work-items/?per_page=1000");
        let states = get("states/?per_page=1000");
        let sets = |kind: &str| -> Vec<(Value, Vec<Value>)> {
            let all = get(&format!("{kind}s/?per_page=1000"));
            let of = |id: &str| members(format!("{kind}s/{id}/{kind}-issues/?per_page=1000&order_by=id"));
            all.iter().map(|set| (set["id"].clone(), of(set["id"].as_str().expect("an id")))).collect()
        };
        let (cycles, modules) = (sets("cycle"), sets("module"));
        let holding = |sets: &[(Value, Vec<Value>)], id: &Value| -> Value {
            sets.iter().filter(|(_, items)| items.contains(id)).map(|(set, _)| set.clone()).collect()
        };
        let widen = |row: &Value| {
            let of = held.iter().find(|item| item["id"] == row["id"]).expect("held by v1");
            let mut wide = row.clone();
            for name in ["updated_at", "sort_order", "external_id", "external_source"] {
                wide[name] = of[name].clone();
            }
            (wide["assignee_id"], wide["label_id"]) = (of["assignees"].clone(), of["labels"].clone());
            let state = states.iter().find(|state| state["id"] == of["state"]).expect("a listed state");
            wide["state_group"] = state["group"].clone();
            wide["cycle_id"] = holding(&cycles, &row["id"]);
            wide["module_id"] = holding(&modules, &row["id"]);
            wide
        };
        rows.iter().map(widen).collect()
    }

    /// Returns the number of v1 writes that the sandbox has answered.
    pub fn v1_writes(&self) -> usize {
        self.gateway.sandbox().journal().iter().filter(|entry| entry.method != "GET").count()
    }

    /// All rows of a list, in its default order or another.
    pub async fn rows(&self, path: &str, order: Option<&str>) -> Vec<Value> {
        let mut rows = Vec::new();
        let order = order.map(|order| format!("&order_by={order}")).unwrap_or_default();
        loop {
            let page = self.gateway.get("ada", &format!("{path}?per_page=200&offset={}{order}", rows.len())).await;
            let page = page.expect(200);
            rows.extend(page.data().iter().cloned());
            if page.json["next"].is_null() {
                return rows;
            }
        }
    }
}

/// Returns `body` with one more member.
pub fn with(body: &Value, name: &str, value: impl Into<Value>) -> Value {
    let mut body = body.clone();
    body[name] = value.into();
    body
}

/// Creates a record on v1 itself and returns its id.
pub fn at_v1(sandbox: &Sandbox, resource: &str, body: &Value) -> String {
    id(&in_web(sandbox, "POST", &format!("{resource}/"), body))
}

/// Changes a record on v1 itself.
pub fn change_at_v1(sandbox: &Sandbox, resource: &str, id: &str, body: &Value) {
    in_web(sandbox, "PATCH", &format!("{resource}/{id}/"), body);
}
