//! A caller never waits for another caller's key: the first reader for all must have quota of its own, and the
//! gateway's own key is waited for only a moment. A caller does not even wait for its own quota when an older answer
//! is there.
//!
//! May use: the public interface of the crate and `tests/support`.

use crate::support::gateway::{Gateway, WEB, serve_sandbox};
use crate::support::losing::Losing;
use crate::support::past_gateway::{ask_v1, in_web};
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::task::spawn;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Calls a minute of each key.
const QUOTA: u32 = 12;
/// Lists that are read once for all, and a record that is missing from a cached list, which is then read again.
const PATHS: [&str; 5] = ["labels/", "modules/", "work-items/?priority=high", "work-items/?search=one", UNKNOWN];
const UNKNOWN: &str = "states/00000000-0000-4000-8000-00000000dead/";

/// The way in which bob has used up his quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Used {
    Here,
    /// Only v1 knows it.
    PastTheGateway,
}

/// Bob, without quota, requests `path` first, and ada, who has quota, a moment later.
async fn ada_does_not_wait_for_bob(path: &'static str, used: Used) {
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, quota_per_minute: Some(QUOTA), ..Config::default() });
    // An empty list counts only for its reader.
    in_web(&sandbox, "POST", "labels/", &json!({"name": "bug"}));
    in_web(&sandbox, "POST", "modules/", &json!({"name": "kitchen"}));
    let base = serve_sandbox(&sandbox).await;
    let settings = [("upstream.quota", "12"), ("limits.deadline", "100s")];
    let gateway = Arc::new(Gateway::with(&base, &settings).await);
    let states = format!("{WEB}/states/");
    for key in ["ada", "bob"] {
        gateway.get(key, &states).await.expect(200);
    }
    let calls = || sandbox.journal().iter().filter(|call| call.key.as_deref() == Some("bob")).count();
    while calls() < QUOTA as usize {
        match used {
            Used::Here => drop(gateway.get("bob", "/api/v1/users/me/").await.expect(200)),
            Used::PastTheGateway => drop(ask_v1(&sandbox, "bob", "GET", "/api/v1/users/me/", &Value::Null)),
        }
    }
    let (path, status) = (format!("{WEB}/{path}"), if path == UNKNOWN { 404 } else { 200 });
    let bob = spawn({
        let (gateway, path) = (Arc::clone(&gateway), path.clone());
        async move { gateway.get("bob", &path).await.expect(status) }
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!bob.is_finished(), "{path}: he waits for his quota");
    let ada = tokio::time::timeout(Duration::from_secs(20), gateway.get("ada", &path)).await;
    ada.unwrap_or_else(|_| panic!("{path}: no wait for another key")).expect(status);
    let told = tokio::time::timeout(Duration::from_secs(20), bob).await;
    let told = told.unwrap_or_else(|_| panic!("{path}: he has what she read")).expect("no panic");
    // v1 had to refuse his call first.
    assert_eq!(told.calls(), u32::from(used == Used::PastTheGateway), "{path}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_without_quota_holds_up_no_read_with_another_key() {
    let wait = |path| ada_does_not_wait_for_bob(path, Used::Here);
    futures_util::future::join_all(PATHS.map(wait)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nor_does_one_whose_quota_was_used_up_past_the_gateway() {
    let wait = |path| ada_does_not_wait_for_bob(path, Used::PastTheGateway);
    futures_util::future::join_all(PATHS.map(wait)).await;
}

/// The gateway learns of it only from v1's refusal. The list comes from the index, as it was a moment ago.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_on_an_index_that_is_kept_does_not_wait_for_a_quota_that_was_used_up_past_the_gateway() {
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, quota_per_minute: Some(60), ..Config::default() });
    let base = serve_sandbox(&sandbox).await;
    let settings = [("upstream.quota", "60"), ("limits.deadline", "100s"), ("index.freshness", "100ms")];
    let gateway = Gateway::with(&base, &settings).await;
    let path = format!("{WEB}/work-items/?priority=none");
    let before = gateway.get("ada", &path).await.expect(200);
    tokio::time::sleep(Duration::from_millis(150)).await;
    while ask_v1(&sandbox, "ada", "GET", "/api/v1/users/me/", &Value::Null).0 != 429 {}
    let asked = tokio::time::timeout(Duration::from_secs(20), gateway.get("ada", &path)).await;
    let answer = asked.expect("no wait for the quota").expect(200);
    assert_eq!(answer.column("id"), before.column("id"));
    assert!(answer.headers.contains_key("age"), "{:?}", answer.headers);
    let told = &answer.headers["server-timing"];
    assert!(told.contains("stale;desc=\"the v1 budget is short\""), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_callers_own_key_does_the_work_where_v1_does_not_answer_to_that_of_the_gateway() {
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let wire = Losing::before(&serve_sandbox(&sandbox).await).await;
    wire.fall_silent_for("service");
    let gateway = Gateway::with(wire.base_url(), &[("upstream.service_key", "service")]).await;
    let path = format!("{WEB}/work-items/?priority=none");
    let asked = tokio::time::timeout(Duration::from_secs(28), gateway.get("bob", &path)).await;
    let answer = asked.expect("no wait for another key");
    assert!(!answer.expect(200).headers.contains_key("age"));
    assert!(sandbox.journal().iter().all(|call| call.key.as_deref() == Some("bob")));
}

/// v1 lists the items of one module at a time. With more modules than calls a minute such a read never ended, and spent
/// all of the quota each time that it was sent again.
#[tokio::test]
async fn a_filter_that_the_quota_can_never_answer_is_refused_and_spends_nothing() {
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    for number in 0..60 {
        in_web(&sandbox, "POST", "modules/", &json!({"name": format!("Module {number}")}));
    }
    let base = serve_sandbox(&sandbox).await;
    let gateway = Gateway::with(&base, &[("upstream.quota", "60")]).await;
    let modules = gateway.get("ada", &format!("{WEB}/modules/?per_page=200")).await.expect(200);
    let ids: Vec<_> = modules.column("id").iter().filter_map(|id| id.as_str().map(str::to_owned)).collect();
    let made = sandbox.journal().len();
    let none = |value: &str| format!("{WEB}/work-items/?module_id__isnull={value}");
    let any = |some: &[String]| format!("{WEB}/work-items/?module_id__in={}", some.join(","));
    for (path, field) in [(none("true"), "module_id__isnull"), (any(&ids), "module_id__in")] {
        let refused = gateway.get("ada", &path).await;
        assert_eq!(refused.expect_problem(400, "validation_error").error_fields(), [field]);
    }
    let spent = sandbox.journal().len() - made;
    assert!(spent < 10, "{spent}");
    gateway.get("ada", &any(&ids[..20])).await.expect(200);
    let ample = Gateway::with(&base, &[("upstream.quota", "100")]).await;
    for path in [none("false"), any(&ids)] {
        assert_eq!(ample.get("ada", &path).await.expect(200).json["total_count"], 0);
    }
}
