//! Clients that read and write through the gateway and follow its answers: each repeats a request that it may repeat,
//! and reads the record first when its write may have been carried out, or sends the same `Idempotency-Key` again.
//!
//! Each client has records of its own, which no other client writes.
//!
//! May use: what the scene offers, the numbers of the proxy.

use crate::injected::{Field, is_told};
use crate::support::gateway::{Answer, WEB};
use crate::support::random::Random;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Tries of a write before a client gives it up.
const PATIENCE: usize = 12;
/// The first and the longest wait of a client that was told to wait; the gateway says whole seconds, while most
/// faults last as long as a call.
const WAITS: [Duration; 2] = [Duration::from_millis(30), Duration::from_secs(1)];
/// The time in which a client looks for a record that it may have created.
const LOOKING: Duration = Duration::from_secs(60);
/// Number of records of one client; above it the client deletes, so that lists keep their size.
const MOST: usize = 40;
/// Number of rows of a list that are compared with v1.
const ROWS: usize = 8;
/// Collections of the project; a name that stands here more often is used more often.
const COLLECTIONS: [&str; 12] = [
    "labels",
    "labels",
    "work-items",
    "work-items",
    "work-items",
    "work-items",
    "modules",
    "states",
    "cycles",
    "comments",
    "comments",
    "comments",
];

/// A record of one client, with the members that the client last wrote.
#[derive(Debug, Clone)]
pub struct Record {
    /// Path below the project, such as `labels` or `work-items/…/comments`.
    pub collection: String,
    pub id: String,
    pub members: Value,
    /// The last value of the custom field, for a work item with a type.
    pub note: Option<String>,
    pub archived: bool,
}

impl Record {
    pub fn path(&self) -> String {
        format!("{}/{}/", self.collection, self.id)
    }

    fn is_item(&self) -> bool {
        self.collection == "work-items"
    }

    fn is_of(&self, item: &Self) -> bool {
        self.collection == format!("work-items/{}/comments", item.id)
    }
}

/// Returns the member that names a record of the collection.
pub fn naming(collection: &str) -> &'static str {
    if collection.ends_with("comments") { "comment_html" } else { "name" }
}

pub struct Client {
    number: usize,
    random: Random,
    made: usize,
    pub records: Vec<Record>,
    pub gone: Vec<Record>,
    writes: usize,
    reads: usize,
}

impl Client {
    pub fn new(number: usize, seed: u64, writes: usize, reads: usize) -> Self {
        let random = Random::new(seed * 1000 + number as u64);
        Self { number, random, made: 0, records: Vec::new(), gone: Vec::new(), writes, reads }
    }

    pub async fn run(mut self, field: Arc<Field>) -> Self {
        while self.writes > 0 || self.reads > 0 {
            let write = self.random.below(self.writes + self.reads) < self.writes;
            if write {
                self.writes -= 1;
                self.write(&field).await;
            } else {
                self.reads -= 1;
                self.read(&field).await;
            }
        }
        self
    }

    async fn write(&mut self, field: &Field) {
        let items = self.items();
        let enough = self.records.len() > MOST;
        match self.random.below(20) {
            0..=8 if enough => self.delete(field).await,
            0..=8 => self.create(field).await,
            9..=13 => match self.live() {
                Some(at) => self.update(field, at).await,
                None => self.create(field).await,
            },
            14..=15 if !items.is_empty() => {
                let at = items[self.random.below(items.len())];
                self.archive_or_back(field, at).await;
            }
            16..=19 if self.records.len() > 3 => self.delete(field).await,
            _ => self.create(field).await,
        }
    }

    /// Returns the positions of the work items.
    fn items(&self) -> Vec<usize> {
        (0..self.records.len()).filter(|at| self.records[*at].is_item()).collect()
    }

    /// Returns the position of a record that v2 shows: neither archived nor a comment on an archived item.
    fn live(&mut self) -> Option<usize> {
        let hidden = |record: &Record| {
            record.archived || self.records.iter().any(|item| item.archived && record.is_of(item))
        };
        let live: Vec<usize> = (0..self.records.len()).filter(|at| !hidden(&self.records[*at])).collect();
        (!live.is_empty()).then(|| live[self.random.below(live.len())])
    }

    fn text(&mut self) -> String {
        self.made += 1;
        format!("c{} r{}", self.number, self.made)
    }

    /// Returns the value that gives a record the name `name`.
    fn named(collection: &str, name: &str) -> Value {
        if collection.ends_with("comments") { json!(format!("<p>{name}</p>")) } else { json!(name) }
    }

    /// Returns the collection of the next record.
    fn place(&mut self) -> String {
        let picked = COLLECTIONS[self.random.below(COLLECTIONS.len())];
        if picked != "comments" {
            return picked.to_owned();
        }
        let live: Vec<&Record> =
            self.records.iter().filter(|record| record.is_item() && !record.archived).collect();
        match live.get(self.random.below(live.len())) {
            Some(item) => format!("work-items/{}/comments", item.id),
            None => "work-items".to_owned(),
        }
    }

    async fn create(&mut self, field: &Field) {
        let (collection, name) = (self.place(), self.text());
        let mut members = json!({});
        members[naming(&collection)] = Self::named(&collection, &name);
        match collection.as_str() {
            "labels" => members["color"] = json!("#123456"),
            "states" => {
                members["color"] = json!("#123456");
                members["group"] = json!("started");
            }
            "work-items" => members["priority"] = json!(["low", "high"][self.random.below(2)]),
            _ => {}
        }
        if self.random.chance(50) {
            members["external_id"] = json!(name);
            members["external_source"] = json!("faults");
        }
        let mut body = members.clone();
        let note = (collection == "work-items" && self.random.chance(30)).then(|| name.clone());
        if let Some(note) = &note {
            body["type_id"] = json!(field.kind);
            body["custom_fields"] = json!({"note": note});
        }
        if collection == "cycles" && self.random.chance(40) {
            // A week that no other cycle has.
            let week = 7 * (self.made * crate::injected::CLIENTS + self.number) as i64;
            let day = |days: i64| {
                let day = jiff::civil::date(2030, 1, 1).checked_add(jiff::Span::new().days(days));
                json!(format!("{}T08:00:00Z", day.expect("a day")))
            };
            (body["start_date"], body["end_date"]) = (day(week), day(week + 5));
        }
        let key = self.random.chance(25).then(|| name.replace(' ', "-"));
        let made = |id: String| Record { collection: collection.clone(), id, members, note, archived: false };
        if let Some(id) = new_id(field, &collection, &body, key.as_deref()).await {
            self.records.push(made(id));
        }
    }

    async fn update(&mut self, field: &Field, at: usize) {
        let name = self.text();
        let record = self.records[at].clone();
        let naming = naming(&record.collection);
        let mut change = json!({});
        change[naming] = Self::named(&record.collection, &name);
        if record.is_item() && self.random.chance(30) {
            change["priority"] = json!("urgent");
        }
        let mut body = change.clone();
        let note = record.note.is_some() && self.random.chance(50);
        if note {
            body["custom_fields"] = json!({"note": name});
        }
        for tried in 0..PATIENCE {
            let answer = field.send("PATCH", &record.path(), Some(&body), None).await;
            if answer.status == 200 {
                for (key, value) in change.as_object().expect("members") {
                    self.records[at].members[key] = value.clone();
                }
                if note {
                    self.records[at].note = Some(name);
                }
                let record = self.records[at].clone();
                return self.compare(field, &record, &answer);
            }
            wait(&answer, tried).await;
        }
        // The client takes the stored value as it is.
        field.count("given up");
        let stored = field.truth(&record.path()).unwrap_or_default();
        self.records[at].members[naming] = stored[naming].clone();
        if note {
            self.records[at].note = None;
        }
    }

    async fn archive_or_back(&mut self, field: &Field, at: usize) {
        let record = self.records[at].clone();
        let verb = if record.archived { "unarchive" } else { "archive" };
        let mut told = false;
        for tried in 0..PATIENCE {
            let answer = field.send("POST", &format!("{}{verb}/", record.path()), None, None).await;
            match answer.status {
                200 => {
                    let archived = verb == "archive";
                    if answer.json["archived_at"].is_string() != archived || answer.json["id"] != json!(record.id) {
                        field.wrong(format!("{verb} of {record:?} answers {}", answer.json));
                    }
                    field.count(if archived { "archived" } else { "brought back" });
                    self.records[at].archived = archived;
                    return;
                }
                // An earlier archive request, whose outcome was uncertain, had been carried out.
                404 if verb == "archive" && told => {
                    self.records[at].archived = true;
                    return;
                }
                404 => field.wrong(format!("404 for the {verb} of {record:?}")),
                _ => told |= is_told(&answer),
            }
            wait(&answer, tried).await;
        }
        field.count("given up");
        self.records[at].archived = field.truth(&record.path()).is_none();
    }

    async fn delete(&mut self, field: &Field) {
        let Some(at) = self.live() else { return };
        let record = self.records.swap_remove(at);
        for tried in 0..PATIENCE {
            let answer = field.send("DELETE", &record.path(), None, None).await;
            if matches!(answer.status, 204 | 404) {
                // The comments of an item are deleted with it.
                self.records.retain(|comment| !comment.is_of(&record));
                self.gone.push(record);
                return;
            }
            wait(&answer, tried).await;
        }
        field.count("given up");
        self.records.retain(|comment| !comment.is_of(&record));
    }

    async fn read(&mut self, field: &Field) {
        let Some(at) = self.live() else { return };
        let record = self.records[at].clone();
        if self.random.chance(25) {
            let path = format!("{}/?per_page=50&order_by=-created_at", record.collection);
            let answer = field.send("GET", &path, None, None).await;
            let Some(rows) = answer.json["data"].as_array().filter(|_| answer.status == 200) else { return };
            field.count("lists read");
            // Rows of this client, which no other client writes meanwhile.
            let own = rows.iter().filter(|row| self.records.iter().any(|own| row["id"] == json!(own.id)));
            for row in own.take(ROWS) {
                field.held_against_v1(&record.collection, row);
            }
            return;
        }
        let answer = field.send("GET", &record.path(), None, None).await;
        match answer.status {
            200 => self.compare(field, &record, &answer),
            404 if field.truth(&record.path()).is_some() => field.wrong(format!("404 for {record:?}")),
            _ => field.count("reads refused"),
        }
    }

    fn compare(&self, field: &Field, record: &Record, answer: &Answer) {
        field.count("records compared");
        if answer.json["id"] != json!(record.id) {
            field.wrong(format!("another record: {} for {record:?}", answer.json));
        }
        let note = &answer.json["custom_fields"]["note"]["value"];
        if record.note.as_ref().is_some_and(|last| note != &json!(last)) {
            field.wrong(format!("wrong 200: the custom field of {} for {record:?}", answer.json));
        }
        field.held_against_v1(&record.collection, &answer.json);
    }
}

/// Waits as the answer says; `tried` is the number of tries so far.
async fn wait(answer: &Answer, tried: usize) {
    if answer.headers.contains_key("retry-after") {
        tokio::time::sleep((WAITS[0] * 2_u32.pow(tried.min(6) as u32)).min(WAITS[1])).await;
    }
}

/// Creates a record and returns its id; none when the client gives up.
async fn new_id(field: &Field, collection: &str, body: &Value, key: Option<&str>) -> Option<String> {
    let name = &body[naming(collection)];
    for tried in 0..PATIENCE {
        let answer = field.send("POST", &format!("{collection}/"), Some(body), key).await;
        if answer.status == 201 {
            if answer.headers.contains_key("idempotency-replayed") {
                field.count("replayed");
            }
            return Some(answer.text("id"));
        }
        // A client with a key sends the same request again; the gateway finds out.
        if is_told(&answer)
            && (key.is_none() || tried + 1 == PATIENCE)
            && let Some(id) = look_up(field, collection, name).await
        {
            return Some(id);
        }
        wait(&answer, tried).await;
    }
    field.count("given up");
    None
}

/// Looks for a record after the answer that its create may have been carried out.
async fn look_up(field: &Field, collection: &str, name: &Value) -> Option<String> {
    let word = name.as_str().unwrap_or_default().replace("<p>", "").replace("</p>", "").replace(' ', "%20");
    let began = Instant::now();
    for tried in 0.. {
        let path = format!("{collection}/?per_page=200&order_by=-created_at&search={word}");
        let answer = field.send("GET", &path, None, None).await;
        if answer.status == 200 {
            let mut named = answer.data().iter().filter(|row| &row[naming(collection)] == name);
            return named.next().map(|row| row["id"].as_str().expect("an id").to_owned());
        }
        assert!(began.elapsed() < LOOKING, "{collection} could not be read: {} {}", answer.status, answer.json);
        wait(&answer, tried).await;
    }
    None
}

/// Creates the type with a text property `note` that some work items have, and returns its id.
pub async fn type_with_note(gateway: &crate::support::gateway::Gateway) -> String {
    let types = format!("{WEB}/work-item-types/");
    let kind = gateway.post("ada", &format!("{types}enable/"), json!({})).await.text("id");
    let note = json!({"display_name": "Note", "property_type": "TEXT"});
    let note = gateway.post("ada", &format!("{WEB}/work-item-properties/"), note).await.expect(201).text("id");
    let attached = gateway.post("ada", &format!("{types}{kind}/properties/"), json!({"properties": [note]})).await;
    assert!(attached.status < 300, "{}", attached.json);
    kind
}
