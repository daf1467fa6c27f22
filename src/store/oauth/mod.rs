//! The authorization server's share of the store: clients, grants, codes, tokens and gateway keys.
//!
//! Secrets arrive here as hashes and v1 keys sealed; nothing in this folder could act for anyone. What must
//! hold even when two processes do the same at once (a code is used once, a refresh token is exchanged once)
//! is decided by one conditional UPDATE inside a transaction that holds the grant's row.
//!
//! May use: the engine and error of the store.

mod clients;
mod grants;
mod keys;
mod sealed;
mod tokens;

pub use clients::Client;
pub use grants::{Grant, NewCode, NewGrant};
pub use keys::GatewayKey;
pub use sealed::{Sealed, SealedRow};
pub use tokens::{Code, Exchange, NewToken, Refresh, Token, TokenKind, Verdict};

use super::Store;
use super::engine::Engine;
use super::error::StoreError;
use uuid::Uuid;

/// The tables of the authorization server; cheap to clone.
#[derive(Debug, Clone)]
pub struct OAuthStore {
    engine: Engine,
}

impl Store {
    /// The tables of the authorization server.
    pub fn oauth(&self) -> OAuthStore {
        OAuthStore { engine: self.engine.clone() }
    }
}

/// A list of words as one text.
fn joined(words: &[String]) -> String {
    words.join(" ")
}

/// The words of a text.
fn words(text: &str) -> Vec<String> {
    text.split_ascii_whitespace().map(str::to_owned).collect()
}

fn id(text: &str) -> Result<Uuid, StoreError> {
    Uuid::try_parse(text).map_err(|_| StoreError::unreadable("the id", text))
}

/// The store's clock: microseconds since 1970.
pub fn now() -> i64 {
    super::engine::now()
}
