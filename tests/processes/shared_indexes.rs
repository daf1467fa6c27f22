//! Three gateways on one PostgreSQL database that list work items all the time: v1 gets as many calls as from one, and
//! no answer is older than the freshness window, or older than an acknowledged write.
//!
//! `LONG_TESTS=1` takes 20,000 work items and runs for longer.

use super::child::Child;
use super::client;
use super::support::gateway::serve_sandbox;
use super::support::losing::Losing;
use super::support::postgres::{Database, late_answers};
use super::support::redis::Redis;
use bytes::Bytes;
use causeway::sandbox::{Config, JournalEntry, Sandbox, Seed};
use causeway::store::Store;
use causeway::task::spawn;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

const KEY: &str = "demo-admin-key";
/// The secret that the gateways of a deployment share.
const SECRET: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
/// The freshness window of these gateways.
const FRESH: Duration = Duration::from_secs(1);
/// Longest wait of a gateway for the database before it refreshes for itself, and the words of its log about that.
const QUICK: Duration = Duration::from_millis(250);
const ALONE: &str = "an index is refreshed for this process alone";
/// Age up to which the proof of a key in a project is used again, as it is by default.
const PROOF: Duration = Duration::from_secs(30);
const PATIENCE: Duration = Duration::from_secs(30);
/// Time between two reads of a client.
const PAUSE: Duration = Duration::from_millis(25);

fn long<T>(everyday: T, long: T) -> T {
    if std::env::var_os("LONG_TESTS").is_some() { long } else { everyday }
}

/// One v1, one store, any number of gateways.
struct Deployment {
    sandbox: Sandbox,
    v1: String,
    database: Database,
    items: String,
    client: reqwest::Client,
}

impl Deployment {
    async fn new() -> Self {
        let work_items = long(400, 20_000);
        let sandbox = Sandbox::new(Config { seed: Seed::Demo, work_items, ..Config::default() });
        let (v1, facts) = (serve_sandbox(&sandbox).await, sandbox.demo_facts());
        let items = format!("workspaces/{}/projects/{}/work-items/", facts.workspace, facts.project_id);
        Self { sandbox, v1, database: Database::create().await, items, client: client() }
    }

    async fn gateways(&self, count: usize) -> Vec<Child> {
        let mut gateways = Vec::new();
        for _ in 0..count {
            gateways.push(self.gateway(&self.v1).await);
        }
        gateways
    }

    async fn gateway(&self, v1: &str) -> Child {
        let fresh = format!("{}s", FRESH.as_secs());
        let env = [
            ("CAUSEWAY_INDEX__FRESHNESS", fresh.as_str()),
            ("CAUSEWAY_INDEX__AHEAD", "false"),
            ("CAUSEWAY_LOG__FILTER", "error,causeway::cli::serve=info,causeway_index=debug"),
        ];
        Child::start_with(v1, &self.database.url(), &env).await
    }

    async fn send(&self, gateway: &Child, method: &str, rest: &str, body: Option<Value>) -> (u16, Value) {
        let url = format!("{}/api/v2/{}{rest}", gateway.base(), self.items);
        send(&self.client, method, &url, body).await
    }

    /// Returns the names that a gateway lists for a search.
    async fn names(&self, gateway: &Child, search: &str) -> Vec<String> {
        names(&self.client, gateway.base(), &self.items, search).await
    }

    /// Writes to v1 past all gateways.
    fn write_past(&self, id: &str, body: &Value) {
        let request = http::Request::builder()
            .method("PATCH")
            .uri(format!("/api/v1/{}{id}/", self.items))
            .header("X-Api-Key", KEY)
            .header("Content-Type", "application/json");
        let answer = self.sandbox.handle(request.body(Bytes::from(body.to_string())).expect("a request"));
        assert_eq!(answer.status(), 200);
    }

    /// Returns the calls of v1 since the journal was cleared: the pages of work items, and all others by their kind.
    fn calls(&self) -> (usize, BTreeMap<String, usize>) {
        let (mut pages, mut others) = (0, BTreeMap::new());
        for entry in self.sandbox.journal() {
            let path = entry.path.split('?').next().unwrap_or_default();
            let asks = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            if entry.method == "GET" && asks == "work-items" {
                pages += 1;
            } else if entry.method == "GET" {
                *others.entry(asks.to_owned()).or_default() += 1;
            }
        }
        (pages, others)
    }

    /// Starts three gateways, restarts each, and returns the calls of v1 in the form of [`Deployment::calls`].
    async fn rolling_restart(&self, start: impl AsyncFn() -> Child) -> (usize, BTreeMap<String, usize>) {
        let mut gateways = [start().await, start().await, start().await];
        self.until_asked(3).await;
        let mut expected = Vec::new();
        for gateway in &gateways {
            expected = self.names(gateway, "1").await;
        }
        self.sandbox.clear_journal();
        for gateway in &mut gateways {
            gateway.signal(rustix::process::Signal::TERM);
            assert!(gateway.ended().success());
            *gateway = start().await;
            assert_eq!(self.names(gateway, "1").await, expected);
        }
        self.until_asked(3).await;
        self.calls()
    }

    /// Waits until so many processes have asked, each at its start, whether v1 answers.
    async fn until_asked(&self, processes: usize) {
        let patience = Instant::now() + PATIENCE;
        let is_start = |entry: &&JournalEntry| entry.key.as_deref() == Some("causeway-start");
        while self.sandbox.journal().iter().filter(is_start).count() < processes {
            assert!(Instant::now() < patience, "a process does not ask whether v1 answers");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn store(&self) -> Store {
        Store::open(&self.database.url(), &self.v1).await.expect("a store")
    }
}

async fn send(client: &reqwest::Client, method: &str, url: &str, body: Option<Value>) -> (u16, Value) {
    let method = reqwest::Method::from_bytes(method.as_bytes()).expect("a method");
    let mut request = client.request(method, url).header("X-Api-Key", KEY);
    if let Some(body) = body {
        request = request.header("Content-Type", "application/json").body(body.to_string());
    }
    let answer = request.send().await.expect("an answer");
    let status = answer.status().as_u16();
    (status, serde_json::from_slice(&answer.bytes().await.expect("a body")).unwrap_or_default())
}

async fn names(client: &reqwest::Client, base: &str, items: &str, search: &str) -> Vec<String> {
    let url = format!("{base}/api/v2/{items}?search={search}&per_page=100&order_by=id");
    let (status, list) = send(client, "GET", &url, None).await;
    assert_eq!(status, 200, "{list}");
    let name = |row: &Value| row["name"].as_str().expect("a name").to_owned();
    let mut names: Vec<String> = list["data"].as_array().expect("a page").iter().map(name).collect();
    names.sort();
    names
}

/// Versions of an item that is changed past the gateways, with the latest time from which each was there.
type Versions = Arc<Mutex<Vec<Instant>>>;

/// What v1 was asked for while clients read all the time.
#[derive(Debug)]
struct Asked {
    pages: usize,
    /// Number of pages that are enough.
    most: usize,
    /// Number of pages that one process must ask for.
    least: usize,
}

/// Reads from all gateways for some time while an item is changed past them.
async fn read_all_the_time(deployment: &Deployment, gateways: &[Child], time: Duration) -> Asked {
    let (_, page) = deployment.send(&gateways[0], "GET", "?per_page=1&order_by=id", None).await;
    let id = page["data"][0]["id"].as_str().expect("an item").to_owned();
    deployment.write_past(&id, &json!({"name": "zebra 0"}));
    tokio::time::sleep(FRESH).await;
    for gateway in gateways {
        assert_eq!(deployment.names(gateway, "zebra").await, ["zebra 0"]);
    }
    let alone = || gateways.iter().map(|gateway| gateway.times_said(ALONE)).sum::<usize>();
    let (before, began) = (alone(), Instant::now());
    deployment.sandbox.clear_journal();
    let (versions, end) = (Versions::new(Mutex::new(vec![began])), began + time);
    let readers: Vec<_> = gateways
        .iter()
        .map(|gateway| {
            let (client, items) = (deployment.client.clone(), deployment.items.clone());
            let (base, versions) = (gateway.base().to_owned(), Arc::clone(&versions));
            spawn(async move {
                let mut reads = 0;
                while Instant::now() < end {
                    let asked = Instant::now();
                    let shown = names(&client, &base, &items, "zebra").await;
                    let shown = shown.first().and_then(|name| name.strip_prefix("zebra "));
                    let shown: usize = shown.expect("the item").parse().expect("a number");
                    // The version at the beginning of the window, or any later one.
                    let at_least = versions.lock().iter().rposition(|at| *at + FRESH < asked).unwrap_or(0);
                    assert!(shown >= at_least, "version {shown} where {at_least} was there {FRESH:?} ago");
                    reads += 1;
                    tokio::time::sleep(PAUSE).await;
                }
                reads
            })
        })
        .collect();
    let reading = async {
        while Instant::now() + Duration::from_millis(300) < end {
            tokio::time::sleep(Duration::from_millis(270)).await;
            let version = versions.lock().len();
            deployment.write_past(&id, &json!({"name": format!("zebra {version}")}));
            versions.lock().push(Instant::now());
        }
        let mut reads = 0;
        for reader in readers {
            reads += reader.await.expect("no stale answer");
        }
        reads
    };
    let (reads, late) = late_answers(&deployment.database.url(), QUICK / 4, reading).await;
    let windows = began.elapsed().as_secs() as usize / FRESH.as_secs() as usize;
    let (pages, others) = deployment.calls();
    // While the database is slow, the gateways refresh each for itself, as they should.
    let alone = (alone() - before).min(late * gateways.len());
    println!(
        "{} processes, {windows} windows: {pages} pages of v1 for {reads} reads, {alone} of them because of {late} \
         late answers of the database; {others:?}",
        gateways.len(),
    );
    // One for each window, one at the edge, and an allowance for a busy machine.
    Asked { pages, most: windows + 2 + windows / 10 + alone, least: windows.min(reads) / 2 }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_that_are_read_all_the_time_ask_v1_as_often_as_one() {
    let time = Duration::from_secs(long(8, 60));
    for count in [1, 3] {
        let deployment = Deployment::new().await;
        let gateways = deployment.gateways(count).await;
        let asked = read_all_the_time(&deployment, &gateways, time).await;
        assert!(count > 1 || asked.pages >= asked.least, "one process refreshes: {asked:?}");
        assert!(asked.pages <= asked.most, "{count} processes: {asked:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_shows_in_the_lists_of_all_gateways_at_once() {
    let deployment = Deployment::new().await;
    let gateways = deployment.gateways(3).await;
    for gateway in &gateways {
        assert_eq!(deployment.names(gateway, "heron").await, Vec::<String>::new());
    }
    let (_, page) = deployment.send(&gateways[0], "GET", "?per_page=1&order_by=id", None).await;
    let strange = page["data"][0]["id"].as_str().expect("an item").to_owned();
    deployment.sandbox.clear_journal();
    let mut there: Vec<(String, String)> = Vec::new();
    let rounds = long(24, 150);
    for round in 0..rounds {
        let writer = &gateways[round % 3];
        deployment.write_past(&strange, &json!({"name": format!("strange {round}")}));
        match round % 4 {
            0 | 1 => {
                let name = format!("heron {round}");
                let (status, item) = deployment.send(writer, "POST", "", Some(json!({"name": name}))).await;
                assert_eq!(status, 201, "{item}");
                there.push((item["id"].as_str().expect("an id").into(), name));
            }
            2 => {
                let (id, name) = there.last_mut().expect("an item");
                *name = format!("heron {round} changed");
                let body = json!({"name": *name});
                let (status, item) = deployment.send(writer, "PATCH", &format!("{id}/"), Some(body)).await;
                assert_eq!(status, 200, "{item}");
            }
            _ => {
                let (id, _) = there.remove(0);
                let (status, answer) = deployment.send(writer, "DELETE", &format!("{id}/"), None).await;
                assert_eq!(status, 204, "{answer}");
            }
        }
        let mut expected: Vec<&str> = there.iter().map(|(_, name)| name.as_str()).collect();
        expected.sort_unstable();
        for which in 0..3 {
            let listed = deployment.names(&gateways[(round + which + 1) % 3], "heron").await;
            assert_eq!(listed, expected, "round {round}, process {}", (round + which + 1) % 3);
        }
    }
    println!("{rounds} writes, each listed by three: {} pages of work items", deployment.calls().0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolling_restart_of_three_costs_three_calls_at_most() {
    let deployment = Deployment::new().await;
    let (pages, others) = deployment.rolling_restart(async || deployment.gateway(&deployment.v1).await).await;
    println!("rolling restart of three: {pages} pages of work items; others {others:?}");
    assert!(pages <= 3, "{pages} pages");
}

/// Set up as for many keys, with a Redis and the default windows. Besides the counted calls, each process asks once at
/// its start, without a key, whether v1 answers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_redis_a_rolling_restart_of_three_asks_for_no_proof_again() {
    let (deployment, redis) = (Deployment::new().await, Redis::start());
    let url = redis.url();
    let env = [
        ("CAUSEWAY_SHARED__URL", url.as_str()),
        ("CAUSEWAY_SECRETS__KEY", SECRET),
        ("CAUSEWAY_INDEX__AHEAD", "false"),
    ];
    let start = async || Child::start_with(&deployment.v1, &deployment.database.url(), &env).await;
    let begun = Instant::now();
    let (pages, others) = deployment.rolling_restart(start).await;
    println!("rolling restart of three, with Redis: {pages} pages of work items; others {others:?}");
    assert!(pages <= 3, "{pages} pages");
    // A machine that takes longer than a proof lasts proves the key again, once each time.
    let again = begun.elapsed().as_secs() / PROOF.as_secs();
    let proofs = others.values().sum::<usize>() - 3;
    assert!(
        others["me"] >= 3 && proofs as u64 <= again,
        "each start asks once, and no key is proven again: {others:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_dies_while_it_refreshes_holds_the_others_up_for_a_moment_only() {
    let deployment = Deployment::new().await;
    let wire = Losing::before(&deployment.v1).await;
    let first = deployment.gateway(wire.base_url()).await;
    let second = deployment.gateway(wire.base_url()).await;
    for gateway in [&first, &second] {
        deployment.names(gateway, "heron").await;
    }
    tokio::time::sleep(FRESH).await;
    wire.hold("GET");
    let (client, base, items) = (deployment.client.clone(), first.base().to_owned(), deployment.items.clone());
    let asking = spawn(async move {
        let url = format!("{base}/api/v2/{items}?search=heron");
        let _ = client.get(url).header("X-Api-Key", KEY).send().await;
    });
    wire.held().await;
    first.kill();
    let _ = asking.await;
    let asked = Instant::now();
    assert_eq!(deployment.names(&second, "heron").await, Vec::<String>::new());
    println!("answered after {:?}", asked.elapsed());
    assert!(asked.elapsed() < Duration::from_secs(20), "{:?}", asked.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_place_to_tell_each_refreshes_for_itself() {
    let deployment = Deployment::new().await;
    let gateways = deployment.gateways(2).await;
    let (_, page) = deployment.send(&gateways[0], "GET", "?per_page=1&order_by=id", None).await;
    let id = page["data"][0]["id"].as_str().expect("an item").to_owned();
    let store = deployment.store().await;
    let gone = ["ALTER TABLE index_turn RENAME TO elsewhere", "UPDATE index_delta SET bytes = '\\x00'::bytea"];
    for (round, trouble) in gone.into_iter().enumerate() {
        let name = format!("heron {round}");
        deployment.write_past(&id, &json!({"name": name}));
        if round == 1 {
            sqlx::query("ALTER TABLE elsewhere RENAME TO index_turn")
                .execute(store.engine().pool())
                .await
                .expect("the table");
            tokio::time::sleep(FRESH).await;
            deployment.names(&gateways[0], "heron").await;
            tokio::time::sleep(FRESH / 2).await;
        }
        sqlx::query(trouble).execute(store.engine().pool()).await.expect("trouble");
        if round == 0 {
            tokio::time::sleep(FRESH).await;
        }
        for gateway in &gateways {
            assert_eq!(deployment.names(gateway, "heron").await, [name.as_str()]);
        }
    }
    store.close().await;
}
