//! A gateway in front of a sandbox that counts, and the working operations.

use crate::support::furnished::Furnished;
pub use crate::support::furnished::PLAN;
use crate::support::gateway::{Answer, WEB};
use crate::support::past_gateway::{V1_WEB, ask_v1};
use causeway::plan::{Operation, Source};
use serde_json::{Value, json};
use std::ops::Deref;

/// A gateway whose v1 counts.
pub struct Place(Furnished);

impl Deref for Place {
    type Target = Furnished;

    fn deref(&self) -> &Furnished {
        &self.0
    }
}

impl Place {
    /// A place with one record of each resource, made before the counting begins.
    pub async fn new() -> Self {
        Self::with(&[]).await
    }

    /// The same with further settings.
    pub async fn with(settings: &[(&str, &str)]) -> Self {
        Self(Furnished::with(settings).await)
    }

    /// Id of the record of `resource`.
    #[track_caller]
    pub fn record(&self, resource: &str) -> &str {
        self.0.record(resource).unwrap_or_else(|| panic!("no record of {resource}"))
    }

    /// Writes to v1 past the gateway, in project `WEB`.
    pub fn at_v1(&self, key: &str, method: &str, path: &str, body: &Value) -> Value {
        ask_v1(self.gateway.sandbox(), key, method, &format!("{V1_WEB}{path}"), body).1
    }

    /// The path of an operation.
    pub fn path(&self, operation: &Operation) -> String {
        let filled = operation.path.fill(|name| self.variable(operation, name).or(Some("x")));
        format!("/{}", filled.expect("a value for each variable"))
    }

    /// Creates the record that an operation needs, where it does not exist, and switches on the mode it needs.
    pub async fn prepare(&self, operation: &Operation) {
        if let Some(mode) = operation.mode {
            self.set_mode(mode).await;
            self.gateway.sandbox().clear_journal();
        }
        if operation.id == "work_items_unarchive" {
            let path = format!("work-items/{}/", self.record("work_items"));
            self.at_v1("ada", "PATCH", &path, &json!({"archived_at": "2026-11-20"}));
            self.gateway.sandbox().clear_journal();
        }
    }

    /// Sends the request of an operation as ada.
    pub async fn ask(&self, operation: &Operation) -> Answer {
        self.ask_with(operation, plain_body(operation)).await
    }

    /// The same with a body.
    pub async fn ask_with(&self, operation: &Operation, body: Option<Value>) -> Answer {
        let body = body.map(|body| self.naming(operation, body));
        self.send("ada", operation.method.as_str(), &self.path(operation), body).await
    }

    /// Fills the body with ids of existing records.
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

    /// Sends a request and compares the calls that the gateway reports with those that v1 has counted.
    pub async fn send(&self, key: &str, method: &str, path: &str, body: Option<Value>) -> Answer {
        let before = self.counted();
        let answer = self.gateway.send(Some(key), method, path, body.as_ref()).await;
        assert_eq!(answer.calls() as usize, self.counted() - before, "{method} {path} tells something else");
        answer
    }

    /// Returns the number of calls that v1 has answered.
    pub fn counted(&self) -> usize {
        self.gateway.sandbox().journal().len()
    }

    /// Reads the list of an operation's records, so that it is cached; for work items and records below them, a list
    /// that only the index can answer.
    pub async fn warm(&self, operation: &Operation) {
        if operation.resource_is_of_items() {
            let list = format!("{}?priority=none", self.path(self::operation("work_items_list")));
            self.send("ada", "GET", &list, None).await.expect(200);
            self.ask(self::operation("states_list")).await.expect(200);
            return;
        }
        if PLAN.resource_of(operation).source == Source::Own {
            // The caller in both places, and the states that a schema shows.
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

/// Whether an operation is about work items or records below a work item.
pub trait OfItems {
    /// Returns true for such an operation.
    fn resource_is_of_items(&self) -> bool;
}

impl OfItems for Operation {
    fn resource_is_of_items(&self) -> bool {
        ["work_items", "work_item_comments"].contains(&PLAN.resource_of(self).name.as_str())
    }
}

/// Returns the smallest body that changes something.
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
