//! The costs of work items and comments: look-ups and pages straight from v1, lists from the index, writes,
//! expansions, and many requests at once.

use crate::costs::place::{Place, operation, project};
use crate::support::gateway::{Answer, Gateway, WEB, serve_sandbox};
use crate::support::past_gateway::in_web;
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::task::spawn;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// The recorded project.
const PROJECT: &str = "00000000-0000-4000-c000-000000000001";
const BOB: &str = "00000000-0000-4000-a000-000000000002";
const EVERYTHING: &str = "expand=state,type,parent,assignees,labels";

fn list() -> String {
    format!("{WEB}/work-items/")
}

/// Creates `how_many` work items at v1, past the gateway, and returns their ids.
fn furnish(place: &Place, how_many: usize) -> Vec<String> {
    let label = place.record("labels");
    let parent = place.record("work_items");
    let make = |n: usize| {
        let pair = n.is_multiple_of(2).then(|| format!("P-{n}"));
        let body = json!({"name": format!("Item {n}"), "assignees": [BOB], "labels": [label], "parent": parent,
            "external_id": pair, "external_source": pair.as_ref().map(|_| "tracker")});
        place.at_v1("ada", "POST", "work-items/", &body)["id"].as_str().expect("an id").to_owned()
    };
    let made = (0..how_many).map(make).collect();
    place.gateway.sandbox().clear_journal();
    made
}

/// A place whose person and project card are known, so that only the request itself costs calls.
async fn proven(settings: &[(&str, &str)]) -> Place {
    let place = Place::with(settings).await;
    place.ask(operation("labels_list")).await.expect(200);
    place
}

async fn get(place: &Place, path: &str) -> Answer {
    place.send("ada", "GET", path, None).await.expect(200)
}

#[tokio::test]
async fn pages_straight_from_v1_cost_one_call() {
    let place = proven(&[]).await;
    furnish(&place, 130);
    for order in ["", "&order_by=created_at", "&order_by=-sequence_id", "&order_by=id", "&order_by=-updated_at"] {
        for page in
            ["per_page=50", "per_page=50&offset=50", "per_page=50&count=false", "per_page=200", "offset=9000"]
        {
            assert_eq!(get(&place, &format!("{}?{page}{order}", list())).await.calls(), 1, "{page}{order}");
        }
        let odd = get(&place, &format!("{}?per_page=20&offset=33{order}", list())).await;
        assert!(odd.calls() <= 2, "off the pages of v1: {}", odd.calls());
        assert_eq!(odd.data().len(), 20);
    }
    assert_eq!(get(&place, &format!("{}?paginate=cursor", list())).await.calls(), 1);
}

#[tokio::test]
async fn lookups_cost_one_call() {
    let place = proven(&[]).await;
    furnish(&place, 6);
    place.ask(operation("states_list")).await.expect(200);
    let pair = get(&place, &format!("{}?external_id=P-4&external_source=tracker", list())).await;
    assert_eq!((pair.column("name"), pair.calls()), (vec![json!("Item 4")], 1));
    let nothing = get(&place, &format!("{}?external_id=P-4&external_source=elsewhere", list())).await;
    assert_eq!((nothing.data().len(), nothing.calls()), (0, 1));
    let number = get(&place, &format!("{}?sequence_id=4", list())).await;
    assert_eq!((number.column("sequence_id"), number.calls()), (vec![json!(4)], 1));
    // A missing number costs a second call: the project is read after it, as the identifier may have changed hands.
    let nothing = get(&place, &format!("{}?sequence_id=4000", list())).await;
    assert_eq!((nothing.data().len(), nothing.calls()), (0, 2));
    assert_eq!(place.ask(operation("work_items_retrieve")).await.expect(200).calls(), 1);
    let by_key = operation("work_items_retrieve_by_identifier");
    place.ask(by_key).await.expect(200);
    assert_eq!(place.ask(by_key).await.expect(200).calls(), 1, "the card of the workspace is known");
}

/// The other conditions of a look-up are checked without a further call to v1.
#[tokio::test]
async fn lookups_with_further_conditions_cost_one_call_too() {
    let place = proven(&[]).await;
    furnish(&place, 6);
    place.ask(operation("states_list")).await.expect(200);
    for (more, found) in [("priority=none", 1), ("priority=urgent", 0), ("search=item", 1), ("is_draft=true", 0)] {
        let path = format!("{}?external_id=P-4&external_source=tracker&{more}", list());
        let answer = get(&place, &path).await;
        assert_eq!((answer.data().len(), answer.calls()), (found, 1), "{more}");
    }
}

#[tokio::test]
async fn writes_cost_what_their_mapping_says() {
    let place = proven(&[]).await;
    let create = operation("work_items_create");
    for (body, calls, why) in [
        (json!({"name": "a"}), 2, "read back"),
        (json!({"name": "b", "priority": "high", "start_date": "2026-02-01", "external_id": "w"}), 2, "read back"),
        (json!({"name": "c", "assignee_ids": [BOB]}), 3, "people are looked up"),
        (json!({"name": "d", "assignees": ["bob@acme.test"], "labels": ["one"]}), 2, "cached collections"),
        (json!({"name": "e", "state": "todo"}), 3, "states"),
        (json!({"name": "f", "state": "Done"}), 2, "states"),
        (json!({"name": "g", "parent_id": place.record("work_items")}), 3, "a parent"),
        (json!({"name": "h", "assignee_ids": []}), 2, "read back"),
    ] {
        let answer = place.ask_with(create, Some(body.clone())).await.expect(201);
        assert_eq!(answer.calls(), calls, "{body}");
        assert!(
            create.calls.as_ref().and_then(|calls| calls.why.as_deref()).is_some_and(|text| text.contains(why))
        );
    }
    // Without an index each write reads the item first; with a fresh index no write does.
    let update = operation("work_items_update");
    assert_eq!(place.ask(update).await.expect(200).calls(), 2);
    place.warm(update).await;
    assert_eq!(place.ask(update).await.expect(200).calls(), 1);
    let one_date = place.ask_with(update, Some(json!({"start_date": "2026-02-01"}))).await.expect(200);
    assert_eq!(one_date.calls(), 2, "one date alone is judged against the stored other");
    assert_eq!(place.ask_with(update, Some(json!({}))).await.expect(200).calls(), 0, "nothing to do");
}

#[tokio::test]
async fn children_are_detached_by_one_patch_each() {
    for warm in [false, true] {
        let place = proven(&[]).await;
        furnish(&place, 3);
        let delete = operation("work_items_delete");
        if warm {
            place.warm(delete).await;
        }
        let answer = place.ask(delete).await.expect(204);
        assert_eq!(answer.calls(), 3 + if warm { 2 } else { 3 }, "warm: {warm}");
        let left = get(&place, &format!("{}?search=Item", list())).await;
        assert_eq!(left.column("parent_id"), vec![Value::Null; 3], "v1 did not take them along");
    }
}

#[tokio::test]
async fn a_delete_of_a_missing_item_costs_one_read_and_no_walk() {
    let place = proven(&[]).await;
    let missing = format!("{}{}/", list(), Uuid::from_u128(7));
    let answer = place.send("ada", "DELETE", &missing, None).await.expect_problem(404, "resource_not_found");
    assert_eq!(answer.calls(), 1);
}

#[tokio::test]
async fn comments_cost_what_their_mapping_says() {
    let place = proven(&[]).await;
    let (create, update) = (operation("work_item_comments_create"), operation("work_item_comments_update"));
    let pair = json!({"comment_html": "<p>x</p>", "external_id": "1", "external_source": "s"});
    assert_eq!(place.ask_with(create, Some(pair.clone())).await.expect(201).calls(), 3);
    assert_eq!(place.ask_with(create, Some(pair)).await.expect(201).calls(), 4, "the pair is taken");
    place.warm(create).await;
    assert_eq!(place.ask(create).await.expect(201).calls(), 2);
    assert_eq!(place.ask(update).await.expect(200).calls(), 2);
    assert_eq!(place.ask_with(update, Some(json!({}))).await.expect(200).calls(), 1, "nothing to do");
    let list = operation("work_item_comments_list");
    place.ask(list).await.expect(200);
    assert_eq!(place.ask(list).await.expect(200).calls(), 0, "kept");
    let changed = place.ask(update).await.expect(200);
    let seen = place.ask(list).await.expect(200);
    assert!(seen.data().contains(&changed.json), "an own write is seen by the next list");
    place.ask(operation("work_item_comments_delete")).await.expect(204);
    assert!(!place.ask(list).await.expect(200).column("id").contains(&changed.json["id"]));
}

#[tokio::test]
async fn a_page_of_200_with_everything_expanded_costs_one_call_when_warm() {
    let place = proven(&[]).await;
    furnish(&place, 210);
    let path = format!("{}?per_page=200&{EVERYTHING}", list());
    let filtered = format!("{path}&priority=none");
    place.warm(operation("work_items_list")).await;
    for path in [&path, &filtered] {
        get(&place, path).await;
        let again = get(&place, path).await;
        assert_eq!(again.data().len(), 200);
        assert!(again.calls() <= 1, "{path}: {}", again.calls());
        let row = &again.data()[0];
        assert_eq!((&row["parent"]["id"], &row["labels"][0]["name"]), (&row["parent_id"], &json!("one")));
        assert_eq!((&row["assignees"][0]["email"], &row["type"]), (&json!("bob@acme.test"), &Value::Null));
    }
}

#[tokio::test]
async fn lists_on_a_warm_index_cost_at_most_one_call_and_none_inside_the_freshness_window() {
    let queries = [
        "",
        "order_by=priority",
        "order_by=-state_group",
        "state_group=backlog",
        "search=item",
        "parent_id__isnull=false",
        "label_id__isnull=false&order_by=sort_order",
        "external_id=P-2&external_source=tracker",
        "sequence_id=3",
        "paginate=cursor&per_page=3",
        "offset=5&per_page=3",
    ];
    for (freshness, most) in [("10m", 0), ("0s", 1)] {
        let place = proven(&[("index.freshness", freshness), ("cache.collection", "10m")]).await;
        furnish(&place, 12);
        for _ in 0..2 {
            for query in queries {
                get(&place, &format!("{}?{query}", list())).await;
            }
        }
        for query in queries {
            let answer = get(&place, &format!("{}?{query}", list())).await;
            assert_eq!(answer.calls(), most, "{query} with {freshness}");
        }
    }
}

/// The data that lists need beside the index (states, labels) is read no more often than the index itself.
#[tokio::test]
async fn an_index_and_labels_that_are_old_together_cost_one_call_where_no_label_is_shown() {
    let place = proven(&[("index.freshness", "0s"), ("cache.collection", "0s")]).await;
    let path = format!("{}?priority=none", list());
    get(&place, &path).await;
    assert_eq!(get(&place, &path).await.calls(), 1, "no item of the project has a label");
    furnish(&place, 1);
    assert_eq!(get(&place, &path).await.calls(), 2, "the labels it shows must exist");
    assert_eq!(get(&place, &format!("{path}&search=one")).await.calls(), 1, "a page without labels");
}

async fn generated(how_many: usize, settings: &[(&str, &str)]) -> (Sandbox, Gateway) {
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, work_items: how_many, ..Config::default() });
    let base_url = serve_sandbox(&sandbox).await;
    // A busy machine needs long for the pages of an index.
    let settings = [settings, &[("limits.deadline", "120s")]].concat();
    let gateway = Gateway::with(&base_url, &settings).await;
    gateway.get("ada", &format!("{WEB}/labels/")).await.expect(200);
    // A change in the last two seconds before a read of several pages makes that read compare all ids.
    tokio::time::sleep(Duration::from_millis(2500)).await;
    sandbox.clear_journal();
    (sandbox, gateway)
}

#[tokio::test]
async fn a_cold_list_of_ten_thousand_costs_eleven_calls() {
    // One item exists at the start.
    let (sandbox, gateway) = generated(9_999, &[("cache.collection", "10m")]).await;
    let answer = gateway.get("ada", &format!("{}?priority=urgent", list())).await.expect(200);
    assert!(answer.json["total_count"].as_u64().is_some_and(|total| total > 1000));
    assert_eq!(answer.calls() as usize, sandbox.journal().len());
    assert!(answer.calls() <= 11, "{}", answer.calls());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_cold_filtered_lists_cost_what_one_costs() {
    let begun = Instant::now();
    let (sandbox, gateway) = generated(2_500, &[("index.freshness", "10m"), ("cache.collection", "10m")]).await;
    let gateway = Arc::new(gateway);
    let tasks: Vec<_> = (0..1000)
        .map(|n| {
            let gateway = Arc::clone(&gateway);
            let priority = ["urgent", "high", "medium", "low", "none"][n % 5];
            spawn(async move { gateway.get("ada", &format!("{}?priority={priority}&per_page=5", list())).await })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.expect("an answer").expect(200).data().len(), 5);
    }
    let (items, others): (Vec<_>, Vec<_>) =
        sandbox.journal().into_iter().partition(|call| call.path.contains("/work-items/"));
    assert_eq!(items.len(), 4, "three pages and a look at what changed meanwhile");
    // The proof of access lasts 30 s.
    assert!(others.len() <= begun.elapsed().as_secs() as usize / 30, "{others:?}");
}

/// Every own write, on v2 or on the pass-through, shows in the next list, with an index and without.
#[tokio::test]
async fn own_writes_are_in_the_next_list() {
    for warm in [false, true] {
        let place = proven(&[("index.freshness", "10m")]).await;
        if warm {
            place.warm(operation("work_items_list")).await;
        }
        let path = format!("{}?order_by=created_at", list());
        let names = |answer: &Answer| answer.column("name");
        let created =
            place.ask_with(operation("work_items_create"), Some(json!({"name": "new"}))).await.expect(201);
        let seen = get(&place, &path).await;
        assert!(names(&seen).contains(&json!("new")));
        let one = format!("{}{}/", list(), created.text("id"));
        place.send("ada", "PATCH", &one, Some(json!({"name": "newer"}))).await.expect(200);
        let seen = get(&place, &path).await;
        assert!(names(&seen).contains(&json!("newer")) && !names(&seen).contains(&json!("new")));
        for (verb, there) in [("archive", false), ("unarchive", true)] {
            place.send("ada", "POST", &format!("{one}{verb}/"), None).await.expect(200);
            assert_eq!(names(&get(&place, &path).await).contains(&json!("newer")), there, "{verb}");
        }
        place.send("ada", "DELETE", &one, None).await.expect(204);
        assert!(!names(&get(&place, &path).await).contains(&json!("newer")));
        // The same writes on v1's own routes.
        let v1 = list().replace("/v2/", "/v1/");
        let passed = place.gateway.post("ada", &v1, json!({"name": "passed"})).await.expect(201);
        assert!(names(&get(&place, &path).await).contains(&json!("passed")));
        let one = format!("{v1}{}/", passed.text("id"));
        place.gateway.patch("ada", &one, json!({"name": "passed on"})).await.expect(200);
        assert!(names(&get(&place, &path).await).contains(&json!("passed on")));
        place.gateway.delete("ada", &one).await.expect(204);
        assert!(!names(&get(&place, &path).await).contains(&json!("passed on")));
        assert_eq!(place.at_v1("ada", "GET", "work-items/", &json!({}))["total_count"], 2, "in {}", project());
    }
}

/// Unknown ids in a long list cost nothing, and known ones beside them still count.
#[tokio::test]
async fn two_hundred_unknown_sets_cost_no_call_each() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let sandbox = gateway.sandbox();
    let item = in_web(sandbox, "GET", "work-items/", &Value::Null)["results"][0]["id"].clone();
    for (name, sets, below) in [("cycle_id", "cycles", "cycle-issues"), ("module_id", "modules", "module-issues")] {
        let body = json!({"name": "full", "project_id": PROJECT});
        let set = in_web(sandbox, "POST", &format!("{sets}/"), &body)["id"].as_str().expect("an id").to_owned();
        in_web(sandbox, "POST", &format!("{sets}/{set}/{below}/"), &json!({"issues": [item]}));
        let unknown: Vec<_> = (0..200).map(|_| Uuid::new_v4().to_string()).collect();
        let list = format!("{WEB}/work-items/?{name}__in={},{set}", unknown.join(","));
        gateway.get("ada", &format!("{WEB}/work-items/?priority=none")).await.expect(200);
        let before = sandbox.journal().len();
        let answer = gateway.get("ada", &list).await.expect(200);
        assert_eq!(answer.column("id"), std::slice::from_ref(&item), "{name}");
        let spent = sandbox.journal().len() - before;
        assert!(spent <= 5, "{name}: {spent}");
    }
}
