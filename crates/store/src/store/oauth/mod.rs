//! The authorization server's share of the store: clients, grants, codes, tokens and gateway keys.
//!
//! Secrets arrive here as hashes, and v1 keys sealed; with the data of this folder alone nobody can act for a person.
//! Some rules must hold even when two processes do the same at once (a code is used once, a refresh token is exchanged
//! once). One conditional UPDATE decides them, inside a transaction that holds the grant's row.
//!
//! May use: `fresh`, the engine and error of the store.

mod clients;
mod grants;
mod keys;
mod tables;
mod tokens;

pub use clients::Client;
pub use grants::{Grant, NewCode, NewGrant};
pub use keys::GatewayKey;
pub use tables::{OAuthStore, Sealed, SealedRow};
pub use tokens::{Code, Exchange, NewToken, Refresh, Token, TokenKind, Verdict};
