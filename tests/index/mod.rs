//! The index of work items in front of the sandbox and of a scripted v1.
//!
//! May use: the public interface of the crate and `tests/support`.

mod ahead;
mod churn;
mod counting;
mod deployment;
mod hints;
mod keeping;
mod kindness;
mod resuming;
mod waiting;

use crate::support::gateway::serve_sandbox;
use causeway::context::Context;
use causeway::fresh::Changes;
use causeway::index::{Index, IndexSettings, Indexes, Scope};
use causeway::refusal::Refusal;
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::translate::work_items::Item;
use causeway::v1::{Client, ClientSettings, ConcurrencySettings, Method, Outcome, V1Key, V1Request};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// Longer than any test should take; a test that takes longer hangs.
const LONG: Duration = Duration::from_secs(60);

fn client_of(base_url: &str) -> Client {
    Client::new(ClientSettings {
        base_url: base_url.into(),
        connect_timeout: Duration::from_secs(2),
        response_cap: 16 * 1024 * 1024,
        pool_per_host: 8,
        retry_jitter: Duration::from_millis(2),
        concurrency: ConcurrencySettings { min: 4, max: 256 },
    })
    .expect("a client")
}

fn settings() -> IndexSettings {
    IndexSettings {
        freshness: Duration::from_secs(600),
        sweep: Duration::from_secs(600),
        max_bytes: 256 << 20,
        directory: None,
        shared_work: LONG,
    }
}

/// Settings under which every list calls v1.
fn always() -> IndexSettings {
    IndexSettings { freshness: Duration::ZERO, ..settings() }
}

fn context() -> Context {
    Context::new("req-1", LONG)
}

/// A sandbox with work items, and the context to list them.
struct World {
    sandbox: Sandbox,
    client: Client,
    changes: Changes,
    scope: Scope,
    key: V1Key,
}

impl World {
    async fn with(seed: Seed, work_items: usize) -> Self {
        let sandbox = Sandbox::new(Config { seed, work_items, ..Config::default() });
        let facts = sandbox.demo_facts();
        let client = client_of(&serve_sandbox(&sandbox).await);
        let project: Uuid = facts.project_id.parse().expect("an id");
        let path = format!("workspaces/{}/projects/{project}/work-items/", facts.workspace);
        let scope = Scope { workspace: facts.workspace.as_str().into(), project, path: path.into(), members: true };
        Self { sandbox, client, changes: Changes::default(), scope, key: V1Key::new(&facts.keys[0].key) }
    }

    fn indexes(&self, settings: IndexSettings) -> Indexes {
        Indexes::new(self.client.clone(), settings, &self.changes)
    }

    async fn fresh(&self, indexes: &Indexes) -> Result<Arc<Index>, Refusal> {
        indexes.fresh(&self.scope, &self.key, &context()).await
    }

    /// Returns an index, and the number of v1 calls for it.
    async fn counted(&self, indexes: &Indexes) -> (Arc<Index>, usize) {
        self.sandbox.clear_journal();
        let index = self.fresh(indexes).await.expect("an index");
        (index, self.sandbox.journal().len())
    }

    /// Writes on v1 past the gateway; `below` is the path below the list.
    async fn write(&self, method: Method, below: &str, body: Value) -> Value {
        let request = V1Request::write(method, format!("{}{below}", self.scope.path), body.to_string());
        let Outcome::Done(answer) = self.client.write(&self.key, request, &context(), None).await else {
            panic!("not carried out")
        };
        serde_json::from_slice(&answer.body).unwrap_or_default()
    }

    async fn create(&self, name: &str) -> Uuid {
        let made = self.write(Method::POST, "", json!({"name": name})).await;
        made["id"].as_str().expect("an id").parse().expect("a UUID")
    }

    async fn patch(&self, id: Uuid, body: Value) {
        self.write(Method::PATCH, &format!("{id}/"), body).await;
    }

    async fn delete(&self, id: Uuid) {
        let request = V1Request::delete(format!("{}{id}/", self.scope.path));
        let ended = self.client.write(&self.key, request, &context(), None).await;
        assert!(matches!(ended, Outcome::Done(_)), "{ended:?}");
    }

    /// Returns the items that v1 shows, by id.
    async fn truth(&self) -> Vec<Item> {
        let fields = causeway::translate::work_items::FIELDS;
        let query = format!("order_by=id&{fields}");
        let pages = self.client.read_all(&self.key, &self.scope.path, &query, &context()).await.expect("pages");
        let mut items = Vec::new();
        for page in pages {
            let page: Value = serde_json::from_slice(&page).expect("JSON");
            let rows = page["results"].as_array().expect("rows");
            let read = |row: &Value| causeway::translate::work_items::read(&row.to_string()).expect("an item");
            items.extend(rows.iter().map(read));
        }
        items.sort_by_key(|item| item.id);
        items
    }
}

fn items(index: &Index) -> Vec<Item> {
    index.items().collect()
}
