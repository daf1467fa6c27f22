//! Gateways on one PostgreSQL store build an index once for all of them.
//!
//! `LONG_TESTS=1` takes 20,000 work items.

use crate::support::gateway::{Gateway, serve_sandbox};
use crate::support::postgres::Database;
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::store::Store;

const KEY: &str = "demo-admin-key";

/// A deployment: one v1, one store.
struct Deployment {
    sandbox: Sandbox,
    v1: String,
    database: Database,
    list: String,
}

impl Deployment {
    async fn new(work_items: usize) -> Self {
        let sandbox = Sandbox::new(Config { seed: Seed::Demo, work_items, ..Config::default() });
        let v1 = serve_sandbox(&sandbox).await;
        let facts = sandbox.demo_facts();
        let list =
            format!("/api/v2/workspaces/{}/projects/{}/work-items/?search=a", facts.workspace, facts.project_id);
        Self { sandbox, v1, database: Database::create().await, list }
    }

    async fn gateway(&self) -> Gateway {
        Gateway::with(&self.v1, &[("store.url", &self.database.url()), ("index.ahead", "false")]).await
    }

    /// Returns the total that a gateway answers, and the pages of work items that it read from v1.
    async fn listed(&self, gateway: &Gateway) -> (serde_json::Value, usize) {
        self.sandbox.clear_journal();
        let answer = gateway.get(KEY, &self.list).await.expect(200);
        let pages = self.sandbox.journal().into_iter().filter(|entry| entry.path.contains("/work-items/?per_page"));
        (answer.json["total_count"].clone(), pages.count())
    }
}

fn size() -> usize {
    if std::env::var_os("LONG_TESTS").is_some() { 20_000 } else { 4_000 }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_is_built_once_and_a_rolling_restart_costs_a_call_each() {
    let deployment = Deployment::new(size()).await;
    let mut gateways = [deployment.gateway().await, deployment.gateway().await, deployment.gateway().await];
    let (total, built) = deployment.listed(&gateways[0]).await;
    assert!(built > size() / 1000, "{built} pages");
    for gateway in &gateways[1..] {
        assert_eq!(
            deployment.listed(gateway).await,
            (total.clone(), 1),
            "loaded, and brought up to date by one call"
        );
    }
    let mut calls = 0;
    for gateway in &mut gateways {
        gateway.end().await;
        *gateway = deployment.gateway().await;
        let (again, pages) = deployment.listed(gateway).await;
        assert_eq!(again, total);
        calls += pages;
    }
    assert!(calls <= 3, "{calls} calls of v1 for three restarts");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gateways_that_need_it_at_once_share_one_build() {
    let deployment = Deployment::new(size()).await;
    let gateways = [deployment.gateway().await, deployment.gateway().await, deployment.gateway().await];
    deployment.sandbox.clear_journal();
    let asked = gateways.iter().map(|gateway| gateway.get(KEY, &deployment.list));
    for answer in futures_util::future::join_all(asked).await {
        answer.expect(200);
    }
    let pages = deployment
        .sandbox
        .journal()
        .into_iter()
        .filter(|entry| entry.path.contains("/work-items/?per_page"))
        .count();
    // One build, its proof, and one call of each other gateway.
    let most = size().div_ceil(1000) + 6;
    assert!(pages <= most, "{pages} pages for {} items", size());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_stored_index_is_built_again() {
    let deployment = Deployment::new(1_500).await;
    let first = deployment.gateway().await;
    let (total, _) = deployment.listed(&first).await;
    let store = Store::open(&deployment.database.url(), &deployment.v1).await.expect("a store");
    let damage = "UPDATE index_snapshot SET bytes = overlay(bytes placing '\\x00ff00ff'::bytea from 60)";
    let damaged = sqlx::query(damage).execute(store.engine().pool()).await.expect("damage");
    assert!(damaged.rows_affected() > 0, "it is kept there");
    let second = deployment.gateway().await;
    let (again, pages) = deployment.listed(&second).await;
    assert_eq!(again, total);
    assert!(pages > 1, "it was built anew");
}
