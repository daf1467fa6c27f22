//! A gateway in front of a sandbox whose first project holds something of every working resource.

use super::catalogue::{Contract, NOWHERE};
use super::schema::Shapes;
use super::support::gateway::{Answer, Gateway};
use bytes::Bytes;
use causeway::sandbox::{Sandbox, Seed};
use http::Request;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The workspace everything happens in.
pub const SLUG: &str = "acme";
/// Project `WEB`: ada is admin, bob and kim are members, gil is a guest, mel sees it without having joined.
pub const WEB: &str = "00000000-0000-4000-c000-000000000001";
/// Project `SEC`: private, bob alone.
pub const SEC: &str = "00000000-0000-4000-c000-000000000002";
/// Project of the workspace `other`, where none of these people is.
pub const FOREIGN: &str = "00000000-0000-4000-c000-000000000005";

/// The gateway, the sandbox behind it, and one record of each resource.
pub struct World {
    /// The gateway.
    pub gateway: Gateway,
    /// Shapes of the contract.
    pub shapes: Shapes,
    records: BTreeMap<&'static str, String>,
}

impl World {
    /// With a handful of records.
    pub async fn new() -> Self {
        Self::with(&[]).await
    }

    /// With settings.
    pub async fn with(settings: &[(&str, &str)]) -> Self {
        let gateway = Gateway::sandboxed_with(Seed::Recorded, settings).await;
        let sandbox = gateway.sandbox();
        let pair = json!({"name": "one", "external_id": "E-1", "external_source": "jira"});
        let records = BTreeMap::from([
            ("labels", at_v1(sandbox, "labels", &pair)),
            ("cycles", at_v1(sandbox, "cycles", &with(&pair, "project_id", WEB))),
            ("modules", at_v1(sandbox, "modules", &pair)),
            ("states", at_v1(sandbox, "states", &with(&pair, "color", "#112233"))),
        ]);
        Self { gateway, shapes: Shapes::of_the_contract(), records }
    }

    /// Id of a record of `resource`.
    pub fn record(&self, resource: &str) -> &str {
        self.records.get(resource).map_or(NOWHERE, String::as_str)
    }

    /// The path of an operation, naming what exists.
    pub fn path(&self, operation: &Contract) -> String {
        self.path_but(operation, "", "")
    }

    /// The same path with one variable of another value.
    pub fn path_but(&self, operation: &Contract, variable: &str, value: &str) -> String {
        operation.path(|name| match name {
            name if name == variable => value.to_owned(),
            "slug" => SLUG.to_owned(),
            "project_id" => WEB.to_owned(),
            "pk" => self.record(operation.resource()).to_owned(),
            _ => NOWHERE.to_owned(),
        })
    }

    /// Sends an operation to `path` as `key`, with a body that would do for a success if it takes one.
    pub async fn ask(&self, key: Option<&str>, operation: &Contract, path: &str) -> Answer {
        let body = operation.0["body"].is_array().then(|| body_for(operation));
        self.gateway.send(key, operation.method(), path, body.as_ref()).await
    }

    /// Asserts a problem of the contract's shape.
    #[track_caller]
    pub fn problem(&self, answer: Answer, status: u16, code: &str) -> Answer {
        let answer = answer.expect_problem(status, code);
        self.shapes.assert("Problem", &answer.json);
        assert_eq!(answer.json["status"], status);
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

    /// Creates many records of each resource behind the gateway's back.
    pub fn crowd(&self, how_many: usize) {
        let sandbox = self.gateway.sandbox();
        for n in 0..how_many {
            let pair =
                json!({"name": format!("Row {n:03}"), "external_id": format!("X-{n}"), "external_source": "s"});
            let label = at_v1(sandbox, "labels", &with(&pair, "description", "d"));
            if n % 3 == 0 {
                // Equal numbers, so that the tiebreak has something to do.
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
        }
    }

    /// v1 writes the sandbox has answered.
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

/// A body that creates a record, or changes it, without touching what others look at.
pub fn body_for(operation: &Contract) -> Value {
    let name = format!("fresh {}", uuid::Uuid::new_v4());
    let mut body = json!({});
    for input in operation.all("body").filter(|input| input["required"] == true) {
        let value = if input["name"] == "name" { name.as_str() } else { "#445566" };
        body[input["name"].as_str().expect("a name")] = value.into();
    }
    body
}

/// `body` with one member more.
pub fn with(body: &Value, name: &str, value: impl Into<Value>) -> Value {
    let mut body = body.clone();
    body[name] = value.into();
    body
}

/// Creates a record on v1 itself; its id.
pub fn at_v1(sandbox: &Sandbox, resource: &str, body: &Value) -> String {
    let answer = v1(sandbox, "POST", &format!("{resource}/"), body);
    answer["id"].as_str().unwrap_or_else(|| panic!("{resource}: {answer}")).to_owned()
}

/// Changes a record on v1 itself.
pub fn change_at_v1(sandbox: &Sandbox, resource: &str, id: &str, body: &Value) {
    let answer = v1(sandbox, "PATCH", &format!("{resource}/{id}/"), body);
    assert_eq!(answer["id"], id, "{answer}");
}

fn v1(sandbox: &Sandbox, method: &str, path: &str, body: &Value) -> Value {
    let uri = format!("/api/v1/workspaces/{SLUG}/projects/{WEB}/{path}");
    let request = Request::builder().method(method).uri(uri).header("X-Api-Key", "ada");
    let request = request.header("Content-Type", "application/json").body(Bytes::from(body.to_string()));
    serde_json::from_slice(sandbox.handle(request.expect("a request")).body()).expect("JSON")
}
