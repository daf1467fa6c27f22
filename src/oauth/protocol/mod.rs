//! The OAuth 2.0 protocol as pure functions over values: no function sends, stores or renders anything.
//!
//! Purpose: the rules of RFC 6749, 6750, 7009, 7591, 7636, 7662, 8252, 8414, 9207 and 9728 for the forms of
//! requests and answers. Each file has one concern, so that it can be read beside its RFC and be fuzzed.
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
