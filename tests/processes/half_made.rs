//! A create of several calls at v1 whose process is killed in the middle: sent again with its key, it is completed.

use super::child::Child;
use super::support::gateway::serve_sandbox;
use super::support::losing::Losing;
use super::{KEY, client};
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::store::Store;
use causeway::task::spawn;
use serde_json::{Value, json};

const WEB: &str = "/api/v2/workspaces/acme/projects/00000000-0000-4000-c000-000000000001/";

/// Sends a create whose key is the name of the record.
fn create(
    base: &str,
    path: &str,
    body: &Value,
) -> impl Future<Output = reqwest::Result<reqwest::Response>> + use<> {
    let request = client().post(format!("{base}{WEB}{path}")).header("x-api-key", KEY);
    let request = request.header("idempotency-key", body["name"].as_str().expect("a name"));
    request.header("content-type", "application/json").body(body.to_string()).send()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_create_whose_process_was_killed_is_completed_when_it_is_sent_again() {
    let v1 = serve_sandbox(&Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() })).await;
    let wire = Losing::before(&v1).await;
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("sqlite:{}", folder.path().join("store.db").display());
    let mut child = Child::start(wire.base_url(), &url).await;
    let dated = |name: &str| {
        json!({"name": name, "start_date": "2030-01-01T08:00:00.000000Z", "sort_order": 3.5,
        "end_date": "2030-01-09T08:00:00.000000Z"})
    };
    // The process is killed when v1 has carried out the last of these calls.
    let cases: [(&str, Value, &[&str]); 5] = [
        ("cycles/", dated("no-date"), &["POST"]),
        ("cycles/", dated("one-date"), &["POST", "PATCH"]),
        ("cycles/", dated("both-dates"), &["POST", "PATCH", "PATCH"]),
        ("labels/", json!({"name": "label", "sort_order": 7.5}), &["POST"]),
        ("states/", json!({"name": "state", "color": "#112233", "sequence": 7.5, "is_default": true}), &["POST"]),
    ];
    for (path, body, calls) in cases {
        for call in calls {
            wire.hold(call);
        }
        let sending = spawn(create(child.base(), path, &body));
        for number in 1..=calls.len() {
            wire.held().await;
            if number < calls.len() {
                wire.let_go();
            }
        }
        child.kill();
        wire.let_go();
        assert!(sending.await.expect("a client").is_err(), "{body}");
        // As if the longest time of an attempt had passed.
        let store = Store::open(&url, wire.base_url()).await.expect("a store that opens");
        let over = "UPDATE repeatable_request SET ends_at = began_at + 1 WHERE state = 'running'";
        sqlx::query(over).execute(store.engine().pool()).await.expect("an update");
        store.close().await;
        child = Child::start(wire.base_url(), &url).await;
        let done = create(child.base(), path, &body).await.expect("an answer");
        let (status, replayed) = (done.status(), done.headers().contains_key("idempotency-replayed"));
        let done: Value = serde_json::from_slice(&done.bytes().await.expect("a body")).expect("JSON");
        assert!(status == 201 && replayed, "{body}: {status} {done}");
        for (name, sent) in body.as_object().expect("members") {
            assert_eq!(&done[name], sent, "{name} of {done}");
        }
        let all = client().get(format!("{}{WEB}{path}?per_page=100", child.base())).header("x-api-key", KEY);
        let all = all.send().await.expect("an answer").bytes().await.expect("a body");
        let all: Value = serde_json::from_slice(&all).expect("JSON");
        let rows = all["data"].as_array().expect("rows").iter().filter(|row| row["name"] == body["name"]);
        assert_eq!(rows.collect::<Vec<_>>(), [&done]);
    }
}
