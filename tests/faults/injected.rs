//! Mixed reads and writes of several clients through a gateway behind which faults are injected by seed; then the
//! answers to the clients are compared with what v1 executed and stores.
//!
//! The clients (`clients`) make, change, archive and delete labels, work items with and without custom fields,
//! modules, states, cycles and comments. LONG_TESTS=1 makes 10,000 writes and 20,000 reads, else 600 of each;
//! `FAULT_SEED` takes another seed.

use crate::clients::{Client, Record, naming, type_with_note};
use crate::proxy::{Did, KINDS, Proxy};
use crate::support::gateway::{Answer, Gateway, WEB};
use crate::support::past_gateway::{V1_WEB, ask_v1};
use bytes::Bytes;
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::task::spawn;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

pub const CLIENTS: usize = 8;
/// Percentage of calls that meet a fault.
const PERCENT: usize = 25;

/// Number of requests between two lines of progress.
const PROGRESS: usize = 2_000;

fn size() -> (usize, usize) {
    if std::env::var_os("LONG_TESTS").is_some_and(|long| long == "1") { (10_000, 20_000) } else { (600, 600) }
}

#[test]
fn there_are_at_least_sixty_kinds_with_names_of_their_own() {
    let names: std::collections::BTreeSet<&str> = KINDS.iter().map(|kind| kind.name).collect();
    assert_eq!(names.len(), KINDS.len());
    assert!(names.len() >= 60, "{}", names.len());
}

/// Outcomes of the requests that met a fault.
#[derive(Default, Clone)]
struct Figures {
    writes: usize,
    reads: usize,
    acknowledged: usize,
    told: usize,
    refused: usize,
    answered: usize,
}

/// The state that all clients share.
pub struct Field {
    gateway: Gateway,
    /// The type of some work items.
    pub kind: String,
    sandbox: Sandbox,
    proxy: Proxy,
    next: AtomicUsize,
    figures: Mutex<BTreeMap<usize, Figures>>,
    wrong: Mutex<Vec<String>>,
    counts: Mutex<BTreeMap<&'static str, usize>>,
}

impl Field {
    pub fn count(&self, what: &'static str) {
        *self.counts.lock().unwrap().entry(what).or_default() += 1;
    }

    pub fn wrong(&self, what: String) {
        self.wrong.lock().unwrap().push(what);
    }

    /// Sends a request below the project, and compares the answer with what v1 did for it.
    pub async fn send(&self, method: &str, path: &str, body: Option<&Value>, key: Option<&str>) -> Answer {
        let number = self.next.fetch_add(1, Ordering::SeqCst);
        if number.is_multiple_of(PROGRESS) {
            println!("request {number}: {} wrong so far", self.wrong.lock().unwrap().len());
        }
        let id = format!("fault-{number}");
        let request = Request::builder().method(method).uri(format!("{}{WEB}/{path}", self.gateway.base()));
        let request = request.header("X-Api-Key", "ada").header("X-Request-Id", &id);
        let mut request = request.header("Content-Type", "application/json");
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        let body = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
        let answer = self.gateway.request(request.body(Full::new(body)).expect("a request")).await;
        let did = self.proxy.did(&id);
        self.note(method != "GET", &answer, &did);
        if method != "GET" {
            self.judge(method, path, &answer, &did);
        }
        answer
    }

    fn note(&self, write: bool, answer: &Answer, did: &Did) {
        let mut figures = self.figures.lock().unwrap();
        for fault in &did.faults {
            let figures = figures.entry(*fault).or_default();
            match (write, answer.status) {
                (true, 200..300) => figures.acknowledged += 1,
                (true, _) if is_told(answer) => figures.told += 1,
                (true, _) => figures.refused += 1,
                (false, _) => figures.answered += 1,
            }
            *(if write { &mut figures.writes } else { &mut figures.reads }) += 1;
        }
    }

    /// Compares what v1 executed for a write with the answer to its client.
    fn judge(&self, method: &str, path: &str, answer: &Answer, did: &Did) {
        let line = || {
            let faults: Vec<&str> = did.faults.iter().map(|fault| KINDS[*fault].name).collect();
            format!(
                "{method} {path} → {} {} after {faults:?}; v1 did {:?}",
                answer.status, answer.json, did.executed
            )
        };
        let creates: Vec<_> = did.executed.iter().filter(|(method, ..)| method == "POST").collect();
        if creates.len() > 1 {
            self.wrong(format!("executed twice: {}", line()));
        }
        let posts = did.arrived.iter().filter(|(method, ..)| method == "POST").count();
        let limited = did.faults.iter().any(|fault| KINDS[*fault].name.starts_with("429 of v1"));
        if posts > 1 && !limited && !did.faults.is_empty() && creates.len() > 1 {
            self.wrong(format!("sent twice: {}", line()));
        }
        if answer.status < 300 {
            self.count("acknowledged");
            let replayed = answer.headers.contains_key("idempotency-replayed");
            if method == "POST" && answer.status == 201 && creates.len() != usize::from(!replayed) {
                self.wrong(format!("acknowledged and not executed: {}", line()));
            }
            return;
        }
        if is_told(answer) {
            self.count("told");
            if answer.headers.contains_key("retry-after") {
                self.wrong(format!("told, with Retry-After: {}", line()));
            }
        } else {
            self.count("refused");
            if !did.executed.is_empty() {
                self.wrong(format!("executed, and not told: {}", line()));
            }
        }
    }

    /// Returns a record as v1 has it; none when it does not exist.
    pub fn truth(&self, path: &str) -> Option<Value> {
        let (status, record) = ask_v1(&self.sandbox, "ada", "GET", &format!("{V1_WEB}{path}"), &Value::Null);
        (200..300).contains(&status).then_some(record)
    }

    fn rows(&self, collection: &str) -> Vec<Value> {
        let mut rows = Vec::new();
        for page in 0.. {
            let found = self.truth(&format!("{collection}/?per_page=1000&cursor=1000:{page}:0")).expect("a list");
            rows.extend(found["results"].as_array().expect("rows").clone());
            if found["next_page_results"] != json!(true) {
                return rows;
            }
        }
        rows
    }

    /// Compares a record that was shown with what v1 stores.
    pub fn held_against_v1(&self, collection: &str, shown: &Value) {
        let id = shown["id"].as_str().unwrap_or_default();
        let stored = self.truth(&format!("{collection}/{id}/")).unwrap_or_default();
        for key in COMPARED {
            if shown.get(key).is_some_and(|shown| Some(shown) != stored.get(key)) {
                self.wrong(format!("wrong 200: {key} of {shown}, while v1 has {stored}"));
            }
        }
    }

    /// Compares the writes of a client with the final records, after the faults are over.
    async fn held_against_the_end(&self, client: &Client) {
        for record in client.records.iter().filter(|record| record.archived) {
            if self.truth(&record.path()).is_some() {
                self.wrong(format!("archived and still shown: {record:?}"));
            }
            let back = self.send("POST", &format!("{}unarchive/", record.path()), None, None).await;
            if back.status != 200 {
                self.wrong(format!("{} for the unarchive of {record:?}: {}", back.status, back.json));
            }
        }
        for record in &client.records {
            let stored = self.truth(&record.path()).unwrap_or_default();
            for (key, value) in record.members.as_object().expect("members") {
                if stored.get(key) != Some(value) {
                    self.wrong(format!("lost: {key} of {record:?}, v1 has {stored}"));
                }
            }
            if let Some(note) = &record.note {
                let shown = self.send("GET", &record.path(), None, None).await.json;
                if shown["custom_fields"]["note"]["value"] != json!(note) || shown["type_id"] != json!(self.kind) {
                    self.wrong(format!("lost: the custom field of {record:?}, shown is {shown}"));
                }
            }
        }
        for record in client.gone.iter().filter(|record| self.truth(&record.path()).is_some()) {
            self.wrong(format!("deleted and still there: {record:?}"));
        }
    }

    /// Reports two records of the same name, which no client asked for.
    fn doubled(&self, collection: &str) {
        let mut names: HashMap<String, usize> = HashMap::new();
        for row in self.rows(collection) {
            let name = row[naming(collection)].as_str().expect("a name");
            *names.entry(name.replace("<p>", "")).or_default() += 1;
        }
        for (name, count) in names.iter().filter(|(name, count)| **count > 1 && name.starts_with('c')) {
            self.wrong(format!("doubled: {count} rows of {collection} are called {name}"));
        }
    }
}

/// Members that v2 shows as v1 has them.
const COMPARED: [&str; 9] =
    ["id", "name", "priority", "color", "group", "comment_html", "external_id", "external_source", "status"];

pub fn is_told(answer: &Answer) -> bool {
    let detail = answer.json["detail"].as_str().unwrap_or_default();
    let told = ["may have been carried out", "was created with the id", "did not store", "were made top-level"];
    matches!(answer.status, 502 | 504) && told.iter().any(|words| detail.contains(words))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_doubled_lost_or_wrong_whatever_fails_between_the_gateway_and_v1() {
    let seed = std::env::var("FAULT_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(11);
    let (writes, reads) = size();
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let proxy = Proxy::before(&sandbox, seed).await;
    let settings = [
        ("limits.deadline", "2s"),
        ("store.late_write", "100ms"),
        ("upstream.max_response_size", "2MiB"),
        ("cache.collection", "1s"),
    ];
    let gateway = Gateway::with(proxy.base_url(), &settings).await;
    let kind = type_with_note(&gateway).await;
    let field = Arc::new(Field {
        gateway,
        kind,
        sandbox,
        proxy,
        next: AtomicUsize::new(0),
        figures: Mutex::default(),
        wrong: Mutex::default(),
        counts: Mutex::default(),
    });
    field.proxy.inject(PERCENT);
    let clients = (0..CLIENTS).map(|number| Client::new(number, seed, writes / CLIENTS, reads / CLIENTS));
    let running: Vec<_> = clients.map(|client| spawn(client.run(Arc::clone(&field)))).collect();
    let mut done = Vec::new();
    for client in running {
        done.push(client.await.expect("a client that ends"));
    }
    field.proxy.inject(0);
    for client in &done {
        field.held_against_the_end(client).await;
    }
    let mut collections: Vec<String> =
        ["labels", "work-items", "modules", "states", "cycles"].map(str::to_owned).into();
    let records = done.iter().flat_map(|client| &client.records);
    collections.extend(records.map(|record: &Record| record.collection.clone()));
    collections.sort();
    collections.dedup();
    collections.iter().for_each(|collection| field.doubled(collection));
    print(&field);
    let wrong = field.wrong.lock().unwrap();
    assert!(wrong.is_empty(), "{} of seed {seed}:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}

fn print(field: &Field) {
    let (figures, injected) = (field.figures.lock().unwrap(), field.proxy.injected());
    println!(
        "{:<32} {:>8} {:>7} {:>6} {:>12} {:>6} {:>8}",
        "kind", "injected", "writes", "reads", "acknowledged", "told", "refused"
    );
    for (kind, count) in &injected {
        let seen = figures.get(kind).cloned().unwrap_or_default();
        let name = KINDS[*kind].name;
        println!(
            "{name:<32} {count:>8} {:>7} {:>6} {:>12} {:>6} {:>8}",
            seen.writes, seen.reads, seen.acknowledged, seen.told, seen.refused
        );
    }
    println!(
        "{} kinds, {} faults; {:?}",
        injected.len(),
        injected.values().sum::<usize>(),
        field.counts.lock().unwrap()
    );
}
