//! A cold build in front of a v1 that is as slow as a real one, and another client of that v1 beside it.
//!
//! The clock is that of the runtime, which must be paused: it jumps to the next timer, so that all times are those of
//! the cost model and none that of this machine. The other client speaks to v1 past the gateway, which cannot see it.

use super::gateway::serve_sandbox;
use bytes::Bytes;
use causeway::context::Context;
use causeway::fresh::Changes;
use causeway::index::{IndexSettings, Indexes, Scope};
use causeway::sandbox::{Config, Costs, Sandbox, Seed};
use causeway::translate::work_items::FIELDS;
use causeway::v1::{Client, ClientSettings, ConcurrencySettings, V1Key};
use http::Request;
use std::time::Duration;
use tokio::time::Instant;

/// Number of rows on a page of a build.
const PAGE: usize = 1000;
/// Time between two calls of the other client.
const PAUSE: Duration = Duration::from_millis(200);
/// Calls of the other client before the build.
const BEFORE: usize = 60;

/// The measurements; times are v1's.
#[derive(Debug)]
pub struct Figures {
    /// Number of calls of the build.
    pub calls: usize,
    /// Time that v1 needs for these calls, each by itself.
    pub used: Duration,
    /// Time that v1 needs for all pages, each read once with all columns.
    pub pages: Duration,
    /// Duration of the build.
    pub took: Duration,
    /// Median time of the other client's calls before and during the build, and the longest during it.
    pub before: Duration,
    pub during: Duration,
    pub longest: Duration,
}

impl Figures {
    /// Returns the used v1 time divided by that of the pages.
    pub fn of_the_pages(&self) -> f64 {
        self.used.as_secs_f64() / self.pages.as_secs_f64()
    }

    /// Returns how many times longer the other client waits during the build.
    pub fn slower(&self) -> f64 {
        self.during.as_secs_f64() / self.before.as_secs_f64()
    }
}

struct World {
    sandbox: Sandbox,
    scope: Scope,
    key: String,
}

impl World {
    fn with(work_items: usize) -> Self {
        let sandbox =
            Sandbox::new(Config { seed: Seed::Empty, work_items, costs: Costs::Real, ..Config::default() });
        let facts = sandbox.demo_facts();
        let path = format!("workspaces/{}/projects/{}/work-items/", facts.workspace, facts.project_id);
        let project = facts.project_id.parse().expect("an id");
        let scope = Scope { workspace: facts.workspace.as_str().into(), project, path: path.into(), members: true };
        Self { sandbox, scope, key: facts.keys[0].key.clone() }
    }

    /// Returns the time of a call.
    async fn time_of(&self, path: &str) -> Duration {
        let request = Request::builder().uri(path).header("X-Api-Key", &self.key).body(Bytes::new());
        let begun = Instant::now();
        let answer = self.sandbox.handle_in_time(request.expect("a request")).await;
        assert_eq!(answer.status().as_u16(), 200, "{path}");
        begun.elapsed()
    }

    /// Makes call `number` of the other client and returns its time.
    async fn call_of_another(&self, number: usize) -> Duration {
        let project = self.scope.path.trim_end_matches("work-items/");
        let paths =
            ["users/me/".to_owned(), project.to_owned(), format!("{project}states/"), format!("{project}labels/")];
        tokio::time::sleep(PAUSE).await;
        self.time_of(&format!("/api/v1/{}", paths[number % paths.len()])).await
    }

    /// Returns the time of all pages of the project.
    async fn pages(&self, work_items: usize) -> Duration {
        let mut all = Duration::ZERO;
        for number in 0..work_items.div_ceil(PAGE) {
            let query = format!("per_page={PAGE}&cursor={PAGE}:{number}:0&order_by=-updated_at&{FIELDS}");
            all += self.time_of(&format!("/api/v1/{}?{query}", self.scope.path)).await;
        }
        all
    }

    /// Returns the number of index calls in the journal, and their time, each by itself.
    async fn index_calls(&self) -> (usize, Duration) {
        let (journal, mut used) = (self.sandbox.journal(), Duration::ZERO);
        let calls: Vec<String> =
            journal.into_iter().map(|entry| entry.path).filter(|path| path.contains("work-items/?")).collect();
        for path in &calls {
            used += self.time_of(path).await;
        }
        (calls.len(), used)
    }
}

fn indexes(base_url: &str) -> Indexes {
    let client = Client::new(ClientSettings {
        base_url: base_url.into(),
        connect_timeout: Duration::from_secs(60),
        response_cap: 64 << 20,
        pool_per_host: 8,
        retry_jitter: Duration::from_millis(2),
        concurrency: ConcurrencySettings { min: 4, max: 256 },
    });
    let settings = IndexSettings {
        freshness: Duration::from_secs(600),
        sweep: Duration::from_secs(600),
        max_bytes: 256 << 20,
        directory: None,
        shared_work: Duration::from_secs(600),
    };
    Indexes::new(client.expect("a client"), settings, &Changes::default())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Builds the index of a project with `work_items` work items and returns the measurements.
pub async fn measure(work_items: usize) -> Figures {
    let world = World::with(work_items);
    let pages = world.pages(work_items).await;
    let mut before = Vec::new();
    for number in 0..BEFORE {
        before.push(world.call_of_another(number).await);
    }
    let indexes = indexes(&serve_sandbox(&world.sandbox).await);
    world.sandbox.clear_journal();
    let (begun, key, ctx) =
        (Instant::now(), V1Key::new(&world.key), Context::new("cold", Duration::from_secs(600)));
    let mut during = Vec::new();
    let mut build = std::pin::pin!(indexes.fresh(&world.scope, &key, &ctx));
    let took = loop {
        let other = world.call_of_another(during.len());
        tokio::pin!(other);
        tokio::select! {
            index = &mut build => {
                assert_eq!(index.expect("an index").len(), work_items);
                break begun.elapsed();
            }
            took = &mut other => during.push(took),
        }
    };
    let (calls, used) = world.index_calls().await;
    let longest = during.iter().max().copied().unwrap_or_default();
    Figures { calls, used, pages, took, before: median(before), during: median(during), longest }
}
