//! Gateways in processes of their own: killed while they write, two of them on one database, before a v1 behind TLS,
//! reloaded and restarted under load, several that share a Redis, and the commands that examine a running one.

mod child;
mod clock;
mod clocks;
mod commands;
mod counts;
mod cut_off;
mod demo;
mod doctor;
mod front;
mod half_made;
mod history;
mod kill;
mod leave;
mod ledger;
mod life;
mod life_load;
mod several;
mod shared_indexes;
mod shared_limits;
mod shared_place;
mod shared_proofs;
mod shared_quota;
mod simulated_move;
mod start;
mod tls;
mod together;
mod versions;
mod writer;

#[path = "../together/linear.rs"]
mod linear;
#[path = "../support/mod.rs"]
mod support;

use causeway::store::Store;
use serde_json::Value;
use std::time::{Duration, Instant};

/// The key of the caller.
const KEY: &str = "ada";
/// How long a database may be silent that nobody disturbs: on a busy machine it gets no processor time for a moment.
const SILENT: Duration = Duration::from_secs(10);

/// A client of plain HTTP.
fn client() -> reqwest::Client {
    static PROVIDER: std::sync::Once = std::sync::Once::new();
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    reqwest::Client::new()
}

/// Asserts that the store's own check finds nothing wrong; a write that was interrupted between v1 and the store is no
/// fault: it waits to be settled.
async fn sound(store_url: &str, v1: &str) {
    let store = Store::open(store_url, v1).await.expect("a store that opens");
    let mut findings = store.findings().await.expect("a store that can be read");
    findings.retain(|finding| !finding.contains("not settled between v1 and the store"));
    assert_eq!(findings, Vec::<String>::new());
    store.close().await;
}

/// Sends a request with the key of these tests and returns the status, and the body as JSON.
async fn send(client: &reqwest::Client, base: &str, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
    let answer = asked(client, base, method, path, body).await;
    let status = answer.status().as_u16();
    (status, serde_json::from_slice(&answer.bytes().await.expect("a body")).unwrap_or_default())
}

/// The same where nobody disturbs the database. A machine that is too busy may: a request that is refused because the
/// database is silent was not carried out and is sent again for a while.
async fn send_again(
    client: &reqwest::Client,
    base: &str,
    method: &str,
    path: &str,
    body: Option<Value>,
) -> (u16, Value) {
    let begun = Instant::now();
    loop {
        let answer = send(client, base, method, path, body.clone()).await;
        if answer.1["code"] != "store_unavailable" || begun.elapsed() > SILENT {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The same as `send`; returns the whole response.
async fn asked(
    client: &reqwest::Client,
    base: &str,
    method: &str,
    path: &str,
    body: Option<Value>,
) -> reqwest::Response {
    let method = reqwest::Method::from_bytes(method.as_bytes()).expect("a method");
    let mut request = client.request(method, format!("{base}{path}")).header("X-Api-Key", KEY);
    if let Some(body) = body {
        request = request.header("Content-Type", "application/json").body(body.to_string());
    }
    request.send().await.expect("an answer")
}
