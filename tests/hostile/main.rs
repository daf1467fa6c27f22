//! Hostile or broken clients: slow ones, bodies that cost much, requests that two servers read differently.
//!
//! May use: the public interface of the crate and `tests/support`.

#[path = "../processes/child.rs"]
mod child;
mod corpora;
mod costly;
mod costly_data;
mod crowd;
mod raw;
mod slow;
mod slow_clients;
mod sockets;

#[path = "../support/mod.rs"]
mod support;

/// Returns a client of plain HTTP, with which `child` waits until a gateway is ready.
fn client() -> reqwest::Client {
    static PROVIDER: std::sync::Once = std::sync::Once::new();
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    reqwest::Client::new()
}
