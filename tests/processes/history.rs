//! A history of many clients through three gateways on one database, which are killed and cut off from it meanwhile.
//!
//! Every field of a work item is a register: for all its writes and all reads of the single item there must be an
//! order (`linear`) in which each answer is possible, with the final value at v1 as the last read. A list shows the
//! last value whose write was answered before the list was requested, or a later one: until a write is answered, a
//! gateway may answer lists from its memory. A write whose answer was lost may have been carried out or not; one that
//! was refused with a time to come again was not. Reads with an `Age` may be old and do not count. Names of
//! labels are unique. `LONG_TESTS=1` runs 100,000 operations.

use super::child::Child;
use super::linear::{Event, Verdict, check};
use super::support::gateway::serve_sandbox;
use super::support::pg_wire::PgWire;
use super::support::postgres::Database;
use super::support::random::Random;
use super::{KEY, client, send};
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::task::spawn;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const WEB: &str = "/api/v2/workspaces/acme/projects/00000000-0000-4000-c000-000000000001/";
/// Longest time that v1 takes for a write.
const LONGEST: Duration = Duration::from_millis(100);
const GATEWAYS: usize = 3;
const CLIENTS: usize = 12;
const ITEMS: usize = 6;
/// Number of label names, so small that several clients want the same one.
const NAMES: usize = 6;
const POSITIONS: usize = 2_000_000;
const FIELDS: [&str; 2] = ["name", "target_date"];

/// Returns the number of operations, and the longest pause between two disturbances.
fn size() -> (usize, Duration) {
    match std::env::var_os("LONG_TESTS") {
        Some(_) => (100_000, Duration::from_secs(15)),
        None => (500, Duration::from_secs(2)),
    }
}

/// An operation on a register.
#[derive(Debug, Clone)]
enum What {
    Written(String),
    Read(String),
    Listed(String),
}

/// The outcome of a request.
enum Ended {
    Done(Value, bool),
    NotDone,
    Unknown,
}

/// A register: one field of one item.
type Register = (usize, &'static str);

/// A label during the time in which it certainly has its name.
struct Held {
    name: String,
    from: u64,
    until: u64,
}

/// All requests and their answers.
#[derive(Default)]
struct Record {
    clock: AtomicU64,
    left: AtomicUsize,
    over: AtomicBool,
    certain: Mutex<HashMap<Register, Vec<Event<What>>>>,
    /// Writes whose answers were lost.
    open: Mutex<HashMap<Register, Vec<(u64, String)>>>,
    labels: Mutex<Vec<Held>>,
    counts: Mutex<BTreeMap<&'static str, usize>>,
}

impl Record {
    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    fn count(&self, what: &'static str) {
        *self.counts.lock().expect("no panic").entry(what).or_default() += 1;
    }

    fn note(&self, register: Register, begun: u64, what: What) {
        let event = Event { begun, ended: self.now(), what };
        self.certain.lock().expect("no panic").entry(register).or_default().push(event);
    }

    /// Records a read of each field in `shown`.
    fn read(&self, item: usize, begun: u64, shown: &Value, how: fn(String) -> What) {
        for field in FIELDS {
            self.note((item, field), begun, how(shown[field].as_str().unwrap_or_default().to_owned()));
        }
    }
}

/// The gateways; a killed gateway is replaced.
struct Gateways {
    bases: [Mutex<String>; GATEWAYS],
    wires: Vec<PgWire>,
    v1: String,
}

impl Gateways {
    async fn start(&self, which: usize) -> Child {
        let child = Child::start_with(
            &self.v1,
            self.wires[which].url(),
            &[("CAUSEWAY_LOG__FILTER", "off,causeway::cli::serve=info")],
        )
        .await;
        child.base().clone_into(&mut self.bases[which].lock().expect("no panic"));
        child
    }
}

/// One client, which uses a random gateway for each request.
struct Client {
    gateways: Arc<Gateways>,
    record: Arc<Record>,
    items: Arc<Vec<String>>,
    http: reqwest::Client,
    random: Random,
    labels: Vec<(String, String, u64)>,
}

impl Client {
    async fn run(mut self) {
        let take = |left: &AtomicUsize| {
            left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
        };
        while take(&self.record.left) {
            match self.random.below(100) {
                0..55 => self.change().await,
                55..85 => self.look().await,
                85..92 => self.list().await,
                92..97 => self.name_a_label().await,
                _ => self.drop_a_label().await,
            }
        }
        while !self.labels.is_empty() {
            self.drop_a_label().await;
        }
    }

    async fn send(&mut self, method: &str, path: &str, body: Option<Value>) -> (u64, Ended) {
        let which = self.random.below(GATEWAYS);
        let url = format!("{}{WEB}{path}", self.gateways.bases[which].lock().expect("no panic"));
        let mut request =
            self.http.request(method.parse().expect("a method"), url).header("X-Api-Key", KEY).timeout(LONG);
        if let Some(body) = body {
            request = request.header("Content-Type", "application/json").body(body.to_string());
        }
        let begun = self.record.now();
        let answer = match request.send().await {
            Ok(answer) => answer,
            Err(error) if error.is_connect() => {
                self.record.count("not reached");
                tokio::time::sleep(Duration::from_millis(20)).await;
                return (begun, Ended::NotDone);
            }
            Err(_) => {
                self.record.count("broken off");
                return (begun, Ended::Unknown);
            }
        };
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let Ok(body) = answer.bytes().await else {
            self.record.count("broken off");
            return (begun, Ended::Unknown);
        };
        let json: Value = serde_json::from_slice(&body).unwrap_or_default();
        let ended = match status {
            200..300 => Ended::Done(json, headers.contains_key("age")),
            409 => Ended::NotDone,
            429 | 503 if headers.contains_key("retry-after") => {
                self.record.count("told to come again");
                tokio::time::sleep(Duration::from_millis(50)).await;
                Ended::NotDone
            }
            500.. => {
                self.record.count("unknown");
                Ended::Unknown
            }
            _ => panic!("{method} {path}: {status} {json}"),
        };
        (begun, ended)
    }

    async fn change(&mut self) {
        let item = self.random.below(ITEMS);
        let (field, number) = (FIELDS[self.random.below(2)], self.record.now());
        let value = match field {
            "name" => format!("n{number}"),
            // A different date for each number.
            _ => format!("{}-{:02}-{:02}", 1000 + number / 336 % 9000, 1 + number / 28 % 12, 1 + number % 28),
        };
        let path = format!("work-items/{}/", self.items[item]);
        match self.send("PATCH", &path, Some(json!({field: value}))).await {
            (begun, Ended::Done(shown, _)) => {
                assert_eq!(shown[field], json!(value), "{shown}");
                self.record.count("written");
                self.record.note((item, field), begun, What::Written(value));
            }
            (_, Ended::NotDone) => {}
            (begun, Ended::Unknown) => {
                self.record.open.lock().expect("no panic").entry((item, field)).or_default().push((begun, value));
            }
        }
    }

    async fn look(&mut self) {
        let item = self.random.below(ITEMS);
        let path = format!("work-items/{}/", self.items[item]);
        if let (begun, Ended::Done(shown, false)) = self.send("GET", &path, None).await {
            self.record.count("read");
            self.record.read(item, begun, &shown, What::Read);
        }
    }

    /// Requests a list that the index answers.
    async fn list(&mut self) {
        let (begun, Ended::Done(page, aged)) =
            self.send("GET", "work-items/?priority=high&per_page=100", None).await
        else {
            return;
        };
        if aged {
            return self.record.count("listed with an age");
        }
        self.record.count("listed");
        let rows = page["data"].as_array().expect("a page");
        for (item, id) in self.items.iter().enumerate() {
            let row = rows.iter().find(|row| row["id"] == json!(id)).expect("every item is listed");
            self.record.read(item, begun, row, What::Listed);
        }
    }

    async fn name_a_label(&mut self) {
        let name = format!("name {}", self.random.below(NAMES));
        if let (_, Ended::Done(made, _)) = self.send("POST", "labels/", Some(json!({"name": name}))).await {
            self.record.count("labels made");
            let id = made["id"].as_str().expect("an id").to_owned();
            self.labels.push((id, name, self.record.now()));
        }
    }

    async fn drop_a_label(&mut self) {
        if self.labels.is_empty() {
            return;
        }
        let at = self.random.below(self.labels.len());
        let (id, name, from) = self.labels.swap_remove(at);
        let until = self.record.now();
        self.record.labels.lock().expect("no panic").push(Held { name, from, until });
        // Whatever the outcome, from here on the label may be gone.
        let _ = self.send("DELETE", &format!("labels/{id}/"), None).await;
    }
}

/// Longest wait for an answer.
const LONG: Duration = Duration::from_secs(60);

/// Kills gateways and cuts them off from the database in turn, until the clients have ended.
async fn trouble(
    gateways: Arc<Gateways>,
    mut children: Vec<Option<Child>>,
    record: Arc<Record>,
) -> Vec<Option<Child>> {
    let mut random = Random::new(77);
    for turn in 0.. {
        tokio::time::sleep(size().1.mul_f64(0.25 + 0.0075 * random.below(100) as f64)).await;
        if record.over.load(Ordering::SeqCst) {
            break;
        }
        let which = random.below(GATEWAYS);
        let pause = Duration::from_millis(200 + random.below(3000) as u64);
        match turn % 3 {
            0 => {
                if let Some(child) = children[which].take() {
                    child.kill();
                }
                record.count("kills");
                tokio::time::sleep(pause / 4).await;
                children[which] = Some(gateways.start(which).await);
            }
            1 => {
                record.count("cuts");
                gateways.wires[which].cut(true);
                tokio::time::sleep(pause).await;
                gateways.wires[which].cut(false);
            }
            _ => {
                record.count("silences");
                gateways.wires[which].silence(true);
                tokio::time::sleep(pause).await;
                gateways.wires[which].silence(false);
            }
        }
    }
    children
}

/// Returns the number of reads and writes, the registers without an order, and the lists with outdated values.
fn judge(record: &Record) -> (usize, Vec<String>, Vec<String>) {
    let certain = std::mem::take(&mut *record.certain.lock().expect("no panic"));
    let mut open = std::mem::take(&mut *record.open.lock().expect("no panic"));
    let (mut events, mut disorder, mut over) = (0, Vec::new(), Vec::new());
    for (register, history) in certain {
        events += history.len();
        let open = open.remove(&register).unwrap_or_default();
        over.extend(overs(&history, &open).map(|list| format!("{register:?}: {list}")));
        let mut history: Vec<_> =
            history.into_iter().filter(|event| !matches!(event.what, What::Listed(_))).collect();
        for (begun, value) in open {
            // A value that was read was written before that read; an unread value may count as never written.
            let seen = history.iter().filter(|event| matches!(&event.what, What::Read(read) if *read == value));
            if let Some(ended) = seen.map(|event| event.ended).min() {
                history.push(Event { begun, ended, what: What::Written(value) });
            }
        }
        let step = |state: &String, what: &What| match what {
            What::Written(value) => Some(value.clone()),
            What::Read(value) | What::Listed(value) => (value == state).then(|| state.clone()),
        };
        match check(String::new(), &mut history, step, POSITIONS) {
            Verdict::Fits { .. } => {}
            Verdict::Violated { placed } => {
                let near: Vec<_> = history.iter().skip(placed.saturating_sub(6)).take(12).collect();
                disorder.push(format!("{register:?}, after {placed} of {}: {near:?}", history.len()));
            }
            Verdict::Undecided => disorder.push(format!("{register:?}: not decided")),
        }
    }
    (events, disorder, over)
}

/// Returns lists that show a value although a later write was answered before the list was requested.
fn overs<'h>(history: &'h [Event<What>], open: &'h [(u64, String)]) -> impl Iterator<Item = String> + 'h {
    let mut written: HashMap<&str, (u64, u64)> = HashMap::new();
    for event in history {
        if let What::Written(value) = &event.what {
            written.insert(value, (event.begun, event.ended));
        }
    }
    written.extend(open.iter().map(|(begun, value)| (value.as_str(), (*begun, u64::MAX))));
    history.iter().filter_map(move |event| {
        let What::Listed(value) = &event.what else { return None };
        let Some((begun, ended)) = written.get(value.as_str()) else {
            return Some(format!("{value} from nowhere"));
        };
        let later = written.values().any(|other| other.0 >= *ended && other.1 <= event.begun);
        (later || *begun > event.ended).then(|| format!("{value}, written {begun}..{ended}, in {event:?}"))
    })
}

/// Returns names that two labels certainly had at the same time.
fn doubled(record: &Record) -> Vec<String> {
    let mut labels = std::mem::take(&mut *record.labels.lock().expect("no panic"));
    labels.sort_by(|one, other| (&one.name, one.from).cmp(&(&other.name, other.from)));
    let two = labels.windows(2).filter(|two| two[0].name == two[1].name && two[1].from < two[0].until);
    two.map(|two| format!("{} at {}", two[0].name, two[1].from)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_history_through_gateways_that_die_and_are_cut_off_has_an_order() {
    let config = Config { seed: Seed::Recorded, ..Config::default() };
    let v1 = serve_sandbox(&Sandbox::new(config).saving_whole_rows(5, LONGEST)).await;
    let database = Database::create().await;
    let mut wires = Vec::new();
    for _ in 0..GATEWAYS {
        wires.push(PgWire::before(&database.url()).await);
    }
    let gateways = Arc::new(Gateways { bases: Default::default(), wires, v1: v1.clone() });
    let mut children = Vec::new();
    for which in 0..GATEWAYS {
        children.push(Some(gateways.start(which).await));
    }
    let record = Arc::new(Record { left: AtomicUsize::new(size().0), ..Record::default() });
    let (http, base) = (client(), gateways.bases[0].lock().expect("no panic").clone());
    let mut items = Vec::new();
    for item in 0..ITEMS {
        let (begun, name) = (record.now(), format!("first {item}"));
        let body = json!({"name": name, "target_date": "2026-01-01", "priority": "high"});
        let (status, made) = send(&http, &base, "POST", &format!("{WEB}work-items/"), Some(body)).await;
        assert_eq!(status, 201, "{made}");
        record.note((item, "name"), begun, What::Written(name));
        record.note((item, "target_date"), begun, What::Written("2026-01-01".into()));
        items.push(made["id"].as_str().expect("an id").to_owned());
    }
    let (items, began) = (Arc::new(items), Instant::now());
    let troubled = spawn(trouble(Arc::clone(&gateways), children, Arc::clone(&record)));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let client = Client {
                gateways: Arc::clone(&gateways),
                record: Arc::clone(&record),
                items: Arc::clone(&items),
                http: http.clone(),
                random: Random::new(number as u64 + 1),
                labels: Vec::new(),
            };
            spawn(client.run())
        })
        .collect();
    for client in clients {
        client.await.expect("a client");
    }
    record.over.store(true, Ordering::SeqCst);
    let _children = troubled.await.expect("the trouble ends");
    let ran = began.elapsed();
    for (item, id) in items.iter().enumerate() {
        let (begun, path) = (record.now(), format!("{WEB}work-items/{id}/").replace("/api/v2/", "/api/v1/"));
        let (status, held) = send(&http, &v1, "GET", &path, None).await;
        assert_eq!(status, 200, "{held}");
        record.read(item, begun, &held, What::Read);
    }
    let (double, (events, disorder, over)) = (doubled(&record), judge(&record));
    println!(
        "{} operations by {CLIENTS} clients through {GATEWAYS} gateways in {:.0} s, {events} reads and writes of fields: {} \
         fields without an order, {} lists with what was over, {} names doubled; {:?}",
        size().0,
        ran.as_secs_f64(),
        disorder.len(),
        over.len(),
        double.len(),
        record.counts.lock().expect("no panic"),
    );
    assert!(disorder.is_empty(), "{:?}", disorder.first());
    assert!(over.is_empty(), "{:?}", over.first());
    assert!(double.is_empty(), "{double:?}");
}
