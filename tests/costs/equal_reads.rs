//! Equal reads at once: one read serves all requests that came before it began, and no later request.

use crate::support::gateway::{Answer, Gateway, WEB};
use crate::support::proofs::{V1, card, get_card, get_item, item, me};
use crate::support::scripted::{Exchange, Gate, ScriptedV1};
use causeway::task::spawn;
use causeway::translate::work_items::{FIELDS, WHOLE};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

const ITEM: &str = "00000000-0000-4000-8000-00000000000e";
/// Time for which a read may be held here. A read delays the next one for a second.
const HELD: Duration = Duration::from_millis(600);

struct Scene {
    v1: ScriptedV1,
    gateway: Arc<Gateway>,
}

impl Scene {
    /// A gateway that already holds the proofs of ada's identity and access.
    async fn new() -> Self {
        Self::with(&[]).await
    }

    async fn with(settings: &[(&str, &str)]) -> Self {
        let v1 = ScriptedV1::start().await;
        v1.expect(me().repeated());
        v1.expect(get_card().reply(200, card(Some(20))).repeated());
        v1.expect(Exchange::get(&format!("{V1}work-items/{ITEM}/?{WHOLE}")).reply(404, json!({"error": "none"})));
        let settings = [&[("admin.listen", "127.0.0.1:0")], settings].concat();
        let gateway = Arc::new(Gateway::with(v1.base_url(), &settings).await);
        gateway.get("ada", &one("")).await.expect_problem(404, "resource_not_found");
        Self { v1, gateway }
    }

    fn ask(&self, path: &str) -> JoinHandle<Answer> {
        let (gateway, path) = (Arc::clone(&self.gateway), path.to_owned());
        spawn(async move { gateway.get("ada", &path).await })
    }

    /// Returns the number of calls without the proofs and the call that made them.
    fn calls(&self) -> usize {
        self.v1.calls() - 3
    }

    async fn until_called(&self, calls: usize) {
        self.v1.until_called(calls + 3).await;
    }

    /// Begins a read of the item that v1 answers with `name` when `gate` opens. Also returns when it was requested.
    async fn begin_held(&self, name: &str, gate: &Gate) -> (Instant, JoinHandle<Answer>) {
        self.v1.expect(reads(name).held(gate));
        let begun = (Instant::now(), self.ask(&one("")));
        self.until_called(1).await;
        begun
    }

    /// Waits until so many requests have come; all but one of them wait. Gives up when the held read is held for so long
    /// that they wait for it no more.
    async fn until_come(&self, requests: usize) {
        let _ = tokio::time::timeout(HELD, self.gateway.until_answering(requests)).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }

    /// Lets the read go on that was requested at `begun`. None when that was so late that the read does not delay the
    /// next one any more.
    fn open(&self, gate: &Gate, begun: Instant) -> Option<()> {
        gate.open();
        if begun.elapsed() < HELD {
            return Some(());
        }
        self.v1.abandon();
        None
    }
}

/// Carries a test out again while this machine is too busy for its requests to come while a read is held.
async fn in_time(test: impl AsyncFn(Scene, Gate) -> Option<()>) {
    for _ in 0..20 {
        if test(Scene::new().await, Gate::default()).await.is_some() {
            return;
        }
    }
    panic!("the requests never came in time");
}

/// Path of the work item.
fn one(query: &str) -> String {
    format!("{WEB}/work-items/{ITEM}/{query}")
}

fn reads(name: &str) -> Exchange {
    get_item(ITEM, name)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_during_a_read_share_the_next_read() {
    in_time(async |scene: Scene, gate: Gate| {
        let (begun, first) = scene.begin_held("old", &gate).await;
        scene.v1.expect(reads("new"));
        // The item changes at v1, past the gateway; every later request must show the change.
        let later: Vec<_> = (0..20).map(|_| scene.ask(&one(""))).collect();
        scene.until_come(21).await;
        scene.open(&gate, begun)?;
        assert_eq!(first.await.unwrap().expect(200).text("name"), "old");
        let (mut calls, mut tags) = (0, Vec::new());
        for answer in later {
            let answer = answer.await.unwrap().expect(200);
            assert_eq!(answer.text("name"), "new");
            tags.push(answer.headers["etag"].clone());
            let shared = answer.headers["server-timing"].ends_with(", collapsed");
            assert_eq!(answer.calls(), u32::from(!shared));
            calls += answer.calls();
        }
        assert_eq!((scene.calls(), calls), (2, 1));
        tags.dedup();
        assert_eq!(tags.len(), 1);
        scene.v1.finish();
        Some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_work_items_is_shared_too_and_other_pages_are_not() {
    in_time(async |scene: Scene, gate: Gate| {
        let page = |size: usize| {
            let rows = json!({"total_count": 1, "next_page_results": false, "results": [item(ITEM, "one")]});
            let target = format!("{V1}work-items/?per_page={}&order_by=-created_at&{FIELDS}", size + 1);
            Exchange::get(&target).reply(200, rows).held(&gate)
        };
        let path = |size: usize| format!("{WEB}/work-items/?order_by=-created_at&per_page={size}");
        scene.v1.expect(page(10).times(2));
        scene.v1.expect(page(20));
        let (begun, first) = (Instant::now(), scene.ask(&path(10)));
        scene.until_called(1).await;
        let equal: Vec<_> = (0..20).map(|_| scene.ask(&path(10))).collect();
        let other = scene.ask(&path(20));
        scene.until_called(2).await;
        scene.until_come(22).await;
        scene.open(&gate, begun)?;
        for answer in equal.into_iter().chain([first, other]) {
            assert_eq!(answer.await.unwrap().expect(200).column("name"), [json!("one")]);
        }
        assert_eq!(scene.calls(), 3);
        scene.v1.finish();
        Some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_of_comments_share_the_read_of_their_work_item() {
    let comments = "comments/?per_page=1000&fields=id,issue,comment_html,access,actor,external_id,external_source,\
                    edited_at,created_at,created_by";
    in_time(async |scene: Scene, gate: Gate| {
        scene.v1.expect(reads("one").held(&gate).times(2));
        let none = json!({"total_count": 0, "next_page_results": false, "results": []});
        scene.v1.expect(Exchange::get(&format!("{V1}work-items/{ITEM}/{comments}")).reply(200, none));
        let (begun, first) = (Instant::now(), scene.ask(&one("comments/")));
        scene.until_called(2).await;
        let equal: Vec<_> = (0..20).map(|_| scene.ask(&one("comments/"))).collect();
        scene.until_come(21).await;
        scene.open(&gate, begun)?;
        for answer in equal.into_iter().chain([first]) {
            assert!(answer.await.unwrap().expect(200).data().is_empty());
        }
        scene.v1.finish();
        Some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_shows_to_all_who_ask_after_it() {
    in_time(async |scene: Scene, gate: Gate| {
        let (begun, first) = scene.begin_held("old", &gate).await;
        scene.v1.expect(reads("old"));
        scene.v1.expect(
            Exchange::patch(&format!("{V1}work-items/{ITEM}/")).reply(200, item(ITEM, "written")).repeated(),
        );
        let written = scene.gateway.patch("ada", &one(""), json!({"name": "written"})).await.expect(200);
        assert_eq!(written.text("name"), "written");
        scene.v1.expect(reads("written"));
        let later: Vec<_> = (0..10).map(|_| scene.ask(&one(""))).collect();
        scene.until_come(11).await;
        scene.open(&gate, begun)?;
        assert_eq!(first.await.unwrap().expect(200).text("name"), "old");
        for answer in later {
            assert_eq!(answer.await.unwrap().expect(200).text("name"), "written");
        }
        scene.v1.finish();
        Some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_of_v1_is_told_to_the_one_whose_call_it_was() {
    in_time(async |scene: Scene, gate: Gate| {
        let (begun, first) = scene.begin_held("one", &gate).await;
        let waiting: Vec<_> = (0..5).map(|_| scene.ask(&one(""))).collect();
        scene.until_come(6).await;
        // An incomplete JSON body, which does not cause another call.
        scene.v1.expect(reads("").truncated_json(200, item(ITEM, "one"), 1));
        scene.v1.expect(reads("one").times(4));
        scene.open(&gate, begun)?;
        first.await.unwrap().expect(200);
        let mut statuses = Vec::new();
        for answer in waiting {
            statuses.push(answer.await.unwrap().status);
        }
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 200, 200, 200, 502]);
        scene.v1.finish();
        Some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn older_data_because_v1_failed_once_is_told_to_the_one_whose_call_it_was() {
    in_time(async |scene: Scene, gate: Gate| {
        let (begun, first) = scene.begin_held("old", &gate).await;
        let waiting: Vec<_> = (0..5).map(|_| scene.ask(&one(""))).collect();
        scene.until_come(6).await;
        // The second call fails, while the answer of the first call is cached.
        scene.v1.expect(reads("").reply(500, json!({"error": "once"})));
        scene.v1.expect(reads("new").repeated());
        scene.open(&gate, begun)?;
        first.await.unwrap().expect(200);
        let mut names = Vec::new();
        for answer in waiting {
            let answer = answer.await.unwrap().expect(200);
            assert_eq!(answer.headers.contains_key("age"), answer.text("name") == "old");
            names.push(answer.text("name"));
        }
        names.sort();
        assert_eq!(names, ["new", "new", "new", "new", "old"]);
        scene.v1.finish();
        Some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_of_another_key_is_one_of_its_own() {
    let (scene, gate) = (Scene::new().await, Gate::default());
    scene.v1.expect(reads("one").held(&gate).times(2));
    let ada = scene.ask(&one(""));
    scene.until_called(1).await;
    let gateway = Arc::clone(&scene.gateway);
    let bob = spawn(async move { gateway.get("bob", &one("")).await });
    // Two proofs and the item, while the other one is still held.
    scene.until_called(4).await;
    gate.open();
    for answer in [ada, bob] {
        assert_eq!(answer.await.unwrap().expect(200).text("name"), "one");
    }
    scene.v1.finish();
}

/// A call without an answer, in the seconds after an outage of v1, while other requests share their calls.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_hangs_after_an_outage_holds_up_none_that_v1_answers() {
    let (scene, never) = (Scene::new().await, Gate::default());
    scene.v1.expect(reads("").reply(503, json!({"error": "away"})).times(2));
    scene.ask(&one("")).await.unwrap().expect(503);
    scene.v1.expect(reads("").held(&never));
    let hangs = scene.ask(&one(""));
    scene.until_called(3).await;
    scene.v1.expect(reads("answered").times(2));
    for _ in 0..2 {
        let begun = Instant::now();
        assert_eq!(scene.ask(&one("")).await.unwrap().expect(200).text("name"), "answered");
        // Older data is used after a third of the deadline, 10 s.
        assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    }
    never.open();
    hangs.await.unwrap();
    scene.v1.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn equal_reads_of_a_silent_v1_get_older_data_as_soon_as_a_single_read() {
    let (scene, never) = (Scene::with(&[("limits.deadline", "27s")]).await, Gate::default());
    scene.v1.expect(reads("older"));
    scene.ask(&one("")).await.unwrap().expect(200);
    scene.v1.expect(reads("").held(&never).repeated());
    let begun = Instant::now();
    let all: Vec<_> = (0..20).map(|_| scene.ask(&one(""))).collect();
    for answer in all {
        let answer = answer.await.unwrap().expect(200);
        assert!(answer.text("name") == "older" && answer.headers.contains_key("age"), "{:?}", answer.headers);
    }
    // A third of the deadline, and not another third of the rest.
    assert!(begun.elapsed() < Duration::from_secs(13), "{:?}", begun.elapsed());
    never.open();
    scene.v1.finish();
}
