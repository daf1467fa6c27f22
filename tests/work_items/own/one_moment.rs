//! Reads beside a write in two stores: they show the item before it or after it, never v1's half with the store's half
//! of another moment.

use super::{Place, web, workspace};
use crate::support::gateway::{Answer, Gateway, serve_sandbox};
use crate::support::past_gateway::in_web;
use crate::support::postgres::Database;
use crate::work_items::world::{ITEMS, one};
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::store::{Intent, IntentKind, OwnWrite, Settled, Store, TypeChange};
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use uuid::Uuid;

const KEY: &str = "/api/v2/workspaces/acme/work-items/";
/// A process that has a lease but confirms nothing.
const NOBODY_HEARS: &str = "INSERT INTO process (id, number, lease_until, beats) \
     VALUES ('00000000-0000-4000-8000-000000000001', 1, (extract(epoch FROM now()) * 1000000)::bigint + 60000000, 0)";

fn named(name: &str) -> Value {
    json!({"name": name, "custom_fields": {"text": name}})
}

async fn with_items(count: usize) -> (Place, Vec<Answer>) {
    let place = Place::new().await;
    let task = place.enabled().await;
    place.new_property(task, json!({"display_name": "text", "property_type": "TEXT"})).await;
    let mut items = Vec::new();
    for _ in 0..count {
        items.push(place.gateway.post("ada", ITEMS, named("before")).await.expect(201));
    }
    (place, items)
}

/// A gateway and the store of another process on one database, with an item of a type.
struct Shared {
    v1: String,
    gateway: Gateway,
    other: Store,
    database: Database,
    sandbox: Sandbox,
    made: Answer,
    item: Uuid,
}

impl Shared {
    async fn new() -> Self {
        let database = Database::create().await;
        let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
        let v1 = serve_sandbox(&sandbox).await;
        let gateway = Gateway::with(&v1, &[("store.url", &database.url())]).await;
        let enable = ITEMS.replace("work-items", "work-item-types") + "enable/";
        gateway.post("ada", &enable, json!({})).await.expect(200);
        let made = gateway.post("ada", ITEMS, json!({"name": "before"})).await.expect(201);
        let item = Uuid::parse_str(&made.text("id")).expect("an id");
        let other = Store::open(&database.url(), &v1).await.expect("the store");
        Self { v1, gateway, other, database, sandbox, made, item }
    }
}

/// Returns the name and the value of the text.
fn both(read: &Answer) -> (&str, &str) {
    (
        read.json["name"].as_str().expect("a name"),
        read.json["custom_fields"]["text"]["value"].as_str().unwrap_or("none"),
    )
}

#[tokio::test]
async fn a_change_that_v1_has_not_carried_out_yet_has_not_happened() {
    let (place, items) = with_items(3).await;
    let gateway = &place.gateway;
    let writes = async {
        let write = async |at: usize| gateway.patch("ada", &one(&items[at].text("id")), named("after")).await;
        [0; 3].iter().for_each(|_| place.wire.detain("PATCH"));
        let (one, two, three) = tokio::join!(write(0), write(1), write(2));
        [one, two, three].into_iter().for_each(|done| drop(done.expect(200)));
    };
    let reads = async {
        for _ in 0..3 {
            place.wire.held().await;
        }
        // The reads do not wait for the writes.
        for item in &items {
            let read = gateway.get("bob", &one(&item.text("id"))).await.expect(200);
            assert_eq!(both(&read), ("before", "before"));
            let read = gateway.get("bob", &format!("{KEY}{}/", item.text("identifier"))).await.expect(200);
            assert_eq!(both(&read), ("before", "before"));
        }
        for list in [ITEMS.to_owned(), format!("{ITEMS}?search=before&order_by=priority")] {
            let list = gateway.get("bob", &list).await.expect(200);
            let shown = list.data().iter().filter(|row| row["name"] == "before").count();
            assert_eq!(shown, 3, "{}", list.json);
        }
        for _ in 0..3 {
            place.wire.let_go();
        }
    };
    tokio::join!(writes, reads);
    for item in &items {
        let read = gateway.get("bob", &one(&item.text("id"))).await.expect(200);
        assert_eq!(both(&read), ("after", "after"));
    }
}

#[tokio::test]
async fn a_change_that_v1_shows_is_waited_for() {
    let (place, items) = with_items(1).await;
    let item = one(&items[0].text("id"));
    place.wire.hold("PATCH");
    let write = place.gateway.patch("ada", &item, named("after"));
    let reads = async {
        place.wire.held().await;
        let read = place.gateway.get("bob", &item);
        let later = async {
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
            place.wire.let_go();
        };
        let (read, ()) = tokio::join!(read, later);
        assert_eq!(both(&read.expect(200)), ("after", "after"));
    };
    let (done, ()) = tokio::join!(write, reads);
    done.expect(200);
}

/// Either v1 answers the read before a change and its answer arrives after it, or the read reaches v1 after the change.
#[tokio::test]
async fn a_row_is_read_again_where_a_change_has_overtaken_it_and_only_there() {
    for (held_back, calls) in [(true, 2), (false, 1)] {
        let (place, items) = with_items(1).await;
        let item = one(&items[0].text("id"));
        place.gateway.get("bob", &item).await.expect(200);
        match held_back {
            true => place.wire.hold("GET"),
            false => place.wire.detain("GET"),
        }
        let read = place.gateway.get("bob", &item);
        let write = async {
            place.wire.held().await;
            place.gateway.patch("ada", &item, named("after")).await.expect(200);
            place.wire.let_go();
        };
        let (read, ()) = tokio::join!(read, write);
        assert_eq!(both(&read), ("after", "after"));
        assert_eq!(read.calls(), calls, "{held_back}");
    }
}

/// Before v1 has answered, a key does not show the project, so no change of it could be noted before that.
#[tokio::test]
async fn a_row_of_a_project_that_was_not_met_is_read_again_where_a_change_has_overtaken_it() {
    let (mut place, items) = with_items(1).await;
    place.restart().await;
    place.gateway.get("bob", "/api/v2/users/me/").await.expect(200);
    place.gateway.get("ada", "/api/v2/users/me/").await.expect(200);
    let by_key = format!("{KEY}{}/", items[0].text("identifier"));
    place.wire.hold("GET");
    let read = place.gateway.get("bob", &by_key);
    let write = async {
        place.wire.held().await;
        place.gateway.patch("ada", &one(&items[0].text("id")), named("after")).await.expect(200);
        place.wire.let_go();
    };
    let (read, ()) = tokio::join!(read, write);
    assert_eq!(both(&read.expect(200)), ("after", "after"));
}

#[tokio::test]
async fn a_row_of_a_list_that_a_change_has_overtaken_is_shown_as_it_was() {
    let (place, items) = with_items(1).await;
    let item = one(&items[0].text("id"));
    place.gateway.get("bob", ITEMS).await.expect(200);
    place.wire.hold("GET");
    let list = place.gateway.get("bob", ITEMS);
    let write = async {
        place.wire.held().await;
        let changed = json!({"name": "after", "type_id": null});
        place.gateway.patch("ada", &item, changed).await.expect(200);
        place.wire.let_go();
    };
    let (list, ()) = tokio::join!(list, write);
    let row = list.data().iter().find(|row| row["id"] == items[0].json["id"]).expect("the item").clone();
    assert_eq!((row["name"].as_str(), &row["type_id"]), (Some("before"), &items[0].json["type_id"]));
    assert_eq!(list.calls(), 1);
    let read = place.gateway.get("bob", &item).await.expect(200);
    assert_eq!((read.json["name"].as_str(), &read.json["type_id"]), (Some("after"), &Value::Null));
}

#[tokio::test]
async fn rows_of_a_list_by_type_have_that_type() {
    let (place, items) = with_items(1).await;
    let task = items[0].text("type_id");
    // So that the next call of v1 is the list.
    place.gateway.get("bob", &ITEMS.replace("work-items", "states")).await.expect(200);
    place.wire.hold("GET");
    let by_type = format!("{ITEMS}?type_id={task}");
    let list = place.gateway.get("bob", &by_type);
    let write = async {
        place.wire.held().await;
        place.gateway.patch("ada", &one(&items[0].text("id")), json!({"type_id": null})).await.expect(200);
        place.wire.let_go();
    };
    let (list, ()) = tokio::join!(list, write);
    let listed = list.expect(200);
    assert!(listed.data().iter().all(|row| row["type_id"] == task), "{}", listed.json);
    assert_eq!(listed.json["total_count"], listed.data().len());
}

/// Even before that process has announced the end of the write.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_of_another_process_shows_together_with_its_v1_half() {
    let Shared { gateway, other, database: _database, sandbox, made, item, .. } = Shared::new().await;
    let path = format!("{ITEMS}?order_by=priority");
    let list = || gateway.get("bob", &path);
    let half = |list: &Answer| {
        let row = list.data().iter().find(|row| row["id"] == made.json["id"]).expect("the item").clone();
        (row["name"].clone(), row["type_id"].clone())
    };
    assert_eq!(half(&list().await.expect(200)), (json!("before"), made.json["type_id"].clone()));
    let own = OwnWrite { type_id: TypeChange::Set(None), values: Vec::new() };
    let intent = Intent::new(IntentKind::Update, (workspace(), web()), Some(item), item, Value::Null, own);
    let running = other.begin_intent(intent).await.expect("a note").expect("its type is there");
    in_web(&sandbox, "PATCH", &format!("work-items/{item}/"), &json!({"name": "after"}));
    other.settle_own(running, Settled::Done(item)).await.expect("an end");
    assert_eq!(half(&list().await.expect(200)), (json!("after"), Value::Null));
}

/// A process that ends another's abandoned write waits until all have confirmed, and others write meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_after_the_end_of_a_lost_write_shows_together_with_its_v1_half() {
    let Shared { gateway, other, database, sandbox, made, item, .. } = Shared::new().await;
    let task = Uuid::parse_str(&made.text("type_id")).expect("a type");
    let rename = |name: &str| in_web(&sandbox, "PATCH", &format!("work-items/{item}/"), &json!({"name": name}));
    let with_type = |type_id| OwnWrite { type_id: TypeChange::Set(type_id), values: Vec::new() };
    let sent = json!({"body": {"name": "left"}, "was": {"name": "before"}, "before": 0});
    let intent = Intent::new(IntentKind::Update, (workspace(), web()), Some(item), item, sent, with_type(None));
    other.begin_intent(intent).await.expect("a note").expect("its type is there");
    rename("left");
    database.run(NOBODY_HEARS).await;
    let path = one(&item.to_string());
    let read = gateway.get("bob", &path);
    let write = async {
        while !other.unsettled().await.expect("what is open").is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        rename("after");
        let own = with_type(Some(task));
        assert!(other.write_item(workspace(), web(), item, &own).await.expect("an end"));
    };
    let (read, ()) = tokio::join!(read, write);
    let read = read.expect(200);
    assert_eq!((&read.json["name"], &read.json["type_id"]), (&json!("after"), &made.json["type_id"]));
}

#[tokio::test]
async fn an_item_that_is_being_deleted_is_shown_whole() {
    let (place, items) = with_items(1).await;
    let item = one(&items[0].text("id"));
    place.wire.detain("DELETE");
    let write = place.gateway.delete("ada", &item);
    let reads = async {
        place.wire.held().await;
        let read = place.gateway.get("bob", &item).await.expect(200);
        assert_eq!(both(&read), ("before", "before"));
        let list = place.gateway.get("bob", &format!("{ITEMS}?search=before")).await.expect(200);
        assert_ne!(list.data()[0]["type_id"], Value::Null);
        place.wire.let_go();
    };
    let (done, ()) = tokio::join!(write, reads);
    done.expect(204);
    place.gateway.get("bob", &item).await.expect(404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn readers_beside_writers_see_one_moment() {
    let (place, items) = with_items(1).await;
    let item = one(&items[0].text("id"));
    let writes = async {
        for number in 0..40 {
            place.gateway.patch("ada", &item, named(&format!("n{number}"))).await.expect(200);
        }
    };
    let reads = async {
        for _ in 0..60 {
            let read = place.gateway.get("bob", &item).await.expect(200);
            let (name, value) = both(&read);
            assert_eq!(name, value, "{}", read.json);
        }
    };
    tokio::join!(writes, reads);
}

/// The index already has the new item, and v1's quota is too short to read it again. The read waits for the create too.
#[tokio::test]
async fn a_create_that_runs_is_waited_for_also_where_the_index_is_older_than_usual() {
    const STALE: Duration = Duration::from_millis(150);
    let place = Place::with(&[("upstream.quota", "60"), ("index.freshness", "100ms")]).await;
    let task = place.enabled().await;
    place.new_property(task, json!({"display_name": "text", "property_type": "TEXT"})).await;
    let (list, gateway) = (format!("{ITEMS}?search=running"), &place.gateway);
    let read = async {
        place.wire.held().await;
        tokio::time::sleep(STALE).await;
        // A list without the item makes the index read it.
        gateway.get("bob", &format!("{ITEMS}?search=another")).await.expect(200);
        tokio::time::sleep(STALE).await;
        for _ in 0..40 {
            gateway.get("bob", "/api/v1/users/me/").await.expect(200);
        }
        let (list, ()) = tokio::join!(gateway.get("bob", &list), async {
            tokio::time::sleep(2 * STALE).await;
            place.wire.let_go();
        });
        list
    };
    gateway.get("bob", &list).await.expect(200);
    place.wire.hold("POST");
    let (made, list) = tokio::join!(gateway.post("ada", ITEMS, named("running")), read);
    let (made, list) = (made.expect(201), list.expect(200));
    assert_eq!(list.column("id"), [made.json["id"].clone()]);
    assert_eq!(list.data()[0]["type_id"], task.to_string());
    assert!(list.headers.contains_key("age"), "{:?}", list.headers);
}

/// Items are written through one process without a pause and listed through another: most lists show an item that is
/// written again before the end of the previous write is known.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn lists_beside_many_changes_through_another_process_are_answered_and_of_one_moment() {
    let shared = Shared::new().await;
    let (writer, url) = (&shared.gateway, shared.database.url());
    let reader = Gateway::with(&shared.v1, &[("store.url", &url)]).await;
    let task = shared.made.text("type_id");
    let mut items = Vec::new();
    for _ in 0..6 {
        items.push(writer.post("ada", ITEMS, json!({"name": "typed"})).await.expect(201).text("id"));
    }
    let is_over = AtomicBool::new(false);
    let write = async |id: &str| {
        for turn in 0.. {
            if is_over.load(Ordering::Relaxed) {
                break;
            }
            let body = match turn % 2 {
                0 => json!({"name": "plain", "type_id": null}),
                _ => json!({"name": "typed", "type_id": task}),
            };
            writer.patch("ada", &one(id), body).await.expect(200);
        }
    };
    let read = async |query: &str| {
        for _ in 0..100 {
            let list = reader.get("bob", &format!("{ITEMS}{query}")).await.expect(200);
            for row in list.data().iter().filter(|row| row["name"] == "typed" || row["name"] == "plain") {
                assert_eq!(row["name"] == "typed", !row["type_id"].is_null(), "{row}");
            }
        }
    };
    let reads = async {
        tokio::join!(
            read("?per_page=200"),
            read("?order_by=priority"),
            read("?search=p"),
            read("?order_by=created_at")
        );
        is_over.store(true, Ordering::Relaxed);
    };
    tokio::join!(reads, join_all(items.iter().map(|id| write(id))));
}
