//! Writes that cannot begin before their client gets a deadline error: they are not carried out later, and the error
//! does not say that they may have been.

use super::idempotency::Stage;
use crate::support::gateway::{Answer, Gateway, WEB};
use crate::support::proofs::{V1, card, get_card, get_item, item, me};
use crate::support::scripted::{Exchange, Gate, ScriptedV1};
use crate::support::switch::until;
use causeway::task::spawn;
use futures_util::future::join;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};

const ITEM: &str = "00000000-0000-4000-8000-00000000000e";

fn one() -> String {
    format!("{WEB}/work-items/{ITEM}/")
}

fn patch() -> Exchange {
    Exchange::patch(&format!("{V1}work-items/{ITEM}/"))
}

/// A v1 that accepts ada's key, and a gateway before it.
async fn stage(settings: &[(&str, &str)]) -> (ScriptedV1, Arc<Gateway>) {
    let v1 = ScriptedV1::start().await;
    v1.expect(me().repeated()).expect(get_card().reply(200, card(Some(20))).repeated());
    let gateway = Gateway::with(v1.base_url(), settings).await;
    (v1, Arc::new(gateway))
}

/// Checks whether a refusal says that the write may have been carried out.
fn may_be_done(answer: &Answer) -> bool {
    answer.text("detail").contains("may have been carried out")
}

fn patches(v1: &ScriptedV1) -> usize {
    v1.seen().iter().filter(|call| call.method == "PATCH").count()
}

/// Returns the answer to a second write of the record, whose turn comes when the first has gone on for `wait`; `reads`
/// is its read of the record.
async fn behind_another(v1: &ScriptedV1, gateway: &Arc<Gateway>, wait: Duration, reads: Exchange) -> Answer {
    let gate = Gate::default();
    v1.expect(get_item(ITEM, "old"))
        .expect(patch().body(json!({"name": "first"})).reply(200, item(ITEM, "first")).held(&gate));
    let first = spawn({
        let gateway = Arc::clone(gateway);
        async move { gateway.patch("ada", &one(), json!({"name": "first"})).await }
    });
    until("the first is sent", async || patches(v1) == 1).await;
    v1.expect(reads);
    let opening = async {
        tokio::time::sleep(wait).await;
        gate.open();
    };
    let second = join(gateway.patch("ada", &one(), json!({"name": "second"})), opening).await.0;
    first.await.expect("no panic").expect(200);
    second
}

/// By then the client may have looked for its change, found nothing and sent it again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_has_not_begun_when_its_client_is_told_504_is_not_carried_out_later() {
    let ((v1, gateway), gate) = (stage(&[("limits.deadline", "10s")]).await, Gate::default());
    let reads = get_item(ITEM, "first").held(&gate);
    let told = behind_another(&v1, &gateway, Duration::from_millis(1500), reads).await;
    let told = told.expect_problem(504, "deadline_exceeded");
    assert!(!may_be_done(&told), "{}", told.json);
    gate.open();
    // The next write of the record gets its turn when this one has ended.
    let again = json!({"name": "again"});
    v1.expect(get_item(ITEM, "first")).expect(patch().body(again.clone()).reply(200, item(ITEM, "again")));
    gateway.patch("ada", &one(), again).await.expect(200);
    assert_eq!(patches(&v1), 2, "the one that was late was never sent");
    v1.finish();
}

/// v1 saves whole rows: when it carries out the first write late, it would save the old values of all other members.
#[tokio::test]
async fn after_a_lost_answer_the_next_write_of_the_record_waits_until_v1_has_ended_the_first() {
    let late_write = Duration::from_secs(1);
    let (v1, gateway) = stage(&[("store.late_write", "1s")]).await;
    let sent = json!({"name": "first"});
    v1.expect(get_item(ITEM, "old"))
        .expect(patch().body(sent.clone()).reply(504, json!("a proxy")))
        .expect(Exchange::get(&format!("{V1}work-items/{ITEM}/")).reply(200, item(ITEM, "old")));
    let begun = Instant::now();
    let told = gateway.patch("ada", &one(), sent).await.expect_problem(504, "upstream_timeout");
    assert!(may_be_done(&told), "{}", told.json);
    let again = json!({"name": "second"});
    v1.expect(get_item(ITEM, "first")).expect(patch().body(again.clone()).reply(200, item(ITEM, "second")));
    gateway.patch("ada", &one(), again).await.expect(200);
    assert!(begun.elapsed() >= late_write, "{:?}", begun.elapsed());
    v1.finish();
}

/// v1 may carry out a write that it has, and the reads that look for its outcome hang too.
#[tokio::test]
async fn a_write_that_v1_has_at_the_deadline_may_have_been_carried_out() {
    let ((v1, gateway), gate) = (stage(&[("limits.deadline", "2s")]).await, Gate::default());
    let looks = Exchange::get(&format!("{V1}work-items/{ITEM}/")).reply(200, item(ITEM, "old"));
    v1.expect(get_item(ITEM, "old"))
        .expect(patch().reply(200, item(ITEM, "new")).held(&gate))
        .expect(looks.held(&gate).repeated());
    let told = gateway.patch("ada", &one(), json!({"name": "new"})).await.expect(504);
    assert!(may_be_done(&told), "{}", told.json);
    gate.open();
    v1.finish();
}

/// A change of definitions has changed nothing while it waits for the store.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_waits_for_the_own_store_until_the_deadline_is_not_carried_out_later() {
    let stage = Stage::new(&[("limits.deadline", "2s")]).await;
    let (gateway, types) = (&stage.gateway, format!("{WEB}/work-item-types/"));
    let store = gateway.store().await;
    let writing = store.engine().writing().await.expect("a transaction");
    let told = gateway.post("ada", &types, json!({"name": "late"})).await;
    let told = told.expect_problem(504, "deadline_exceeded");
    assert!(!may_be_done(&told), "{}", told.json);
    writing.rollback().await.expect("its end");
    // Writers of the store follow one another, so the first one has ended before this one.
    gateway.post("ada", &types, json!({"name": "next"})).await.expect(201);
    let shown = gateway.get("ada", &types).await.expect(200).column("name");
    assert!(shown.contains(&json!("next")) && !shown.contains(&json!("late")), "{shown:?}");
}

/// Two thirds of its time are over when its turn comes; v1's quota has room again only after the rest.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_waits_in_its_turn_for_v1s_quota_no_longer_than_its_client_can() {
    let (v1, gateway) = stage(&[("limits.deadline", "14s"), ("upstream.quota", "60")]).await;
    let begun = Instant::now();
    let limited = json!({"error_code": 5900, "error_message": "RATE_LIMIT_EXCEEDED"});
    let refused = patch().body(json!({"name": "second"})).reply(429, limited).header("retry-after", "5");
    v1.expect(refused);
    let told = behind_another(&v1, &gateway, Duration::from_secs(9), get_item(ITEM, "first")).await;
    let told = told.expect_problem(429, "rate_limited");
    assert!(begun.elapsed() < Duration::from_secs(13), "{:?}", begun.elapsed());
    let after = told.headers["retry-after"].as_str();
    assert!(["3", "4", "5"].contains(&after), "{after}");
    assert_eq!(patches(&v1), 2);
    v1.finish();
}
