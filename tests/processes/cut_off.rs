//! Two gateways on one database, one of them cut off from it: writes of the other meanwhile are shown whole or not at
//! all, and a write of a gateway that is cut off for a moment still reaches the other.

use super::child::Child;
use super::support::gateway::serve_sandbox;
use super::support::losing::Losing;
use super::support::pg_wire::PgWire;
use super::support::postgres::Database;
use super::support::switch::until;
use super::{asked, client, send};
use causeway::sandbox::{Config, Sandbox, Seed};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const WEB: &str = "/api/v2/workspaces/acme/projects/00000000-0000-4000-c000-000000000001/";
const PATIENCE: Duration = Duration::from_secs(30);
/// Longer than a gateway takes to notice that a database does not answer.
const LONG_BEFORE: Duration = Duration::from_secs(6);
/// Shorter than the answer to a write waits for a database that is away.
const WAITED: Duration = Duration::from_millis(600);
/// Time for a new connection to the database on a machine that is not busy.
const QUICK: Duration = Duration::from_millis(100);
/// Longer than an index stays fresh.
const WATCHED: Duration = Duration::from_secs(5);

/// Two gateways before one v1: the other one is undisturbed, this one reaches the database and v1 through wires.
struct Pair {
    other: Child,
    this: Child,
    database: PgWire,
    v1: Losing,
    client: reqwest::Client,
    created: Database,
}

impl Pair {
    async fn new() -> Self {
        Self::with(&[]).await
    }

    /// The same; `env` are variables of the environment of this gateway.
    async fn with(env: &[(&str, &str)]) -> Self {
        let config = Config { seed: Seed::Recorded, ..Config::default() };
        let v1 = Losing::before(&serve_sandbox(&Sandbox::new(config)).await).await;
        let created = Database::create().await;
        let database = PgWire::before(&created.url()).await;
        let other = Child::start(v1.base_url(), &created.url()).await;
        let this = Child::start_with(v1.base_url(), database.url(), env).await;
        Self { other, this, database, v1, client: client(), created }
    }

    /// Writes through the other gateway.
    async fn write(&self, method: &str, path: &str, body: Value) -> Value {
        let (status, answer) = send(&self.client, self.other.base(), method, path, Some(body)).await;
        assert!([200, 201].contains(&status), "{method} {path}: {status} {answer}");
        answer
    }

    /// Waits until this gateway reports that it is ready, or that its store makes it not ready.
    async fn until_ready(&self, ready: bool) {
        let began = Instant::now();
        while (self.read("/readyz").await.1["store"] == "ok") != ready {
            assert!(began.elapsed() < PATIENCE);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Returns the status and body of this gateway's answer, and whether it has an `Age`.
    async fn read(&self, path: &str) -> (u16, Value, bool) {
        let answer = asked(&self.client, self.this.base(), "GET", path, None).await;
        let (status, aged) = (answer.status().as_u16(), answer.headers().contains_key("age"));
        (status, serde_json::from_slice(&answer.bytes().await.expect("a body")).unwrap_or_default(), aged)
    }
}

fn id(record: &Value) -> &str {
    record["id"].as_str().expect("an id")
}

/// Returns both halves of an item: the half of v1 and the half of the store.
fn halves(item: &Value) -> (&Value, &Value) {
    (&item["name"], &item["type_id"])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_is_cut_off_shows_no_item_of_now_with_a_type_of_before() {
    let pair = Pair::new().await;
    pair.write("POST", &format!("{WEB}work-item-types/enable/"), json!({})).await;
    let bug = pair.write("POST", &format!("{WEB}work-item-types/"), json!({"name": "Bug"})).await;
    let path = format!("{WEB}work-items/");
    let before = pair.write("POST", &path, json!({"name": "before"})).await;
    let own = format!("{path}{}/", id(&before));
    // A list with a condition comes from the index.
    let list = format!("{path}?priority=none&per_page=100");
    let (status, known, _) = pair.read(&list).await;
    assert_eq!(status, 200, "{known}");
    tokio::time::sleep(LONG_BEFORE).await;

    pair.database.cut(true);
    pair.until_ready(false).await;
    pair.write("PATCH", &own, json!({"name": "after", "type_id": bug["id"]})).await;
    let new = pair.write("POST", &path, json!({"name": "new", "type_id": bug["id"]})).await;
    let watched = Instant::now();
    while watched.elapsed() < WATCHED {
        let (status, page, aged) = pair.read(&list).await;
        assert_eq!(
            (status, &page["data"], aged),
            (200, &known["data"], true),
            "not from before the outage: {page}"
        );
        for path in [&own, &format!("{path}{}/", id(&new))] {
            let (status, answer, _) = pair.read(path).await;
            assert_eq!((status, answer["code"].as_str()), (503, Some("store_unavailable")), "{answer}");
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }

    pair.database.cut(false);
    pair.until_ready(true).await;
    let (status, page, aged) = pair.read(&list).await;
    assert_eq!((status, aged), (200, false), "{page}");
    let rows = page["data"].as_array().expect("a page");
    for (item, name) in [(&new, "new"), (&before, "after")] {
        let row = rows.iter().find(|row| row["id"] == item["id"]).expect("its row");
        assert_eq!(halves(row), (&json!(name), &bug["id"]));
        let (status, item, _) = pair.read(&format!("{path}{}/", id(item))).await;
        assert_eq!((status, halves(&item)), (200, (&json!(name), &bug["id"])));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_may_not_log_in_any_more_reads_from_memory_and_tells_the_age() {
    let pair = Pair::new().await;
    // A list with a condition comes from the index.
    let list = format!("{WEB}work-items/?priority=none&per_page=100");
    let (status, known, _) = pair.read(&list).await;
    assert_eq!(status, 200, "{known}");
    tokio::time::sleep(LONG_BEFORE).await;
    pair.database.refuse_logins(Some("28000"));
    pair.database.cut(false);
    until("it is noticed", async || pair.read("/readyz").await.1["store"] == "unreachable").await;
    let (status, page, aged) = pair.read(&list).await;
    assert_eq!((status, &page["data"], aged), (200, &known["data"], true), "{page}");
    let write = Some(json!({"name": "never"}));
    let (status, answer) = send(&pair.client, pair.this.base(), "POST", &format!("{WEB}labels/"), write).await;
    assert_eq!((status, answer["code"].as_str()), (503, Some("store_unavailable")), "{answer}");

    pair.database.refuse_logins(None);
    pair.until_ready(true).await;
    let (status, page, aged) = pair.read(&list).await;
    assert_eq!((status, &page["data"], aged), (200, &known["data"], false), "{page}");
}

/// Its notifications may be out of date, and it cannot ask the database.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_in_the_middle_of_which_the_database_falls_silent_tells_its_age() {
    let pair = Pair::new().await;
    pair.write("POST", &format!("{WEB}work-item-types/enable/"), json!({})).await;
    let path = format!("{WEB}work-item-types/");
    let bug = pair.write("POST", &path, json!({"name": "Bug", "description": "before"})).await;
    let own = format!("{path}{}/", id(&bug));
    assert_eq!(pair.read(&own).await, (200, bug.clone(), false));
    pair.write("PATCH", &own, json!({"description": "after"})).await;
    pair.database.silence(true);
    assert_eq!(pair.read(&own).await, (200, bug, true));
    pair.database.silence(false);
    pair.until_ready(true).await;
    let (status, shown, aged) = pair.read(&own).await;
    assert_eq!((status, &shown["description"], aged), (200, &json!("after"), false));
}

/// A client that is told that nothing was written would write it twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_answer_is_lost_is_never_called_undone_and_is_not_made_twice() {
    let pair = Pair::new().await;
    pair.write("POST", &format!("{WEB}work-item-types/enable/"), json!({})).await;
    let path = format!("{WEB}work-item-properties/");
    for (name, late) in [("at-once", Duration::ZERO), ("late", Duration::from_secs(3))] {
        let body = json!({"display_name": name, "property_type": "TEXT"});
        let keyed = async |base: &str| {
            let request = pair.client.post(format!("{base}{path}")).header("X-Api-Key", "ada");
            let request = request.header("Idempotency-Key", name).header("Content-Type", "application/json");
            let answer = request.body(body.to_string()).send().await.expect("an answer");
            let status = answer.status().as_u16();
            (status, serde_json::from_slice::<Value>(&answer.bytes().await.expect("a body")).unwrap_or_default())
        };
        pair.until_ready(true).await;
        pair.database.lose_commit_of(name, late);
        let (status, answer) = keyed(pair.this.base()).await;
        assert_eq!((status, answer["code"].as_str()), (502, Some("upstream_error")), "{name}: {answer}");
        let again = Instant::now();
        let made = loop {
            let (status, answer) = keyed(pair.other.base()).await;
            if status == 201 {
                break answer;
            }
            // As long as the outcome is unknown.
            assert!(again.elapsed() < PATIENCE && status >= 409, "{name}: {status} {answer}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        };
        tokio::time::sleep(late).await;
        let (_, list) = send(&pair.client, pair.other.base(), "GET", &format!("{path}?per_page=100"), None).await;
        let rows = list["data"].as_array().expect("a page").iter().filter(|row| row["display_name"] == name);
        let ids: Vec<&str> = rows.map(id).collect();
        assert_eq!(ids, [id(&made)], "{name}: {list}");
    }
}

/// v1 gets no write whose note may be lost, so nothing may stay marked as begun.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_note_whose_commit_was_lost_keeps_no_type_in_use() {
    let pair = Pair::new().await;
    pair.write("POST", &format!("{WEB}work-item-types/enable/"), json!({})).await;
    let types = format!("{WEB}work-item-types/");
    let bug = pair.write("POST", &types, json!({"name": "Bug"})).await;
    pair.database.lose_commit_of("never made", Duration::ZERO);
    let body = json!({"name": "never made", "type_id": bug["id"]});
    let path = format!("{WEB}work-items/");
    let (status, answer) = send(&pair.client, pair.this.base(), "POST", &path, Some(body)).await;
    assert_eq!((status, answer["code"].as_str()), (503, Some("store_unavailable")), "{answer}");
    let refused = Instant::now();
    let own = format!("{types}{}/", id(&bug));
    loop {
        let (status, answer) = send(&pair.client, pair.other.base(), "DELETE", &own, None).await;
        if status == 204 {
            break;
        }
        assert!(refused.elapsed() < PATIENCE && status == 409, "{status} {answer}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_ends_while_the_database_is_away_for_a_moment_shows_in_the_next_read_of_the_other() {
    let pair = Pair::new().await;
    let path = format!("{WEB}states/");
    let (_, states) = send(&pair.client, pair.other.base(), "GET", &path, None).await;
    let state = states["data"][0].clone();
    let (own, mut at_once, mut busy) = (format!("{path}{}/", id(&state)), 0, 0);
    for round in 0..4 {
        pair.until_ready(true).await;
        let name = format!("round {round}");
        pair.v1.detain("PATCH");
        let body = Some(json!({"name": name}));
        let write = async {
            let answered = send(&pair.client, pair.this.base(), "PATCH", &own, body).await;
            (answered, Instant::now())
        };
        let trouble = async {
            pair.v1.held().await;
            // The write was announced; the other gateway caches what v1 shows before it.
            let (status, kept) = send(&pair.client, pair.other.base(), "GET", &own, None).await;
            assert_eq!(status, 200, "{kept}");
            pair.database.cut(true);
            pair.v1.let_go();
            let let_go = Instant::now();
            tokio::time::sleep(Duration::from_millis(30)).await;
            pair.database.cut(false);
            let connecting = Instant::now();
            pair.created.run("SELECT 1").await;
            (let_go, connecting.elapsed() > QUICK)
        };
        let (((status, answer), answered), (let_go, is_busy)) = tokio::join!(write, trouble);
        assert_eq!((status, answer["name"].as_str()), (200, Some(name.as_str())), "{answer}");
        busy += usize::from(is_busy);
        let told = Instant::now();
        for reads in 0.. {
            let (status, seen) = send(&pair.client, pair.other.base(), "GET", &own, None).await;
            if (status, seen["name"].as_str()) == (200, Some(name.as_str())) {
                at_once += usize::from(reads == 0);
                break;
            }
            let waited = answered.saturating_duration_since(let_go);
            assert!(waited >= WAITED, "the answer waited {waited:?} only for the other to be told: {seen}");
            assert!(told.elapsed() < PATIENCE, "{seen}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    // Not always: on a busy machine a new connection may take longer than the answer to the write waits.
    assert!(at_once + busy >= 2, "{at_once} of 4 at once, {busy} on a busy machine");
}

/// Another gateway has the turn by then, and may have used the name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_lost_its_turn_while_it_waited_for_a_place_at_v1_is_not_sent() {
    let pair = Pair::with(&[
        ("CAUSEWAY_UPSTREAM__CONCURRENCY_MIN", "1"),
        ("CAUSEWAY_UPSTREAM__CONCURRENCY_MAX", "1"),
        ("CAUSEWAY_INDEX__AHEAD", "false"),
        ("CAUSEWAY_USAGE__LEARN", "false"),
    ])
    .await;
    // From here on the gateway knows the caller and the project.
    assert_eq!(pair.read(&format!("{WEB}labels/")).await.0, 200);
    let path = format!("{WEB}cycles/");
    pair.v1.detain("GET");
    let write = send(&pair.client, pair.this.base(), "POST", &path, Some(json!({"name": "twice"})));
    let (modules, moment) = (format!("{WEB}modules/"), Duration::from_secs(4));
    let is_held = async || tokio::time::timeout(PATIENCE, pair.v1.held()).await.expect("a read of v1");
    let read = async {
        // The write reads the cycles; this read waits for the only place, and gets it before the write itself.
        is_held().await;
        let read = pair.read(&modules);
        let trouble = async {
            tokio::time::sleep(moment).await;
            pair.v1.detain("GET");
            pair.v1.let_go();
            is_held().await;
            tokio::time::sleep(moment / 4).await;
            pair.database.cut(false);
            pair.write("POST", &path, json!({"name": "twice"})).await;
            pair.v1.let_go();
        };
        tokio::join!(read, trouble).0
    };
    let ((status, answer), _) = tokio::join!(write, read);
    assert_eq!((status, answer["code"].as_str()), (503, Some("store_unavailable")), "{answer}");
    let (_, page) = send(&pair.client, pair.other.base(), "GET", &path, None).await;
    let rows = page["data"].as_array().expect("a page").iter().filter(|row| row["name"] == "twice");
    assert_eq!(rows.count(), 1, "{page}");
}
