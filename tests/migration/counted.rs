//! The store counts the calls of each client, whatever clients send, and adds them up over processes.

use crate::oauth::stage::{Stage, Tokens};
use crate::support::furnished::PLAN;
use crate::support::gateway::{Gateway, WEB, serve_sandbox};
use crate::support::postgres::Database;
use crate::support::random::Random;
use causeway::migration::{CountSelection, Counts, Report, csv, text};
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::store::{Store, UsageRow};
use causeway::usage::today;
use serde_json::json;
use std::collections::BTreeMap;
use uuid::Uuid;

const V1: &str = "/api/v1/workspaces/acme/projects/00000000-0000-4000-c000-000000000001";

async fn counts(store: &Store) -> Counts {
    Counts::read(store, &PLAN, &CountSelection::default(), today().into()).await.expect("counts")
}

/// Returns the calls by operation and client, with the class of the status.
fn by_operation(rows: &[UsageRow]) -> BTreeMap<(String, String, i64), i64> {
    let mut sums = BTreeMap::new();
    for row in rows {
        *sums.entry((row.operation.clone(), row.client.clone(), row.class)).or_default() += row.calls;
    }
    sums
}

#[tokio::test]
async fn calls_of_both_interfaces_are_counted_without_what_they_hold() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("sqlite:{}", folder.path().join("store.db").display());
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &[("store.url", &url)]).await;
    let store = gateway.store().await;
    let ask = async |key: &str, agent: &str, path: &str| {
        gateway.send_with(key, "GET", path, None, &[("User-Agent", agent)]).await.status
    };
    for agent in ["plane-sdk/1.2.3 (x)", "plane-sdk/1.2.3 (other)"] {
        assert_eq!(ask("ada", agent, &format!("{V1}/states/?secret=s3cret")).await, 200);
    }
    assert_eq!(ask("ada", "plane-sdk/1.2.3", &format!("{V1}/issues/")).await, 200);
    assert_eq!(ask("ada", "=cmd|'/C calc'!A0", &format!("{V1}/work-items/")).await, 200);
    assert_eq!(ask("ada", "<script>", &format!("{WEB}/states/")).await, 200);
    assert_eq!(ask("bob", "curl/8.0", &format!("{WEB}/nothing-s3cret/")).await, 404);
    assert_eq!(ask("nobody", "curl/8.0", &format!("{WEB}/states/")).await, 401);
    assert_eq!(ask("nobody", "curl/8.0", &format!("{V1}/states/")).await, 403);
    assert_eq!(ask("ada", "curl/8.0", "/api/v1/workspaces/acme/s3cret/").await, 404);
    assert_eq!(ask("ada", "curl/8.0", "/api/v2/docs/").await, 200);
    gateway.stop().await;
    let counts = counts(&store).await;
    let key = |operation: &str, client: &str, class| (operation.to_owned(), client.to_owned(), class);
    let expected = BTreeMap::from([
        (key("v1_states_list", "plane-sdk/1.2.3", 2), 2),
        (key("v1_work_items_list", "plane-sdk/1.2.3", 2), 1),
        (key("v1_work_items_list", "unreadable", 2), 1),
        (key("states_list", "unreadable", 2), 1),
        (key("unknown", "curl/8.0", 4), 1),
        (key("states_list", "curl/8.0", 4), 1),
        (key("v1_states_list", "curl/8.0", 4), 1),
        (key("v1 unknown GET workspaces/{name}/{id}/", "curl/8.0", 4), 1),
    ]);
    assert_eq!(by_operation(&counts.rows), expected);
    // Keys, paths and queries are not recorded, and all strangers share one row.
    let all = format!("{:?} {}", counts.rows, csv(&counts));
    assert!(!all.contains("s3cret") && !all.contains("acme") && !all.contains("nobody"), "{all}");
    let unproven: i64 = counts.rows.iter().filter(|row| row.caller == "unproven").map(|row| row.calls).sum();
    assert_eq!(unproven, 2, "{:?}", counts.rows);
    let report = Report::of(&PLAN, &counts, today().into(), 14);
    assert_eq!((report.v1, report.v2, report.moved()), (6, 3, 33));
    let ada = report.callers.iter().find(|caller| caller.person == "ada").expect("known by v2");
    assert_eq!((ada.kind.as_str(), ada.v1, ada.v2), ("v1 key", 5, 1));
    assert_eq!(ada.fingerprint.len(), 16);
    let shown = text(&report);
    assert!(shown.contains("v1_states_list") && shown.contains("33 % moved"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 110), "{shown}");
    // An operation that others call is neither never called nor ready, also when one client or one day is selected.
    for (client, days) in [(Some("unreadable".to_owned()), None), (None, Some(1))] {
        let wanted = CountSelection { client, days, ..CountSelection::default() };
        for (later, is_ready) in [(0, false), (13, false), (14, true)] {
            let day = i64::from(today()) + later;
            let part = Counts::read(&store, &PLAN, &wanted, day).await.expect("counts");
            let report = Report::of(&PLAN, &part, day, 14);
            let name = "v1_states_list".to_owned();
            assert_eq!(report.ready.contains(&name), is_ready, "{:?}", report.ready);
            assert!(!report.never.contains(&name), "{:?}", report.never);
        }
    }
}

#[tokio::test]
async fn the_owner_of_a_key_that_passes_through_is_learned() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("sqlite:{}", folder.path().join("store.db").display());
    let settings = [("store.url", url.as_str()), ("usage.flush", "50ms")];
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &settings).await;
    let store = gateway.store().await;
    for _ in 0..3 {
        gateway.get("bob", &format!("{V1}/states/")).await.expect(200);
    }
    for _ in 0..1200 {
        if store.usage_callers().await.expect("callers").iter().any(|caller| caller.person == "bob") {
            let me = |entry: &&causeway::sandbox::JournalEntry| entry.path.contains("users/me");
            assert_eq!(gateway.sandbox().journal().iter().filter(me).count(), 1);
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("nobody asked who bob is");
}

/// v1 answers a preflight whatever its key is (`errors_options_preflight`).
#[tokio::test]
async fn a_preflight_with_an_invented_key_makes_no_caller() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("sqlite:{}", folder.path().join("store.db").display());
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &[("store.url", &url)]).await;
    let store = gateway.store().await;
    let headers = [("Origin", "https://app.example"), ("Access-Control-Request-Method", "GET")];
    for key in ["invented-1", "invented-2"] {
        gateway.send_with(key, "OPTIONS", &format!("{V1}/states/"), None, &headers).await.expect(200);
    }
    gateway.stop().await;
    let rows = counts(&store).await.rows;
    assert!(rows.iter().all(|row| row.caller == "unproven"), "{rows:?}");
    assert_eq!(rows.iter().map(|row| row.calls).sum::<i64>(), 2);
}

#[tokio::test]
async fn an_app_is_one_caller_for_each_grant_however_often_it_refreshes() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("sqlite:{}", folder.path().join("store.db").display());
    let stage = Stage::with(&[("store.url", &url)]).await;
    let store = stage.gateway.store().await;
    let states = format!("{WEB}/states/");
    for _ in 0..2 {
        let mut tokens = stage.tokens("read").await;
        for _ in 0..3 {
            stage.call(&tokens.access, &states).await.expect(200);
            tokens = Tokens::of(&stage.token(&stage.refreshing(&tokens.refresh)).await.expect(200));
        }
    }
    stage.gateway.stop().await;
    let counts = counts(&store).await;
    let callers = Report::of(&PLAN, &counts, today().into(), 14).callers;
    let shown: Vec<_> =
        callers.iter().map(|caller| (caller.person.as_str(), caller.title.as_str(), caller.v2)).collect();
    assert_eq!(shown, [("ada", "Planner", 3), ("ada", "Planner", 3)], "two grants");
    assert_eq!(store.usage_callers().await.expect("callers").len(), 2);
}

#[tokio::test]
async fn counting_can_be_switched_off() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("sqlite:{}", folder.path().join("store.db").display());
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &[("store.url", &url), ("usage.count", "false")]).await;
    let store = gateway.store().await;
    gateway.get("ada", &format!("{V1}/states/")).await.expect(200);
    gateway.stop().await;
    assert_eq!(counts(&store).await.rows, []);
}

/// An operation that only the mappings of a reload have. It comes first, so that all others change their position.
const NEW: &str = "[[operations]]\nid = \"v1_nothings_list\"\ncall = \"GET workspaces/{slug}/nothings/\"\ndoes = \"nothing\"\nnone = \"It is made up.\"\n\n";

#[tokio::test]
async fn a_reload_counts_by_the_new_mappings_and_keeps_what_was_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let mappings = folder.path().join("mappings");
    std::fs::create_dir_all(mappings.join("v1")).expect("a folder");
    let file = mappings.join("v1/operations.toml");
    let declared = include_str!("../../mappings/v1/operations.toml");
    let (above, below) = declared.split_once("[[operations]]").expect("operations");
    let added = format!("{above}{NEW}[[operations]]{below}");
    std::fs::write(&file, declared).expect("written");
    let url = format!("sqlite:{}", folder.path().join("store.db").display());
    let (mappings, nothings) = (mappings.display().to_string(), "/api/v1/workspaces/acme/nothings/");
    // Counts from before a reload are written after it.
    let settings = [("store.url", url.as_str()), ("mappings", &mappings), ("usage.flush", "1h")];
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &settings).await;
    let store = gateway.store().await;
    let call = async |count: usize| {
        for _ in 0..count {
            assert_eq!(gateway.get("ada", &format!("{V1}/states/")).await.status, 200);
            assert_eq!(gateway.get("ada", &format!("{WEB}/states/")).await.status, 200);
            assert_eq!(gateway.get("ada", nothings).await.status, 404);
        }
    };
    call(1).await;
    std::fs::write(&file, &added).expect("written");
    gateway.reload(&settings).await.expect("a reload");
    call(2).await;
    std::fs::write(&file, declared).expect("written");
    gateway.reload(&settings).await.expect("a reload");
    call(4).await;
    gateway.stop().await;
    let counts = counts(&store).await;
    let sums = by_operation(&counts.rows).into_iter().map(|((operation, ..), calls)| (operation, calls));
    let expected = [
        ("states_list", 7),
        ("v1 unknown GET workspaces/{name}/{name}/", 5),
        ("v1_nothings_list", 2),
        ("v1_states_list", 7),
    ];
    assert_eq!(sums.collect::<Vec<_>>(), expected.map(|(name, calls)| (name.to_owned(), calls)));
    // The current mappings do not have it, and its counts stay as they were.
    let report = Report::of(&PLAN, &counts, today().into(), 14);
    assert_eq!((report.v1, report.v2), (14, 7));
}

#[tokio::test]
async fn one_credential_has_only_so_many_clients() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("sqlite:{}", folder.path().join("store.db").display());
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &[("store.url", &url)]).await;
    let store = gateway.store().await;
    for number in 0..20 {
        let agent = format!("tool-{number}/1");
        let headers = [("User-Agent", agent.as_str())];
        gateway.send_with("ada", "GET", &format!("{V1}/states/"), None, &headers).await.expect(200);
    }
    gateway.stop().await;
    let counts = counts(&store).await;
    assert_eq!(counts.rows.len(), 9);
    let other: i64 = counts.rows.iter().filter(|row| row.client == "other").map(|row| row.calls).sum();
    assert_eq!(other, 12);
}

fn row(day: i64, operation: &str, caller: &str, calls: i64) -> UsageRow {
    let (operation, caller, client) = (operation.into(), caller.into(), "x".into());
    UsageRow { day, operation, class: 2, caller, client, calls }
}

/// The same on both engines.
async fn the_table_is_bounded(url: &str) {
    let store = Store::open(url, "http://v1.example").await.expect("a store");
    let process = Uuid::new_v4();
    let rows: Vec<UsageRow> = (0..120).map(|n| row(100, "states_list", &format!("c{n:03}"), n + 1)).collect();
    store.add_usage(process, 1, &rows).await.expect("written");
    // The same batch again, as after a lost answer.
    store.add_usage(process, 1, &rows).await.expect("written");
    store
        .add_usage(Uuid::new_v4(), 1, &[row(100, "states_list", "c000", 9), row(7, "x", "old", 1)])
        .await
        .expect("x");
    let sum = async || store.usage().await.expect("rows").iter().map(|row| row.calls).sum::<i64>();
    assert_eq!(sum().await, 120 * 121 / 2 + 10);
    let bound = store.bound_usage(50, 100).await.expect("bounded");
    assert_eq!((bound.old, bound.folded, bound.dropped), (1, 30, 0));
    let rows = store.usage().await.expect("rows");
    assert_eq!((rows.len(), sum().await), (91, 120 * 121 / 2 + 9));
    assert!(rows.iter().any(|row| row.caller == "other" && row.client == "other"), "{rows:?}");
    assert!(!rows.iter().any(|row| row.caller == "c001"));
    let bound = store.bound_usage(50, 1).await.expect("bounded");
    assert!(bound.folded > 0 && store.usage().await.expect("rows").len() == 1, "{bound:?}");
    assert_eq!(store.usage_secret().await.expect("made"), store.usage_secret().await.expect("kept"));
}

#[tokio::test]
async fn the_table_is_bounded_in_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    the_table_is_bounded(&format!("sqlite:{}", folder.path().join("store.db").display())).await;
}

#[tokio::test]
async fn the_table_is_bounded_on_a_server() {
    let database = Database::create().await;
    the_table_is_bounded(&database.url()).await;
}

/// The same on both engines: what is counted since the first day left is complete.
async fn whole_days_are_removed(url: &str) {
    let store = Store::open(url, "http://v1.example").await.expect("a store");
    let rows: Vec<_> =
        (1..=30).flat_map(|day| ["a", "b", "c"].map(|operation| row(day, operation, "c", 5))).collect();
    store.add_usage(Uuid::new_v4(), 1, &rows).await.expect("written");
    let bound = store.bound_usage(0, 20).await.expect("bounded");
    assert_eq!((bound.dropped, bound.lost_calls), (72, 72 * 5));
    let rows = store.usage().await.expect("rows");
    assert_eq!((rows.len(), rows.iter().map(|row| row.day).min()), (18, Some(25)));
    // The last day cannot be removed as a whole.
    let bound = store.bound_usage(0, 2).await.expect("bounded");
    assert_eq!((bound.dropped, bound.lost_calls), (16, 16 * 5));
    let rows = store.usage().await.expect("rows");
    assert_eq!((rows.len(), rows.iter().map(|row| row.day).min()), (2, Some(30)));
}

#[tokio::test]
async fn whole_days_are_removed_in_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    whole_days_are_removed(&format!("sqlite:{}", folder.path().join("store.db").display())).await;
}

#[tokio::test]
async fn whole_days_are_removed_on_a_server() {
    let database = Database::create().await;
    whole_days_are_removed(&database.url()).await;
}

/// A client, and the percentage of its calls that go to v2 on each day of fourteen.
type Client = (&'static str, &'static str, fn(usize) -> usize);

/// Three clients over fourteen days, through two gateways on one store: the report is exact.
#[tokio::test]
async fn a_move_is_reported_to_the_last_call() {
    let database = Database::create().await;
    let url = database.url();
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let v1 = serve_sandbox(&sandbox).await;
    let clients: [Client; 3] = [
        ("ada", "old-tool/1.0", |_| 0),
        ("bob", "moving-tool/2.0", |day| day * 7),
        ("kim", "new-tool/3.0", |_| 100),
    ];
    let mut random = Random::new(16);
    let mut truth: BTreeMap<(i64, &str, bool), i64> = BTreeMap::new();
    for day in 0..14 {
        let settings = [("store.url", url.as_str())];
        let gateways = [Gateway::with(&v1, &settings).await, Gateway::with(&v1, &settings).await];
        for _ in 0..60 {
            let (key, agent, share) = clients[random.below(3)];
            let moved = random.chance(share(day));
            let path = if moved { format!("{WEB}/states/") } else { format!("{V1}/states/") };
            let gateway = &gateways[random.below(2)];
            gateway.send_with(key, "GET", &path, None, &[("User-Agent", agent)]).await.expect(200);
            *truth.entry((i64::from(today()) - 13 + day as i64, agent, moved)).or_default() += 1;
        }
        for gateway in gateways {
            gateway.stop().await;
        }
        if day < 13 {
            // A day passes.
            let store = Store::open(&url, &v1).await.expect("a store");
            // In two steps, because no two days may meet on the way.
            for step in ["day - 100000", "day + 99999"] {
                let text = sqlx::AssertSqlSafe(format!("UPDATE usage_count SET day = {step}"));
                sqlx::query(text).execute(store.engine().pool()).await.expect("earlier");
            }
            store.close().await;
        }
    }
    let store = Store::open(&url, &v1).await.expect("a store");
    let counts = counts(&store).await;
    let mut told: BTreeMap<(i64, &str, bool), i64> = BTreeMap::new();
    for row in &counts.rows {
        let name = clients.iter().find(|(_, agent, _)| *agent == row.client).expect("a client").1;
        *told.entry((row.day, name, !counts.is_v1(&row.operation))).or_default() += row.calls;
    }
    assert_eq!(told, truth);
    let report = Report::of(&PLAN, &counts, today().into(), 14);
    assert_eq!(report.v1 + report.v2, 14 * 60);
    let line = |name: &str| report.clients.iter().find(|line| line.client == name).expect("a client").clone();
    assert_eq!((line("old-tool/1.0").v2, line("new-tool/3.0").v1, line("new-tool/3.0").last_v1), (0, 0, None));
    assert!(line("moving-tool/2.0").v1 > 0 && line("moving-tool/2.0").v2 > 0);
    assert_eq!(json!(report)["left"][0]["v2"][0], "GET /api/v2/workspaces/{slug}/projects/{project_id}/states/");
    store.close().await;
}
