//! Collections that change during a read: between any two pages a row is added or removed at v1.

use crate::support::furnished::id as id_of;
use crate::support::gateway::{Answer, Gateway, WEB};
use crate::support::past_gateway::in_web;
use bytes::Bytes;
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::task::spawn;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use serde_json::{Value, json};
use std::collections::{HashSet, VecDeque};
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;

/// Changes v1 before it answers a page; gets the number of the page.
type Between = Box<dyn FnMut(&Sandbox, usize) + Send>;

/// A v1 whose lists at `path` change before each page of them.
#[derive(Clone)]
struct Changing {
    sandbox: Sandbox,
    path: &'static str,
    between: Arc<Mutex<Between>>,
    /// Milliseconds that v1 takes for each page of these lists.
    takes: Arc<AtomicU64>,
}

impl Changing {
    async fn serve(self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base_url = format!("http://{}", listener.local_addr().expect("an address"));
        spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let v1 = self.clone();
                let service = service_fn(move |request| v1.clone().answer(request));
                spawn(async move {
                    let _ =
                        Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        base_url
    }

    async fn answer(self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        let query = head.uri.query().unwrap_or_default();
        if head.method == "GET" && head.uri.path().ends_with(self.path) && query.contains("per_page=1000") {
            let page = query.split("cursor=1000:").nth(1).and_then(|rest| rest.split(':').next()?.parse().ok());
            (self.between.lock().expect("a lock"))(&self.sandbox, page.unwrap_or(0));
            tokio::time::sleep(Duration::from_millis(self.takes.load(Ordering::SeqCst))).await;
        }
        Ok(self.sandbox.handle(Request::from_parts(head, body)).map(Full::new))
    }
}

/// A sandbox with `count` labels in `WEB`, and their ids, the oldest first.
fn with_labels(count: usize) -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let make = |n| id_of(&in_web(&sandbox, "POST", "labels/", &json!({"name": format!("label {n}")})));
    let ids = (0..count).map(make).collect();
    sandbox.clear_journal();
    (sandbox, ids)
}

async fn behind(sandbox: &Sandbox, path: &'static str, between: Between) -> Gateway {
    behind_with(sandbox, path, between, &[("cache.collection", "10m")]).await
}

async fn behind_with(
    sandbox: &Sandbox,
    path: &'static str,
    between: Between,
    settings: &[(&str, &str)],
) -> Gateway {
    let (between, takes) = (Arc::new(Mutex::new(between)), Arc::default());
    let v1 = Changing { sandbox: sandbox.clone(), path, between, takes };
    Gateway::with(&v1.serve().await, settings).await
}

/// Age from which cached data is too old, as long as v1's lists can be read.
const USUAL: Duration = Duration::from_millis(100);
const SHORT: [(&str, &str); 2] = [("cache.collection", "100ms"), ("index.freshness", "100ms")];

/// Returns the age of an answer that shows a list from before it kept changing.
fn outlasted(answer: &Answer) -> Option<u64> {
    let told = answer.headers["server-timing"].contains("stale;desc=\"the list kept changing\"");
    let status = answer.headers.get("cache-status").map(String::as_str);
    assert_eq!(told && answer.status == 200, status == Some("causeway; fwd=stale"), "{:?}", answer.headers);
    let age = answer.headers.get("age").map(|age| age.parse().expect("whole seconds"));
    assert_eq!(status.is_some(), age.is_some(), "{:?}", answer.headers);
    age
}

/// Deletes some labels of every page before each page, from the moment the flag is set.
fn restless(mut left: VecDeque<String>) -> (Arc<AtomicBool>, Between) {
    let begun = Arc::<AtomicBool>::default();
    let begins = Arc::clone(&begun);
    let shrink = move |v1: &Sandbox, _: usize| {
        if !begins.load(Ordering::SeqCst) {
            return;
        }
        let middle = left.remove(left.len() / 2);
        for id in [left.pop_front(), middle, left.pop_back()].into_iter().flatten() {
            in_web(v1, "DELETE", &format!("labels/{id}/"), &json!({}));
        }
    };
    (begun, Box::new(shrink))
}

async fn grow_older() {
    tokio::time::sleep(USUAL + USUAL / 2).await;
}

/// Returns all labels that the gateway shows from its cache.
async fn labels(gateway: &Gateway) -> (Answer, HashSet<String>) {
    let first = gateway.get("ada", &format!("{WEB}/labels/?per_page=1")).await;
    let mut ids = HashSet::new();
    if first.status != 200 {
        return (first, ids);
    }
    let mut next = format!("{WEB}/labels/?paginate=cursor&order_by=created_at&per_page=1000");
    loop {
        let page = gateway.get("ada", &next).await.expect(200);
        ids.extend(page.column("id").iter().map(|id| id.as_str().expect("an id").to_owned()));
        let Some(token) = page.json["next_cursor"].as_str() else { break };
        next = format!("{WEB}/labels/?paginate=cursor&order_by=created_at&per_page=1000&cursor={token}");
    }
    (first, ids)
}

fn pages(sandbox: &Sandbox, path: &str) -> usize {
    sandbox
        .journal()
        .iter()
        .filter(|entry| entry.path.contains(path) && entry.path.contains("per_page=1000"))
        .count()
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_that_grow_before_every_page_are_read_in_one_walk() {
    let (sandbox, made) = with_labels(2_100);
    let mut number = 0;
    let grow = move |v1: &Sandbox, _: usize| {
        number += 1;
        in_web(v1, "POST", "labels/", &json!({"name": format!("new {number}")}));
    };
    let gateway = behind(&sandbox, "/labels/", Box::new(grow)).await;
    let (answer, shown) = labels(&gateway).await;
    // One row was added before the first page; rows added later do not belong to this read.
    assert_eq!(answer.expect(200).json["total_count"], 2_101);
    assert_eq!(pages(&sandbox, "/labels/"), 3);
    assert_eq!(shown.len(), 2_101);
    assert!(made.iter().all(|id| shown.contains(id)));
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_that_shrink_and_grow_once_are_read_again() {
    let (sandbox, made) = with_labels(2_100);
    let (gone, mut left) = (made[2_000].clone(), 1);
    let change = move |v1: &Sandbox, page: usize| {
        if page == 1 && left > 0 {
            left -= 1;
            // A row that was already read is deleted: this walk misses one row behind it, and the count stays the same.
            in_web(v1, "DELETE", &format!("labels/{gone}/"), &json!({}));
        }
    };
    let gateway = behind(&sandbox, "/labels/", Box::new(change)).await;
    let (answer, shown) = labels(&gateway).await;
    assert_eq!(answer.expect(200).json["total_count"], 2_099);
    let rest: HashSet<String> = made.iter().filter(|id| **id != made[2_000]).cloned().collect();
    assert_eq!(shown, rest);
    assert_eq!(pages(&sandbox, "/labels/"), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_of_which_one_goes_before_every_page_are_proven_by_what_was_seen_twice() {
    let (sandbox, made) = with_labels(2_100);
    let (mut newest, all) = (made.clone().into_iter().rev(), made);
    let shrink = move |v1: &Sandbox, page: usize| {
        if page > 0
            && let Some(id) = newest.next()
        {
            in_web(v1, "DELETE", &format!("labels/{id}/"), &json!({}));
        }
    };
    let gateway = behind(&sandbox, "/labels/", Box::new(shrink)).await;
    let (answer, shown) = labels(&gateway).await;
    let total = answer.expect(200).json["total_count"].as_u64().expect("a count") as usize;
    assert!(total < all.len() && shown == all[..total].iter().cloned().collect(), "{total}");
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_that_never_stand_still_are_worth_another_try_and_no_fault() {
    let (sandbox, made) = with_labels(2_100);
    let mut left: std::collections::VecDeque<String> = made.into();
    let shrink = move |v1: &Sandbox, _: usize| {
        // One of each page: at every instant there are rows that no later page shows.
        let middle = left.remove(left.len() / 2);
        for id in [left.pop_front(), middle, left.pop_back()].into_iter().flatten() {
            in_web(v1, "DELETE", &format!("labels/{id}/"), &json!({}));
        }
    };
    let gateway = behind(&sandbox, "/labels/", Box::new(shrink)).await;
    let answer = gateway.get("ada", &format!("{WEB}/labels/?per_page=1")).await;
    let answer = answer.expect_problem(503, "upstream_unavailable");
    assert!(answer.headers.contains_key("retry-after"));
    assert!(answer.text("detail").contains("kept changing"), "{}", answer.json);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_keeps_changing_is_answered_as_it_was_last_and_says_how_old_it_is() {
    let (sandbox, made) = with_labels(2_100);
    let (begun, shrink) = restless(made.into());
    let gateway = behind_with(&sandbox, "/labels/", shrink, &SHORT).await;
    let (list, read) = (format!("{WEB}/labels/?per_page=1"), Instant::now());
    let before = gateway.get("ada", &list).await.expect(200);
    assert_eq!(outlasted(&before), None);
    begun.store(true, Ordering::SeqCst);
    grow_older().await;
    let answer = gateway.get("ada", &list).await.expect(200);
    let age = outlasted(&answer).expect("an age");
    assert!((1..=read.elapsed().as_secs() + 1).contains(&age), "{age}");
    assert_eq!(answer.bytes, before.bytes);
    // A record absent from the old list is not reported as missing, and no caller sees rows that v1 hides from them.
    let missing = gateway.get("ada", &format!("{WEB}/labels/00000000-0000-4000-e000-0000000fffff/")).await;
    missing.expect_problem(503, "upstream_unavailable");
    gateway.get("eve", &list).await.expect_problem(404, "resource_not_found");
    // A write needs the current list to look names up.
    let item = json!({"name": "an item", "labels": ["label 1000"]});
    let refused = gateway.post("ada", &format!("{WEB}/work-items/"), item).await;
    refused.expect_problem(503, "upstream_unavailable");
    // A caller sees their own write.
    let own = gateway.post("ada", &format!("{WEB}/labels/"), json!({"name": "my own"})).await.expect(201);
    let answer = gateway.get("ada", &format!("{WEB}/labels/?name=my%20own")).await.expect(200);
    assert_eq!(answer.column("id"), [own.json["id"].clone()]);
    assert!(outlasted(&answer).is_some());
    // A write on the pass-through is in no cached list.
    let past = format!("{}/labels/", WEB.replace("/v2/", "/v1/"));
    gateway.post("ada", &past, json!({"name": "past the plan"})).await.expect(201);
    let refused = gateway.get("ada", &list).await.expect_problem(503, "upstream_unavailable");
    assert!(refused.headers.contains_key("retry-after"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_keeps_changing_is_refused_where_nothing_old_may_be_used() {
    let (sandbox, made) = with_labels(2_100);
    let (begun, shrink) = restless(made.into());
    let settings = [SHORT[0], SHORT[1], ("cache.stale_if_error", "0s")];
    let gateway = behind_with(&sandbox, "/labels/", shrink, &settings).await;
    let list = format!("{WEB}/labels/?per_page=1");
    gateway.get("ada", &list).await.expect(200);
    begun.store(true, Ordering::SeqCst);
    grow_older().await;
    gateway.get("ada", &list).await.expect_problem(503, "upstream_unavailable");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_keeps_changing_is_not_read_for_everybody_who_asks() {
    let (sandbox, made) = with_labels(2_100);
    let (begun, shrink) = restless(made.into());
    let gateway = behind_with(&sandbox, "/labels/", shrink, &[("cache.collection", "6s")]).await;
    let list = format!("{WEB}/labels/?per_page=1");
    gateway.get("ada", &list).await.expect(200);
    begun.store(true, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(6_100)).await;
    assert!(outlasted(&gateway.get("ada", &list).await.expect(200)).is_some());
    let before = pages(&sandbox, "/labels/");
    for _ in 0..5 {
        assert!(outlasted(&gateway.get("ada", &list).await.expect(200)).is_some());
    }
    assert_eq!(pages(&sandbox, "/labels/"), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn work_items_that_keep_changing_are_listed_as_they_were_last() {
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let make = |n| id_of(&in_web(&sandbox, "POST", "work-items/", &json!({"name": format!("item {n}")})));
    let mut oldest: VecDeque<String> = (0..1_100).map(make).collect();
    let begun = Arc::<AtomicBool>::default();
    let begins = Arc::clone(&begun);
    let shrink = move |v1: &Sandbox, page: usize| {
        // Deletes a row that the first page has shown, so that the second page misses a row that exists.
        if begins.load(Ordering::SeqCst)
            && page == 1
            && let Some(id) = oldest.pop_front()
        {
            in_web(v1, "DELETE", &format!("work-items/{id}/"), &json!({}));
        }
    };
    let settings = [SHORT[0], SHORT[1], ("index.sweep", "100ms")];
    let gateway = behind_with(&sandbox, "/work-items/", Box::new(shrink), &settings).await;
    let list = format!("{WEB}/work-items/?priority__in=urgent,high,medium,low,none&per_page=1");
    let before = gateway.get("ada", &list).await.expect(200);
    assert_eq!(outlasted(&before), None);
    begun.store(true, Ordering::SeqCst);
    grow_older().await;
    let answer = gateway.get("ada", &list).await.expect(200);
    assert!(outlasted(&answer).is_some(), "{:?}", answer.headers);
    assert_eq!(answer.bytes, before.bytes);
    // The old list leaves out an item deleted through the gateway, and keeps the rest.
    gateway.delete("ada", &format!("{WEB}/work-items/{}/", id_of(&before.json["data"][0]))).await.expect(204);
    let answer = gateway.get("ada", &list).await.expect(200);
    assert!(outlasted(&answer).is_some(), "{:?}", answer.headers);
    let total = |answer: &Answer| answer.json["total_count"].as_u64().expect("a count");
    assert_eq!(total(&answer), total(&before) - 1);
    assert_ne!(answer.json["data"][0]["id"], before.json["data"][0]["id"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn work_items_that_take_too_long_to_compare_are_listed_as_they_were_last() {
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, work_items: 14_100, ..Config::default() });
    let takes = Arc::<AtomicU64>::default();
    let between = Arc::new(Mutex::new(Box::new(|_: &Sandbox, _| ()) as Between));
    let v1 = Changing { sandbox, path: "/work-items/", between, takes: Arc::clone(&takes) };
    // The first build has to fit into the time of a request too.
    let (deadline, sweep) = (("limits.deadline", "60s"), ("index.sweep", "100ms"));
    let settings = [SHORT[0], SHORT[1], deadline, sweep, ("cache.stretch", "100ms")];
    let gateway = Gateway::with(&v1.serve().await, &settings).await;
    let list = format!("{WEB}/work-items/?priority__in=urgent,high,medium,low,none&per_page=1");
    let before = gateway.get("ada", &list).await.expect(200);
    grow_older().await;
    // Fifteen pages do not fit into the 60 s of a request, as the gateway knows after the first page.
    takes.store(6_000, Ordering::SeqCst);
    let answer = gateway.get("ada", &list).await.expect(200);
    let told = &answer.headers["server-timing"];
    assert!(told.contains("stale;desc=\"the list is being compared with v1\""), "{told}");
    assert_eq!(answer.headers["cache-status"], "causeway; fwd=stale");
    assert!(answer.headers.contains_key("age"), "{:?}", answer.headers);
    assert_eq!(answer.bytes, before.bytes);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_is_deleted_although_others_come_meanwhile() {
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let make = |v1: &Sandbox, name: &str| id_of(&in_web(v1, "POST", "work-items/", &json!({"name": name})));
    let parent = make(&sandbox, "parent");
    let child = make(&sandbox, "child");
    in_web(&sandbox, "PATCH", &format!("work-items/{child}/"), &json!({"parent": parent}));
    for n in 0..1_100 {
        make(&sandbox, &format!("item {n}"));
    }
    let grow = move |v1: &Sandbox, _: usize| {
        make(v1, "new");
    };
    let gateway = behind(&sandbox, "/work-items/", Box::new(grow)).await;
    gateway.delete("ada", &format!("{WEB}/work-items/{parent}/")).await.expect(204);
    // The child is at the very end of v1's list and lives on without a parent.
    let child = gateway.get("ada", &format!("{WEB}/work-items/{child}/")).await.expect(200);
    assert_eq!(child.json["parent_id"], Value::Null);
}
