//! The authorization server: OAuth 2.0 for a service that has none, and keys that are narrower than v1's.
//!
//! Purpose: a person proves their identity with a v1 key and allows an app to act for them. The app gets tokens that
//! open only what the person allowed. `protocol` holds the rules of the RFCs as pure functions. `service` and `admin`
//! decide, with the store and v1. `http` speaks to browsers and apps. `resolver` turns a token back into its v1 key,
//! through an interface of `access`.
//!
//! May use: `access`, `aside`, `context`, `edge`, `fresh`, `html`, `limits`, `plan` (scopes), `refusal`, `settings`,
//! `store`, `trace`, `v1` (keys).

mod admin;
mod attempts;
mod audited;
mod events;
mod http;
mod keyring;
pub mod protocol;
mod resolver;
mod service;
mod tokens;

pub(crate) use admin::unopened_keys;
pub use admin::{AdminError, Minting, Rotation};
pub(crate) use audited::Audited;
pub(crate) use events::EventKind;
pub(crate) use http::{OAuthPages, is_page};
pub use keyring::Keyring;
pub(crate) use keyring::{KeyringError, opened_by, sealed_by};
pub use service::OAuth;
