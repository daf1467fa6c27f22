//! A v1 that goes away and comes back: which requests are answered meanwhile and with how old data, and which calls v1
//! gets when it is back. On a short scale: defaults of seconds and minutes are fractions of a second here.

use crate::support::gateway::{Answer, Gateway, WEB, serve_sandbox};
use crate::support::past_gateway::ask_v1;
use crate::support::switch::{Line, Switch, until};
use causeway::oauth::Minting;
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::store::Store;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const ITEM: &str = "work-items/00000000-0000-4000-e000-000000000001/";
const WORKSPACE: &str = "/api/v2/workspaces/acme";
/// Age up to which data is used while v1 answers.
const USUAL: Duration = Duration::from_millis(100);
const SHORT: [(&str, &str); 5] = [
    ("cache.card", "100ms"),
    ("cache.identity", "100ms"),
    ("cache.collection", "100ms"),
    ("cache.refused_identity", "100ms"),
    ("index.freshness", "100ms"),
];

struct Stage {
    sandbox: Sandbox,
    switch: Switch,
    gateway: Gateway,
}

impl Stage {
    async fn with(settings: &[(&str, &str)]) -> Self {
        let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
        let switch = Switch::before(&serve_sandbox(&sandbox).await).await;
        let mut all = SHORT.to_vec();
        all.extend_from_slice(settings);
        let gateway = Gateway::with(&switch.base_url(), &all).await;
        Self { sandbox, switch, gateway }
    }

    /// Reads all of `paths` and waits until the data is older than usual.
    async fn warm(&self, key: &str, paths: &[String]) -> Vec<Answer> {
        let mut answers = Vec::new();
        for path in paths {
            let answer = self.gateway.get(key, path).await.expect(200);
            assert_eq!(outlasted(&answer), None, "{path}");
            answers.push(answer);
        }
        tokio::time::sleep(USUAL + USUAL / 2).await;
        answers
    }

    /// Calls v1 past the gateway.
    fn at_v1(&self, method: &str, path: &str) -> u16 {
        ask_v1(&self.sandbox, "ada", method, path, &Value::Null).0
    }

    async fn readiness(&self) -> Answer {
        self.gateway.send(None, "GET", "/readyz", None).await
    }

    /// Waits until the gateway calls v1 again.
    async fn recovered(&self, path: &str) {
        until("v1 is asked again", async || {
            let answer = self.gateway.get("ada", path).await;
            answer.status == 200 && outlasted(&answer).is_none()
        })
        .await;
    }
}

/// Returns the age of an answer that relies on older data because v1 is away.
fn outlasted(answer: &Answer) -> Option<u64> {
    let told = answer.headers["server-timing"].contains("stale;desc=\"v1 is not reachable\"");
    let status = answer.headers.get("cache-status").map(String::as_str);
    let shows = matches!(answer.status, 200 | 304);
    assert_eq!(told && shows, status == Some("causeway; fwd=stale"), "{:?}", answer.headers);
    let age = answer.headers.get("age").map(|age| age.parse().expect("whole seconds"));
    assert_eq!(status.is_some(), age.is_some(), "{:?}", answer.headers);
    age
}

/// Returns reads that an index and cached collections answer.
fn reads() -> Vec<String> {
    let within = [
        "states/",
        "labels/",
        "cycles/",
        "modules/",
        "members/",
        "work-items/?priority__in=urgent,high,medium,low,none",
        "work-items/",
        ITEM,
        "work-items/00000000-0000-4000-e000-000000000001/?expand=state,labels,assignees",
        "work-items/00000000-0000-4000-e000-000000000001/comments/",
    ];
    let mut paths: Vec<String> = within.iter().map(|path| format!("{WEB}/{path}")).collect();
    paths.extend(["/members/", "/work-items/WEB-1/"].map(|path| format!("{WORKSPACE}{path}")));
    paths.push("/api/v2/users/me/".into());
    paths
}

#[tokio::test]
async fn reads_go_on_while_v1_is_away_and_say_how_old_they_are() {
    for line in [Line::Refusing, Line::Failing(502), Line::Failing(503), Line::Failing(500)] {
        let stage = Stage::with(&[]).await;
        let begun = Instant::now();
        let before = stage.warm("ada", &reads()).await;
        stage.switch.set(line).await;
        for (path, before) in reads().iter().zip(&before) {
            let answer = stage.gateway.get("ada", path).await.expect(200);
            let age = outlasted(&answer).unwrap_or_else(|| panic!("{line:?} {path}: {:?}", answer.headers));
            assert!(age <= begun.elapsed().as_secs() + 1, "{line:?} {path}: {age}");
            assert_eq!(answer.bytes, before.bytes, "{line:?} {path}");
            let known = stage.gateway.send_with("ada", "GET", path, None, &[("if-none-match", "*")]).await;
            match known.status {
                304 => assert!(outlasted(&known).is_some(), "{line:?} {path}: {:?}", known.headers),
                status => assert_eq!((status, &known.bytes), (200, &before.bytes), "{line:?} {path}"),
            }
        }
        // The document is not older, but the proof of its caller is.
        let schema = stage.gateway.get("ada", "/api/v2/schema/").await.expect(200);
        assert!(outlasted(&schema).is_some(), "{line:?} {:?}", schema.headers);
        assert_eq!(schema.headers["cache-control"], "no-store", "{line:?}");
        // Cached data never proves that a record is missing.
        for path in [
            "work-items/00000000-0000-4000-e000-0000000fffff/",
            "states/00000000-0000-4000-e000-0000000fffff/",
            "work-items/?sequence_id=9999",
            "work-items/?external_id=9&external_source=jira",
            "labels/?external_id=9&external_source=jira",
        ] {
            let answer = stage.gateway.get("ada", &format!("{WEB}/{path}")).await;
            assert!((500..=504).contains(&answer.status), "{line:?} {path}: {} {}", answer.status, answer.json);
        }
        // No caller gets data that is cached for others.
        for (key, path) in [("eve", format!("{WEB}/states/")), ("nobody", "/api/v2/users/me/".into())] {
            let answer = stage.gateway.get(key, &path).await;
            assert!((500..=504).contains(&answer.status), "{line:?} {key}: {}", answer.json);
        }
        stage.switch.set(Line::Up).await;
        stage.recovered(&format!("{WEB}/states/")).await;
        stage.gateway.get("eve", &format!("{WEB}/states/")).await.expect_problem(404, "resource_not_found");
        stage.gateway.get("nobody", "/api/v2/users/me/").await.expect_problem(401, "unauthorized");
    }
}

#[tokio::test]
async fn a_v1_that_hangs_delays_reads_by_a_part_of_their_time() {
    // Three calls in a row get a third each of the time that is left: 10.6 s in all.
    let stage = Stage::with(&[("limits.deadline", "15s")]).await;
    stage.warm("ada", &reads()).await;
    stage.switch.set(Line::Hanging).await;
    let asked = reads();
    let begun = Instant::now();
    let answers = futures_util::future::join_all(asked.iter().map(|path| stage.gateway.get("ada", path))).await;
    for (path, answer) in asked.iter().zip(answers) {
        assert!(outlasted(&answer.expect(200)).is_some(), "{path}");
    }
    assert!(begun.elapsed() < Duration::from_secs(15));
    stage.switch.set(Line::Up).await;
    stage.recovered(&format!("{WEB}/states/")).await;
}

#[tokio::test]
async fn items_and_pages_that_no_index_holds_are_answered_as_they_were_read_last() {
    let stage = Stage::with(&[]).await;
    let paths = [
        format!("{WEB}/work-items/?order_by=-created_at&per_page=3"),
        format!("{WEB}/{ITEM}"),
        format!("{WORKSPACE}/work-items/WEB-1/"),
    ];
    let before = stage.warm("ada", &paths).await;
    stage.switch.set(Line::Failing(503)).await;
    for (path, before) in paths.iter().zip(&before) {
        let answer = stage.gateway.get("ada", path).await.expect(200);
        assert!(outlasted(&answer).is_some() && answer.bytes == before.bytes, "{path}");
    }
    let other = format!("{WEB}/work-items/?order_by=-created_at&per_page=4");
    stage.gateway.get("ada", &other).await.expect_problem(503, "upstream_unavailable");
}

/// Whose a key is counts for five times as long where a card proves the key as well, and is that old when v1 goes away.
#[tokio::test]
async fn the_grace_is_as_long_for_a_key_that_was_first_seen_long_ago() {
    let settings = [("cache.identity", "2s"), ("cache.outage_grace", "7s")];
    let stage = Stage::with(&settings).await;
    let states = [format!("{WEB}/states/")];
    stage.warm("ada", &states).await;
    tokio::time::sleep(Duration::from_secs(8)).await;
    stage.warm("ada", &states).await;
    stage.switch.set(Line::Refusing).await;
    tokio::time::sleep(Duration::from_millis(2400)).await;
    assert!(outlasted(&stage.gateway.get("ada", &states[0]).await.expect(200)).is_some());
}

#[tokio::test]
async fn nothing_is_older_than_allowed() {
    // Data expires, although proofs may be used longer.
    let stage = Stage::with(&[("cache.stale_if_error", "700ms"), ("cache.outage_grace", "1h")]).await;
    stage.warm("ada", &reads()).await;
    stage.switch.set(Line::Refusing).await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    for path in reads() {
        let answer = stage.gateway.get("ada", &path).await;
        // The identity of the caller and the members of the workspace are proofs of access themselves.
        let proof = path.ends_with("/users/me/") || path == format!("{WORKSPACE}/members/");
        assert_eq!(answer.status, if proof { 200 } else { 503 }, "{path}: {}", answer.json);
    }
    // Proofs expire, although data may be used longer.
    let stage = Stage::with(&[("cache.stale_if_error", "1h"), ("cache.outage_grace", "700ms")]).await;
    stage.warm("ada", &reads()).await;
    stage.switch.set(Line::Refusing).await;
    tokio::time::sleep(Duration::from_millis(800)).await;
    for path in reads() {
        stage.gateway.get("ada", &path).await.expect_problem(503, "upstream_unavailable");
    }
    // Neither may be used.
    for settings in [
        [("cache.stale_if_error", "0s"), ("cache.card", "1s")],
        [("cache.outage_grace", "0s"), ("cache.card", "100ms")],
    ] {
        let stage = Stage::with(&settings).await;
        stage.warm("ada", &[format!("{WEB}/states/")]).await;
        stage.switch.set(Line::Refusing).await;
        let answer = stage.gateway.get("ada", &format!("{WEB}/states/")).await;
        answer.expect_problem(503, "upstream_unavailable");
    }
}

#[tokio::test]
async fn a_membership_that_ended_during_the_outage_ends_with_the_first_word_of_v1() {
    let stage = Stage::with(&[]).await;
    let paths: Vec<String> =
        ["states/", "work-items/?priority=none", ITEM].map(|path| format!("{WEB}/{path}")).into();
    for key in ["ada", "bob"] {
        stage.warm(key, &paths).await;
    }
    stage.switch.set(Line::Failing(503)).await;
    assert!(outlasted(&stage.gateway.get("bob", &paths[0]).await.expect(200)).is_some());
    let membership = WEB.replace("/v2/", "/v1/") + "/project-members/00000000-0000-4000-9000-000000000102/";
    assert_eq!(stage.at_v1("DELETE", &membership), 204);
    assert!(outlasted(&stage.gateway.get("bob", &paths[0]).await.expect(200)).is_some(), "v1 has said nothing");
    stage.switch.set(Line::Up).await;
    until("v1 is asked about bob", async || {
        let answer = stage.gateway.get("bob", &paths[0]).await;
        assert!(answer.status == 403 || outlasted(&answer).is_some(), "{} {:?}", answer.json, answer.headers);
        answer.status == 403
    })
    .await;
    stage.switch.set(Line::Failing(503)).await;
    tokio::time::sleep(USUAL * 2).await;
    for path in &paths {
        let answer = stage.gateway.get("bob", path).await;
        assert!([403, 503].contains(&answer.status), "{path}: {}", answer.json);
        assert!(outlasted(&stage.gateway.get("ada", path).await.expect(200)).is_some(), "{path}");
    }
}

#[tokio::test]
async fn a_key_that_v1_refuses_on_the_pass_through_is_proven_anew() {
    let stage = Stage::with(&[]).await;
    let states = format!("{WEB}/states/");
    stage.warm("bob", std::slice::from_ref(&states)).await;
    stage.switch.set(Line::Poisoned("/users/me/")).await;
    // A read that a card proves trusts the identity behind a key five times as long.
    tokio::time::sleep(USUAL * 5).await;
    assert!(
        outlasted(&stage.gateway.get("bob", &states).await.expect(200)).is_some(),
        "the identity is not proven"
    );
    stage.gateway.get("bob", "/api/v1/workspaces/other/members/").await.expect(403);
    stage.gateway.get("bob", &states).await.expect_problem(502, "upstream_error");
}

/// v1 counts no call that it never received.
#[tokio::test]
async fn calls_of_the_pass_through_that_do_not_reach_v1_use_none_of_its_quota() {
    let stage = Stage::with(&[("upstream.quota", "6")]).await;
    stage.switch.set(Line::Refusing).await;
    for _ in 0..12 {
        assert!(stage.gateway.get("ada", "/api/v1/users/me/").await.status >= 500);
    }
    stage.switch.set(Line::Up).await;
    stage.recovered(&format!("{WEB}/states/")).await;
}

#[tokio::test]
async fn a_gateway_key_that_is_revoked_during_the_outage_is_dead_at_once() {
    let stage = Stage::with(&[("secrets.key", "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")]).await;
    let wanted = Minting { title: "report".into(), scopes: "read".into(), ..Minting::default() };
    let (row, key) = stage.gateway.mint("ada", wanted).await.expect("a key");
    let states = format!("{WEB}/states/");
    stage.warm(&key, std::slice::from_ref(&states)).await;
    stage.switch.set(Line::Refusing).await;
    assert!(outlasted(&stage.gateway.get(&key, &states).await.expect(200)).is_some());
    assert!(stage.gateway.oauth().revoke_key(row.id, None).await.expect("a store"));
    stage.gateway.get(&key, &states).await.expect_problem(401, "unauthorized");
    // The gateway creates no new key for a v1 key that v1 cannot be asked about.
    let again = Minting { title: "again".into(), scopes: "read".into(), ..Minting::default() };
    assert!(stage.gateway.mint("ada", again).await.is_err());
}

#[tokio::test]
async fn own_writes_are_in_what_is_kept_or_void_it() {
    let stage = Stage::with(&[]).await;
    let (labels, item) = (format!("{WEB}/labels/"), format!("{WEB}/{ITEM}"));
    let list = format!("{WEB}/work-items/?priority__in=urgent,high,medium,low,none");
    stage.warm("ada", &[labels.clone(), list.clone(), item.clone()]).await;
    let label = stage.gateway.post("ada", &labels, json!({"name": "just made"})).await.expect(201).text("id");
    stage.gateway.patch("ada", &item, json!({"name": "renamed"})).await.expect(200);
    stage.switch.set(Line::Failing(503)).await;
    tokio::time::sleep(USUAL * 2).await;
    let seen = async || {
        let answer = stage.gateway.get("ada", &labels).await.expect(200);
        assert!(outlasted(&answer).is_some());
        answer.column("name").contains(&json!("just made"))
    };
    assert!(seen().await);
    for path in [&item, &list] {
        let answer = stage.gateway.get("ada", path).await;
        // The index has the change or is gone; it never shows the item as it was before.
        assert!(answer.status == 503 || answer.bytes.windows(7).any(|name| name == b"renamed"), "{}", answer.json);
    }
    // A write that v1 certainly did not carry out leaves everything as it is.
    until("nothing is sent any more", async || {
        stage.gateway.get("ada", &item).await;
        stage.readiness().await.json["v1"] == "unreachable"
    })
    .await;
    for _ in 0..3 {
        let refused = stage.gateway.delete("ada", &format!("{labels}{label}/")).await;
        refused.expect_problem(503, "upstream_unavailable");
    }
    assert!(seen().await);
}

#[tokio::test]
async fn after_a_pass_through_write_older_data_is_not_shown() {
    let stage = Stage::with(&[]).await;
    stage.warm("ada", &reads()).await;
    let path = format!("{}/labels/", WEB.replace("/v2/", "/v1/"));
    stage.gateway.post("ada", &path, json!({"name": "past the plan"})).await.expect(201);
    stage.switch.set(Line::Refusing).await;
    for path in ["labels/", "states/", "work-items/?priority__in=urgent,high,medium,low,none", ITEM] {
        let answer = stage.gateway.get("ada", &format!("{WEB}/{path}")).await;
        answer.expect_problem(503, "upstream_unavailable");
    }
}

#[tokio::test]
async fn a_pass_through_write_that_never_reached_v1_changes_nothing() {
    let stage = Stage::with(&[]).await;
    stage.warm("ada", &reads()).await;
    stage.switch.set(Line::Refusing).await;
    let path = format!("{}/labels/", WEB.replace("/v2/", "/v1/"));
    for key in [None, Some("ada")] {
        let refused = stage.gateway.send(key, "POST", &path, Some(&json!({"name": "never sent"}))).await;
        refused.expect_problem(503, "upstream_unavailable");
    }
    for path in reads() {
        let answer = stage.gateway.get("ada", &path).await.expect(200);
        assert!(outlasted(&answer).is_some(), "{path}");
    }
}

#[tokio::test]
async fn writes_never_rely_on_what_was_before() {
    let stage = Stage::with(&[]).await;
    let types = format!("{WEB}/work-item-types/");
    stage.warm("ada", &[types.clone(), format!("{WEB}/labels/")]).await;
    stage.switch.set(Line::Refusing).await;
    stage.gateway.get("ada", &types).await.expect(200);
    for path in [types, format!("{WEB}/labels/")] {
        let refused = stage.gateway.post("ada", &path, json!({"name": "x"})).await;
        let refused = refused.expect_problem(503, "upstream_unavailable");
        assert!(refused.headers["retry-after"].parse::<u64>().is_ok_and(|seconds| (1..=10).contains(&seconds)));
    }
}

#[tokio::test]
async fn a_paused_v1_gets_one_call_at_a_time_and_what_passes_through() {
    let stage = Stage::with(&[]).await;
    stage.warm("ada", &reads()).await;
    assert_eq!(stage.readiness().await.json, json!({"status": "ready", "store": "ok", "v1": "ok"}));
    stage.switch.set(Line::Failing(503)).await;
    until("calls are paused", async || {
        stage.gateway.get("ada", &format!("{WEB}/states/")).await;
        stage.gateway.get("ada", &format!("{WEB}/{ITEM}")).await;
        stage.readiness().await.json["v1"] == "unreachable"
    })
    .await;
    let ready = stage.readiness().await.expect(200);
    assert!(ready.json["v1_unreachable_seconds"].is_u64() && ready.json["status"] == "ready", "{}", ready.json);
    let (before, begun) = (stage.switch.asked(), Instant::now());
    for path in reads().iter().cycle().take(60) {
        assert!(outlasted(&stage.gateway.get("ada", path).await.expect(200)).is_some(), "{path}");
    }
    let asked = stage.switch.asked() - before;
    assert!(u64::from(asked) <= begun.elapsed().as_secs() + 2, "{asked} calls in {:?}", begun.elapsed());
    let passed = stage.gateway.get("ada", "/api/v1/users/me/").await.expect(503);
    assert!(passed.bytes.starts_with(b"<html>"), "as v1's proxy said it");
    stage.switch.set(Line::Up).await;
    stage.gateway.get("ada", "/api/v1/users/me/").await.expect(200);
    stage.recovered(&format!("{WEB}/states/")).await;
    assert_eq!(stage.readiness().await.json["v1"], "ok");
}

#[tokio::test]
async fn readiness_fails_without_v1_when_it_is_asked_to() {
    let stage = Stage::with(&[("ready.needs_v1", "true")]).await;
    assert_eq!(stage.readiness().await.expect(200).json["v1"], "unknown");
    stage.switch.set(Line::Refusing).await;
    until("it is known that v1 is away", async || {
        stage.gateway.get("ada", "/api/v2/users/me/").await;
        stage.readiness().await.status == 503
    })
    .await;
    let told = stage.readiness().await;
    let address = stage.switch.base_url();
    assert!(!String::from_utf8_lossy(&told.bytes).contains(address.trim_start_matches("http://")), "{}", told.json);
    stage.switch.set(Line::Up).await;
    stage.recovered("/api/v2/users/me/").await;
    stage.readiness().await.expect(200);
}

#[tokio::test]
async fn one_path_that_always_fails_closes_nothing_else() {
    let stage = Stage::with(&[]).await;
    stage.gateway.get("ada", &format!("{WEB}/states/")).await.expect(200);
    stage.switch.set(Line::Poisoned("/labels/")).await;
    for _ in 0..30 {
        stage.gateway.get("ada", &format!("{WEB}/labels/")).await.expect_problem(502, "upstream_error");
    }
    tokio::time::sleep(USUAL * 2).await;
    let answer = stage.gateway.get("ada", &format!("{WEB}/states/")).await.expect(200);
    assert_eq!(outlasted(&answer), None);
}

/// All clients that get a 503 come back together, as soon as they may.
#[tokio::test]
async fn recovery_reads_each_thing_once() {
    let long = [("cache.card", "20s"), ("cache.identity", "20s"), ("cache.collection", "20s")];
    let stage = Stage::with(&long).await;
    stage.switch.set(Line::Failing(503)).await;
    let paths: Vec<String> = ["states/", "labels/", "members/", ITEM].map(|path| format!("{WEB}/{path}")).into();
    let clients = 24;
    let everybody = async || {
        let asking = (0..clients).flat_map(|_| &paths).map(|path| stage.gateway.get("ada", path));
        futures_util::future::join_all(asking).await
    };
    for answer in everybody().await {
        assert_eq!(answer.status, 503, "{}", answer.json);
    }
    stage.sandbox.clear_journal();
    stage.switch.set(Line::Up).await;
    until("everybody is answered", async || everybody().await.iter().all(|answer| answer.status == 200)).await;
    let mut asked = BTreeMap::<String, usize>::new();
    for call in stage.sandbox.journal() {
        *asked.entry(call.path.split('?').next().unwrap_or_default().to_owned()).or_default() += 1;
    }
    let rounds = asked.remove(&format!("{}/{ITEM}", WEB.replace("/v2/", "/v1/"))).expect("the item was read");
    // Each round reads the item from v1; requests at the same time share two reads.
    assert!(rounds <= 4, "{rounds} reads of one item for {clients} clients");
    assert!(asked.values().all(|calls| *calls == 1), "{asked:#?}");
}

/// A store that can only be read, as on a read-only file system: a directory blocks the files of a writer.
#[tokio::test]
async fn readiness_tells_that_the_store_can_only_be_read_and_fails_when_it_is_asked_to() {
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let v1 = serve_sandbox(&sandbox).await;
    let folder = tempfile::tempdir().expect("a folder");
    // One gateway writes a file.
    let files = ["store.db", "strict.db"].map(|name| folder.path().join(name).display().to_string());
    let [url, strict_url] = [0, 1].map(|file| format!("sqlite:{}", files[file]));
    for url in [&url, &strict_url] {
        Store::open(url, &v1).await.expect("a store").close().await;
    }
    let beside = |file: &String| [format!("{file}-shm"), format!("{file}.{}", std::process::id())];
    let in_the_way: Vec<String> = files.iter().flat_map(beside).collect();
    in_the_way.iter().for_each(|name| std::fs::create_dir(name).expect("a folder"));
    let ready = async |gateway: &Gateway| gateway.send(None, "GET", "/readyz", None).await;
    let gateway = Gateway::with(&v1, &[("store.url", &url)]).await;
    let strict = Gateway::with(&v1, &[("store.url", &strict_url), ("ready.needs_writes", "true")]).await;
    let said = Gateway::with(&v1, &[("store.url", &format!("{url}?mode=ro&immutable=true"))]).await;
    for gateway in [&gateway, &said] {
        let told = ready(gateway).await.expect(200);
        assert_eq!((&told.json["status"], &told.json["store"]), (&json!("ready"), &json!("read-only")));
    }
    ready(&strict).await.expect_problem(503, "store_unavailable");
    in_the_way.iter().for_each(|name| std::fs::remove_dir(name).expect("the folder is removed"));
    until("the store can be written", async || {
        ready(&gateway).await.json["store"] == "ok" && ready(&strict).await.status == 200
    })
    .await;
}
