//! HTTP clients of the commands and of the exporter of traces; requests to v1 have a way of their own (`hop`).
//!
//! May use: nothing of this crate.

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder};
use std::error::Error;
use std::time::Duration;

/// A client to be changed further, whose answers may take so long. It follows no redirect, for that could carry a key
/// elsewhere.
pub fn client(patience: Duration) -> ClientBuilder {
    // Someone else may have installed a provider already; any will do.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .redirect(Policy::none())
        .timeout(patience)
        .user_agent(concat!("causeway/", env!("CARGO_PKG_VERSION")))
}

/// A client for the service at `base`. Without TLS it does not read the certificates of the machine, which takes a
/// while.
pub fn client_for(base: &str, patience: Duration) -> Result<Client, String> {
    let mut builder = client(patience);
    if base.starts_with("http://") {
        builder = builder.tls_certs_only([]);
    }
    builder.build().map_err(|fault| format!("the client could not be set up: {fault}"))
}

/// What an exchange failed of, the failure itself first and its last cause at the end: the first alone says no more
/// than that a request could not be sent.
pub fn causes(fault: &reqwest::Error) -> Vec<String> {
    std::iter::successors(Some(fault as &dyn Error), |error| (*error).source()).map(ToString::to_string).collect()
}
