//! The OAuth 2.0 protocol as pure functions over values: nothing here asks, stores or draws anything.
//!
//! Purpose: what RFC 6749, 6750, 7009, 7591, 7636, 7662, 8252, 8414, 9207 and 9728 say about forms of
//! requests and answers, one concern a file, so that each can be read beside its RFC and be fuzzed.
//!
//! May use: this folder, `access::credential` (how secrets begin).

pub mod authorize;
pub mod client_auth;
pub mod error;
pub mod form;
pub mod metadata;
pub mod pkce;
pub mod redirect;
pub mod registration;
pub mod scope;
pub mod secret;
pub mod token;
