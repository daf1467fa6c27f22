//! The recorded exchanges on routes that v2 has too, sent as the v2 request with the same meaning. The rest of each
//! story goes through `/api/v1/` of the same gateway, so that the gateway's cache must stay correct whatever happens
//! on the pass-through.
//!
//! The expected v2 answer follows from v1's recorded status, the project card and the contract; where v2 differs
//! on purpose, `differences` says so with the reason. Where v1 carried out a request that v2 refuses, the request is
//! sent to v1 afterwards, and a record that only v2 created is deleted through v1, so that the story goes on as
//! recorded.

use crate::support::gateway::{Answer, Gateway};
use crate::support::replay::{Exchange, Replay, load};
use crate::support::schema::SENT;
use crate::traps::differences::TABLE;
use crate::traps::reference::{self, Kind, Route};
use bytes::Bytes;
use causeway::sandbox::Seed;
use http::{Request, Response};
use http_body_util::Full;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};

/// A story during its replay.
struct Story {
    gateway: Gateway,
    replay: Replay,
    /// The last values sent to v2 that v1 cannot store, by record and field.
    kept: HashMap<(String, String), Value>,
    replayed: usize,
    faults: Vec<String>,
}

/// Status and code of an answer.
type Verdict = (u16, String);

impl Story {
    async fn v1(&self, exchange: &Exchange) -> Answer {
        let (head, body) = self.replay.request(exchange).into_parts();
        let mut request =
            Request::builder().method(head.method).uri(format!("{}{}", self.gateway.base(), head.uri));
        *request.headers_mut().expect("headers") = head.headers;
        self.gateway.request(request.body(Full::new(body)).expect("a request")).await
    }

    /// Learns which ids correspond to the recorded ones.
    fn learn(&mut self, exchange: &Exchange, answer: &Answer) {
        let mut response = Response::new(answer.bytes.clone());
        *response.status_mut() = http::StatusCode::from_u16(answer.status).expect("a status");
        let _ = self.replay.compare(exchange, &response);
    }

    async fn tell(&mut self, exchange: &Exchange) {
        self.gateway.sandbox().advance(exchange.wait());
        let path = self.replay.here(&exchange.request.path);
        let is_counted = |route: &Route| {
            // Only v1 has writes to lists of members.
            !route.kind.is_roster() || exchange.request.method == "GET" || exchange.response.status == 405
        };
        match reference::route(&path).filter(is_counted) {
            Some(route) => self.replayed(exchange, &path, &route).await,
            None => {
                let answer = self.v1(exchange).await;
                self.learn(exchange, &answer);
            }
        }
    }

    async fn replayed(&mut self, exchange: &Exchange, path: &str, route: &Route) {
        self.replayed += 1;
        let is_key = |(name, _): &(&String, &Option<String>)| name.eq_ignore_ascii_case("x-api-key");
        let key = exchange.request.headers.iter().find(is_key).and_then(|(_, value)| value.clone());
        let body =
            reference::body(&serde_json::from_str(&self.replay.here(&exchange.request.body.to_string())).unwrap());
        let expected = match TABLE.iter().find(|(name, ..)| *name == exchange.name) {
            Some((_, status, code, _)) => (*status, (*code).to_owned()),
            None => self.expected(exchange, route, key.as_deref()).await,
        };
        let answer = self.v2(exchange, path, route.kind, &body).await;
        let found: Verdict = (answer.status, answer.code().to_owned());
        if found != expected {
            self.fault(exchange, format!("{found:?} instead of {expected:?}: {}", answer.json));
        }
        if exchange.request.method == "HEAD" {
            return;
        }
        for fault in self.shape_faults(exchange, route, &answer) {
            self.fault(exchange, fault);
        }
        let succeeded = answer.status < 300;
        if succeeded {
            self.check_values(exchange, path, route, key.as_deref().unwrap_or_default(), &body, &answer).await;
        }
        let (reads, done_by_v1) = (exchange.request.method == "GET", exchange.response.status < 300);
        if reads || (done_by_v1 && !succeeded) {
            let answer = self.v1(exchange).await;
            self.learn(exchange, &answer);
        }
        if exchange.request.method == "POST" && succeeded && !done_by_v1 {
            let created = format!("{path}{}/", answer.text("id"));
            self.gateway.delete("ada", &created).await.expect(204);
        }
    }

    async fn v2(&self, exchange: &Exchange, path: &str, kind: Kind, body: &Value) -> Answer {
        let query = reference::query(kind, &self.replay.here(&exchange.request.query));
        let query = if query.is_empty() { query } else { format!("?{query}") };
        let mut request = Request::builder().method(exchange.request.method.as_str()).uri(format!(
            "{}{}{query}",
            self.gateway.base(),
            reference::path(path)
        ));
        for (name, value) in &exchange.request.headers {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        let bytes = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
        self.gateway.request(request.body(Full::new(bytes)).expect("a request")).await
    }

    /// Returns the expected answer by the general rule.
    async fn expected(&self, exchange: &Exchange, route: &Route, key: Option<&str>) -> Verdict {
        let says = |status: u16, code: &str| (status, code.to_owned());
        let method = exchange.request.method.as_str();
        let writes = method != "GET";
        let key = key.unwrap_or_default();
        if self.gateway.get(key, "/api/v1/users/me/").await.status != 200 {
            return says(401, "unauthorized");
        }
        let known: &[&str] = match (&route.record, route.kind) {
            (Some(_), _) => &["GET", "PATCH", "DELETE"],
            (None, Kind::State | Kind::Label | Kind::Cycle | Kind::Module) => &["GET", "POST"],
            _ => &["GET"],
        };
        if method == "HEAD" {
            // v2 has HEAD wherever it has GET (O7).
            return says(200, "");
        }
        if !known.contains(&method) {
            return says(405, "method_not_allowed");
        }
        let ids = [&route.project, &route.record];
        if ids.into_iter().flatten().any(|id| uuid::Uuid::try_parse(id).is_err()) {
            return says(400, "validation_error");
        }
        let workspace = route.workspace.as_deref().map(|slug| format!("/api/v1/workspaces/{slug}/"));
        if let (Some(workspace), None) = (&workspace, &route.project)
            && self.gateway.get(key, &format!("{workspace}members/")).await.status == 403
        {
            let guest = self.gateway.get(key, &format!("{workspace}projects/")).await.status == 200;
            return if guest { says(403, "forbidden") } else { says(404, "resource_not_found") };
        }
        if let (Some(workspace), Some(project)) = (&workspace, &route.project) {
            let card = self.gateway.get(key, &format!("{workspace}projects/{project}/")).await;
            if card.status != 200 || !card.json["archived_at"].is_null() {
                return says(404, "resource_not_found");
            }
            if card.json["is_member"] != true || (writes && card.json["member_role"] == 5) {
                return says(403, "forbidden");
            }
        }
        match (exchange.response.status, method) {
            (200 | 201, "POST") => says(201, ""),
            (200 | 201, _) => says(200, ""),
            (204, _) => says(204, ""),
            (400, _) => says(400, "validation_error"),
            (403, _) => says(403, "forbidden"),
            (404, _) => says(404, "resource_not_found"),
            (409, _) => says(409, "conflict"),
            (status, _) => says(status, "is to be said in the table of differences"),
        }
    }

    fn shape_faults(&self, exchange: &Exchange, route: &Route, answer: &Answer) -> Vec<String> {
        if answer.status == 204 {
            return if answer.bytes.is_empty() { Vec::new() } else { vec!["204 with a body".into()] };
        }
        if answer.status >= 400 {
            let mut faults = SENT.faults("Problem", &answer.json);
            let has_errors = answer.json.get("errors").is_some();
            if has_errors != (answer.code() == "validation_error") {
                faults.push(format!("errors and code do not fit: {}", answer.json));
            }
            if answer.json["status"] != answer.status
                || answer.headers["content-type"] != "application/problem+json"
            {
                faults.push("no proper problem".into());
            }
            return faults;
        }
        let is_list = exchange.request.method == "GET" && route.record.is_none() && route.kind != Kind::User;
        if !is_list {
            return SENT.faults(route.kind.shape(), &answer.json);
        }
        let mut faults = SENT.faults("OffsetEnvelope", &answer.json);
        for row in answer.data() {
            faults.extend(SENT.faults(route.kind.shape(), row));
        }
        faults
    }

    async fn check_values(
        &mut self,
        exchange: &Exchange,
        path: &str,
        route: &Route,
        key: &str,
        body: &Value,
        answer: &Answer,
    ) {
        match exchange.request.method.as_str() {
            "DELETE" => {
                let left = self.gateway.get(key, path).await;
                if left.status != 404 {
                    self.fault(exchange, format!("v1 still shows the record: {}", left.json));
                }
            }
            "GET" if route.kind.is_roster() => {
                let v1 = self.gateway.get(key, path).await;
                let people = |rows: &Value, name: &str| -> Vec<String> {
                    let mut ids: Vec<String> =
                        rows.as_array().into_iter().flatten().map(|row| row[name].to_string()).collect();
                    ids.sort();
                    ids
                };
                if people(&v1.json, "id") != people(&answer.json["data"], "member_id") && !has_query(exchange) {
                    self.fault(exchange, format!("other people: {} instead of {}", answer.json, v1.json));
                }
            }
            "GET" if route.record.is_none() && route.kind != Kind::User => {
                let v1 = self.gateway.get(key, path).await;
                let rows = v1.json["results"].as_array().expect("a v1 list").clone();
                if !has_query(exchange) && answer.json["total_count"] != rows.len() {
                    self.fault(exchange, format!("{} rows instead of {}", answer.json["total_count"], rows.len()));
                }
                for shown in answer.data() {
                    match rows.iter().find(|row| row["id"] == shown["id"]) {
                        Some(row) => self.compare(exchange, route.kind, row, shown),
                        None => self.fault(exchange, format!("v1 does not list {shown}")),
                    }
                }
            }
            method => {
                let record = match method {
                    "POST" => format!("{path}{}/", answer.text("id")),
                    _ => path.to_owned(),
                };
                if method != "GET" {
                    self.note(route.kind, &answer.text("id"), body, &answer.json);
                    for unmet in reference::unmet(route.kind, body, &answer.json) {
                        // A new module goes to the front, whatever was sent (O59).
                        if !(method == "POST" && route.kind == Kind::Module && unmet.starts_with("sort_order")) {
                            self.fault(exchange, unmet);
                        }
                    }
                }
                let v1 = self.gateway.get(key, &record).await;
                if method == "POST" {
                    self.learn(exchange, &v1);
                }
                if v1.status == 404 && TABLE.iter().any(|(name, ..)| *name == exchange.name) {
                    return;
                }
                self.compare(exchange, route.kind, &v1.json, &answer.json);
            }
        }
    }

    /// Remembers values that only v2 can store.
    fn note(&mut self, kind: Kind, id: &str, sent: &Value, shown: &Value) {
        for (name, _) in sent.as_object().into_iter().flatten().filter(|(name, _)| kind.keeps(name)) {
            self.kept.insert((id.to_owned(), name.clone()), shown[name.as_str()].clone());
        }
    }

    fn compare(&mut self, exchange: &Exchange, kind: Kind, v1: &Value, shown: &Value) {
        let kept = |id: &str, field: &str| self.kept.get(&(id.to_owned(), field.to_owned())).cloned();
        for difference in reference::differences(&reference::record(kind, v1, kept), shown) {
            self.fault(exchange, difference);
        }
    }

    fn fault(&mut self, exchange: &Exchange, what: String) {
        self.faults.push(format!("  {}: {what}", exchange.name));
    }
}

fn has_query(exchange: &Exchange) -> bool {
    !reference::query(Kind::State, &exchange.request.query).is_empty()
}

/// Replays a file and returns how many exchanges were sent as v2 requests.
async fn replay(area: &str) -> usize {
    let recording = load(area);
    let mut story = Story {
        gateway: Gateway::sandboxed(Seed::Recorded).await,
        replay: Replay::new(&recording),
        kept: HashMap::new(),
        replayed: 0,
        faults: Vec::new(),
    };
    for exchange in &recording.exchanges {
        story.tell(exchange).await;
    }
    println!("{area}: {} of {} exchanges replayed as v2 requests", story.replayed, recording.exchanges.len());
    assert!(story.faults.is_empty(), "{area}: {} faults\n{}", story.faults.len(), story.faults.join("\n"));
    story.replayed
}

macro_rules! areas {
    ($($area:ident: $least:literal),* $(,)?) => {
        $(
            #[tokio::test]
            async fn $area() {
                assert!(replay(stringify!($area)).await >= $least);
            }
        )*
        const AREAS: &[&str] = &[$(stringify!($area)),*];
    };
}

areas!(
    auth: 20,
    cycles: 99,
    errors: 21,
    labels: 94,
    members: 20,
    modules: 86,
    pagination: 3,
    passthrough: 1,
    permissions: 66,
    projects: 7,
    states: 109,
    timezones: 13,
    updated_at: 10,
    users: 14,
    work_item_lists: 5,
    work_items: 5,
);

#[test]
fn every_difference_is_a_recorded_exchange_and_has_its_reason() {
    let mut names = BTreeMap::new();
    for area in AREAS {
        for exchange in load(area).exchanges {
            names.insert(exchange.name, json!(null));
        }
    }
    for (name, _, _, reason) in TABLE {
        assert!(names.contains_key(*name), "{name} is not replayed");
        assert!(!reason.is_empty(), "{name} has no reason");
    }
}
