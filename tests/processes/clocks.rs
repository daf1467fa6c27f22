//! Gateways whose clock differs from that of v1 or from that of another gateway on the same database, and a Redis whose
//! clock is set back. Linux only.

use super::child::Child;
use super::clock::Clock;
use super::support::gateway::serve_sandbox;
use super::support::losing::Losing;
use super::support::postgres::Database;
use super::support::redis::Redis;
use super::{KEY, client, send};
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::task::spawn;
use serde_json::{Value, json};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const ACME: &str = "/api/v2/workspaces/acme/";
const WEB: &str = "/api/v2/workspaces/acme/projects/00000000-0000-4000-c000-000000000001/";
/// Seconds between the clocks here: more than a write may take.
const APART: i64 = 600;

/// Variables that give a gateway this clock, and v1 one second for a late write.
fn variables(clock: &Clock) -> Vec<(&'static str, String)> {
    let mut variables = clock.variables().to_vec();
    variables.push(("CAUSEWAY_STORE__LATE_WRITE", "1s".into()));
    variables
}

async fn started(v1: &str, store: &str, variables: &[(&'static str, String)]) -> Child {
    let variables: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    Child::start_with(v1, store, &variables).await
}

/// A POST with an `Idempotency-Key`.
async fn post_with(key: &str, base: &str, path: &str, body: &Value) -> (u16, Value) {
    let request = client().post(format!("{base}{path}")).header("X-Api-Key", KEY).header("Idempotency-Key", key);
    let answer = request.header("Content-Type", "application/json").body(body.to_string()).send().await;
    let answer = answer.expect("an answer");
    (answer.status().as_u16(), serde_json::from_slice(&answer.bytes().await.expect("a body")).unwrap_or_default())
}

/// Returns the items of this name, as the gateway shows them.
async fn named(base: &str, name: &str) -> Vec<Value> {
    let (_, page) = send(&client(), base, "GET", &format!("{WEB}work-items/?search={name}"), None).await;
    page["data"].as_array().expect("a page").clone()
}

/// One gateway on a file, its clock `seconds` ahead of v1's, with a wire to v1 that loses answers.
async fn ahead_of_v1(seconds: i64) -> (Child, Losing, Clock, tempfile::TempDir) {
    let (clock, folder) = (Clock::new(), tempfile::tempdir().expect("a folder"));
    clock.set_ahead(seconds);
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let wire = Losing::before(&serve_sandbox(&sandbox).await).await;
    let store = format!("sqlite:{}", folder.path().join("store.db").display());
    let gateway = started(wire.base_url(), &store, &variables(&clock)).await;
    (gateway, wire, clock, folder)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_with_a_key_is_carried_out_once_whatever_the_clock_of_v1() {
    for seconds in [APART, -APART] {
        let (gateway, wire, _clock, _folder) = ahead_of_v1(seconds).await;
        let (path, body) = (format!("{WEB}work-items/"), json!({"name": "Zwoelf"}));
        wire.lose("POST");
        let (status, answer) = post_with("one", gateway.base(), &path, &body).await;
        assert_eq!(status, 504, "{answer}");
        tokio::time::sleep(Duration::from_millis(1500)).await;
        let (status, answer) = post_with("one", gateway.base(), &path, &body).await;
        assert_eq!(status, 201, "{answer}");
        let items = named(gateway.base(), "Zwoelf").await;
        assert_eq!(items.len(), 1, "{seconds} s: {items:?}");
        assert_eq!(items[0]["id"], answer["id"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_item_whose_answer_was_lost_has_its_type_whatever_the_clock_of_v1() {
    for seconds in [APART, -APART] {
        let (gateway, wire, _clock, _folder) = ahead_of_v1(seconds).await;
        let send = async |method: &str, path: &str, body| send(&client(), gateway.base(), method, path, body).await;
        let (_, kind) = send("POST", &format!("{WEB}work-item-types/enable/"), Some(json!({}))).await;
        wire.lose("POST");
        let body = json!({"name": "Verloren", "type_id": kind["id"]});
        let (status, answer) = send("POST", &format!("{WEB}work-items/"), Some(body)).await;
        assert_eq!(status, 504, "{answer}");
        let items = named(gateway.base(), "Verloren").await;
        assert_eq!(items.len(), 1);
        assert_eq!(items[0]["type_id"], kind["id"], "{seconds} s");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refresh_costs_one_call_where_the_clock_of_the_machine_was_never_set() {
    let (clock, folder) = (Clock::new(), tempfile::tempdir().expect("a folder"));
    clock.move_to(0);
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, work_items: 1500, ..Config::default() });
    let store = format!("sqlite:{}", folder.path().join("store.db").display());
    let mut variables = variables(&clock);
    variables.push(("CAUSEWAY_INDEX__FRESHNESS", "0s".into()));
    let gateway = started(&serve_sandbox(&sandbox).await, &store, &variables).await;
    let (status, _) =
        send(&client(), gateway.base(), "POST", &format!("{WEB}work-items/"), Some(json!({"name": "Neu"}))).await;
    assert_eq!(status, 201);
    for round in 0..4 {
        let path = format!("{WEB}work-items/?search=Neu&fields=id");
        let answer = super::asked(&client(), gateway.base(), "GET", &path, None).await;
        let calls = answer.headers()["causeway-v1-calls"].to_str().expect("a number").to_owned();
        assert!(round == 0 || calls == "1", "read {round} took {calls} calls");
    }
}

/// Two gateways on one database and before one v1; the clock of the second is ahead by `APART`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gateways_of_one_database_go_by_its_clock() {
    let (clock, database) = (Clock::new(), Database::create().await);
    clock.set_ahead(APART);
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let wire = Losing::before(&serve_sandbox(&sandbox).await).await;
    let first = Child::start_with(wire.base_url(), &database.url(), &[("CAUSEWAY_STORE__LATE_WRITE", "1s")]).await;
    let second = started(wire.base_url(), &database.url(), &variables(&clock)).await;
    let (path, body) = (format!("{WEB}work-items/"), json!({"name": "Zwoelf"}));

    // A request that is in flight through one gateway is in flight for the other too.
    wire.detain("POST");
    let (begun, sent, to) = (first.base().to_owned(), body.clone(), path.clone());
    let begun = spawn(async move { post_with("one", &begun, &to, &sent).await });
    wire.held().await;
    let (status, answer) = post_with("one", second.base(), &path, &body).await;
    wire.let_go();
    assert_eq!((status, &answer["code"]), (409, &json!("idempotency_in_progress")), "{answer}");
    let (status, made) = begun.await.expect("an answer");
    assert_eq!(status, 201, "{made}");
    let (status, again) = post_with("one", second.base(), &path, &body).await;
    assert_eq!((status, &again["id"]), (201, &made["id"]));
    assert_eq!(named(second.base(), "Zwoelf").await.len(), 1);

    // A later write has a later time, through either gateway.
    for (at, gateway) in [&second, &first, &second, &first].into_iter().enumerate() {
        let on = json!({"is_work_item_types_enabled": at % 2 == 0});
        let (status, answer) =
            send(&client(), gateway.base(), "PATCH", &format!("{ACME}features/"), Some(on)).await;
        assert_eq!(status, 200, "{answer}");
    }
    let (_, page) = send(&client(), first.base(), "GET", &format!("{ACME}audit-logs/"), None).await;
    let entries = page["data"].as_array().expect("a page");
    let numbers: Vec<i64> =
        entries.iter().map(|entry| entry["sequence_number"].as_i64().expect("a number")).collect();
    assert!(numbers.len() >= 4 && numbers.is_sorted_by(|one, next| one > next), "{numbers:?}");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970").as_secs() as i64;
    let told: jiff::Timestamp = entries[0]["created_at"].as_str().expect("a time").parse().expect("a time");
    assert!((now - told.as_second()).abs() < APART / 2, "{told}");
}

/// The test moves Redis' entries into the future, as if its clock had been set back by an hour.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_whose_clock_is_put_back_holds_nobody_up_for_long() {
    const HOUR: i64 = 3_600_000;
    let redis = Redis::start();
    let v1 = serve_sandbox(&Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() })).await;
    let url = redis.url();
    let env = [
        ("CAUSEWAY_SHARED__URL", url.as_str()),
        ("CAUSEWAY_LIMITS__RATE__API_KEY", "40"),
        ("CAUSEWAY_UPSTREAM__QUOTA", "60"),
    ];
    let keys = |kind: &str| -> Vec<String> {
        redis::cmd("KEYS").arg(format!("causeway:*:{kind}:*")).query(&mut redis.connection()).expect("keys")
    };
    let states = format!("{WEB}states/");
    let gateway = Child::start_with(&v1, "sqlite::memory:", &env).await;
    while send(&client(), gateway.base(), "GET", &states, None).await.0 != 429 {}
    tokio::time::sleep(Duration::from_millis(300)).await;
    drop(gateway);

    let [limit] = keys("limit").try_into().expect("one client");
    let full: i64 = redis::cmd("GET").arg(&limit).query(&mut redis.connection()).expect("a number");
    redis::cmd("SET").arg(&limit).arg(full + 1000 * HOUR).exec(&mut redis.connection()).expect("a limit");
    let quotas = keys("quota");
    for quota in &quotas {
        let calls: Vec<(String, f64)> = redis::cmd("ZRANGE")
            .arg(quota)
            .arg(&[0, -1])
            .arg("WITHSCORES")
            .query(&mut redis.connection())
            .expect("calls");
        for (call, until) in calls {
            let until = until + HOUR as f64;
            redis::cmd("ZADD").arg(quota).arg(until).arg(call).exec(&mut redis.connection()).expect("a call");
        }
    }
    let gateway = Child::start_with(&v1, "sqlite::memory:", &env).await;
    let (status, answer) = send(&client(), gateway.base(), "GET", &states, None).await;
    assert_eq!(status, 200, "{answer}");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970").as_millis() as f64;
    for quota in &quotas {
        let later: i64 = redis::cmd("ZCOUNT")
            .arg(quota)
            .arg(now + HOUR as f64 / 2.0)
            .arg("+inf")
            .query(&mut redis.connection())
            .expect("a number");
        assert_eq!(later, 0, "calls that count for an hour");
    }
}
