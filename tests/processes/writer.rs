//! Writes until the gateway is gone.
//!
//! Each writer has records of its own, so that at most one write to a record is ever unacknowledged.

use super::SILENT;
use super::ledger::Ledger;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Admin of the recorded workspace and project.
pub const KEY: &str = "ada";
const WEB: &str = "/api/v2/workspaces/acme/projects/00000000-0000-4000-c000-000000000001";
/// Path of the project's types.
pub const TYPES: &str = "/api/v2/workspaces/acme/projects/00000000-0000-4000-c000-000000000001/work-item-types/";
/// Path of the project's work items.
pub const ITEMS: &str = "/api/v2/workspaces/acme/projects/00000000-0000-4000-c000-000000000001/work-items/";

struct Writer {
    client: reqwest::Client,
    base: String,
    round: usize,
    ledger: Arc<Mutex<Ledger>>,
}

/// Creates, changes and deletes types and work items until a request fails.
pub async fn write(base: String, kind: String, number: usize, round: usize, ledger: Arc<Mutex<Ledger>>) {
    let writer = Writer { client: super::client(), base, round, ledger };
    let _gone = writer.work(&kind, number).await;
}

/// Creates the type and the property of all work items in the test, and returns the id of the type.
pub async fn prepare(base: &str) -> String {
    let writer = Writer { client: super::client(), base: base.into(), round: 0, ledger: Arc::default() };
    writer.type_with_note().await.expect("a gateway that answers")
}

impl Writer {
    async fn work(&self, kind: &str, number: usize) -> Option<()> {
        for turn in 0.. {
            let name = format!("r{}w{number}t{turn}", self.round);
            let made = self.create(TYPES, &name, json!({"name": name, "description": name})).await?;
            self.change(&made, &format!("{name} again"), |value| json!({"description": value})).await?;
            if turn % 2 == 1 {
                self.delete(&made).await?;
            }
            if number.is_multiple_of(2) {
                let body = json!({"name": name, "type_id": kind, "custom_fields": {"note": name}});
                let item = self.create(ITEMS, &name, body).await?;
                self.change(&item, &format!("{name} again"), |value| json!({"custom_fields": {"note": value}}))
                    .await?;
            }
        }
        Some(())
    }

    /// A type with a text property `note`.
    async fn type_with_note(&self) -> Option<String> {
        let enabled = self.send("POST", &format!("{TYPES}enable/"), None).await?;
        let kind = enabled.1["id"].as_str()?.to_owned();
        let properties = format!("{WEB}/work-item-properties/");
        let body = json!({"display_name": "Note", "property_type": "TEXT"});
        let note = self.send("POST", &properties, Some(&body)).await?.1["id"].as_str()?.to_owned();
        let attach = format!("{TYPES}{kind}/properties/");
        self.send("POST", &attach, Some(&json!({"properties": [note]}))).await?;
        Some(kind)
    }

    async fn create(&self, collection: &str, value: &str, body: Value) -> Option<String> {
        let (status, answer) = self.send("POST", collection, Some(&body)).await?;
        assert_eq!(status, 201, "{answer}");
        let path = format!("{collection}{}/", answer["id"].as_str().expect("an id"));
        self.ledger.lock().expect("a ledger").done(&path, self.round, Some(value));
        Some(path)
    }

    async fn change(&self, path: &str, value: &str, body: impl Fn(&str) -> Value) -> Option<()> {
        self.ledger.lock().expect("a ledger").about_to(path, self.round, Some(value));
        let (status, answer) = self.send("PATCH", path, Some(&body(value))).await?;
        assert_eq!(status, 200, "{answer}");
        self.ledger.lock().expect("a ledger").done(path, self.round, Some(value));
        Some(())
    }

    async fn delete(&self, path: &str) -> Option<()> {
        self.ledger.lock().expect("a ledger").about_to(path, self.round, None);
        let (status, answer) = self.send("DELETE", path, None).await?;
        assert_eq!(status, 204, "{answer}");
        self.ledger.lock().expect("a ledger").done(path, self.round, None);
        Some(())
    }

    /// Returns status and body; none when the gateway is gone, or reports an unknown outcome. A request that is refused
    /// because the database is silent was not carried out and is sent again; had it been, that would be refused.
    async fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Option<(u16, Value)> {
        let begun = Instant::now();
        loop {
            let (status, answer) = self.send_once(method, path, body).await?;
            let is_unknown =
                answer["detail"].as_str().is_some_and(|detail| detail.contains("may have been carried out"));
            if is_unknown {
                return None;
            }
            if answer["code"] != "store_unavailable" || begun.elapsed() > SILENT {
                return Some((status, answer));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn send_once(&self, method: &str, path: &str, body: Option<&Value>) -> Option<(u16, Value)> {
        let method = reqwest::Method::from_bytes(method.as_bytes()).expect("a method");
        let mut request = self.client.request(method, format!("{}{path}", self.base)).header("X-Api-Key", KEY);
        if let Some(body) = body {
            request = request.header("Content-Type", "application/json").body(body.to_string());
        }
        let answer = request.send().await.ok()?;
        let status = answer.status().as_u16();
        let bytes = answer.bytes().await.ok()?;
        Some((status, serde_json::from_slice(&bytes).unwrap_or_default()))
    }
}
