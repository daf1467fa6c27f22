//! A thousand clients with the same request at the same time cost v1 as many calls as one client.

use crate::support::gateway::{Gateway, WEB};
use crate::support::proofs::{V1, card, get_card, me};
use crate::support::scripted::{Exchange, Gate, ScriptedV1};
use causeway::task::spawn;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

const CROWD: usize = 1000;
const LABELS: &str = "per_page=1000&fields=id,name,description,color,sort_order,parent,external_id,\
                      external_source,created_at,created_by";

fn labels() -> Value {
    json!({"total_count": 1, "next_page_results": false, "results": [{
        "id": "00000000-0000-4000-7000-000000000009", "name": "bug", "description": "", "color": "",
        "sort_order": 65535.0, "parent": null, "external_id": null, "external_source": null,
        "created_at": "2026-11-21T10:36:12.630235Z", "created_by": "00000000-0000-4000-a000-000000000001"}]})
}

/// A gateway that keeps a list for longer than a busy machine takes for all requests.
async fn before(v1: &ScriptedV1) -> Arc<Gateway> {
    Arc::new(Gateway::with(v1.base_url(), &[("cache.collection", "10m")]).await)
}

/// A v1 that answers the calls of a cold read once. It answers further calls for the card, which lasts 30 s.
async fn once_each(list: Exchange) -> ScriptedV1 {
    let v1 = ScriptedV1::start().await;
    v1.expect(me());
    v1.expect(get_card().reply(200, card(Some(20))).repeated());
    v1.expect(list.reply(200, labels()));
    v1
}

/// Asserts that v1 got three calls, and for the card no more than one in 30 s.
#[track_caller]
fn expect_one_cold_read(v1: ScriptedV1, begun: Instant) {
    let further = begun.elapsed().as_secs() as usize / 30;
    assert!((3..=3 + further).contains(&v1.calls()), "{} calls", v1.calls());
    v1.finish();
}

fn list() -> Exchange {
    Exchange::get(&format!("{V1}labels/?{LABELS}"))
}

async fn all_answered(gateway: &Arc<Gateway>, clients: usize) {
    let tasks: Vec<_> = (0..clients)
        .map(|_| {
            let gateway = Arc::clone(gateway);
            spawn(async move { gateway.get("ada", &format!("{WEB}/labels/")).await })
        })
        .collect();
    for task in tasks {
        let answer = task.await.expect("an answer").expect(200);
        assert_eq!(answer.column("name"), [json!("bug")]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_cold_reads_cost_what_one_costs() {
    let v1 = once_each(list()).await;
    let (gateway, begun) = (before(&v1).await, Instant::now());
    all_answered(&gateway, CROWD).await;
    expect_one_cold_read(v1, begun);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn they_are_all_answered_when_the_first_client_leaves() {
    let gate = Gate::default();
    let v1 = once_each(list().held(&gate)).await;
    let (gateway, begun) = (before(&v1).await, Instant::now());
    let first = {
        let gateway = Arc::clone(&gateway);
        spawn(async move { gateway.get("ada", &format!("{WEB}/labels/")).await })
    };
    v1.until_called(3).await;
    first.abort();
    let others = {
        let gateway = Arc::clone(&gateway);
        spawn(async move { all_answered(&gateway, CROWD).await })
    };
    // Time for most requests to wait at the gate; the outcome is the same at any time of opening.
    tokio::time::sleep(Duration::from_millis(200)).await;
    gate.open();
    others.await.expect("all answered");
    expect_one_cold_read(v1, begun);
}

/// A missing id is read from v1 again, but requests at the same time share the read.
#[tokio::test]
async fn two_hundred_who_ask_for_what_is_missing_share_their_reads() {
    let gate = Gate::default();
    let v1 = once_each(list()).await;
    let gateway = Arc::new(Gateway::before(v1.base_url()).await);
    gateway.get("ada", &format!("{WEB}/labels/")).await.expect(200);
    v1.expect(list().reply(200, labels()).held(&gate).repeated());
    let tasks: Vec<_> = (0..200)
        .map(|_| {
            let gateway = Arc::clone(&gateway);
            let path = format!("{WEB}/labels/00000000-0000-4000-a000-00000000dead/");
            spawn(async move { gateway.get("ada", &path).await })
        })
        .collect();
    v1.until_called(4).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    gate.open();
    for task in tasks {
        task.await.expect("an answer").expect_problem(404, "resource_not_found");
    }
    // Two calls when all requests came before the gate opened; a slow machine may need a few more.
    assert!(v1.calls() < 3 + 50, "{} calls", v1.calls());
    v1.finish();
}

/// All requests that waited for a failed read get its error; the next request begins another read.
#[tokio::test]
async fn a_failure_is_everybodys_and_is_not_kept() {
    let gate = Gate::default();
    let v1 = ScriptedV1::start().await;
    v1.expect(me());
    v1.expect(get_card().reply(200, card(Some(20))));
    v1.expect(list().reply(200, json!({"total_count": 1, "next_page_results": false, "results": "x"})).held(&gate));
    let gateway = Arc::new(Gateway::before(v1.base_url()).await);
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let gateway = Arc::clone(&gateway);
            spawn(async move { gateway.get("ada", &format!("{WEB}/labels/")).await })
        })
        .collect();
    v1.until_called(3).await;
    v1.expect(list().reply(200, labels()).repeated());
    gate.open();
    let mut failed = 0;
    for task in tasks {
        let answer = task.await.expect("an answer");
        failed += usize::from(answer.status == 502);
        assert!(answer.status == 502 || answer.status == 200);
    }
    assert!(failed >= 1);
    gateway.get("ada", &format!("{WEB}/labels/")).await.expect(200);
    v1.finish();
}

/// Asks at once for 24 lists that differ in the size of their pages, all with one key and from one list of v1, which v1
/// refuses slowly. Returns the statuses of the answers, and the number of calls for the list.
async fn refused_at_once(refusal: Exchange, settings: &[(&str, &str)]) -> (Vec<u16>, usize) {
    let gate = Gate::default();
    let v1 = ScriptedV1::start().await;
    v1.expect(me().repeated());
    v1.expect(get_card().reply(200, card(Some(20))).repeated());
    v1.expect(refusal.held(&gate).delay(Duration::from_millis(300)).repeated());
    let settings = [&[("admin.listen", "127.0.0.1:0")], settings].concat();
    let gateway = Arc::new(Gateway::with(v1.base_url(), &settings).await);
    let tasks: Vec<_> = (1..=24)
        .map(|size| {
            let gateway = Arc::clone(&gateway);
            spawn(async move { gateway.get("ada", &format!("{WEB}/labels/?per_page={size}")).await.status })
        })
        .collect();
    v1.until_called(3).await;
    gateway.until_answering(24).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    gate.open();
    let mut statuses = Vec::new();
    for task in tasks {
        statuses.push(task.await.expect("an answer"));
    }
    let lists = v1.seen().iter().filter(|call| call.target.contains("labels/")).count();
    v1.finish();
    (statuses, lists)
}

fn limited() -> Exchange {
    let used_up = json!({"error_code": 5900, "error_message": "RATE_LIMIT_EXCEEDED"});
    list().reply(429, used_up).header("retry-after", "1")
}

/// The refusal is about their own key, so that further reads would be refused as well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_read_is_refused_to_all_who_wait_for_it_with_the_same_key() {
    for (refusal, status) in [
        (list().reply(403, json!({"detail": "Given API token is not valid"})), 401),
        (list().reply(403, json!({"detail": "You do not have permission to perform this action."})), 403),
        (list().reply(404, json!({"error": "The requested resource does not exist."})), 404),
        (limited(), 429),
    ] {
        let (statuses, lists) = refused_at_once(refusal, &[]).await;
        assert_eq!(statuses, [status; 24]);
        // One when all requests came before the gate opened; a slow machine may need a few more.
        assert!(lists <= 3, "{status}: {lists} calls");
    }
}

/// They wait for the quota together. The one that begins the last shared read then continues alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_whose_key_v1_limits_unexpectedly_ask_again_together() {
    let (statuses, lists) =
        refused_at_once(limited(), &[("upstream.quota", "600"), ("limits.deadline", "6s")]).await;
    let told = statuses.iter().filter(|status| **status == 429).count();
    assert!(told >= 20, "{statuses:?}");
    assert!(lists < 20, "{lists} calls");
}
