//! A thousand clients with the same request at the same time cost v1 as many calls as one client.

use crate::support::gateway::{Gateway, WEB};
use crate::support::proofs::{V1, card, get_card, me};
use crate::support::scripted::{Exchange, Gate, ScriptedV1};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

const CROWD: usize = 1000;
const LABELS: &str = "per_page=1000&fields=id,name,description,color,sort_order,parent,external_id,\
                      external_source,created_at,created_by";

fn labels() -> Value {
    json!({"total_count": 1, "next_page_results": false, "results": [{
        "id": "00000000-0000-4000-7000-000000000009", "name": "bug", "description": "", "color": "",
        "sort_order": 65535.0, "parent": null, "external_id": null, "external_source": null,
        "created_at": "2026-11-21T10:36:12.630235Z", "created_by": "00000000-0000-4000-a000-000000000001"}]})
}

/// A v1 that answers each of the three calls of a cold read once, and does not answer a second one.
async fn once_each(list: Exchange) -> ScriptedV1 {
    let v1 = ScriptedV1::start().await;
    v1.expect(me());
    v1.expect(get_card().reply(200, card(Some(20))));
    v1.expect(list.reply(200, labels()));
    v1
}

fn list() -> Exchange {
    Exchange::get(&format!("{V1}labels/?{LABELS}"))
}

async fn all_answered(gateway: &Arc<Gateway>, clients: usize) {
    let tasks: Vec<_> = (0..clients)
        .map(|_| {
            let gateway = Arc::clone(gateway);
            tokio::spawn(async move { gateway.get("ada", &format!("{WEB}/labels/")).await })
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
    let gateway = Arc::new(Gateway::before(v1.base_url()).await);
    all_answered(&gateway, CROWD).await;
    assert_eq!(v1.calls(), 3);
    v1.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn they_are_all_answered_when_the_first_client_leaves() {
    let gate = Gate::default();
    let v1 = once_each(list().held(&gate)).await;
    let gateway = Arc::new(Gateway::before(v1.base_url()).await);
    let first = {
        let gateway = Arc::clone(&gateway);
        tokio::spawn(async move { gateway.get("ada", &format!("{WEB}/labels/")).await })
    };
    v1.until_called(3).await;
    first.abort();
    let others = {
        let gateway = Arc::clone(&gateway);
        tokio::spawn(async move { all_answered(&gateway, CROWD).await })
    };
    // Time for most requests to wait at the gate; the outcome is the same at any time of opening.
    tokio::time::sleep(Duration::from_millis(200)).await;
    gate.open();
    others.await.expect("all answered");
    assert_eq!(v1.calls(), 3);
    v1.finish();
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
            tokio::spawn(async move { gateway.get("ada", &path).await })
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
            tokio::spawn(async move { gateway.get("ada", &format!("{WEB}/labels/")).await })
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
