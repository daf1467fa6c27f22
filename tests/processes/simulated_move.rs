//! Three clients over fourteen days through two gateways on one PostgreSQL store: the report of `causeway migration` is
//! exact to the last call; after a kill in the middle only the counts that one process had not written are missing.
//!
//! Every day 600 requests a test; with LONG_TESTS=1 50,000. The days pass on a clock that only the gateways have.

use super::child::Child;
use super::clock::Clock;
use super::support::gateway::serve_sandbox;
use super::support::postgres::Database;
use super::support::random::Random;
use causeway::migration::date;
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::task::spawn;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Number of days that pass, and the first of them, counted from 1970.
const DAYS: i64 = 14;
const FIRST: i64 = 20_700;
const LAST: i64 = FIRST + DAYS - 1;
/// The day on which a process is killed.
const KILLED: i64 = FIRST + 7;
/// Days without a call after which the report counts an operation as ready.
const QUIET: i64 = 5;
/// Number of requests in flight at once.
const WORKERS: usize = 8;
/// Time between two writes of counts, and the longest time of such a write on a busy machine.
const FLUSH: Duration = Duration::from_millis(300);
const WRITE: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(30);

const PROJECT: &str = "workspaces/acme/projects/00000000-0000-4000-c000-000000000001";
const NO_STATE: &str = "states/00000000-0000-4000-9000-00000000dead/";

/// An action of clients: its call of v1 and of v2, each with the name of the operation, and the class of both
/// answers.
struct Deed {
    v1: (String, &'static str),
    v2: (String, &'static str),
    class: i64,
    /// The day from which the moving client calls v2.
    moves: i64,
}

fn deeds() -> Vec<Deed> {
    let deed = |path: &str, v1, v2, class, moves| Deed {
        v1: (format!("/api/v1/{path}"), v1),
        v2: (format!("/api/v2/{}", path.replace("/issues/", "/work-items/")), v2),
        class,
        moves: FIRST + moves,
    };
    vec![
        deed(&format!("{PROJECT}/states/"), "v1_states_list", "states_list", 2, 3),
        deed(&format!("{PROJECT}/labels/"), "v1_labels_list", "labels_list", 2, 6),
        deed("users/me/", "v1_users_me_retrieve", "users_me_retrieve", 2, 9),
        deed(&format!("{PROJECT}/{NO_STATE}"), "v1_states_retrieve", "states_retrieve", 4, 11),
        deed(&format!("{PROJECT}/issues/?per_page=2"), "v1_work_items_list", "work_items_list", 2, 99),
        deed(&format!("{PROJECT}/work-items/?per_page=2"), "v1_work_items_list", "work_items_list", 2, 99),
    ]
}

/// The clients: User-Agent, name in the report, the people whose keys they use, their actions, and whether the client
/// has moved or never begins.
struct Tool {
    agent: &'static str,
    name: &'static str,
    people: &'static [&'static str],
    deeds: &'static [usize],
    has_moved: Option<bool>,
}

const TOOLS: [Tool; 3] = [
    // The last key is no key at all, so its calls belong to no person.
    Tool {
        agent: "old-tool/1.0 (Linux)",
        name: "old-tool/1.0",
        people: &["gil", "gil", "nobody"],
        deeds: &[0, 4, 5],
        has_moved: Some(false),
    },
    Tool {
        agent: "moving-tool/2.0.1",
        name: "moving-tool/2.0.1",
        people: &["ada", "bob"],
        deeds: &[0, 1, 2, 3, 4],
        has_moved: None,
    },
    Tool {
        agent: "new-tool/3.1",
        name: "new-tool/3.1",
        people: &["kim"],
        deeds: &[0, 1, 2, 3, 5],
        has_moved: Some(true),
    },
];

/// The key of a count: day, operation, class of status, person, client.
type Cell = (i64, String, i64, String, String);
type Cells = BTreeMap<Cell, i64>;

/// A request that was sent.
struct Sent {
    cell: Cell,
    /// Number of the process that received it.
    process: usize,
    /// Time of its answer; none when there was none.
    answered: Option<Instant>,
}

/// A request to be sent.
struct VerificationParameters {
    path: String,
    key: &'static str,
    agent: &'static str,
    cell: Cell,
}

fn wanted(random: &mut Random, deeds: &[Deed], day: i64) -> VerificationParameters {
    let tool = &TOOLS[random.below(TOOLS.len())];
    let deed = &deeds[tool.deeds[random.below(tool.deeds.len())]];
    let person = tool.people[random.below(tool.people.len())];
    let has_moved = tool.has_moved.unwrap_or(day >= deed.moves);
    let (path, operation) = if has_moved { &deed.v2 } else { &deed.v1 };
    let class = if person == "nobody" { 4 } else { deed.class };
    let cell = (day, (*operation).to_owned(), class, person.to_owned(), tool.name.to_owned());
    VerificationParameters { path: path.clone(), key: person, agent: tool.agent, cell }
}

/// Returns the number of requests in one test.
fn requests() -> usize {
    if std::env::var_os("LONG_TESTS").is_some() { 50_000 } else { 600 }
}

/// Two gateways, their clock, and all sent requests.
struct Simulation {
    clock: Clock,
    database: Database,
    v1: String,
    http: reqwest::Client,
    /// The running gateways, each with its number.
    serving: Vec<(usize, Child)>,
    begun: usize,
    sent: Arc<Mutex<Vec<Sent>>>,
}

impl Simulation {
    async fn new() -> Self {
        let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
        let mut simulation = Self {
            clock: Clock::new(),
            database: Database::create().await,
            v1: serve_sandbox(&sandbox).await,
            http: super::client(),
            serving: Vec::new(),
            begun: 0,
            sent: Arc::default(),
        };
        simulation.clock.move_to(FIRST);
        for _ in 0..2 {
            simulation.begin_a_process(FIRST).await;
        }
        simulation
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        let flush = ("CAUSEWAY_USAGE__FLUSH", format!("{}ms", FLUSH.as_millis()));
        self.clock.variables().into_iter().chain([flush]).collect()
    }

    /// Starts a gateway and sends it a valid call of each person: before that, a refused key belongs to no person.
    async fn begin_a_process(&mut self, day: i64) {
        let variables = self.variables();
        let variables: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let child = Child::start_with(&self.v1, &self.database.url(), &variables).await;
        let (number, base) = (self.begun, child.base().to_owned());
        self.begun += 1;
        self.serving.push((number, child));
        for tool in &TOOLS {
            for person in tool.people.iter().filter(|person| **person != "nobody").collect::<BTreeSet<_>>() {
                let deed = &deeds()[0];
                let (path, operation) = if tool.has_moved == Some(true) { &deed.v2 } else { &deed.v1 };
                let cell = (day, (*operation).to_owned(), 2, (*person).to_owned(), tool.name.to_owned());
                let wanted = VerificationParameters { path: path.clone(), key: person, agent: tool.agent, cell };
                let Outcome::Answered(at) = send(&self.http, &base, &wanted).await else {
                    panic!("a gateway that has just begun does not answer")
                };
                self.sent.lock().push(Sent { cell: wanted.cell, process: number, answered: Some(at) });
            }
        }
    }

    /// Sends `count` requests of a day, several at once. With `kill`, the first gateway is killed when half of them
    /// were sent; its unanswered requests are sent again to the other.
    async fn pass(&mut self, random: &mut Random, day: i64, count: usize, kill: bool) -> Option<Instant> {
        self.clock.move_to(day);
        let bases: Vec<(usize, String)> =
            self.serving.iter().map(|(number, child)| (*number, child.base().to_owned())).collect();
        let next = Arc::new(AtomicUsize::new(0));
        let workers: Vec<_> = (0..WORKERS)
            .map(|_| {
                let (next, sent, http) = (Arc::clone(&next), Arc::clone(&self.sent), self.http.clone());
                let (bases, mut random) = (bases.clone(), Random::new(random.next()));
                spawn(async move {
                    let deeds = deeds();
                    while next.fetch_add(1, Ordering::Relaxed) < count {
                        let wanted = wanted(&mut random, &deeds, day);
                        for at in [random.below(2), 1] {
                            let (process, base) = &bases[at];
                            let outcome = send(&http, base, &wanted).await;
                            let answered = if let Outcome::Answered(at) = outcome { Some(at) } else { None };
                            if !matches!(outcome, Outcome::NeverArrived) {
                                sent.lock().push(Sent { cell: wanted.cell.clone(), process: *process, answered });
                            }
                            if answered.is_some() {
                                break;
                            }
                            assert!(kill && at == 0, "{} was not answered by a gateway that serves", wanted.path);
                        }
                    }
                })
            })
            .collect();
        let mut killed = None;
        if kill {
            while next.load(Ordering::Relaxed) < count / 2 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            killed = Some(Instant::now());
            self.serving.remove(0).1.kill();
        }
        for worker in workers {
            worker.await.expect("a worker");
        }
        killed
    }

    /// Returns the output of the command.
    fn told(&self, arguments: &[&str]) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_causeway"))
            .arg("migration")
            .args(arguments)
            .env("CAUSEWAY_UPSTREAM__BASE_URL", &self.v1)
            .env("CAUSEWAY_STORE__URL", self.database.url())
            .envs(self.clock.variables())
            .output()
            .expect("the program runs");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        assert!(output.status.success(), "{}", text(output.stderr));
        text(output.stdout)
    }

    fn report(&self) -> Value {
        serde_json::from_str(&self.told(&["--json", "--quiet", &QUIET.to_string()])).expect("JSON")
    }

    /// Waits until every person is known and at least these counts were written, and returns the counts.
    async fn written(&self, certain: &Cells) -> Cells {
        let end = Instant::now() + PATIENCE;
        loop {
            // Time for counts to be written a second time, which would be wrong.
            tokio::time::sleep(FLUSH * 3).await;
            let counted = self.counted();
            let is_missing = |(cell, calls): &(&Cell, &i64)| counted.get(*cell).is_none_or(|have| have < *calls);
            let missing: Vec<_> = certain.iter().filter(is_missing).collect();
            if missing.is_empty() {
                return counted;
            }
            assert!(Instant::now() < end, "not counted: {missing:?}");
        }
    }

    /// Returns all counts.
    fn counted(&self) -> Cells {
        let mut cells = Cells::new();
        for line in self.told(&["--csv"]).lines().skip(1) {
            let [day, api, operation, status, caller, kind, person, _, client, calls] =
                line.split(',').collect::<Vec<_>>()[..]
            else {
                panic!("no count: {line}")
            };
            let day = (FIRST..=LAST).find(|known| date(*known) == day).expect("one of the days");
            assert_eq!(api == "v1", operation.starts_with("v1_"), "{line}");
            let person = if caller == "unproven" { "nobody" } else { person };
            assert_eq!(kind, if person == "nobody" { "" } else { "v1 key" }, "{line}");
            let class = status.trim_end_matches("xx").parse().expect("a class");
            let cell = (day, operation.to_owned(), class, person.to_owned(), client.to_owned());
            *cells.entry(cell).or_default() += calls.parse::<i64>().expect("a number");
        }
        cells
    }
}

/// The outcome of a request.
enum Outcome {
    Answered(Instant),
    /// There was no answer, and whether it was counted is unknown.
    Open,
    /// The connection was refused.
    NeverArrived,
}

async fn send(http: &reqwest::Client, base: &str, wanted: &VerificationParameters) -> Outcome {
    let sending = http.get(format!("{base}{}", wanted.path));
    let sending = sending.header("X-Api-Key", wanted.key).header("User-Agent", wanted.agent);
    let answer = match sending.send().await {
        Ok(answer) => answer,
        Err(fault) if fault.is_connect() => return Outcome::NeverArrived,
        Err(_) => return Outcome::Open,
    };
    let status = answer.status();
    if answer.bytes().await.is_err() {
        return Outcome::Open;
    }
    assert_eq!(i64::from(status.as_u16() / 100), wanted.cell.2, "{status} for {} of {}", wanted.path, wanted.key);
    Outcome::Answered(Instant::now())
}

fn cells<'s>(sent: impl IntoIterator<Item = &'s Sent>) -> Cells {
    let mut cells = Cells::new();
    for sent in sent {
        *cells.entry(sent.cell.clone()).or_default() += 1;
    }
    cells
}

/// Compares the report with the counts that it was made of.
fn tells(report: &Value, cells: &Cells) {
    let is_v1 = |cell: &Cell| cell.1.starts_with("v1_");
    let sum = |of: &dyn Fn(&Cell) -> bool| cells.iter().filter(|(cell, _)| of(cell)).map(|(_, calls)| calls).sum();
    let last = |of: &dyn Fn(&Cell) -> bool| cells.keys().filter(|cell| of(cell)).map(|cell| cell.0).max();
    let part = |of: &dyn Fn(&Cell) -> bool| -> (i64, i64, Option<i64>) {
        let v1 = |cell: &Cell| of(cell) && is_v1(cell);
        (sum(&v1), sum(&|cell| of(cell) && !is_v1(cell)), last(&v1))
    };
    let (v1, v2, _) = part(&|_| true);
    assert_eq!((&report["v1"], &report["v2"]), (&json!(v1), &json!(v2)));
    assert_eq!((&report["since"], &report["today"]), (&json!(date(FIRST)), &json!(date(LAST))));
    let clients = report["clients"].as_array().expect("clients");
    assert_eq!(clients.len(), TOOLS.len());
    for tool in &TOOLS {
        let (v1, v2, last) = part(&|cell| cell.4 == tool.name);
        let by_day: Vec<Value> = (FIRST..=LAST)
            .map(|day| part(&|cell| cell.4 == tool.name && cell.0 == day))
            .map(|(v1, v2, _)| json!([v1, v2]))
            .collect();
        let line = json!({"client": tool.name, "v1": v1, "v2": v2, "last_v1": last.map(date), "days": by_day});
        assert!(clients.contains(&line), "{line} is not in {clients:#?}");
    }
    let callers = report["callers"].as_array().expect("callers");
    let people: BTreeSet<&str> = TOOLS.iter().flat_map(|tool| tool.people).copied().collect();
    assert_eq!(callers.len(), people.len());
    for person in people {
        let shown = if person == "nobody" { "" } else { person };
        let line = callers.iter().find(|line| line["person"] == shown).expect("a line for each person");
        let (v1, v2, last) = part(&|cell| cell.3 == person);
        assert_eq!(json!([v1, v2, last.map(date)]), json!([line["v1"], line["v2"], line["last_v1"]]), "{line}");
        assert_eq!(line["kind"], if shown.is_empty() { "" } else { "v1 key" });
    }
    let operations: BTreeSet<&String> = cells.keys().map(|cell| &cell.1).collect();
    let (left, used) = (report["left"].as_array().expect("left"), report["used"].as_array().expect("used"));
    assert_eq!(left.len() + used.len(), operations.len());
    let mut ready = Vec::new();
    for operation in operations {
        let (v1, v2, last) = part(&|cell| cell.1 == *operation);
        let lines = if operation.starts_with("v1_") { left } else { used };
        let line = lines.iter().find(|line| line["operation"] == **operation).expect("a line for each operation");
        assert_eq!(line["calls"], v1 + v2, "{line}");
        if let Some(last) = last {
            assert_eq!(line["last"], date(last), "{line}");
            if last <= LAST - QUIET {
                ready.push(operation.as_str());
            }
        }
    }
    let mut told: Vec<&str> = report["ready"].as_array().expect("ready").iter().flat_map(Value::as_str).collect();
    told.sort_unstable();
    assert_eq!(told, ready);
    // Operations that only the moving client called, and that it moved long enough ago.
    assert_eq!(ready, ["v1_labels_list", "v1_users_me_retrieve"]);
    let never = report["never"].as_array().expect("never");
    assert!(!never.is_empty() && left.iter().all(|line| !never.contains(&line["operation"])));
}

/// Returns the number of requests of each day; the days differ.
fn days(random: &mut Random) -> Vec<(i64, usize)> {
    let mut weights: Vec<usize> = (0..DAYS).map(|_| 50 + random.below(100)).collect();
    // The day of the kill has enough before it and after it.
    weights[7] = 150;
    let all: usize = weights.iter().sum();
    let mut counts: Vec<usize> = weights.iter().map(|weight| requests() * weight / all).collect();
    counts[0] += requests() - counts.iter().sum::<usize>();
    (FIRST..).zip(counts).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_simulated_move_is_reported_to_the_last_call() {
    let began = Instant::now();
    let mut simulation = Simulation::new().await;
    let mut random = Random::new(14);
    for (day, count) in days(&mut random) {
        simulation.pass(&mut random, day, count, false).await;
    }
    let sending = began.elapsed();
    let truth = cells(&*simulation.sent.lock());
    assert_eq!(simulation.written(&truth).await, truth);
    tells(&simulation.report(), &truth);
    let sent: i64 = truth.values().sum();
    println!("{sent} requests in {sending:?}, {} counts: all are reported", truth.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_simulated_move_lacks_what_a_dead_process_had_not_written() {
    let mut simulation = Simulation::new().await;
    let mut random = Random::new(15);
    let (victim, mut killed, mut safe) = (0, None, 0);
    for (day, count) in days(&mut random) {
        if day == KILLED {
            let before = cells(&*simulation.sent.lock());
            simulation.written(&before).await;
            safe = simulation.sent.lock().len();
            killed = simulation.pass(&mut random, day, count, true).await;
            simulation.begin_a_process(day).await;
        } else {
            simulation.pass(&mut random, day, count, false).await;
        }
    }
    let killed = killed.expect("a kill");
    // A request that the killed process answered after the beginning of its last write but one may be lost, and an
    // unanswered one may be counted. What was seen written before is not lost.
    let may_be_lost = |number: usize, sent: &Sent| {
        let is_late = sent.answered.is_none_or(|answered| answered + FLUSH + WRITE > killed);
        sent.process == victim && number >= safe && is_late
    };
    let (certain, possible, unanswered) = {
        let sent = simulation.sent.lock();
        let certain = sent.iter().enumerate().filter(|(number, sent)| !may_be_lost(*number, sent));
        let unanswered = sent.iter().filter(|sent| sent.answered.is_none()).count();
        (cells(certain.map(|(_, sent)| sent)), cells(&*sent), unanswered)
    };
    let counted = simulation.written(&certain).await;
    for (cell, calls) in &possible {
        let (least, told) = (certain.get(cell).unwrap_or(&0), counted.get(cell).unwrap_or(&0));
        assert!((least..=calls).contains(&told), "{told} of {cell:?}, not {least} to {calls}");
    }
    assert!(counted.keys().all(|cell| possible.contains_key(cell)), "{counted:?}");
    tells(&simulation.report(), &counted);
    let sum = |cells: &Cells| cells.values().sum::<i64>();
    println!(
        "{} requests, of them {} that may be lost and {unanswered} without an answer: {} are not reported",
        sum(&possible),
        sum(&possible) - sum(&certain),
        sum(&possible) - sum(&counted),
    );
}
