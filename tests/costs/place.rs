//! A gateway in front of a sandbox that counts, and the working operations.

use crate::support::gateway::{Answer, Gateway, WEB};
use bytes::Bytes;
use causeway::app::compile_plan;
use causeway::plan::{Operation, Plan};
use causeway::sandbox::Seed;
use http::Request;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The compiled plan.
pub static PLAN: LazyLock<Plan> = LazyLock::new(|| compile_plan(None).expect("the embedded mappings compile"));

/// A gateway whose v1 counts.
pub struct Place {
    /// The gateway.
    pub gateway: Gateway,
    records: BTreeMap<&'static str, String>,
    key: String,
}

impl Place {
    /// With one record of each resource, made before the counting begins.
    pub async fn new() -> Self {
        Self::with(&[]).await
    }

    /// With settings.
    pub async fn with(settings: &[(&str, &str)]) -> Self {
        let gateway = Gateway::sandboxed_with(Seed::Recorded, settings).await;
        let mut place = Self { gateway, records: BTreeMap::new(), key: String::new() };
        for resource in ["labels", "cycles", "modules", "states"] {
            let body = json!({"name": "one", "color": "#112233", "project_id": WEB.rsplit('/').next()});
            let id = place.at_v1("ada", "POST", &format!("{resource}/"), &body)["id"]
                .as_str()
                .expect("an id")
                .to_owned();
            place.records.insert(resource, id);
        }
        let item = place.at_v1("ada", "POST", "work-items/", &json!({"name": "one"}));
        place.key = format!("WEB-{}", item["sequence_id"]);
        let item = item["id"].as_str().expect("an id").to_owned();
        let comment = json!({"comment_html": "<p>one</p>"});
        let comment = place.at_v1("ada", "POST", &format!("work-items/{item}/comments/"), &comment);
        place.records.insert("work_item_comments", comment["id"].as_str().expect("an id").to_owned());
        place.records.insert("work_items", item);
        place.gateway.sandbox().clear_journal();
        place
    }

    /// Id of the record of `resource`.
    pub fn record(&self, resource: &str) -> &str {
        &self.records[resource]
    }

    /// Writes to v1 behind the gateway's back, in project `WEB`.
    pub fn at_v1(&self, key: &str, method: &str, path: &str, body: &Value) -> Value {
        let uri = format!("{}/{path}", WEB.replace("/v2/", "/v1/"));
        let request = Request::builder().method(method).uri(uri).header("X-Api-Key", key);
        let request = request.header("Content-Type", "application/json").body(Bytes::from(body.to_string()));
        let answer = self.gateway.sandbox().handle(request.expect("a request"));
        serde_json::from_slice(answer.body()).unwrap_or_default()
    }

    /// The path of an operation.
    pub fn path(&self, operation: &Operation) -> String {
        let resource = &PLAN.resource_of(operation).name;
        let filled = operation.path.as_str().replace("{slug}", "acme").replace("{project_id}", project());
        let filled = filled.replace("{work_item_id}", self.record("work_items")).replace("{identifier}", &self.key);
        filled.replace("{pk}", self.records.get(resource.as_str()).map_or("x", String::as_str))
    }

    /// Makes what an operation is for, where it is not there to begin with.
    pub fn prepare(&self, operation: &Operation) {
        if operation.id == "work_items_unarchive" {
            let path = format!("work-items/{}/", self.record("work_items"));
            self.at_v1("ada", "PATCH", &path, &json!({"archived_at": "2026-11-20"}));
            self.gateway.sandbox().clear_journal();
        }
    }

    /// Asks for an operation as ada.
    pub async fn ask(&self, operation: &Operation) -> Answer {
        self.ask_with(operation, plain_body(operation)).await
    }

    /// The same with a body.
    pub async fn ask_with(&self, operation: &Operation, body: Option<Value>) -> Answer {
        self.send("ada", operation.method.as_str(), &self.path(operation), body).await
    }

    /// Sends a request and holds what the gateway says it cost against what v1 has counted.
    pub async fn send(&self, key: &str, method: &str, path: &str, body: Option<Value>) -> Answer {
        let before = self.counted();
        let answer = self.gateway.send(Some(key), method, path, body.as_ref()).await;
        assert_eq!(answer.calls() as usize, self.counted() - before, "{method} {path} tells something else");
        answer
    }

    /// Calls v1 has answered.
    pub fn counted(&self) -> usize {
        self.gateway.sandbox().journal().len()
    }

    /// Reads the list an operation's records are in, so that it is kept; of work items and what is below them
    /// one that only the index can answer.
    pub async fn warm(&self, operation: &Operation) {
        if operation.resource_is_of_items() {
            let list = format!("{}?priority=none", self.path(self::operation("work_items_list")));
            self.send("ada", "GET", &list, None).await.expect(200);
            self.ask(self::operation("states_list")).await.expect(200);
            return;
        }
        let list = PLAN.operations.iter().find(|other| other.is_list() && other.resource == operation.resource);
        if let Some(list) = list {
            self.ask(list).await.expect(200);
        }
    }
}

/// Id of project `WEB`.
pub fn project() -> &'static str {
    WEB.rsplit('/').next().unwrap_or_default()
}

/// The working operation with this id.
pub fn operation(id: &str) -> &'static Operation {
    let operation = PLAN.operation(id).filter(|operation| operation.works());
    operation.unwrap_or_else(|| panic!("{id} does not work"))
}

/// Whether an operation is about work items or what is below one.
pub trait OfItems {
    /// So it is.
    fn resource_is_of_items(&self) -> bool;
}

impl OfItems for Operation {
    fn resource_is_of_items(&self) -> bool {
        PLAN.resource_of(self).name.starts_with("work_item")
    }
}

/// The smallest body that does something.
pub fn plain_body(operation: &Operation) -> Option<Value> {
    let name = format!("fresh {}", uuid::Uuid::new_v4());
    match operation.method.as_str() {
        "POST" => Some(json!({"name": name, "color": "#445566", "comment_html": name})),
        "PATCH" if operation.id == "work_items_update" => Some(json!({"name": name})),
        "PATCH" => Some(json!({"description": name, "comment_html": name})),
        _ => None,
    }
}
