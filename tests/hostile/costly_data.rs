//! The cost of one request that must be compared with much data: many options, people named, labels, long
//! comments, large entries of the audit log.

use crate::costly::{Hostile, ITEM, Watched, filled, is_long, judge};
use crate::support::gateway::WEB;
use serde_json::{Value, json};

/// Number of options of a property, labels of the project, entries of a list.
fn many() -> usize {
    if is_long() { 1_000 } else { 30 }
}

/// Returns a name of the longest allowed length, in letters that have two cases.
fn name(n: usize) -> String {
    format!("Größe {n:04} {}", "Ä".repeat(240))
}

fn options(beginning: usize) -> Value {
    (beginning..beginning + many()).map(|n| json!({"name": name(n)})).collect()
}

async fn made(watched: &Watched, path: &str, body: Value) -> Value {
    let answer = watched.gateway.post("ada", path, body).await;
    assert!(answer.status < 300, "{path}: {} {}", answer.status, String::from_utf8_lossy(&answer.bytes));
    answer.json
}

/// Creates a property of the project on its type.
async fn property(watched: &Watched, kind: &str, mut body: Value) -> Value {
    body["is_multi"] = true.into();
    let property = made(watched, &format!("{WEB}/work-item-properties/"), body).await;
    let attach = format!("{WEB}/work-item-types/{kind}/properties/");
    made(watched, &attach, json!({"properties": [property["id"]]})).await;
    property
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn costly_custom_values_hold_no_worker() {
    let watched = Watched::start().await;
    let mut corpus = Vec::new();
    let kind = made(&watched, &format!("{WEB}/work-item-types/enable/"), json!({})).await;
    let kind = text(&kind["id"]).to_owned();
    let option = json!({"display_name": "size", "property_type": "OPTION", "options": options(0)});
    let option = property(&watched, &kind, option).await;
    let mut people = Vec::new();
    for n in 0..4 {
        let person = json!({"display_name": format!("p{n}"), "property_type": "RELATION", "relation_type": "USER"});
        people.push(property(&watched, &kind, person).await);
    }
    let item = json!({"display_name": "items", "property_type": "RELATION", "relation_type": "ISSUE"});
    let item = property(&watched, &kind, item).await;
    let items = format!("{WEB}/work-items/");
    let write = |what: &str, method: &str, path: &str, body: Value| {
        Hostile::new(what, method, path, body.to_string()).showing_data()
    };
    let names = |beginning: usize| (beginning..beginning + many()).map(name).collect::<Vec<_>>();
    let upper = names(0).iter().map(|name| name.to_uppercase()).collect::<Vec<_>>();
    let ids: Vec<&Value> =
        option["options"].as_array().expect("options").iter().map(|option| &option["id"]).collect();
    let size = text(&option["name"]);
    for (what, value) in [
        ("options by id", json!(ids)),
        ("options by name", json!(names(0))),
        ("options by name in capitals", json!(upper)),
        ("unknown options", json!(names(5_000))),
        ("one option", json!(vec![name(many() - 1); many()])),
    ] {
        let body = json!({"name": "n", "custom_fields": {size: value}});
        corpus.push(write(&format!("item with {what}"), "POST", &items, body));
    }
    let addresses: Vec<String> = (0..many()).map(|n| format!("Ünknown{n}@x.test")).collect();
    let known = vec!["BOB@acme.test"; many()];
    for (what, value) in [("unknown people", json!(addresses)), ("one person", json!(known))] {
        let fields: serde_json::Map<_, _> =
            people.iter().map(|person| (text(&person["name"]).to_owned(), value.clone())).collect();
        let body = json!({"name": "n", "custom_fields": fields});
        corpus.push(write(&format!("item with {what}"), "POST", &items, body));
    }
    let keys: Vec<String> = (0..many()).map(|n| format!("NONE-{n}")).collect();
    let body = json!({"name": "n", "custom_fields": {text(&item["name"]): keys}});
    corpus.push(write("item with unknown items", "POST", &items, body));
    let unknown: serde_json::Map<_, _> = (0..many()).map(|n| (format!("unknown{n}"), json!(1))).collect();
    corpus.push(write("item with unknown fields", "POST", &items, json!({"name": "n", "custom_fields": unknown})));

    let path = format!("{WEB}/work-item-properties/{}/", text(&option["id"]));
    let restated = option["options"].as_array().expect("options").iter();
    let restated: Value = restated.map(|one| json!({"id": one["id"], "description": "x"})).collect();
    for (what, body) in [
        ("defaults by name", json!({"default_value": names(0)})),
        ("defaults by id", json!({"default_value": ids})),
        ("unknown defaults", json!({"default_value": names(5_000)})),
        ("restated by id", json!({"options": restated})),
        ("restated by name", json!({"options": options(0)})),
        ("other options", json!({"options": options(2_000)})),
        ("no options", json!({"options": []})),
    ] {
        corpus.push(write(&format!("property with {what}"), "PATCH", &path, body));
    }
    for n in 0..4 {
        let body = json!({"display_name": format!("o{n}"), "property_type": "OPTION", "options": options(0)});
        let path = format!("{WEB}/work-item-properties/");
        corpus.push(write(&format!("property {n} with options"), "POST", &path, body));
    }
    for query in ["", "?per_page=200", "?display_name=x", "?per_page=200&order_by=-created_at"] {
        let path = format!("{WEB}/work-item-properties/{query}");
        corpus.push(Hostile::new(format!("list of properties {query}"), "GET", path, "").showing_data());
    }
    judge(&watched, corpus).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn costly_contexts_hold_no_worker() {
    let watched = Watched::start().await;
    let features = "/api/v2/workspaces/acme/features/";
    watched.gateway.patch("ada", features, json!({"is_work_item_types_enabled": true})).await.expect(200);
    let properties = "/api/v2/workspaces/acme/work-item-properties/";
    let body = json!({"display_name": "size", "property_type": "OPTION", "options": options(0)});
    let option = made(&watched, properties, body.clone()).await;
    let path = format!("{properties}{}/contexts/", text(&option["id"]));
    let mut corpus = Vec::new();
    for n in 0..4 {
        let mut body = body.clone();
        body["display_name"] = format!("o{n}").into();
        corpus.push(
            Hostile::new(format!("workspace property {n}"), "POST", properties, body.to_string()).showing_data(),
        );
    }
    let ids: Value =
        option["options"].as_array().expect("options").iter().map(|one| json!({"id": one["id"]})).collect();
    for (what, options) in [("options", options(3_000)), ("options by id", ids)] {
        let scope = json!({"name": what, "project_ids": [ITEM.replace("-e000-", "-c000-")],
            "applies_to_all_work_item_types": true, "options": options});
        corpus.push(Hostile::new(format!("context with {what}"), "POST", &path, scope.to_string()).showing_data());
    }
    let ids: Vec<String> = (0..1_000).map(|n| format!("00000000-0000-4000-c000-{n:012}")).collect();
    let scope = json!({"name": "wide", "project_ids": ids, "issue_type_ids": ids});
    corpus.push(Hostile::new("context of many projects", "POST", &path, scope.to_string()).showing_data());
    judge(&watched, corpus).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn costly_lists_hold_no_worker() {
    let watched = Watched::start().await;
    let mut labels = Vec::new();
    for n in 0..2 * many() {
        labels.push(made(&watched, &format!("{WEB}/labels/"), json!({"name": name(n)})).await["id"].clone());
    }
    for n in 0..if is_long() { 200 } else { 5 } {
        let on_it = json!({"name": format!("i{n}"), "label_ids": labels[..many() / 2]});
        made(&watched, &format!("{WEB}/work-items/"), on_it).await;
    }
    let comments = format!("{WEB}/work-items/{ITEM}/comments/");
    let long = format!("<p>{}</p>", "Ä b ".repeat(filled("x").len() / 5));
    for _ in 0..10 {
        made(&watched, &comments, json!({"comment_html": long})).await;
    }
    let properties = format!("{WEB}/work-item-properties/");
    let wide: Value =
        (0..900).map(|n| (format!("k{n}"), json!(vec![n; 100]))).collect::<serde_json::Map<_, _>>().into();
    for n in 0..30 {
        let settings = if is_long() { wide.clone() } else { json!({}) };
        let body = json!({"display_name": format!("s{n}"), "property_type": "TEXT", "settings": settings});
        made(&watched, &properties, body).await;
    }
    let ids = (0..1_700).map(|n| format!("00000000-0000-4000-8000-{n:012}")).collect::<Vec<_>>().join(",");
    let mut corpus = Vec::new();
    for query in ["", "?per_page=200", "?search=Ä%20z", "?search=x&per_page=200&order_by=-name"] {
        for (what, path) in [("labels", format!("{WEB}/labels/")), ("comments", comments.clone())] {
            let path = format!("{path}{}", query.replace('Ä', "%C3%84"));
            corpus.push(Hostile::new(format!("list of {what} {query}"), "GET", path, "").showing_data());
        }
    }
    for query in ["", "&per_page=200", "&per_page=200&paginate=cursor"] {
        let path = format!("{WEB}/work-items/?expand=labels{query}");
        corpus.push(
            Hostile::new(format!("items with {} labels {query}", many() / 2), "GET", path, "").showing_data(),
        );
    }
    corpus.push(
        Hostile::new("labels by parents", "GET", format!("{WEB}/labels/?parent_id__in={ids}"), "").showing_data(),
    );
    corpus.push(Hostile::new("a long comment", "POST", &comments, json!({"comment_html": long}).to_string()));
    let audit = "/api/v2/workspaces/acme/audit-logs/";
    for query in ["", "?per_page=200", "?search=%C3%84", "?target_id=x", "?event_name=work_item_property.created"] {
        corpus
            .push(Hostile::new(format!("audit log {query}"), "GET", format!("{audit}{query}"), "").showing_data());
    }
    let list = format!("{properties}?per_page=200");
    corpus.push(Hostile::new("list of wide properties", "GET", list, "").showing_data());
    judge(&watched, corpus).await;
}
