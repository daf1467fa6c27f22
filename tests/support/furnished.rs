//! A gateway with a store in a file, in front of a sandbox whose project `WEB` has a record of every resource.
//!
//! May use: the public interface of the crate, `audit`, `gateway`, `past_gateway`.

use super::audit::{self, ACME};
use super::gateway::{Gateway, WEB};
use super::past_gateway::in_web;
use causeway::app::compile_plan;
use causeway::plan::{Operation, Plan, TypeMode};
use causeway::sandbox::Seed;
use causeway::store::Store;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use tempfile::TempDir;

/// The compiled plan.
pub static PLAN: LazyLock<Arc<Plan>> = LazyLock::new(|| compile_plan(None).expect("the embedded mappings compile"));

/// The workspace of all tests.
pub const WORKSPACE: &str = "/api/v2/workspaces/acme";
/// A second project of ada, besides `WEB`.
pub const TYPED: &str = "00000000-0000-4000-c000-000000000004";
/// Another key of ada, so that the gateway knows nothing yet about the key of the tests.
const MAKER: &str = "future";

/// The gateway and its records.
pub struct Furnished {
    /// The gateway.
    pub gateway: Gateway,
    /// Another handle on its store.
    pub store: Store,
    records: BTreeMap<String, String>,
    /// Human key of the work item.
    pub key: String,
    _folder: TempDir,
}

impl Furnished {
    /// The same with settings.
    pub async fn with(settings: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let url = format!("sqlite:{}", folder.path().join("store.db").display());
        let settings = [&[("store.url", url.as_str())], settings].concat();
        let gateway = Gateway::sandboxed_with(Seed::Recorded, &settings).await;
        let store = gateway.store().await;
        let audit_log = audit::written(&store, ACME, 0..1).await.remove(0);
        let records = BTreeMap::from([("audit_logs".to_owned(), audit_log)]);
        let mut furnished = Self { gateway, store, records, key: String::new(), _folder: folder };
        furnished.fill_v1();
        furnished.define().await;
        furnished.gateway.sandbox().clear_journal();
        furnished
    }

    /// Returns the id of the record of `resource`.
    pub fn record(&self, resource: &str) -> Option<&str> {
        self.records.get(resource).map(String::as_str)
    }

    /// Returns the value of a variable in the path of `operation`, where there is such a record.
    pub fn variable(&self, operation: &Operation, name: &str) -> Option<&str> {
        let surface = if operation.path.as_str().contains("/projects/") { "project" } else { "workspace" };
        match name {
            "slug" => Some("acme"),
            "project_id" => WEB.rsplit('/').next(),
            "pk" => self.record(&PLAN.resource_of(operation).name),
            "work_item_id" => self.record("work_items"),
            "identifier" => Some(&self.key),
            "type_id" => self.record(&format!("{surface}_work_item_types")),
            "property_id" => self.record(&format!("{surface}_work_item_properties")),
            _ => None,
        }
    }

    /// Switches the workspace to a mode.
    pub async fn set_mode(&self, mode: TypeMode) {
        let body = json!({"is_work_item_types_enabled": mode == TypeMode::Workspace});
        self.gateway.patch(MAKER, &format!("{WORKSPACE}/features/"), body).await.expect(200);
    }

    fn keep(&mut self, resource: &str, record: &Value) -> String {
        let id = id(record);
        self.records.insert(resource.to_owned(), id.clone());
        id
    }

    /// Creates records at v1, past the gateway.
    fn fill_v1(&mut self) {
        let pair = json!({"name": "one", "external_id": "E-1", "external_source": "jira", "color": "#112233",
            "project_id": WEB.rsplit('/').next()});
        for resource in ["labels", "cycles", "modules", "states"] {
            let made = in_web(self.gateway.sandbox(), "POST", &format!("{resource}/"), &pair);
            self.keep(resource, &made);
        }
        let item = in_web(self.gateway.sandbox(), "POST", "work-items/", &pair);
        self.key = format!("WEB-{}", item["sequence_id"]);
        let path = format!("work-items/{}/comments/", self.keep("work_items", &item));
        let comment = json!({"comment_html": "<p>one</p>", "external_id": "E-1", "external_source": "jira"});
        let made = in_web(self.gateway.sandbox(), "POST", &path, &comment);
        self.keep("work_item_comments", &made);
    }

    /// Creates, on both surfaces, a type and a property with choices on it, and a context of the workspace's property.
    async fn define(&mut self) {
        for (surface, mode) in [("project", TypeMode::Project), ("workspace", TypeMode::Workspace)] {
            self.set_mode(mode).await;
            let base = if mode == TypeMode::Project { WEB } else { WORKSPACE };
            if mode == TypeMode::Project {
                let enable = format!("{base}/work-item-types/enable/");
                self.gateway.post(MAKER, &enable, json!({})).await.expect(200);
            }
            let pair = json!({"name": "one", "external_id": "E-1", "external_source": "jira"});
            let kind = self.made(&format!("{base}/work-item-types/"), pair).await;
            let options = json!([{"name": "one"}, {"name": "two"}]);
            let property = json!({"display_name": "one", "property_type": "OPTION", "options": options});
            let property = self.made(&format!("{base}/work-item-properties/"), property).await;
            let attach = format!("{base}/work-item-types/{}/properties/", id(&kind));
            self.made(&attach, json!({"properties": [property["id"]]})).await;
            self.keep(&format!("{surface}_work_item_types"), &kind);
            self.keep(&format!("{surface}_work_item_properties"), &property);
            self.keep(&format!("{surface}_work_item_type_properties"), &property);
            self.keep(&format!("{surface}_work_item_property_options"), &property["options"][0]);
        }
        let contexts = format!(
            "{WORKSPACE}/work-item-properties/{}/contexts/",
            self.records["workspace_work_item_properties"]
        );
        let scope = json!({"name": "one", "project_ids": [TYPED], "applies_to_all_work_item_types": true});
        let made = self.made(&contexts, scope).await;
        self.keep("work_item_property_contexts", &made);
        self.set_mode(TypeMode::Project).await;
    }

    async fn made(&self, path: &str, body: Value) -> Value {
        self.gateway.post(MAKER, path, body).await.expect(201).json
    }
}

/// Id of a record.
pub fn id(record: &Value) -> String {
    record["id"].as_str().expect("an id").to_owned()
}
