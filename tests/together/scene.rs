//! A gateway in front of a v1 that loses updates as the real one does, and the answers to several writers at once.

use crate::support::gateway::{Answer, Gateway, WEB, serve_sandbox};
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::task::spawn;
use serde_json::{Value, json};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

/// Longest time that v1 takes for a write; long compared with the time between two requests.
const LONGEST: Duration = Duration::from_millis(20);

/// The recorded situation behind a v1 that saves whole rows, and a gateway in front of it.
pub struct Scene {
    /// The gateway.
    pub gateway: Arc<Gateway>,
    v1: String,
}

impl Scene {
    /// A scene; `seed` decides the duration of each write.
    pub async fn new(seed: u64) -> Self {
        Self::with(seed, LONGEST, &[]).await
    }

    /// A scene with times up to `longest` and further settings of the gateway.
    pub async fn with(seed: u64, longest: Duration, settings: &[(&str, &str)]) -> Self {
        let config = Config { seed: Seed::Recorded, ..Config::default() };
        let sandbox = Sandbox::new(config).saving_whole_rows(seed, longest);
        let v1 = serve_sandbox(&sandbox).await;
        Self { gateway: Arc::new(Gateway::with(&v1, settings).await), v1 }
    }

    /// Another gateway in front of the same v1, with a store of its own.
    pub async fn another_gateway(&self, settings: &[(&str, &str)]) -> Gateway {
        Gateway::with(&self.v1, settings).await
    }

    /// Creates a record in the collection `kind` of `WEB`.
    pub async fn made(&self, kind: &str, body: Value) -> String {
        self.gateway.post("ada", &format!("{WEB}/{kind}/"), body).await.expect(201).text("id")
    }

    /// Creates a work item.
    pub async fn item(&self, name: &str) -> String {
        self.made("work-items", json!({"name": name})).await
    }

    /// The record as v2 shows it.
    pub async fn shown(&self, kind: &str, id: &str) -> Value {
        self.gateway.get("ada", &format!("{WEB}/{kind}/{id}/")).await.expect(200).json
    }

    /// The record as v1 holds it.
    pub async fn stored(&self, kind: &str, id: &str) -> Answer {
        let project = WEB.replace("/api/v2/", "/api/v1/");
        self.gateway.get("ada", &format!("{project}/{kind}/{id}/")).await
    }
}

/// Sends all requests (method, path below `WEB`, body) at once; returns their answers in the same order.
pub async fn at_once(gateway: &Arc<Gateway>, requests: Vec<(&str, String, Value)>) -> Vec<Answer> {
    let sent = requests.into_iter().map(|(method, path, body)| {
        let (gateway, method, path) = (Arc::clone(gateway), method.to_owned(), format!("{WEB}/{path}"));
        spawn(async move { gateway.send(Some("ada"), &method, &path, Some(&body)).await })
    });
    all(sent.collect::<Vec<_>>()).await
}

async fn all<T>(tasks: Vec<impl Future<Output = Result<T, tokio::task::JoinError>>>) -> Vec<T> {
    let mut done = Vec::new();
    for task in tasks {
        done.push(task.await.expect("no panic"));
    }
    done
}

/// Returns the sorted statuses.
pub fn statuses(answers: &[Answer]) -> Vec<u16> {
    let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    statuses
}
