//! A v1 that expects calls in order, a gateway in front of it, and v1's records.

use crate::support::gateway::{Answer, Gateway};
use crate::support::proofs;
pub use crate::support::proofs::me;
use crate::support::scripted::{Exchange, ScriptedV1};
use serde_json::{Value, json};

/// The project at v1.
pub const P: &str = "workspaces/acme/projects/00000000-0000-4000-c000-000000000001";
/// The workspace for clients.
pub const ACME: &str = "/api/v2/workspaces/acme";
/// The project for clients.
pub const WEB: &str = crate::support::gateway::WEB;
/// The person behind the key.
pub const ADA: &str = "00000000-0000-4000-a000-000000000001";
/// Another person in the project.
pub const BOB: &str = "00000000-0000-4000-a000-000000000002";
/// Ids for records of a scene.
pub const ONE: &str = "11111111-1111-4111-8111-111111111111";
/// Another.
pub const TWO: &str = "22222222-2222-4222-8222-222222222222";
/// The time at which all records were made.
pub const THEN: &str = "2026-11-21T10:36:12.630235Z";

/// A scene: first the script, then the requests.
pub struct Scene {
    v1: ScriptedV1,
    gateway: Option<Gateway>,
}

impl Scene {
    /// A scene that expects nothing yet.
    pub async fn new() -> Self {
        Self { v1: ScriptedV1::start().await.in_order(), gateway: None }
    }

    /// A scene that expects the proofs of a first request to a project.
    pub async fn in_project() -> Self {
        Self::new().await.then(me()).then(card())
    }

    /// A scene that expects the proofs of a first request to the workspace: the members, and a project for its id.
    pub async fn in_workspace() -> Self {
        let projects = json!({"results": [{"workspace": "00000000-0000-4000-b000-000000000001"}]});
        let projects = Exchange::get("workspaces/acme/projects/?per_page=1&fields=workspace").reply(200, projects);
        Self::new().await.then(me()).then(roster()).then(projects)
    }

    /// A scene in which the workspace manages its types itself.
    pub async fn in_workspace_mode() -> Self {
        let mut scene = Self::in_workspace().await;
        let on = json!({"is_work_item_types_enabled": true});
        scene.ask("PATCH", &format!("{ACME}/features/"), Some(on)).await.expect(200);
        scene
    }

    /// The same, for calls that are made side by side.
    pub async fn in_any_order() -> Self {
        Self { v1: ScriptedV1::start().await, gateway: None }.then(me()).then(card())
    }

    /// Expects this exchange next.
    pub fn then(self, exchange: Exchange) -> Self {
        self.v1.expect(exchange.key("ada"));
        self
    }

    /// Sends a request as ada and returns the answer.
    pub async fn ask(&mut self, method: &str, path: &str, body: Option<Value>) -> Answer {
        if self.gateway.is_none() {
            self.gateway = Some(Gateway::before(self.v1.base_url()).await);
        }
        let gateway = self.gateway.as_ref().expect("a gateway");
        gateway.send(Some("ada"), method, path, body.as_ref()).await
    }

    /// Creates something and returns its id.
    pub async fn made(&mut self, path: &str, body: Value) -> String {
        self.ask("POST", path, Some(body)).await.expect(201).text("id")
    }

    /// Adds a call that is expected from now on.
    pub fn expect(&mut self, exchange: Exchange) {
        self.v1.expect(exchange.key("ada"));
    }

    /// Asserts that all expected calls were made.
    #[track_caller]
    pub fn end(self) {
        self.v1.finish();
    }
}

/// The members of the workspace, of which ada is an admin.
pub fn roster() -> Exchange {
    let ada = json!({"id": ADA, "first_name": "Ada", "last_name": "X", "email": "ada@acme.test", "avatar": "",
        "avatar_url": "", "display_name": "ada", "role": 20});
    Exchange::get("workspaces/acme/members/").reply(200, json!([ada]))
}

/// The project card of an admin.
pub fn card() -> Exchange {
    proofs::get_card().reply(200, proofs::card(Some(20)))
}

/// The complete read of a collection.
pub fn list(collection: &str, fields: &str, rows: &[&Value]) -> Exchange {
    let page = json!({"total_count": rows.len(), "next_page_results": false, "results": rows});
    Exchange::get(&format!("{P}/{collection}/?per_page=1000&fields={fields}")).reply(200, page)
}

/// Returns `record` with other values.
pub fn but(record: &Value, changes: Value) -> Value {
    let mut record = record.clone();
    for (name, value) in changes.as_object().expect("an object") {
        record[name] = value.clone();
    }
    record
}
