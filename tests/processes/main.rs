//! Gateways in processes of their own: killed while they write, two of them on one database, before a v1 behind TLS,
//! and the commands that look at a running one.

mod child;
mod commands;
mod kill;
mod ledger;
mod tls;
mod together;
mod versions;
mod writer;

#[path = "../support/mod.rs"]
mod support;

use causeway::store::Store;

/// A client of plain HTTP.
fn client() -> reqwest::Client {
    static PROVIDER: std::sync::Once = std::sync::Once::new();
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    reqwest::Client::new()
}

/// The store's own check finds nothing wrong; a write that was interrupted between v1 and the store is no
/// fault, it waits to be settled.
async fn sound(store_url: &str, v1: &str) {
    let store = Store::open(store_url, v1).await.expect("a store that opens");
    let mut findings = store.findings().await.expect("a store that can be read");
    findings.retain(|finding| !finding.contains("not settled between v1 and the store"));
    assert_eq!(findings, Vec::<String>::new());
    store.close().await;
}
