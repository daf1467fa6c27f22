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

/// Numbers that scatter, the same in every run (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}
