//! The list of work items: look-ups and pages straight from v1, and the index for all other lists.

use crate::support::gateway::Gateway;
use crate::support::past_gateway::{ask_v1, in_web};
use crate::work_items::world::{ARCHIVED, ITEMS, V1_WEB, at_v1, id, new_item, new_label, one, recorded, steps};
use causeway::sandbox::Seed;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

async fn listed(gateway: &Gateway, query: &str) -> Vec<Value> {
    gateway.get("ada", &format!("{ITEMS}?{query}")).await.expect(200).column("name")
}

/// Creates ten items whose times of creation tie in pairs, through v1, which obeys `created_at` (trap 17).
async fn tied_items(gateway: &Gateway) {
    for number in 0..10 {
        let body = json!({"name": format!("tied {number}"), "created_at": format!("2001-01-0{}T00:00:00Z", number / 2 + 1)});
        gateway.post("ada", &format!("{V1_WEB}work-items/"), body).await.expect(201);
    }
}

#[tokio::test]
async fn a_page_v1_can_answer_is_one_call_and_builds_no_index() {
    let gateway = recorded().await;
    for number in 0..32 {
        new_item(&gateway, json!({"name": format!("n{number}")})).await;
    }
    for query in [
        "",
        "order_by=-created_at&per_page=5",
        "offset=7&per_page=3&order_by=sequence_id",
        "order_by=-id",
        "order_by=id&per_page=1",
        "offset=30&per_page=5&order_by=id",
        "paginate=cursor",
    ] {
        gateway.sandbox().clear_journal();
        let page = gateway.get("ada", &format!("{ITEMS}?{query}")).await.expect(200);
        assert_eq!(steps(&gateway), ["GET work-items"], "{query}");
        assert!(!page.headers["server-timing"].contains("index"), "{query}");
    }
    let page = gateway.get("ada", &format!("{ITEMS}?offset=7&per_page=3&order_by=sequence_id")).await;
    assert_eq!(page.column("sequence_id"), [8, 9, 10].map(Value::from));
    assert_eq!(
        (&page.json["next"], &page.json["previous"], &page.json["total_count"]),
        (&json!(10), &json!(4), &json!(33))
    );
}

#[tokio::test]
async fn direct_pages_and_the_index_give_the_same_walks() {
    let gateway = recorded().await;
    tied_items(&gateway).await;
    let orders =
        ["id", "-id", "sequence_id", "-sequence_id", "created_at", "-created_at", "updated_at", "-updated_at"];
    let walk = async |order: &str| {
        let mut rows = Vec::new();
        for offset in (0..12).step_by(3) {
            let query = format!("{ITEMS}?order_by={order}&per_page=3&offset={offset}");
            rows.extend(gateway.get("ada", &query).await.expect(200).column("id"));
        }
        rows
    };
    let mut straight = Vec::new();
    for order in orders {
        straight.push(walk(order).await);
    }
    let warm = gateway.get("ada", &format!("{ITEMS}?priority=none")).await.expect(200);
    assert!(warm.headers["server-timing"].contains("index"));
    for (order, straight) in orders.iter().zip(straight) {
        assert_eq!(walk(order).await, straight, "{order}");
        assert_eq!(straight.iter().map(Value::to_string).collect::<BTreeSet<_>>().len(), 11, "{order}");
    }
}

#[tokio::test]
async fn a_row_is_not_in_a_range_that_begins_less_than_a_microsecond_after_it() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    tied_items(&gateway).await;
    let found = async |begins: &str, ends: &str| {
        let range =
            format!("created_at__gte=2001-01-02T00:00:00{begins}Z&created_at__lte=2001-01-03T00:00:00{ends}Z");
        listed(&gateway, &range).await.len()
    };
    assert_eq!(found("", "").await, 4);
    assert_eq!(found(".0000001", ".0000001").await, 2);
    assert_eq!(found(".0000000", ".0000000").await, 4);
    // A range that ends less than a microsecond before it.
    let two = "created_at__gte=2001-01-02&created_at__lte=2001-01-02T23:59:59.9999999Z";
    assert_eq!(listed(&gateway, two).await.len(), 2);
}

#[tokio::test]
async fn trap_45_a_boundary_that_ties_is_not_left_to_v1() {
    let gateway = recorded().await;
    tied_items(&gateway).await;
    gateway.sandbox().clear_journal();
    // Rows 0 and 1 tie, so a page of one row cuts a tie and the index must answer.
    let page = gateway.get("ada", &format!("{ITEMS}?order_by=created_at&per_page=1")).await.expect(200);
    assert!(page.headers["server-timing"].contains("index"));
    let both = gateway.get("ada", &format!("{ITEMS}?order_by=created_at&per_page=2")).await.expect(200);
    let ids: Vec<String> = both.column("id").iter().map(Value::to_string).collect();
    assert!(ids[0] < ids[1], "ties are broken by id");
    assert_eq!(both.data()[0], page.data()[0]);
}

#[tokio::test]
async fn trap_47_a_pair_and_a_number_are_looked_up_and_nothing_invisible_is_found() {
    let gateway = recorded().await;
    let pair = json!({"name": "mirrored", "external_id": "a&b", "external_source": "gh"});
    let item = new_item(&gateway, pair).await;
    gateway.get("ada", &ITEMS.replace("work-items", "states")).await.expect(200);
    gateway.sandbox().clear_journal();
    let found = gateway.get("ada", &format!("{ITEMS}?external_id=a%26b&external_source=gh")).await.expect(200);
    assert_eq!(found.column("id"), [json!(item.text("id"))]);
    assert_eq!(steps(&gateway), ["GET work-items"]);
    assert_eq!(listed(&gateway, "external_id=a%26b&external_source=gh&priority=high").await, Vec::<Value>::new());
    assert_eq!(listed(&gateway, "external_id=a%26b&external_source=no").await, Vec::<Value>::new());
    gateway.sandbox().clear_journal();
    let number = item.json["sequence_id"].to_string();
    assert_eq!(listed(&gateway, &format!("sequence_id={number}")).await, [json!("mirrored")]);
    assert_eq!(gateway.sandbox().journal().len(), 1);
    // v1 finds no huge number either (`items_key_huge_number`).
    for number in ["999", "99999999999999999999"] {
        assert_eq!(listed(&gateway, &format!("sequence_id={number}")).await, Vec::<Value>::new());
    }
    // v1's pair look-up finds archived items too (`archived_find_by_external_pair`).
    gateway.send(Some("ada"), "POST", &format!("{}archive/", one(&item.text("id"))), None).await.expect(200);
    assert_eq!(listed(&gateway, "external_id=a%26b&external_source=gh").await, Vec::<Value>::new());
    assert_eq!(gateway.get("ada", &format!("{ARCHIVED}?sequence_id=2")).await.expect(200).data().len(), 0);
}

#[tokio::test]
async fn trap_44_cycle_and_module_filters_follow_the_membership() {
    let gateway = recorded().await;
    let (inside, outside) =
        (new_item(&gateway, json!({"name": "in"})).await, new_item(&gateway, json!({"name": "out"})).await);
    for kind in ["cycle", "module"] {
        let sets = ITEMS.replace("work-items", &format!("{kind}s"));
        let set = gateway.post("ada", &sets, json!({"name": "set"})).await.expect(201).text("id");
        let members = format!("{V1_WEB}{kind}s/{set}/{kind}-issues/");
        gateway.post("ada", &members, json!({"issues": [inside.text("id")]})).await.expect(200);
        assert_eq!(listed(&gateway, &format!("{kind}_id={set}")).await, [json!("in")], "{kind}");
        assert_eq!(
            listed(&gateway, &format!("{kind}_id__in={set},{}", id('e', 77))).await,
            [json!("in")],
            "{kind}"
        );
        assert_eq!(listed(&gateway, &format!("{kind}_id__isnull=false")).await, [json!("in")], "{kind}");
        let without = listed(&gateway, &format!("{kind}_id__isnull=true&order_by=sequence_id")).await;
        assert_eq!(without, [json!("First"), json!("out")], "{kind}");
        assert_eq!(listed(&gateway, &format!("{kind}_id={}", outside.text("id"))).await, Vec::<Value>::new());
        let asked = gateway
            .sandbox()
            .journal()
            .into_iter()
            .filter(|entry| entry.method == "GET" && entry.path.contains(&format!("{kind}-issues")));
        assert!(asked.into_iter().all(|entry| entry.path.contains("order_by=sequence_id")), "{kind}");
    }
}

#[tokio::test]
async fn no_item_is_in_a_deleted_cycle_or_module() {
    let gateway = recorded().await;
    let item = new_item(&gateway, json!({"name": "in"})).await.text("id");
    for kind in ["cycle", "module"] {
        let sets = ITEMS.replace("work-items", &format!("{kind}s"));
        let set = gateway.post("ada", &sets, json!({"name": "set"})).await.expect(201).text("id");
        let members = format!("{V1_WEB}{kind}s/{set}/{kind}-issues/");
        gateway.post("ada", &members, json!({"issues": [item]})).await.expect(200);
        assert_eq!(listed(&gateway, &format!("{kind}_id={set}")).await, [json!("in")], "{kind}");
        gateway.delete("ada", &format!("{sets}{set}/")).await.expect(204);
        assert_eq!(listed(&gateway, &format!("{kind}_id={set}")).await, Vec::<Value>::new(), "{kind}");
        let without = listed(&gateway, &format!("{kind}_id__isnull=true&order_by=sequence_id")).await;
        assert_eq!(without, [json!("First"), json!("in")], "{kind}");
    }
}

#[tokio::test]
async fn every_write_shows_in_the_next_list() {
    let gateway = recorded().await;
    let query = "search=needle&order_by=sequence_id";
    assert_eq!(listed(&gateway, query).await, Vec::<Value>::new());
    let made = new_item(&gateway, json!({"name": "a needle"})).await.text("id");
    assert_eq!(listed(&gateway, query).await, [json!("a needle")]);
    gateway.patch("bob", &one(&made), json!({"name": "the NEEDLE"})).await.expect(200);
    assert_eq!(listed(&gateway, query).await, [json!("the NEEDLE")]);
    // On the pass-through of the same gateway.
    gateway.patch("ada", &format!("{V1_WEB}work-items/{made}/"), json!({"name": "no more"})).await.expect(200);
    assert_eq!(listed(&gateway, query).await, Vec::<Value>::new());
    gateway.patch("ada", &format!("{V1_WEB}work-items/{made}/"), json!({"name": "needle 2"})).await.expect(200);
    assert_eq!(listed(&gateway, query).await, [json!("needle 2")]);
    gateway.delete("ada", &one(&made)).await.expect(204);
    assert_eq!(listed(&gateway, query).await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_part_of_a_word_is_found_whatever_letter_it_ends_with() {
    let gateway = recorded().await;
    for name in ["ΟΔΟΣΤΡΩΜΑ", "οδος"] {
        new_item(&gateway, json!({"name": name})).await;
    }
    // ΟΔΟΣ and οδοσ.
    for needle in ["%CE%9F%CE%94%CE%9F%CE%A3", "%CE%BF%CE%B4%CE%BF%CF%83"] {
        let found = listed(&gateway, &format!("search={needle}&order_by=sequence_id")).await;
        assert_eq!(found, [json!("ΟΔΟΣΤΡΩΜΑ"), json!("οδος")], "{needle}");
    }
}

#[tokio::test]
async fn labels_that_were_deleted_are_on_no_item() {
    let gateway = recorded().await;
    let label = new_label(&gateway, "gone soon").await;
    let item = new_item(&gateway, json!({"name": "labelled", "label_ids": [label]})).await.text("id");
    assert_eq!(listed(&gateway, &format!("label_id={label}")).await, [json!("labelled")]);
    gateway.delete("ada", &format!("{}{label}/", ITEMS.replace("work-items", "labels"))).await.expect(204);
    let rows = gateway.get("ada", &format!("{ITEMS}?search=labelled")).await.expect(200);
    assert_eq!(rows.column("label_ids"), [json!([])]);
    assert_eq!(listed(&gateway, &format!("label_id={label}")).await, Vec::<Value>::new());
    assert_eq!(listed(&gateway, "label_id__isnull=true&search=labelled").await, [json!("labelled")]);
    // The index still has the item with its label; v1 gets no call.
    assert_eq!(gateway.patch("ada", &one(&item), json!({})).await.expect(200).json["label_ids"], json!([]));
    assert_eq!(at_v1(&gateway, &item).await["labels"], json!([]));
}

#[tokio::test]
async fn a_list_shows_no_more_than_a_list_should() {
    let gateway = recorded().await;
    new_item(&gateway, json!({"name": "x", "external_id": "1", "description_html": "<p>secret</p>"})).await;
    for query in ["", "search=x"] {
        let page = gateway.get("ada", &format!("{ITEMS}?{query}")).await.expect(200);
        let row = page.data()[0].as_object().expect("a row");
        assert_eq!(row["custom_fields"], Value::Null);
        assert_eq!(row.len(), 17, "{query}: {row:?}");
    }
    assert_eq!(listed(&gateway, "is_draft=true").await, Vec::<Value>::new());
    assert_eq!(listed(&gateway, &format!("type_id={}", id('f', 1))).await, Vec::<Value>::new());
    let archived = gateway.get("ada", ARCHIVED).await.expect(200);
    assert_eq!(archived.column("sequence_id"), [json!(5), json!(1)]);
}

/// Returns the number of deltas that v1 was asked for.
fn deltas(gateway: &Gateway) -> usize {
    gateway.sandbox().journal().iter().filter(|entry| entry.path.contains("order_by=-updated_at")).count()
}

async fn until_deltas(gateway: &Gateway, wanted: usize) -> bool {
    for _ in 0..1000 {
        if deltas(gateway) >= wanted {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    false
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_that_is_read_is_refreshed_ahead_with_the_service_key_where_its_owner_is_a_member() {
    let settings = |key| [("index.freshness", "400ms"), ("upstream.service_key", key)];
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &settings("service")).await;
    gateway.get("bob", &format!("{ITEMS}?search=first")).await.expect(200);
    gateway.sandbox().clear_journal();
    assert!(until_deltas(&gateway, 3).await, "no request came, and the index was kept up to date");
    // eve is no member of the project, so her key cannot be used there.
    let stranger = Gateway::sandboxed_with(Seed::Recorded, &settings("eve")).await;
    stranger.get("bob", &format!("{ITEMS}?search=first")).await.expect(200);
    stranger.sandbox().clear_journal();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(deltas(&stranger), 0);
}

#[tokio::test]
async fn trap_54_a_number_is_found_although_the_identifier_changed_on_v1() {
    let gateway = recorded().await;
    assert_eq!(listed(&gateway, "sequence_id=1").await, [json!("First")]);
    // Past the gateway, so that the project card still has the old identifier.
    in_web(gateway.sandbox(), "PATCH", "", &json!({"identifier": "NEW"}));
    assert_eq!(listed(&gateway, "sequence_id=1").await, [json!("First")]);
}

#[tokio::test]
async fn a_module_membership_added_behind_the_gateways_back_is_found_when_the_kept_set_has_aged() {
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &[("cache.collection", "0s")]).await;
    let item = new_item(&gateway, json!({"name": "late"})).await.text("id");
    let modules = ITEMS.replace("work-items", "modules");
    let set = gateway.post("ada", &modules, json!({"name": "set"})).await.expect(201).text("id");
    assert_eq!(listed(&gateway, &format!("module_id={set}")).await, Vec::<Value>::new());
    // Past the gateway; and the item's `updated_at` does not change (trap 56), so no delta shows it.
    in_web(gateway.sandbox(), "POST", &format!("modules/{set}/module-issues/"), &json!({"issues": [item]}));
    assert_eq!(listed(&gateway, &format!("module_id={set}")).await, [json!("late")]);
    assert_eq!(listed(&gateway, "module_id__isnull=true&search=late").await, Vec::<Value>::new());
}

/// As long as a card lives, its identifier may already belong to another project.
#[tokio::test]
async fn a_number_is_not_looked_up_in_the_project_that_took_the_identifier_over() {
    let gateway = recorded().await;
    let mine = gateway.get("ada", &one(&id('e', 1))).await.expect(200);
    in_web(gateway.sandbox(), "PATCH", "", &json!({"identifier": "SITE"}));
    let projects = "/api/v1/workspaces/acme/projects/";
    let at_v1 = |path: &str, body: Value| {
        let (status, made) = ask_v1(gateway.sandbox(), "ada", "POST", &format!("{projects}{path}"), &body);
        assert_eq!(status, 201, "{made}");
        made["id"].as_str().expect("an id").to_owned()
    };
    let other = at_v1("", json!({"name": "Other", "identifier": "WEB"}));
    at_v1(&format!("{other}/work-items/"), json!({"name": "of the other"}));
    let found = gateway.get("ada", &format!("{ITEMS}?sequence_id=1")).await.expect(200);
    assert_eq!(found.column("id"), [mine.json["id"].clone()]);
}

/// v1 finds no such number there, which proves nothing about this project.
#[tokio::test]
async fn a_number_that_is_not_in_the_project_that_took_the_identifier_over_is_found() {
    let gateway = recorded().await;
    let mine = gateway.get("ada", &one(&id('e', 1))).await.expect(200);
    in_web(gateway.sandbox(), "PATCH", "", &json!({"identifier": "SITE"}));
    let other = json!({"name": "Other", "identifier": "WEB"});
    let (status, made) = ask_v1(gateway.sandbox(), "ada", "POST", "/api/v1/workspaces/acme/projects/", &other);
    assert_eq!(status, 201, "{made}");
    // However young the card with the identifier is: it is from before the change.
    let found = gateway.get("ada", &format!("{ITEMS}?sequence_id=1")).await.expect(200);
    assert_eq!(found.column("id"), [mine.json["id"].clone()]);
}
