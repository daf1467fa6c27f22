//! A gateway in front of a sandbox that counts, and the working operations.

use crate::support::audit::{self, ACME};
use crate::support::gateway::{Answer, Gateway, WEB};
use bytes::Bytes;
use causeway::app::compile_plan;
use causeway::plan::{Operation, Plan, Source, TypeMode};
use causeway::sandbox::Seed;
use http::Request;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use tempfile::TempDir;

/// A project of ada's beside `WEB`.
const TYPED: &str = "00000000-0000-4000-c000-000000000004";

/// The compiled plan.
pub static PLAN: LazyLock<Arc<Plan>> = LazyLock::new(|| compile_plan(None).expect("the embedded mappings compile"));

/// A gateway whose v1 counts.
pub struct Place {
    /// The gateway.
    pub gateway: Gateway,
    records: BTreeMap<&'static str, String>,
    key: String,
    _folder: TempDir,
}

impl Place {
    /// With one record of each resource, made before the counting begins.
    pub async fn new() -> Self {
        Self::with(&[]).await
    }

    /// With settings.
    pub async fn with(settings: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let url = format!("sqlite:{}", folder.path().join("store.db").display());
        let settings = [&[("store.url", url.as_str())], settings].concat();
        let gateway = Gateway::sandboxed_with(Seed::Recorded, &settings).await;
        let audit_log = audit::written(&gateway.store().await, ACME, 0..1).await.remove(0);
        let records = BTreeMap::from([("audit_logs", audit_log)]);
        let mut place = Self { gateway, records, key: String::new(), _folder: folder };
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
        place.define().await;
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
        let surface = if filled.contains("/projects/") { "project" } else { "workspace" };
        let of = |what: &str| self.record(&format!("{surface}_work_item_{what}")).to_owned();
        let filled = filled.replace("{type_id}", &of("types")).replace("{property_id}", &of("properties"));
        filled.replace("{pk}", self.records.get(resource.as_str()).map_or("x", String::as_str))
    }

    /// Defines a type, a property, and what hangs on them, on both surfaces. By another key of ada's, so that
    /// nothing is known yet of the one that asks.
    async fn define(&mut self) {
        let surfaces = [("project", WEB), ("workspace", "/api/v2/workspaces/acme")];
        for (surface, base) in surfaces {
            self.set_mode(surface == "workspace").await;
            let made = async |path: &str, body: Value| {
                let made = self.gateway.post("future", &format!("{base}/{path}"), body).await.expect(201);
                made.json["id"].as_str().unwrap_or_default().to_owned()
            };
            let kind = made("work-item-types/", json!({"name": "one"})).await;
            let options = json!([{"name": "one"}]);
            let property = json!({"display_name": "one", "property_type": "OPTION", "options": options});
            let property = made("work-item-properties/", property).await;
            made(&format!("work-item-types/{kind}/properties/"), json!({"properties": [property]})).await;
            let option = made(&format!("work-item-properties/{property}/options/"), json!({"name": "two"})).await;
            let mut records = vec![
                ("types", kind.clone()),
                ("properties", property.clone()),
                ("property_options", option),
                ("type_properties", property.clone()),
            ];
            if surface == "workspace" {
                let scope = json!({"name": "one", "applies_to_all_projects": false,
                    "applies_to_all_work_item_types": true, "project_ids": [TYPED]});
                let context = made(&format!("work-item-properties/{property}/contexts/"), scope).await;
                self.records.insert("work_item_property_contexts", context);
            }
            for (what, id) in records.drain(..) {
                self.records.insert(format!("{surface}_work_item_{what}").leak(), id);
            }
        }
        self.set_mode(false).await;
    }

    /// Brings the workspace into a mode.
    async fn set_mode(&self, workspace: bool) {
        let body = json!({"is_work_item_types_enabled": workspace});
        self.gateway.patch("future", "/api/v2/workspaces/acme/features/", body).await.expect(200);
    }

    /// Makes what an operation is for, where it is not there to begin with, and the mode it needs.
    pub async fn prepare(&self, operation: &Operation) {
        if let Some(mode) = operation.mode {
            self.set_mode(mode == TypeMode::Workspace).await;
            self.gateway.sandbox().clear_journal();
        }
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
        let body = body.map(|body| self.naming(operation, body));
        self.send("ada", operation.method.as_str(), &self.path(operation), body).await
    }

    /// The body with ids of what is there.
    fn naming(&self, operation: &Operation, mut body: Value) -> Value {
        match operation.id.as_str() {
            "project_work_item_type_properties_attach" => {
                body["properties"] = json!([self.record("project_work_item_properties")]);
            }
            "workspace_work_item_type_properties_attach" => {
                body["properties"] = json!([self.record("workspace_work_item_properties")]);
            }
            "project_work_item_types_import" => {
                body["work_item_types"] = json!([self.record("workspace_work_item_types")]);
            }
            _ => {}
        }
        body
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
        if PLAN.resource_of(operation).source == Source::Own {
            // Who it is in both places, and the states a schema shows.
            self.ask(self::operation("workspace_features_retrieve")).await.expect(200);
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
        ["work_items", "work_item_comments"].contains(&PLAN.resource_of(self).name.as_str())
    }
}

/// The smallest body that does something.
pub fn plain_body(operation: &Operation) -> Option<Value> {
    let name = format!("fresh {}", uuid::Uuid::new_v4());
    match operation.method.as_str() {
        "POST" if operation.id == "work_item_property_contexts_create" => {
            Some(json!({"name": name, "project_ids": [project()], "applies_to_all_work_item_types": true}))
        }
        "POST" => Some(json!({"name": name, "color": "#445566", "comment_html": name, "display_name": name,
            "property_type": "TEXT"})),
        "PATCH" if operation.id == "work_item_property_contexts_update" => {
            Some(json!({"project_ids": [project()]}))
        }
        "PATCH" if operation.id == "work_items_update" => Some(json!({"name": name})),
        "PATCH" => Some(json!({"description": name, "comment_html": name})),
        _ => None,
    }
}
