//! The replacement that `explain` names for a call of v1 means the same: every recorded story is replayed against a
//! sandbox, and each call that has a successor is sent to v2 too, or made through v2 instead.

use crate::support::furnished::PLAN;
use crate::support::gateway::{Answer, Gateway, serve_sandbox};
use crate::support::replay::{Exchange, RecordedResponse, Replay, load};
use bytes::Bytes;
use causeway::explain::{Replacement, Successor, replacement};
use causeway::sandbox::{Config, Sandbox, Seed};
use http::{Request, Response};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Stories of the recordings; `throttle` is about v1's quota, which stands before everything.
const AREAS: [&str; 20] = [
    "archived_and_drafts",
    "auth",
    "comments",
    "cycles",
    "errors",
    "estimates",
    "labels",
    "members",
    "modules",
    "pagination",
    "passthrough",
    "permissions",
    "projects",
    "states",
    "timezones",
    "types",
    "updated_at",
    "users",
    "work_item_lists",
    "work_items",
];

/// Settings without any caching, because the story goes on past the gateway.
const KEEPING_NOTHING: [(&str, &str); 5] = [
    ("cache.collection", "0s"),
    ("cache.card", "0s"),
    ("cache.identity", "0s"),
    ("cache.refused_identity", "0s"),
    ("index.freshness", "0s"),
];

/// A story during its replay.
struct Story {
    sandbox: Sandbox,
    gateway: Gateway,
    replay: Replay,
    /// Calls by their outcome.
    became: BTreeMap<&'static str, Vec<String>>,
}

impl Story {
    async fn begin(area: &str) -> (Self, Vec<Exchange>) {
        let recording = load(area);
        let sandbox =
            Sandbox::starting_at(Config { seed: Seed::Recorded, ..Config::default() }, recording.recorded_at);
        let gateway = Gateway::with(&serve_sandbox(&sandbox).await, &KEEPING_NOTHING).await;
        let replay = Replay::new(&recording);
        (Self { sandbox, gateway, replay, became: BTreeMap::new() }, recording.exchanges)
    }

    fn note(&mut self, what: &'static str, name: &str) {
        self.became.entry(what).or_default().push(name.to_owned());
    }

    fn same(&mut self, name: &str, v1: &Value, v2: &Value) {
        if v1 != v2 {
            self.note("different", &format!("{name}: {v1} {v2}"));
        }
    }

    /// Removes the differences noted for this exchange, and returns whether there were any.
    fn differed(&mut self, name: &str) -> bool {
        let Some(different) = self.became.get_mut("different") else { return false };
        let before = different.len();
        different.retain(|noted| !noted.starts_with(&format!("{name}: ")));
        let differed = different.len() < before;
        if different.is_empty() {
            self.became.remove("different");
        }
        differed
    }

    /// Checks that a record of v1 is the record of v2, in all fields that both show.
    fn same_record(&mut self, name: &str, v1: &Value, v2: &Value, told: &Replacement) {
        // A look-up by an external pair shows one record in v1 and a list of it in v2.
        let v2 = v2["data"].as_array().map_or(v2, |rows| &rows[0]);
        let renamed = told.renamed.iter().filter(|name| name.place == "answer");
        let same = ["id", "name", "color", "group", "priority", "sequence_id"].map(|name| (name, name));
        for (before, after) in same.into_iter().chain(renamed.map(|name| (name.v1.as_str(), name.v2.as_str()))) {
            let (before, after) = (&v1[before], &v2[after]);
            if before.is_string() && after.is_string() {
                self.same(name, before, after);
            }
        }
    }

    /// Returns the replacement of the call, if it can be sent completely.
    fn replaced(request: &Request<Bytes>) -> Option<Replacement> {
        let target = request.uri().path_and_query()?.as_str();
        let body = (!request.body().is_empty()).then(|| serde_json::from_slice(request.body())).transpose().ok()?;
        let told = replacement(&PLAN, request.method().as_str(), target, body.as_ref()).ok()??;
        let whole = !told.requests.is_empty() && told.requests.iter().all(|request| !request.target.contains('{'));
        whole.then_some(told)
    }

    async fn send(&self, key: &str, request: &Successor) -> Answer {
        self.gateway.send(Some(key), request.method, &request.target, request.body.as_ref()).await
    }

    /// Sends a read to v1 and to v2.
    async fn read(&mut self, exchange: &Exchange) {
        let request = self.replay.request(exchange);
        let (told, key) = (Self::replaced(&request), key_of(&request));
        let response = self.sandbox.handle(request);
        let _ = self.replay.compare(exchange, &response);
        let (Some(told), Some(key), 200) = (told, key, response.status().as_u16()) else { return };
        if exchange.request.method != "GET" {
            return;
        }
        let Ok(v1) = serde_json::from_slice::<Value>(response.body()) else { return };
        let v2 = self.send(&key, &told.requests[0]).await;
        if v2.status != 200 {
            assert!(matches!(v2.status, 400 | 403 | 404 | 502), "{}: {} {}", exchange.name, v2.status, v2.json);
            return self.note("refused", &exchange.name);
        }
        let narrows = |lost: &causeway::explain::NoEquivalent| {
            lost.place == "query"
                && !["fields", "order_by"].contains(&lost.name.as_str())
                && !lost.why.starts_with("v1 ignores")
        };
        if told.lost.iter().any(|lost| narrows(lost) && !lost.name.starts_with("expand")) {
            return self.note("told as narrower", &exchange.name);
        }
        let told_id = told.renamed.iter().find(|name| name.place == "answer" && name.v1 == "id");
        let id = told_id.map_or("id", |name| name.v2.as_str());
        match rows(&v1) {
            None if v2.json["data"].as_array().is_some_and(Vec::is_empty) => {
                return self.note("hidden", &exchange.name);
            }
            None => self.same_record(&exchange.name, &v1, &v2.json, &told),
            Some(rows) => {
                let v1_ids: Vec<&Value> = rows.iter().filter_map(|row| row.get("id")).collect();
                let column = v2.column(id);
                let v2_ids: Vec<&Value> = column.iter().collect();
                let total = v1["total_results"].as_u64().unwrap_or(rows.len() as u64);
                let paged =
                    exchange.request.query.contains("per_page") || exchange.request.query.contains("cursor");
                if v1_ids.is_empty() || paged || total > 50 {
                    if exchange.request.query.contains("__") && rows.len() > v2_ids.len() {
                        // v1 repeats rows when it orders by a member with several values (trap 23); v2 does not.
                        return self.note("repeated by v1", &exchange.name);
                    }
                    if !paged && total <= 50 {
                        self.same(&exchange.name, &json!(rows.len()), &json!(v2_ids.len()));
                    } else {
                        return self.note("pages", &exchange.name);
                    }
                } else {
                    let sorted = |ids: &[&Value]| ids.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
                    let (v1_ids, v2_ids) = (json!(sorted(&v1_ids)), json!(sorted(&v2_ids)));
                    self.same(&exchange.name, &v1_ids, &v2_ids);
                }
            }
        }
        if told.extent != "all" && self.differed(&exchange.name) {
            // A partial replacement says so, and may show less.
            return self.note("in part", &exchange.name);
        }
        self.note("same", &exchange.name);
    }

    /// Sends a write through v2 instead, when v2 has all of its members.
    async fn write(&mut self, exchange: &Exchange) {
        let request = self.replay.request(exchange);
        let (told, key) = (Self::replaced(&request), key_of(&request));
        let writes = matches!(exchange.request.method.as_str(), "POST" | "PATCH" | "DELETE");
        let done = (200..300).contains(&exchange.response.status);
        // Members that the replacement reports as lost are not in the request, and so not in the record.
        let kept = |told: &Replacement| {
            told.lost.iter().all(|lost| lost.place != "body" || lost.why == "the path says it")
        };
        let full = told.filter(|told| told.extent != "none" && writes && done && kept(told));
        let (Some(told), Some(key)) = (full, key) else {
            let response = self.sandbox.handle(request);
            let _ = self.replay.compare(exchange, &response);
            return;
        };
        let mut answer = None;
        for successor in &told.requests {
            let sent = self.send(&key, successor).await;
            if sent.status >= 300 {
                assert!(matches!(sent.status, 400 | 403 | 404 | 409 | 502), "{}: {}", exchange.name, sent.json);
                // v2 refuses a value that v1 accepts; the story goes on with v1's call.
                let response = self.sandbox.handle(request);
                let _ = self.replay.compare(exchange, &response);
                return self.note("refused", &exchange.name);
            }
            answer = Some(sent);
        }
        let made = answer.expect("a request").json;
        let mut path = request.uri().path().to_owned();
        if exchange.request.method == "POST" && exchange.response.body["id"].is_string() {
            self.learn(exchange, &made["id"]);
            path = format!("{path}{}/", made["id"].as_str().expect("an id"));
        }
        let shown = self.v1(&key, &path);
        if exchange.request.method == "DELETE" {
            self.same(&exchange.name, &json!(404), &json!(shown.status().as_u16()));
        } else {
            self.same_write(exchange, &shown, &told);
        }
        self.note("same", &exchange.name);
    }

    fn v1(&self, key: &str, path: &str) -> Response<Bytes> {
        let request = Request::get(path).header("X-Api-Key", key).body(Bytes::new()).expect("a request");
        self.sandbox.handle(request)
    }

    /// Records the id in this world of a recorded record.
    fn learn(&mut self, exchange: &Exchange, id: &Value) {
        let recorded = Exchange {
            name: exchange.name.clone(),
            request: serde_json::from_value(json!({"method": "GET", "path": "/"})).expect("a request"),
            response: RecordedResponse {
                status: 200,
                headers: BTreeMap::new(),
                body: json!({"id": exchange.response.body["id"]}),
            },
            after_wait: None,
        };
        let here = Response::new(Bytes::from(json!({"id": id}).to_string()));
        self.replay.compare(&recorded, &here).expect("a new id");
    }

    /// Checks that the sent values are stored as in the recorded answer.
    fn same_write(&mut self, exchange: &Exchange, shown: &Response<Bytes>, told: &Replacement) {
        let record: Value = serde_json::from_slice(shown.body()).expect("JSON");
        let Some(sent) = exchange.request.body.as_object() else { return };
        for name in sent.keys().filter(|name| !exchange.response.body[name.as_str()].is_null()) {
            // Written by v2 instead of v1 on purpose, or cleaned by v2's own rules.
            if told.changes.iter().any(|change| change.contains(&format!("`{name}`"))) {
                continue;
            }
            if ["archived_at", "sort_order", "id", "created_at"].contains(&name.as_str()) || name.ends_with("_html")
            {
                continue;
            }
            let there: Value =
                serde_json::from_str(&self.replay.here(&exchange.response.body[name].to_string())).expect("JSON");
            self.same(&format!("{} {name}", exchange.name), &plain(&there), &plain(&record[name]));
        }
    }
}

/// A set of ids does not depend on its order.
fn plain(value: &Value) -> Value {
    match value {
        Value::Array(values) => {
            let mut texts: Vec<String> = values.iter().map(ToString::to_string).collect();
            texts.sort();
            json!(texts)
        }
        other => other.clone(),
    }
}

fn key_of(request: &Request<Bytes>) -> Option<String> {
    Some(request.headers().get("x-api-key")?.to_str().ok()?.to_owned())
}

fn rows(v1: &Value) -> Option<&Vec<Value>> {
    v1.as_array().or_else(|| v1["results"].as_array()).or_else(|| v1["issues"].as_array())
}

/// v2 shows the plain text of a comment beside its HTML, which keeps its name.
#[test]
fn a_member_that_v2_shows_under_its_name_is_not_renamed() {
    let comments = "/api/v1/workspaces/acme/projects/00000000-0000-4000-c000-000000000001/work-items/\
                    00000000-0000-4000-e000-000000000001/comments/";
    let told = replacement(&PLAN, "GET", comments, None).expect("a call").expect("a replacement");
    assert!(told.renamed.iter().all(|name| name.v1 != "comment_html"));
    assert!(told.renamed.iter().any(|name| (name.v1.as_str(), name.v2.as_str()) == ("actor", "actor_id")));
}

/// With `expand=member` v2 shows the person beside `member_id`.
#[test]
fn the_name_and_the_address_of_a_member_are_told_as_expanded() {
    let project = "projects/00000000-0000-4000-c000-000000000001/";
    for path in ["", project] {
        let path = format!("/api/v1/workspaces/acme/{path}members/");
        let told = replacement(&PLAN, "GET", &path, None).expect("a call").expect("a replacement");
        let lost: Vec<&str> = told.lost.iter().map(|lost| lost.name.as_str()).collect();
        assert_eq!((told.extent, lost), ("part", vec!["avatar", "first_name", "last_name"]), "{path}");
        assert!(told.changes.iter().any(|change| change.contains("`expand=member`")), "{:?}", told.changes);
    }
}

/// v1 accepts both (`comments_create_no_body_fields`, `comments_create_blank_html`).
#[test]
fn a_comment_needs_a_text_in_v2() {
    let comments = "/api/v1/workspaces/acme/projects/00000000-0000-4000-c000-000000000001/work-items/\
                    00000000-0000-4000-e000-000000000001/comments/";
    let told = replacement(&PLAN, "POST", comments, Some(&json!({}))).expect("a call").expect("a replacement");
    let needs = |change: &String| change.contains("v1 accepts a comment without `comment_html`");
    assert!(told.changes.iter().any(needs), "{:?}", told.changes);
}

/// v1's types are other records than those of v2, so their ids would be refused.
#[test]
fn the_types_of_v1_are_not_carried_over() {
    let path = "/api/v1/workspaces/acme/projects/00000000-0000-4000-c000-000000000001/work-items/";
    for name in ["type", "type_id"] {
        let body = json!({"name": "n", (name): "00000000-0000-4000-e000-000000000001"});
        let told = replacement(&PLAN, "POST", path, Some(&body)).expect("a call of v1").expect("a replacement");
        assert_eq!(told.requests[0].body, Some(json!({"name": "n"})));
        let lost = told.lost.iter().filter(|lost| lost.place == "body");
        let lost: Vec<_> = lost.map(|lost| (lost.name.as_str(), lost.why.as_str())).collect();
        assert_eq!(lost, [(name, "v2 has types of its own")]);
    }
}

/// Returns how much of the call v2 has, the body of its v2 request, and the lost members with the reasons.
fn written(method: &str, path: &str, body: &Value) -> (&'static str, Value, Vec<(String, String)>) {
    let path = format!("/api/v1/workspaces/acme/projects/00000000-0000-4000-c000-000000000001/{path}");
    let told = replacement(&PLAN, method, &path, Some(body)).expect("a call of v1").expect("a replacement");
    let lost =
        told.lost.into_iter().filter(|lost| lost.place == "body").map(|lost| (lost.name, lost.why)).collect();
    (told.extent, told.requests[0].body.clone().expect("a body"), lost)
}

/// v1 sets both (`modules_patch_members`, `cycles_patch_keep_owner`).
#[test]
fn the_members_of_a_module_and_the_owner_of_a_cycle_are_told_as_missing() {
    for (path, member, why) in [
        ("modules/", "members", "v2 does not set the members of a module"),
        ("cycles/", "owned_by", "v2 does not set the owner of a cycle"),
    ] {
        let one = format!("{path}00000000-0000-4000-e000-000000000001/");
        for (method, path) in [("POST", path), ("PATCH", &one)] {
            let body = json!({"name": "n", (member): ["00000000-0000-4000-a000-000000000002"]});
            let lost = vec![(member.to_owned(), why.to_owned())];
            assert_eq!(written(method, path, &body), ("part", json!({"name": "n"}), lost), "{method} {path}");
        }
    }
}

/// The Community Edition of v1 serves both, and v2 has neither.
#[test]
fn invitations_and_sticky_notes_stay_on_v1() {
    for (method, path) in [
        ("GET", "invitations/"),
        ("POST", "invitations/"),
        ("GET", "invitations/00000000-0000-4000-e000-000000000001/"),
        ("PATCH", "invitations/00000000-0000-4000-e000-000000000001/"),
        ("DELETE", "invitations/00000000-0000-4000-e000-000000000001/"),
        ("GET", "stickies/"),
        ("PATCH", "stickies/00000000-0000-4000-e000-000000000001/"),
    ] {
        let path = format!("/api/v1/workspaces/acme/{path}");
        let told = replacement(&PLAN, method, &path, None).expect("a call of v1").expect("a replacement");
        assert_eq!(told.extent, "none", "{method} {path}");
        assert!(told.reason.as_ref().is_some_and(|why| why.ends_with("it stays on v1.")), "{method} {path}");
        assert!(told.changes.iter().all(|change| !change.contains("no such path")), "{:?}", told.changes);
    }
}

/// v1 sets both (`items_create_full`, `items_patch_sort_order_accepted`).
#[test]
fn the_point_and_the_place_of_a_work_item_are_told_as_missing() {
    for (method, path) in [("POST", "work-items/"), ("PATCH", "work-items/00000000-0000-4000-e000-000000000001/")] {
        let body = json!({"name": "n", "point": 3, "sort_order": 5});
        let lost = [("point", "v2 has no such member"), ("sort_order", "v2 sets it itself")];
        let lost = lost.map(|(name, why)| (name.to_owned(), why.to_owned())).to_vec();
        assert_eq!(written(method, path, &body), ("part", json!({"name": "n"}), lost), "{method}");
    }
}

/// v1 makes the item without a state (`items_create_state_null`).
#[test]
fn a_null_that_v2_refuses_is_left_out() {
    let body = json!({"name": "n", "state": null, "parent": null});
    let lost = vec![("state".to_owned(), "v2 refuses null as `state_id`".to_owned())];
    assert_eq!(written("POST", "work-items/", &body), ("part", json!({"name": "n", "parent_id": null}), lost));
}

/// A state has a slug of its own, which v1 makes from the name (`states_create_read_only_ignored`).
#[test]
fn the_path_says_the_project_and_not_the_slug_of_a_state() {
    let body = json!({"name": "n", "slug": "s", "project_id": "00000000-0000-4000-c000-000000000001"});
    let lost = [("slug", "v2 has no such member"), ("project_id", "the path says it")];
    let lost = lost.map(|(name, why)| (name.to_owned(), why.to_owned())).to_vec();
    assert_eq!(written("POST", "states/", &body), ("all", json!({"name": "n"}), lost));
}

#[tokio::test]
async fn reads_show_the_same_records() {
    let mut all: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for area in AREAS {
        let (mut story, exchanges) = Story::begin(area).await;
        for exchange in &exchanges {
            story.sandbox.advance(exchange.wait());
            story.read(exchange).await;
        }
        story.became.into_iter().for_each(|(what, names)| all.entry(what).or_default().extend(names));
    }
    let counts: BTreeMap<&str, usize> = all.iter().map(|(what, names)| (*what, names.len())).collect();
    println!("{counts:?}\nrefused: {:?}\nhidden: {:?}", all.get("refused"), all.get("hidden"));
    assert_eq!(all.get("different"), None, "{counts:?}");
    assert!(counts["same"] >= 225, "{counts:?}");
    assert!(counts.get("refused").is_none_or(|refused| *refused <= 30), "{counts:?} {:?}", all.get("refused"));
}

#[tokio::test]
async fn writes_change_the_same_records() {
    let mut all: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for area in AREAS {
        let (mut story, exchanges) = Story::begin(area).await;
        for exchange in &exchanges {
            story.sandbox.advance(exchange.wait());
            story.write(exchange).await;
        }
        story.became.into_iter().for_each(|(what, names)| all.entry(what).or_default().extend(names));
    }
    let counts: BTreeMap<&str, usize> = all.iter().map(|(what, names)| (*what, names.len())).collect();
    println!("{counts:?}\nrefused: {:?}", all.get("refused"));
    assert_eq!(all.get("different"), None, "{counts:?}");
    assert!(counts["same"] >= 225, "{counts:?}");
}
