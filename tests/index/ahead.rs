//! The index of a project is begun before a request needs it.

use crate::support::gateway::{Gateway, serve_sandbox};
use causeway::sandbox::{Config, Sandbox, Seed};
use std::time::Duration;

struct Ahead {
    sandbox: Sandbox,
    gateway: Gateway,
    list: String,
}

impl Ahead {
    async fn with(work_items: usize, quota: Option<u32>, settings: &[(&str, &str)]) -> Self {
        let sandbox =
            Sandbox::new(Config { seed: Seed::Demo, work_items, quota_per_minute: quota, ..Config::default() });
        let gateway = Gateway::with(&serve_sandbox(&sandbox).await, settings).await;
        let facts = sandbox.demo_facts();
        let list = format!("/api/v2/workspaces/{}/projects/{}/work-items/", facts.workspace, facts.project_id);
        Self { sandbox, gateway, list }
    }

    async fn get(&self, query: &str) -> u32 {
        let answer = self.gateway.get("demo-admin-key", &format!("{}{query}", self.list)).await;
        answer.expect(200).calls()
    }

    /// Returns the number of calls of builds.
    fn pages(&self) -> usize {
        self.sandbox.journal().iter().filter(|entry| entry.path.contains("order_by=-updated_at")).count()
    }

    async fn until_pages(&self, pages: usize) {
        let waiting = async {
            while self.pages() < pages {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), waiting).await.expect("the build");
    }

    /// Sends a list that v1 answers, and returns the number of calls of builds after it.
    async fn pages_after_a_list(&self) -> usize {
        self.get("").await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        self.pages()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_list_that_v1_answers_begins_the_index_and_is_not_charged_for_it() {
    let ahead = Ahead::with(2_500, None, &[("index.freshness", "10m")]).await;
    // The caller, the project, and the page.
    assert!(ahead.get("").await <= 3);
    ahead.until_pages(4).await;
    // Until the build has ended, lists share it.
    ahead.get("?priority=high").await;
    assert_eq!(ahead.pages(), 4);
    assert_eq!(ahead.get("?priority=low").await, 0);
    for _ in 0..3 {
        ahead.get("").await;
    }
    assert_eq!(ahead.pages(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_begun_that_is_small_unwanted_too_large_or_beyond_the_quota() {
    assert_eq!(Ahead::with(900, None, &[]).await.pages_after_a_list().await, 0);
    assert_eq!(Ahead::with(2_500, None, &[("index.ahead", "false")]).await.pages_after_a_list().await, 0);
    assert_eq!(Ahead::with(2_500, None, &[("index.max_size", "1MiB")]).await.pages_after_a_list().await, 0);
    let short = Ahead::with(2_500, Some(12), &[("upstream.quota", "12")]).await;
    assert_eq!(short.pages_after_a_list().await, 0);
}
