//! Mixed reads and writes of several clients through a gateway behind which faults are injected by seed; then what
//! clients were told is held against what v1 executed and stores.
//!
//! A client does as it is told: it repeats what it may repeat (429 and 503 with `Retry-After`), and looks the record
//! up first when its write may have been carried out. LONG_TESTS=1 makes ten times as many writes and twenty times
//! as many reads; `FAULT_SEED` takes another seed.

use crate::proxy::{Did, KINDS, Proxy, Random};
use crate::support::gateway::{Answer, Gateway, WEB};
use bytes::Bytes;
use causeway::sandbox::{Config, Sandbox, Seed};
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

const THROUGH: &str = "/api/v1/workspaces/acme/projects/00000000-0000-4000-c000-000000000001";
const CLIENTS: usize = 8;
/// Calls of a hundred that meet a fault.
const PERCENT: usize = 25;
/// Times a client does as it is told before it gives a write up.
const PATIENCE: usize = 12;

fn size() -> (usize, usize) {
    if std::env::var_os("LONG_TESTS").is_some_and(|long| long == "1") { (10_000, 20_000) } else { (1_000, 1_000) }
}

#[test]
fn there_are_at_least_sixty_kinds_with_names_of_their_own() {
    let names: std::collections::BTreeSet<&str> = KINDS.iter().map(|kind| kind.name).collect();
    assert_eq!(names.len(), KINDS.len());
    assert!(names.len() >= 60, "{}", names.len());
}

/// What became of requests that met a fault.
#[derive(Default, Clone)]
struct Figures {
    writes: usize,
    reads: usize,
    acknowledged: usize,
    told: usize,
    refused: usize,
    answered: usize,
}

/// Everything the clients share.
struct Field {
    gateway: Gateway,
    sandbox: Sandbox,
    proxy: Proxy,
    next: AtomicUsize,
    figures: Mutex<BTreeMap<usize, Figures>>,
    wrong: Mutex<Vec<String>>,
    counts: Mutex<BTreeMap<&'static str, usize>>,
}

impl Field {
    fn count(&self, what: &'static str) {
        *self.counts.lock().unwrap().entry(what).or_default() += 1;
    }

    fn wrong(&self, what: String) {
        self.wrong.lock().unwrap().push(what);
    }

    async fn send(&self, method: &str, path: &str, body: Option<&Value>) -> (Answer, Did) {
        let id = format!("fault-{}", self.next.fetch_add(1, Ordering::SeqCst));
        let request = Request::builder().method(method).uri(format!("{}{path}", self.gateway.base()));
        let request = request.header("X-Api-Key", "ada").header("X-Request-Id", &id);
        let request = request.header("Content-Type", "application/json");
        let body = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
        let answer = self.gateway.request(request.body(Full::new(body)).expect("a request")).await;
        let did = self.proxy.did(&id);
        self.note(method != "GET", &answer, &did);
        if method != "GET" {
            self.judge(method, path, &answer, &did);
        }
        (answer, did)
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

    /// What v1 executed for a write, against what its client was told.
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
            if method == "POST" && answer.status == 201 && creates.len() != 1 {
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

    /// A record as v1 has it; none when it is not there.
    fn truth(&self, path: &str) -> Option<Value> {
        let request = Request::builder().uri(format!("{THROUGH}/{path}")).header("X-Api-Key", "ada");
        let answer = self.sandbox.handle(request.body(Bytes::new()).expect("a request"));
        answer.status().is_success().then(|| serde_json::from_slice(answer.body()).expect("JSON"))
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
}

fn is_told(answer: &Answer) -> bool {
    let detail = answer.json["detail"].as_str().unwrap_or_default();
    let told = ["may have been carried out", "was created with the id", "did not store", "were made top-level"];
    matches!(answer.status, 502 | 504) && told.iter().any(|words| detail.contains(words))
}

/// A record of one client, with the members it last wrote.
#[derive(Debug, Clone)]
struct Record {
    collection: &'static str,
    id: String,
    members: Value,
}

impl Record {
    fn path(&self) -> String {
        format!("{}/{}/", self.collection, self.id)
    }
}

struct Client {
    number: usize,
    random: Random,
    made: usize,
    records: Vec<Record>,
    gone: Vec<Record>,
    writes: usize,
    reads: usize,
}

impl Client {
    async fn run(mut self, field: Arc<Field>) -> Self {
        while self.writes > 0 || self.reads > 0 {
            let write = self.random.below(self.writes + self.reads) < self.writes;
            if write {
                self.writes -= 1;
                self.write(&field).await;
            } else {
                self.reads -= 1;
                self.read(&field).await;
            }
        }
        self
    }

    async fn write(&mut self, field: &Field) {
        match self.random.below(10) {
            0..=4 => self.create(field).await,
            5..=7 if !self.records.is_empty() => self.update(field).await,
            8..=9 if self.records.len() > 3 => self.delete(field).await,
            _ => self.create(field).await,
        }
    }

    fn text(&mut self) -> String {
        self.made += 1;
        format!("c{} r{}", self.number, self.made)
    }

    async fn create(&mut self, field: &Field) {
        let name = self.text();
        let collection = ["labels", "work-items", "work-items", "modules"][self.random.below(4)];
        let mut members = json!({"name": name});
        match collection {
            "labels" => members["color"] = json!("#123456"),
            "work-items" => members["priority"] = json!(["low", "high"][self.random.below(2)]),
            _ => {}
        }
        if self.random.chance(50) {
            members["external_id"] = json!(name);
            members["external_source"] = json!("faults");
        }
        for _ in 0..PATIENCE {
            let (answer, _) = field.send("POST", &format!("{WEB}/{collection}/"), Some(&members)).await;
            if answer.status == 201 {
                let id = answer.text("id");
                self.records.push(Record { collection, id, members });
                return;
            }
            if is_told(&answer)
                && let Some(id) = look_up(field, collection, &name).await
            {
                self.records.push(Record { collection, id, members });
                return;
            }
        }
        field.count("given up");
    }

    async fn update(&mut self, field: &Field) {
        let at = self.random.below(self.records.len());
        let name = self.text();
        let record = self.records[at].clone();
        let change = if record.collection == "work-items" && self.random.chance(30) {
            json!({"name": name, "priority": "urgent"})
        } else {
            json!({"name": name})
        };
        for _ in 0..PATIENCE {
            let (answer, _) = field.send("PATCH", &format!("{WEB}/{}", record.path()), Some(&change)).await;
            if answer.status == 200 {
                for (key, value) in change.as_object().expect("members") {
                    self.records[at].members[key] = value.clone();
                }
                self.compare(field, &record, &answer);
                return;
            }
        }
        // Whatever v1 has now is what it is.
        field.count("given up");
        let stored = field.truth(&record.path());
        let name = stored.map(|stored| stored["name"].clone());
        self.records[at].members["name"] = name.unwrap_or_default();
    }

    async fn delete(&mut self, field: &Field) {
        let record = self.records.swap_remove(self.random.below(self.records.len()));
        for _ in 0..PATIENCE {
            let (answer, _) = field.send("DELETE", &format!("{WEB}/{}", record.path()), None).await;
            if matches!(answer.status, 204 | 404) {
                self.gone.push(record);
                return;
            }
        }
        field.count("given up");
    }

    async fn read(&mut self, field: &Field) {
        if self.records.is_empty() {
            return;
        }
        let record = self.records[self.random.below(self.records.len())].clone();
        if self.random.chance(25) {
            let path = format!("{WEB}/{}/?per_page=200&order_by=-created_at", record.collection);
            let (answer, _) = field.send("GET", &path, None).await;
            let Some(rows) = answer.json["data"].as_array().filter(|_| answer.status == 200) else { return };
            field.count("lists read");
            // Rows of this client, which nobody writes meanwhile.
            for row in rows.iter().filter(|row| self.records.iter().any(|own| row["id"] == json!(own.id))) {
                self.held_against_v1(field, record.collection, row);
            }
            return;
        }
        let (answer, _) = field.send("GET", &format!("{WEB}/{}", record.path()), None).await;
        match answer.status {
            200 => self.compare(field, &record, &answer),
            404 if field.truth(&record.path()).is_some() => field.wrong(format!("404 for {record:?}")),
            _ => field.count("reads refused"),
        }
    }

    fn compare(&self, field: &Field, record: &Record, answer: &Answer) {
        field.count("records compared");
        if answer.json["id"] != json!(record.id) {
            field.wrong(format!("another record: {} for {record:?}", answer.json));
        }
        self.held_against_v1(field, record.collection, &answer.json);
    }

    fn held_against_v1(&self, field: &Field, collection: &str, shown: &Value) {
        let id = shown["id"].as_str().unwrap_or_default();
        let stored = field.truth(&format!("{collection}/{id}/")).unwrap_or_default();
        for key in ["id", "name", "priority", "color", "external_id", "external_source", "status"] {
            if shown.get(key).is_some_and(|shown| Some(shown) != stored.get(key)) {
                field.wrong(format!("wrong 200: {key} of {shown}, while v1 has {stored}"));
            }
        }
    }
}

/// What a client does that was told that its create may have been carried out.
async fn look_up(field: &Field, collection: &str, name: &str) -> Option<String> {
    for _ in 0..4 * PATIENCE {
        let path =
            format!("{WEB}/{collection}/?per_page=200&order_by=-created_at&search={}", name.replace(' ', "%20"));
        let (answer, _) = field.send("GET", &path, None).await;
        if answer.status == 200 {
            let mut named = answer.data().iter().filter(|row| row["name"] == json!(name));
            return named.next().map(|row| row["id"].as_str().expect("an id").to_owned());
        }
    }
    panic!("{collection} could not be read");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_doubled_lost_or_wrong_whatever_fails_between_the_gateway_and_v1() {
    let seed = std::env::var("FAULT_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(11);
    let (writes, reads) = size();
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, quota_per_minute: None, work_items: 0 });
    let proxy = Proxy::before(&sandbox, seed).await;
    let settings = [
        ("limits.deadline", "2s"),
        ("store.late_write", "100ms"),
        ("upstream.max_response_size", "2MiB"),
        ("cache.collection", "1s"),
    ];
    let gateway = Gateway::with(proxy.base_url(), &settings).await;
    let field = Arc::new(Field {
        gateway,
        sandbox,
        proxy,
        next: AtomicUsize::new(0),
        figures: Mutex::default(),
        wrong: Mutex::default(),
        counts: Mutex::default(),
    });
    let names = |rows: Vec<Value>| -> HashMap<String, usize> {
        let mut names = HashMap::new();
        rows.iter()
            .for_each(|row| *names.entry(row["name"].as_str().expect("a name").to_owned()).or_default() += 1);
        names
    };
    field.proxy.inject(PERCENT);
    let clients = (0..CLIENTS).map(|number| Client {
        number,
        random: Random::new(seed * 1000 + number as u64),
        made: 0,
        records: Vec::new(),
        gone: Vec::new(),
        writes: writes / CLIENTS,
        reads: reads / CLIENTS,
    });
    let running: Vec<_> = clients.map(|client| tokio::spawn(client.run(Arc::clone(&field)))).collect();
    let mut done = Vec::new();
    for client in running {
        done.push(client.await.expect("a client that ends"));
    }
    field.proxy.inject(0);
    for collection in ["labels", "work-items", "modules"] {
        let named = names(field.rows(collection));
        for (name, count) in named.iter().filter(|(name, count)| **count > 1 && name.starts_with('c')) {
            field.wrong(format!("doubled: {count} rows of {collection} are called {name}"));
        }
    }
    for client in &done {
        for record in &client.records {
            let stored = field.truth(&record.path()).unwrap_or_default();
            for (key, value) in record.members.as_object().expect("members") {
                if stored.get(key) != Some(value) {
                    field.wrong(format!("lost: {key} of {record:?}, v1 has {stored}"));
                }
            }
        }
        for record in client.gone.iter().filter(|record| field.truth(&record.path()).is_some()) {
            field.wrong(format!("deleted and still there: {record:?}"));
        }
    }
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
