//! The tables of the authorization server, and how ids and lists of words stand in them. May use: `fresh`, this
//! folder.

use super::super::engine::{Engine, Kind};
use super::super::service::Store;
use crate::fresh::Changes;

/// The tables of the authorization server; cheap to clone.
#[derive(Debug, Clone)]
pub struct OAuthStore {
    pub(super) engine: Engine,
}

impl Store {
    /// The tables of the authorization server.
    pub fn oauth(&self) -> OAuthStore {
        OAuthStore { engine: self.engine.clone() }
    }
}

impl OAuthStore {
    /// Whether this process knows of every revocation that was answered: it has the store to itself, or hears what
    /// others write.
    pub fn hears_revocations(&self) -> bool {
        self.engine.kind() == Kind::Sqlite || self.engine.peers.lease.is_held()
    }

    /// Where revocations are told in this process, its own and those of others.
    pub fn changes(&self) -> &Changes {
        &self.engine.peers.changes
    }
}

/// The words of a list, which stand with blanks between them.
pub(super) fn words(text: String) -> Vec<String> {
    text.split_ascii_whitespace().map(str::to_owned).collect()
}
