//! Whole collections: read in as few calls as possible, and never in part.

use crate::support::gateway::{Gateway, WEB, serve_sandbox};
use crate::support::past_gateway::in_web;
use crate::support::scripted::{Exchange, ScriptedV1};
use crate::upstream::{LONG, client_of, context};
use bytes::Bytes;
use causeway::context::Priority;
use causeway::load::{Memory, Share};
use causeway::refusal::Refusal;
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::v1::{NotDone, V1Key};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use uuid::Uuid;

const PATH: &str = "workspaces/acme/projects/p/states/";

async fn read_all(v1: &ScriptedV1) -> Result<Vec<Bytes>, NotDone> {
    client_of(v1.base_url()).read_all(&V1Key::new("ada"), PATH, "fields=id", &context()).await
}

fn target(page: usize) -> String {
    target_of(1000, page)
}

fn target_of(size: usize, page: usize) -> String {
    let cursor = if page == 0 { String::new() } else { format!("&cursor={size}:{page}:0") };
    format!("{PATH}?per_page={size}{cursor}&fields=id")
}

/// A page of v1 with these rows, of `total` in all.
fn page(number: usize, ids: &[u128], total: usize, more: bool) -> Exchange {
    page_of(1000, number, ids, total, more)
}

fn page_of(size: usize, number: usize, ids: &[u128], total: usize, more: bool) -> Exchange {
    let rows: Vec<Value> = ids.iter().map(|id| json!({"id": Uuid::from_u128(*id), "name": "x"})).collect();
    let body = json!({"grouped_by": null, "total_count": total, "next_cursor": "1000:1:0", "count": ids.len(),
        "next_page_results": more, "prev_page_results": number > 0, "results": rows});
    Exchange::get(&target_of(size, number)).reply(200, body)
}

/// A page of v1 that is larger than an answer may be.
fn too_large(size: usize, number: usize) -> Exchange {
    Exchange::get(&target_of(size, number)).reply(200, json!({"results": "x".repeat(70_000)}))
}

#[tokio::test]
async fn all_pages_are_read_in_order_with_their_size() {
    let v1 = ScriptedV1::start().await.in_order();
    v1.expect(page(0, &[1, 2], 5, true)).expect(page(1, &[3, 4], 5, true)).expect(page(2, &[5], 5, false));
    let pages = read_all(&v1).await.unwrap();
    assert_eq!(pages.len(), 3);
    assert!(String::from_utf8_lossy(&pages[2]).contains(&Uuid::from_u128(5).to_string()));
    v1.finish();
}

#[tokio::test]
async fn an_empty_collection_is_one_call() {
    let v1 = ScriptedV1::start().await;
    v1.expect(page(0, &[], 0, false));
    assert_eq!(read_all(&v1).await.unwrap().len(), 1);
    v1.finish();
}

#[tokio::test]
async fn a_collection_that_moved_is_read_again() {
    let moved = [
        // A row was deleted: a row of the second page slid past unseen.
        vec![page(0, &[1, 2], 4, true), page(1, &[4], 3, false)],
        // A row was added in front: one row is seen twice.
        vec![page(0, &[1, 2], 4, true), page(1, &[2, 3], 4, false)],
        // Fewer rows than v1 counts.
        vec![page(0, &[1, 2], 4, false)],
        // An empty page that promises more.
        vec![page(0, &[1, 2], 4, true), page(1, &[], 4, true)],
    ];
    for first in moved {
        let v1 = ScriptedV1::start().await.in_order();
        for exchange in first {
            v1.expect(exchange);
        }
        v1.expect(page(0, &[1, 2], 4, true)).expect(page(1, &[3, 4], 4, false));
        assert_eq!(read_all(&v1).await.unwrap().len(), 2);
        v1.finish();
    }
}

#[tokio::test]
async fn a_collection_that_never_holds_still_is_refused() {
    let v1 = ScriptedV1::start().await;
    v1.expect(page(0, &[1, 1], 2, false).times(4));
    let refused = Refusal::from(read_all(&v1).await.unwrap_err());
    assert_eq!((refused.status(), refused.code()), (503, "upstream_unavailable"));
    v1.finish();
}

#[tokio::test]
async fn pages_without_end_are_given_up() {
    let v1 = ScriptedV1::start().await;
    v1.expect(page(0, &[], 0, true).times(4));
    assert!(read_all(&v1).await.is_err());
    v1.finish();
}

#[tokio::test]
async fn a_refused_page_is_handed_to_the_caller() {
    let permission = json!({"detail": "You do not have permission to perform this action."});
    for (status, body) in [(403, permission), (404, json!({"error": "x"}))] {
        let v1 = ScriptedV1::start().await.in_order();
        v1.expect(page(0, &[1], 2, true)).expect(Exchange::get(&target(1)).reply(status, body));
        let Err(NotDone::Answered(answer)) = read_all(&v1).await else { panic!("not an answer") };
        assert_eq!(answer.status, status);
        v1.finish();
    }
}

#[tokio::test]
async fn faults_and_invalid_keys_are_refusals() {
    let first = target(0);
    let cases = [
        (Exchange::get(&first).recorded("auth", "auth_wrong_key"), "unauthorized"),
        (Exchange::get(&first).recorded("throttle", "throttle_limited"), "rate_limited"),
        (Exchange::get(&first).recorded("errors", "errors_poison_list"), "upstream_error"),
        (Exchange::get(&first).truncated_json(200, json!({"total_count": 0, "results": []}), 2), "upstream_error"),
        (Exchange::get(&first).reply(200, json!([])), "upstream_error"),
        (Exchange::get(&first).drop_after_reading().times(2), "upstream_unavailable"),
    ];
    for (exchange, code) in cases {
        let v1 = ScriptedV1::start().await;
        v1.expect(exchange);
        assert_eq!(Refusal::from(read_all(&v1).await.unwrap_err()).code(), code);
        v1.finish();
    }
}

#[tokio::test]
async fn pages_that_are_too_large_are_read_as_smaller_ones_from_where_the_walk_is() {
    let v1 = ScriptedV1::start().await.in_order();
    let first: Vec<u128> = (1..=100).collect();
    v1.expect(too_large(1000, 0)).expect(page_of(100, 0, &first, 103, true));
    v1.expect(too_large(100, 1)).expect(page_of(10, 10, &[101, 102, 103], 103, false));
    assert_eq!(read_all(&v1).await.unwrap().len(), 2);
    v1.finish();
}

#[tokio::test]
async fn a_row_that_is_too_large_for_an_answer_is_a_refusal() {
    let v1 = ScriptedV1::start().await.in_order();
    for size in [1000, 100, 10, 1] {
        v1.expect(too_large(size, 0));
    }
    assert_eq!(Refusal::from(read_all(&v1).await.unwrap_err()).code(), "upstream_error");
    v1.finish();
}

/// A write that has changed nothing can be sent again; one that has begun must be able to end.
#[tokio::test]
async fn a_list_beyond_the_memory_is_read_only_for_a_write_that_has_changed_something() {
    let large = |number: usize| {
        let row = json!({"id": Uuid::from_u128(number as u128), "name": "x".repeat(40_000)});
        let page = json!({"total_count": 4, "next_page_results": number < 3, "results": [row]});
        Exchange::get(&target(number)).reply(200, page)
    };
    let write = context().with_priority(Priority::Write);
    let changed = |something| write.for_write(LONG, Arc::new(AtomicBool::new(something)));
    let build = context().with_priority(Priority::Index);
    for (ctx, pages) in [(write.clone(), 3), (changed(false), 3), (build, 3), (changed(true), 4)] {
        let v1 = ScriptedV1::start().await.in_order();
        for number in 0..pages {
            v1.expect(large(number));
        }
        let client = client_of(v1.base_url()).within(Memory::new(100_000, Share(100)));
        match client.read_all(&V1Key::new("ada"), PATH, "fields=id", &ctx).await {
            Ok(read) => assert_eq!((read.len(), pages), (4, 4)),
            Err(refused) => assert_eq!((Refusal::from(refused), pages), (Refusal::Overloaded, 3)),
        }
        v1.finish();
    }
}

/// The texts of one list, each of a size that v1 takes, are together larger than an answer of v1 may be.
#[tokio::test]
async fn a_list_with_more_text_than_one_answer_may_have_is_read_written_and_made_shorter() {
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let text = "x".repeat(10_000);
    for number in 0..30 {
        in_web(&sandbox, "POST", "labels/", &json!({"name": format!("Label {number}"), "description": text}));
    }
    let small = in_web(&sandbox, "POST", "labels/", &json!({"name": "Small"}));
    let small = small["id"].as_str().expect("an id");
    let base = serve_sandbox(&sandbox).await;
    let gateway = Gateway::with(&base, &[("upstream.max_response_size", "128KiB")]).await;
    let (labels, one) = (format!("{WEB}/labels/"), format!("{WEB}/labels/{small}/"));
    let count = async || {
        let list = gateway.get("ada", &format!("{labels}?per_page=1")).await.expect(200);
        list.json["total_count"].as_u64().expect("a count")
    };
    let before = count().await;
    assert!(before > 30);
    gateway.get("ada", &one).await.expect(200);
    gateway.patch("ada", &one, json!({"name": "Smaller"})).await.expect(200);
    let item = json!({"name": "An item", "label_ids": [small]});
    gateway.post("ada", &format!("{WEB}/work-items/"), item).await.expect(201);
    gateway.delete("ada", &one).await.expect(204);
    assert_eq!(count().await, before - 1);
}
