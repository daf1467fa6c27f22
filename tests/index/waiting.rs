//! Requests that wait for a read: its progress, v1's quota, and own writes meanwhile.

use crate::index::{always, client_of, context, settings};
use crate::support::scripted::{Exchange, Gate, ScriptedV1};
use causeway::context::Context;
use causeway::fresh::{Changed, Changes};
use causeway::index::{IndexSettings, Indexes, Scope};
use causeway::refusal::Refusal;
use causeway::task::spawn;
use causeway::translate::work_items::{FIELDS, Item, read};
use causeway::v1::V1Key;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use uuid::Uuid;

pub const PATH: &str = "workspaces/acme/projects/p/work-items/";

pub fn scope() -> Scope {
    Scope { workspace: "acme".into(), project: Uuid::from_u128(9), path: PATH.into(), members: true }
}

fn row(id: u128, name: &str, second: u32) -> Value {
    json!({"id": Uuid::from_u128(id), "name": name, "sequence_id": id as u64, "priority": "none",
        "state": Uuid::from_u128(1), "parent": null, "assignees": [], "labels": [], "start_date": null,
        "target_date": null, "is_draft": false, "archived_at": null, "created_at": "2026-01-01T00:00:00Z",
        "updated_at": format!("2026-01-01T00:{:02}:{:02}Z", second / 60, second % 60), "created_by": null,
        "sort_order": 1.0, "external_id": null, "external_source": null})
}

fn item(id: u128, name: &str, second: u32) -> Item {
    read(&row(id, name, second).to_string()).unwrap()
}

pub fn page(rows: Vec<Value>, total: usize, more: bool) -> Value {
    json!({"total_count": total, "next_page_results": more, "results": rows})
}

pub fn build_page(number: usize) -> Exchange {
    let cursor = if number > 0 { format!("&cursor=1000:{number}:0") } else { String::new() };
    Exchange::get(&format!("{PATH}?per_page=1000{cursor}&order_by=-updated_at&{FIELDS}"))
}

pub fn delta() -> Exchange {
    Exchange::get(&format!("{PATH}?per_page=100&order_by=-updated_at&{FIELDS}"))
}

/// Returns `count` rows from `from` on; the very first has changed long after the others.
pub fn rows(from: u128, count: u128) -> Vec<Value> {
    (from..from + count).map(|id| row(id, "x", if id == 1 { 3000 } else { 0 })).collect()
}

#[tokio::test]
async fn a_deadline_that_ends_first_is_told_the_progress_and_the_build_goes_on() {
    let v1 = ScriptedV1::start().await;
    let gate = Gate::default();
    v1.expect(build_page(0).reply(200, page(rows(1, 1000), 1500, true)));
    v1.expect(build_page(1).reply(200, page(rows(1001, 500), 1500, false)).held(&gate));
    v1.expect(delta().reply(200, page(rows(1, 100), 1500, true)));
    let (indexes, key) =
        (Indexes::new(client_of(v1.base_url()), settings(), &Changes::default()), V1Key::new("ada"));
    let hasty = Context::new("req-1", Duration::from_secs(5));
    let refusal = indexes.fresh(&scope(), &key, &hasty).await.unwrap_err();
    let Refusal::IndexBuilding { detail, retry_after } = refusal else { panic!("{refusal:?}") };
    assert!(detail.contains("1 of about 2 pages"), "{detail}");
    assert!((1..=60).contains(&retry_after));
    assert!(!indexes.is_built(&scope()));
    gate.open();
    let index = indexes.fresh(&scope(), &key, &context()).await.unwrap();
    assert_eq!(index.len(), 1500);
    v1.finish();
}

/// 200 pages at 300 ms each are a minute.
#[tokio::test]
async fn a_list_that_cannot_be_built_in_time_is_refused_with_a_retry_time() {
    let v1 = ScriptedV1::start().await;
    let (first, second) = (Gate::default(), Gate::default());
    v1.expect(build_page(0).reply(200, page(rows(1, 1000), 200_000, true)).held(&first));
    v1.expect(build_page(1).reply(500, json!({"error": "x"})).held(&second));
    let indexes = Indexes::new(client_of(v1.base_url()), settings(), &Changes::default());
    let ask = || {
        let indexes = indexes.clone();
        spawn(async move {
            let (begun, hurried) = (Instant::now(), Context::new("req-1", Duration::from_secs(25)));
            let refusal = indexes.fresh(&scope(), &V1Key::new("ada"), &hurried).await.unwrap_err();
            (refusal, begun.elapsed())
        })
    };
    let patient = {
        let indexes = indexes.clone();
        spawn(async move { indexes.fresh(&scope(), &V1Key::new("ada"), &context()).await.map(|_| ()) })
    };
    let before = ask();
    v1.until_called(1).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    first.open();
    v1.until_called(2).await;
    for one in [before, ask()] {
        let (refusal, waited) = one.await.unwrap();
        let Refusal::IndexBuilding { detail, retry_after } = refusal else { panic!("{refusal:?}") };
        assert!(detail.contains("1 of about 200 pages"), "{detail}");
        assert!((55..=600).contains(&retry_after), "{retry_after}");
        assert!(waited < Duration::from_secs(20), "{waited:?}");
    }
    // A caller with a deadline of a minute cannot be served in time either, and gets the same error.
    assert!(patient.await.unwrap().is_err_and(|refusal| refusal.code() == "index_building"));
    second.open();
    v1.finish();
}

#[tokio::test]
async fn the_quota_holds_a_build_up_but_does_not_end_it() {
    let v1 = ScriptedV1::start().await.in_order();
    let limited = json!({"error": "Rate limit exceeded"});
    v1.expect(build_page(0).reply(429, limited.clone()).header("retry-after", "1"));
    v1.expect(build_page(0).reply(200, page(rows(1, 1000), 1001, true)));
    v1.expect(build_page(1).reply(429, limited.clone()).header("retry-after", "1"));
    v1.expect(build_page(1).reply(200, page(rows(1001, 1), 1001, false)));
    v1.expect(delta().reply(200, page(rows(1, 100), 1001, true)));
    let (indexes, key) = (Indexes::new(client_of(v1.base_url()), always(), &Changes::default()), V1Key::new("ada"));
    assert_eq!(indexes.fresh(&scope(), &key, &context()).await.unwrap().len(), 1001);
    v1.finish();
}

#[tokio::test]
async fn a_build_that_the_quota_of_one_key_holds_up_goes_on_with_a_key_that_has_room() {
    let v1 = ScriptedV1::start().await.in_order();
    v1.expect(build_page(0).key("ada").reply(200, page(rows(1, 1000), 1001, true)));
    let limited = json!({"error": "Rate limit exceeded"});
    v1.expect(build_page(1).key("ada").reply(429, limited).header("retry-after", "60"));
    let indexes = Indexes::new(client_of(v1.base_url()), always(), &Changes::default());
    let ask = |key: &str| {
        let (indexes, key) = (indexes.clone(), V1Key::new(key));
        async move { indexes.fresh(&scope(), &key, &context()).await.map(|index| index.len()) }
    };
    // A caller without another key gets the error.
    assert!(ask("ada").await.is_err_and(|refusal| refusal.code() == "index_building"));
    v1.expect(build_page(1).key("bob").reply(200, page(rows(1001, 1), 1001, false)));
    v1.expect(delta().key("bob").reply(200, page(rows(1, 100), 1001, true)));
    assert_eq!(ask("bob").await.unwrap(), 1001);
    v1.finish();
}

/// It would begin again each time: a sweep with more calls than a key has in a minute would never end.
#[tokio::test]
async fn a_sweep_that_the_quota_of_one_key_holds_up_is_not_begun_anew_with_another() {
    let v1 = ScriptedV1::start().await.in_order();
    v1.expect(build_page(0).reply(200, page(rows(1, 1000), 1001, true)));
    v1.expect(build_page(1).reply(200, page(rows(1001, 1), 1001, false)));
    v1.expect(delta().reply(200, page(rows(1, 100), 1001, true)));
    let settings = IndexSettings { sweep: Duration::ZERO, ..always() };
    let indexes = Indexes::new(client_of(v1.base_url()), settings, &Changes::default());
    let ask = |key: &str| {
        let (indexes, key) = (indexes.clone(), V1Key::new(key));
        async move { indexes.fresh(&scope(), &key, &context()).await.map(|index| index.len()) }
    };
    assert_eq!(ask("ada").await.unwrap(), 1001);
    v1.expect(delta().reply(200, page(rows(1, 100), 1001, true)));
    let sweep = format!("{PATH}?per_page=1000&order_by=created_at&fields=id,updated_at");
    v1.expect(Exchange::get(&sweep).reply(200, page(rows(1, 1000), 1001, true)));
    let sweep = format!("{PATH}?per_page=1000&cursor=1000:1:0&order_by=created_at&fields=id,updated_at");
    let limited = json!({"error": "Rate limit exceeded"});
    v1.expect(Exchange::get(&sweep).key("ada").reply(429, limited).header("retry-after", "60"));
    for key in ["ada", "bob"] {
        assert!(ask(key).await.is_err_and(|refusal| refusal.code() == "index_building"), "{key}");
    }
    v1.finish();
}

#[tokio::test]
async fn any_other_failure_is_the_answer_of_all_who_wait_and_the_next_begins_anew() {
    let v1 = ScriptedV1::start().await;
    let gate = Gate::default();
    v1.expect(build_page(0).reply(500, json!({"error": "x"})).held(&gate));
    let indexes = Indexes::new(client_of(v1.base_url()), settings(), &Changes::default());
    let ask = || {
        let indexes = indexes.clone();
        spawn(async move { indexes.fresh(&scope(), &V1Key::new("ada"), &context()).await.map(|_| ()) })
    };
    let waiting: Vec<_> = (0..5).map(|_| ask()).collect();
    v1.until_called(1).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    gate.open();
    for one in waiting {
        assert!(one.await.unwrap().is_err_and(|refusal| refusal.code() == "upstream_error"));
    }
    v1.expect(build_page(0).reply(200, page(rows(1, 3), 3, false)));
    assert_eq!(indexes.fresh(&scope(), &V1Key::new("ada"), &context()).await.unwrap().len(), 3);
    v1.finish();
}

#[tokio::test]
async fn pages_that_do_not_agree_are_followed_by_a_sweep() {
    let v1 = ScriptedV1::start().await.in_order();
    // Row 1 is deleted after the first page: row 1001 slides onto that page and is missed.
    v1.expect(build_page(0).reply(200, page(rows(1, 1000), 1002, true)));
    v1.expect(build_page(1).reply(200, page(rows(1002, 1), 1001, false)));
    v1.expect(delta().reply(200, page(rows(2, 100), 1001, true)));
    let mark = |id: u128| json!({"id": Uuid::from_u128(id), "updated_at": "2026-01-01T00:00:00Z"});
    let marks = |from: u128, to: u128| (from..=to).map(mark).collect::<Vec<_>>();
    let sweep = format!("{PATH}?per_page=1000&order_by=created_at&fields=id,updated_at");
    v1.expect(Exchange::get(&sweep).reply(200, page(marks(2, 1001), 1001, true)));
    let sweep = format!("{PATH}?per_page=1000&cursor=1000:1:0&order_by=created_at&fields=id,updated_at");
    v1.expect(Exchange::get(&sweep).reply(200, page(marks(1002, 1002), 1001, false)));
    let (gone, missed) = (Uuid::from_u128(1), Uuid::from_u128(1001));
    v1.expect(Exchange::get(&format!("{PATH}{gone}/?{FIELDS}")).reply(404, json!({"error": "x"})));
    v1.expect(Exchange::get(&format!("{PATH}{missed}/?{FIELDS}")).reply(200, row(1001, "missed", 0)));
    v1.expect(delta().reply(200, page(rows(2, 100), 1001, true)));
    let (indexes, key) =
        (Indexes::new(client_of(v1.base_url()), settings(), &Changes::default()), V1Key::new("ada"));
    let index = indexes.fresh(&scope(), &key, &context()).await.unwrap();
    assert_eq!(
        (index.len(), index.get(Uuid::from_u128(1)), index.get(missed)),
        (1001, None, Some(item(1001, "missed", 0)))
    );
    v1.finish();
}

/// The write and its answer come after v1 has cut a page and before the page arrives.
#[tokio::test]
async fn rows_read_before_an_own_write_do_not_undo_it() {
    let v1 = ScriptedV1::start().await;
    let gate = Gate::default();
    v1.expect(build_page(0).reply(200, page(vec![row(1, "a", 0), row(2, "b", 0)], 2, false)));
    let (indexes, key) = (Indexes::new(client_of(v1.base_url()), always(), &Changes::default()), V1Key::new("ada"));
    indexes.fresh(&scope(), &key, &context()).await.unwrap();
    let old = vec![row(3, "made elsewhere", 60), row(1, "older", 30), row(2, "b", 0)];
    v1.expect(delta().reply(200, page(old, 3, false)).held(&gate));
    let reading = {
        let indexes = indexes.clone();
        spawn(async move { indexes.fresh(&scope(), &V1Key::new("ada"), &context()).await })
    };
    v1.until_called(2).await;
    indexes.note_change(scope().project, &item(1, "own", 40));
    indexes.note_change(scope().project, &item(4, "own new", 41));
    indexes.note_removal(scope().project, Uuid::from_u128(2));
    gate.open();
    let index = reading.await.unwrap().unwrap();
    let names: Vec<String> = index.items().map(|item| item.name).collect();
    assert_eq!(names, ["own", "made elsewhere", "own new"]);
    v1.finish();
}

/// v1 has answered the writes before the last call of the read. Other clients have undone the first two since, and the
/// last call shows that.
#[tokio::test]
async fn own_writes_before_the_last_call_of_a_read_are_taken_from_v1() {
    let v1 = ScriptedV1::start().await.in_order();
    let (second, last) = (Gate::default(), Gate::default());
    v1.expect(build_page(0).reply(200, page(rows(1, 1000), 1001, true)));
    v1.expect(build_page(1).reply(200, page(rows(1001, 1), 1001, false)).held(&second));
    let shown = [vec![row(2, "restored", 3200), row(2001, "own and still there", 3100)], rows(1, 1), rows(3, 97)];
    v1.expect(delta().reply(200, page(shown.concat(), 1002, true)).held(&last));
    let indexes = Indexes::new(client_of(v1.base_url()), settings(), &Changes::default());
    let reading = {
        let indexes = indexes.clone();
        spawn(async move { indexes.fresh(&scope(), &V1Key::new("ada"), &context()).await })
    };
    v1.until_called(2).await;
    let (project, id) = (scope().project, Uuid::from_u128);
    indexes.note_change(project, &item(2000, "own and deleted elsewhere", 3100));
    indexes.note_removal(project, id(2));
    indexes.note_change(project, &item(2001, "own and still there", 3100));
    second.open();
    v1.until_called(3).await;
    indexes.note_change(project, &item(2002, "own and later", 3300));
    indexes.note_removal(project, id(3));
    last.open();
    let index = reading.await.unwrap().unwrap();
    let name = |number| index.get(id(number)).map(|item| item.name);
    assert_eq!([name(2000), name(3)], [None, None]);
    assert_eq!(name(2).as_deref(), Some("restored"));
    assert_eq!(name(2001).as_deref(), Some("own and still there"));
    assert_eq!(name(2002).as_deref(), Some("own and later"));
    assert_eq!(index.len(), 1002);
    v1.finish();
}

/// A read does not vouch for an item that was touched while the read was under way.
#[tokio::test]
async fn a_read_that_began_before_a_touch_is_followed_by_another() {
    let v1 = ScriptedV1::start().await;
    let gate = Gate::default();
    v1.expect(build_page(0).reply(200, page(rows(1, 1), 1, false)).held(&gate));
    let changes = Changes::default();
    let indexes = Indexes::new(client_of(v1.base_url()), settings(), &changes);
    let ask = || {
        let indexes = indexes.clone();
        spawn(async move { indexes.fresh(&scope(), &V1Key::new("ada"), &context()).await.unwrap().len() })
    };
    let before = ask();
    v1.until_called(1).await;
    changes.tell(Changed::Project(scope().project));
    v1.expect(delta().reply(200, page(rows(1, 2), 2, false)));
    let after = ask();
    tokio::time::sleep(Duration::from_millis(20)).await;
    gate.open();
    assert_eq!((before.await.unwrap(), after.await.unwrap()), (1, 2));
    v1.finish();
}
