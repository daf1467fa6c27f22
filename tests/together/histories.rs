//! Histories: many writers over the same few work items, recorded and compared with a model, in front of a v1 that
//! loads a row, waits and saves all of it.
//!
//! For each item there must be an order in which every answer is possible (`linear`), including the final state at
//! v1, so that no acknowledged write is missing. Across items no two hold one external pair at a time, no
//! parents form a loop, and no item has a deleted parent. The same histories through two gateways without a common
//! store prove that the checks find faults: that is the same as having no lock at all.

use crate::support::gateway::{Answer, Gateway, serve_sandbox};
use crate::support::postgres::Database;
use crate::support::random::Random;
use crate::together::WEB;
use crate::together::items::{Change, Item, Life, Row, What, step};
use crate::together::linear::{Event, Verdict, check};
use crate::together::scene::Scene;
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::task::spawn;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Number of items written to at a time.
const ITEMS: usize = 20;
/// Number of values of pairs, so small that several writers want the same one.
const PAIRS: usize = 12;
/// Number of times a writer repeats a request when it is told to.
const PATIENCE: usize = 30;
/// Number of positions examined for one item before the search gives up.
const POSITIONS: usize = 2_000_000;

/// The size of a history.
#[derive(Debug, Clone, Copy)]
struct Size {
    writers: usize,
    operations: usize,
    seed: u64,
    /// Whether all writers take turns; those of gateways without a common store do not.
    turns: bool,
}

/// Returns the everyday or the long number of operations.
fn operations(everyday: usize, long: usize) -> usize {
    if std::env::var_os("LONG_TESTS").is_some() { long } else { everyday }
}

/// All requests and answers, by item.
#[derive(Default)]
struct Record {
    clock: AtomicU64,
    events: Mutex<HashMap<String, Vec<Event<What>>>>,
    statuses: Mutex<BTreeMap<u16, usize>>,
    left: AtomicUsize,
}

impl Record {
    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    fn note(&self, item: &str, begun: u64, ended: u64, what: What) {
        let mut events = self.events.lock().expect("no panic");
        events.entry(item.to_owned()).or_default().push(Event { begun, ended, what });
    }

    fn count(&self, answer: &Answer) {
        *self.statuses.lock().expect("no panic").entry(answer.status).or_default() += 1;
    }
}

/// One writer.
struct Writer {
    gateway: Arc<Gateway>,
    record: Arc<Record>,
    /// Ids of the existing items.
    items: Arc<Mutex<Vec<String>>>,
    labels: Arc<Vec<String>>,
    random: Random,
    turns: bool,
}

impl Writer {
    async fn run(mut self) {
        let take = |left: &AtomicUsize| {
            left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
        };
        while take(&self.record.left) {
            let slot = self.random.below(ITEMS);
            let id = self.items.lock().expect("no panic")[slot].clone();
            match self.random.below(100) {
                0..58 => self.patch(&id).await,
                58..64 => self.archive(&id).await,
                64..80 => self.unarchive(&id).await,
                80..83 => self.delete(slot, &id).await,
                83..98 => self.read(&id).await,
                _ => self.list().await,
            }
        }
    }

    /// Sends a request, and again while the answer says that nothing was done and to come later: on a busy machine the
    /// store or a turn may take longer than the gateway waits.
    async fn send(&self, method: &str, path: &str, body: Option<&Value>) -> (Answer, u64, u64) {
        for _ in 0..PATIENCE {
            let begun = self.record.now();
            let answer = self.gateway.send(Some("ada"), method, &format!("{WEB}/{path}"), body).await;
            self.record.count(&answer);
            if answer.status != 503 || !answer.headers.contains_key("retry-after") {
                return (answer, begun, self.record.now());
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        panic!("{method} {path} is refused for {PATIENCE} s");
    }

    fn other(&mut self) -> String {
        let slot = self.random.below(ITEMS);
        self.items.lock().expect("no panic")[slot].clone()
    }

    fn change(&mut self) -> Change {
        let number = self.record.now();
        let day = |year: u64| format!("{year}-{:02}-{:02}", 1 + number / 28 % 12, 1 + number % 28);
        match self.random.below(17) {
            0..3 => Change::Name(format!("n{number}")),
            3..6 => {
                let names = ["urgent", "high", "medium", "low", "none"];
                Change::Priority(names[self.random.below(5)].to_owned())
            }
            6..8 => Change::Dates(day(2026), day(2027)),
            8 => Change::Target(day(2028)),
            9..11 => Change::State(format!("00000000-0000-4000-d000-00000000010{}", 1 + self.random.below(5))),
            11..13 => {
                let chosen = self.random.below(8);
                let labels = self.labels.iter().enumerate().filter(|(at, _)| chosen >> at & 1 == 1);
                Change::Labels(labels.map(|(_, id)| id.clone()).collect())
            }
            13..15 if self.random.below(4) == 0 => Change::Parent(None),
            13..15 => Change::Parent(Some(self.other())),
            _ => Change::Pair(format!("p{}", self.random.below(PAIRS))),
        }
    }

    async fn patch(&mut self, id: &str) {
        let change = self.change();
        let (answer, begun, ended) = self.send("PATCH", &format!("work-items/{id}/"), Some(&change.body())).await;
        match answer.status {
            200 => {
                let shown = Row::of_v2(&answer.json);
                self.record.note(id, begun, ended, What::Patched { change, shown });
            }
            404 => self.record.note(id, begun, ended, What::NotLive),
            // A parent that is not live or leads back, and a pair that another item has.
            400 if matches!(change, Change::Parent(_)) => {}
            409 if matches!(change, Change::Pair(_)) => {}
            _ => panic!("{change:?}: {} {}", answer.status, answer.json),
        }
    }

    async fn archive(&mut self, id: &str) {
        let (answer, begun, ended) = self.send("POST", &format!("work-items/{id}/archive/"), None).await;
        let what = if answer.status == 404 { What::NotLive } else { What::Archived };
        assert!([200, 404].contains(&answer.status), "{}", answer.json);
        self.record.note(id, begun, ended, what);
    }

    async fn unarchive(&mut self, id: &str) {
        let (answer, begun, ended) = self.send("POST", &format!("work-items/{id}/unarchive/"), None).await;
        let what = match answer.status {
            200 => What::Unarchived { shown: Row::of_v2(&answer.json) },
            404 => What::NotThere,
            _ => panic!("{}", answer.json),
        };
        self.record.note(id, begun, ended, what);
    }

    async fn delete(&mut self, slot: usize, id: &str) {
        let (answer, begun, ended) = self.send("DELETE", &format!("work-items/{id}/"), None).await;
        // Without turns another writer may have deleted the item after its children were made top-level.
        let half = !self.turns && answer.status == 502 && answer.json["detail"].to_string().contains("not_found");
        match answer.status {
            204 => self.record.note(id, begun, ended, What::Deleted),
            404 => return self.record.note(id, begun, ended, What::NotLive),
            502 if half => self.record.note(id, begun, ended, What::NotLive),
            _ => panic!("{}", answer.json),
        }
        let ids: Vec<String> = self.record.events.lock().expect("no panic").keys().cloned().collect();
        for other in ids.into_iter().filter(|other| other != id) {
            self.record.note(&other, begun, ended, What::Detached { from: id.to_owned() });
        }
        if half {
            return;
        }
        let made = self.create().await;
        self.items.lock().expect("no panic")[slot] = made;
    }

    /// Creates an item, at random with a pair or a parent.
    async fn create(&mut self) -> String {
        let mut body = json!({"name": format!("n{}", self.record.now())});
        let pair = (self.random.below(2) == 0).then(|| format!("p{}", self.random.below(PAIRS)));
        if let Some(pair) = &pair {
            body["external_source"] = json!("histories");
            body["external_id"] = json!(pair);
        }
        if self.random.below(3) == 0 {
            body["parent_id"] = json!(self.other());
        }
        let (answer, begun, ended) = self.send("POST", "work-items/", Some(&body)).await;
        // Without turns another writer may have deleted its parent at that time, and v1 deletes the children.
        let lost = !self.turns
            && body.get("parent_id").is_some()
            && answer.status == 502
            && answer.json["detail"].to_string().contains("did not show the item");
        let (answer, begun, ended, pair) = match answer.status {
            502 if lost => self.create_plain().await,
            400 | 409 => self.create_plain().await,
            _ => (answer, begun, ended, pair),
        };
        let id = answer.expect(201);
        let (row, id) = (Row::of_v2(&id.json), id.text("id"));
        self.record.note(&id, begun, ended, What::Created { row, pair });
        id
    }

    async fn create_plain(&self) -> (Answer, u64, u64, Option<String>) {
        let plain = json!({"name": format!("n{}", self.record.now())});
        let (answer, begun, ended) = self.send("POST", "work-items/", Some(&plain)).await;
        (answer, begun, ended, None)
    }

    async fn read(&mut self, id: &str) {
        let (answer, begun, ended) = self.send("GET", &format!("work-items/{id}/"), None).await;
        let what = match answer.status {
            200 => What::Read { shown: Row::of_v2(&answer.json) },
            404 => What::NotLive,
            _ => panic!("{}", answer.json),
        };
        self.record.note(id, begun, ended, what);
    }

    /// Keeps the index warm, so that writes use its rows.
    async fn list(&mut self) {
        let (answer, ..) = self.send("GET", "work-items/?priority=high", None).await;
        answer.expect(200);
    }
}

/// The faults of a history.
#[derive(Debug, Default)]
struct Found {
    operations: usize,
    items: usize,
    positions: usize,
    /// Items without an order that explains their answers.
    disorder: Vec<String>,
    /// Broken rules across items.
    rules: Vec<String>,
}

impl Found {
    fn violations(&self) -> usize {
        self.disorder.len() + self.rules.len()
    }
}

/// Runs a history through `gateways`, which the writers use in turn, and checks it.
async fn history(name: &str, gateways: &[Arc<Gateway>], size: Size) -> Found {
    let began = Instant::now();
    let record = Arc::new(Record { left: AtomicUsize::new(size.operations), ..Record::default() });
    let mut labels = Vec::new();
    for number in 0..3 {
        let body = json!({"name": format!("label {number}")});
        let made = gateways[0].post("ada", &format!("{WEB}/labels/"), body).await.expect(201);
        labels.push(made.text("id"));
    }
    let (items, labels) = (Arc::new(Mutex::new(Vec::new())), Arc::new(labels));
    let writer = |number: usize| Writer {
        gateway: Arc::clone(&gateways[number % gateways.len()]),
        record: Arc::clone(&record),
        items: Arc::clone(&items),
        labels: Arc::clone(&labels),
        random: Random::new(size.seed.wrapping_mul(1_000) + number as u64),
        turns: size.turns,
    };
    let mut first = writer(0);
    for number in 0..ITEMS {
        let (answer, begun, ended) =
            first.send("POST", "work-items/", Some(&json!({"name": format!("first {number}")}))).await;
        let (row, id) = (Row::of_v2(&answer.json), answer.expect(201).text("id"));
        record.note(&id, begun, ended, What::Created { row, pair: None });
        items.lock().expect("no panic").push(id);
    }
    first.list().await;
    let writers: Vec<_> = (0..size.writers).map(|number| spawn(writer(number).run())).collect();
    for writer in writers {
        writer.await.expect("a writer");
    }
    let ran = began.elapsed();
    let found = judge(&gateways[0], &record).await;
    let statuses = record.statuses.lock().expect("no panic").clone();
    println!(
        "{name}: {} operations by {} writers on {} items in {:.1} s, judged in {:.1} s ({} positions): {} without an \
         order, {} rules broken; statuses {statuses:?}",
        found.operations,
        size.writers,
        found.items,
        ran.as_secs_f64(),
        (began.elapsed() - ran).as_secs_f64(),
        found.positions,
        found.disorder.len(),
        found.rules.len(),
    );
    found
}

async fn judge(gateway: &Gateway, record: &Record) -> Found {
    let mut events = std::mem::take(&mut *record.events.lock().expect("no panic"));
    let mut found = Found { items: events.len(), ..Found::default() };
    found.operations = record.statuses.lock().expect("no panic").values().sum();
    held_pairs(&events, &mut found.rules);
    let mut parents = HashMap::new();
    let mut holders: HashMap<String, String> = HashMap::new();
    for (id, history) in &mut events {
        let (life, row, pair) = last(gateway, id).await;
        if life != Life::Absent {
            parents.insert(id.clone(), row.parent().map(str::to_owned));
            if let Some(pair) = &pair
                && let Some(other) = holders.insert(pair.clone(), id.clone())
            {
                found.rules.push(format!("{id} and {other} both have the pair {pair} in the end"));
            }
        }
        let now = record.now();
        history.push(Event { begun: now, ended: record.now(), what: What::Last { life, row, pair } });
        match check(Item::default(), history, step, POSITIONS) {
            Verdict::Fits { positions } => found.positions += positions,
            Verdict::Violated { placed } => {
                let from = placed.saturating_sub(4);
                let near: Vec<_> = history.iter().skip(from).take(10).collect();
                found.disorder.push(format!("{id}, after {placed} of {}: {near:#?}", history.len()));
            }
            Verdict::Undecided => found.disorder.push(format!("{id}: not decided")),
        }
    }
    lines_upwards(&parents, &mut found.rules);
    found
}

/// Returns what v1 has of an item; its PATCH reaches archived ones as well, and without members it changes nothing.
async fn last(gateway: &Gateway, id: &str) -> (Life, Row, Option<String>) {
    let path = format!("{}/work-items/{id}/", WEB.replace("/api/v2/", "/api/v1/"));
    let answer = gateway.patch("ada", &path, json!({})).await;
    if answer.status == 404 {
        return (Life::Absent, Row::default(), None);
    }
    let json = answer.expect(200).json;
    let life = if json["archived_at"].is_null() { Life::Live } else { Life::Archived };
    (life, Row::of_v1(&json), json["external_id"].as_str().map(str::to_owned))
}

/// Checks that no item gets a pair while another certainly has it: from the answer that gave it to the request that
/// ends it.
fn held_pairs(events: &HashMap<String, Vec<Event<What>>>, rules: &mut Vec<String>) {
    let mut spans: HashMap<&str, Vec<(u64, u64, &str)>> = HashMap::new();
    for (id, history) in events {
        let mut changes: Vec<(u64, u64, Option<&str>)> = history
            .iter()
            .filter_map(|event| match &event.what {
                What::Created { pair: Some(pair), .. } | What::Patched { change: Change::Pair(pair), .. } => {
                    Some((event.begun, event.ended, Some(pair.as_str())))
                }
                What::Deleted => Some((event.begun, event.ended, None)),
                _ => None,
            })
            .collect();
        changes.sort_unstable_by_key(|change| change.0);
        for (at, (_, ended, pair)) in changes.iter().enumerate() {
            // Certain only while no other writer changes it.
            let until = changes.iter().enumerate().filter(|(other, change)| *other != at && change.1 > *ended);
            let until = until.map(|(_, change)| change.0).min().unwrap_or(u64::MAX);
            if let Some(pair) = pair
                && until > *ended
            {
                spans.entry(pair).or_default().push((*ended, until, id));
            }
        }
    }
    for (pair, mut spans) in spans {
        spans.sort_unstable();
        for two in spans.windows(2).filter(|two| two[0].2 != two[1].2 && two[1].0 < two[0].1) {
            rules.push(format!("{} and {} both had the pair {pair} at {}", two[0].2, two[1].2, two[1].0));
        }
    }
}

/// Checks that the chain of parents of each item ends at an item without a parent, over existing items.
fn lines_upwards(parents: &HashMap<String, Option<String>>, rules: &mut Vec<String>) {
    for start in parents.keys() {
        let (mut seen, mut at) = (HashSet::new(), start);
        loop {
            if !seen.insert(at) {
                rules.push(format!("going up from {start} leads in a circle"));
                break;
            }
            match parents.get(at) {
                Some(Some(next)) => at = next,
                Some(None) => break,
                None => {
                    rules.push(format!("{start} is below {at}, which is gone"));
                    break;
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_history_through_one_gateway_has_an_order() {
    for (seed, writers) in [(1, 16), (2, 8)] {
        let scene = Scene::with(seed, Duration::from_millis(3), &[]).await;
        let size = Size { writers, operations: operations(500, 50_000), seed, turns: true };
        let found = history("one gateway", &[Arc::clone(&scene.gateway)], size).await;
        assert_eq!(found.violations(), 0, "{:#?}", (&found.disorder.first(), &found.rules));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_history_through_two_gateways_on_one_store_has_an_order() {
    let database = Database::create().await;
    let config = Config { seed: Seed::Recorded, ..Config::default() };
    let sandbox = Sandbox::new(config).saving_whole_rows(3, Duration::from_millis(3));
    let v1 = serve_sandbox(&sandbox).await;
    let url = database.url();
    let settings = [("store.url", url.as_str())];
    let gateways = [Arc::new(Gateway::with(&v1, &settings).await), Arc::new(Gateway::with(&v1, &settings).await)];
    let size = Size { writers: 12, operations: operations(300, 10_000), seed: 3, turns: true };
    let found = history("two gateways on one store", &gateways, size).await;
    assert_eq!(found.violations(), 0, "{:#?}", (&found.disorder.first(), &found.rules));
}

/// Two gateways with a store each have no common lock, so this is the test without the lock; it must fail.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_lock_in_common_the_same_histories_have_none() {
    let scene = Scene::with(4, Duration::from_millis(20), &[("index.freshness", "0s")]).await;
    let other = Arc::new(scene.another_gateway(&[("index.freshness", "0s")]).await);
    let size = Size { writers: 16, operations: operations(600, 5_000), seed: 4, turns: false };
    let gateways = [Arc::clone(&scene.gateway), other];
    let found = history("two gateways that do not know of each other", &gateways, size).await;
    assert!(!found.disorder.is_empty(), "the search finds no lost update where there must be many");
}
