//! The tables of the authorization server, the form of word lists in them, and the sealed v1 keys of their rows. May
//! use: `fresh`, this folder.

use super::super::engine::{Engine, Kind};
use super::super::error::StoreError;
use super::super::rows::{Cells, query};
use super::super::service::Store;
use crate::fresh::Changes;

/// The tables of the authorization server; cheap to clone.
#[derive(Debug, Clone)]
pub struct OAuthStore {
    pub(super) engine: Engine,
}

/// A v1 key in its stored form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// Nonce and ciphertext, as text.
    pub text: String,
    /// Id of the secret it was sealed with.
    pub with: String,
}

/// A row that holds a sealed key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedRow {
    /// Whether the row is a gateway key; else it is a grant.
    pub of_gateway_key: bool,
    /// Id of the row, to which the sealed text is bound.
    pub id: String,
    /// The sealed key.
    pub sealed: Sealed,
}

impl Store {
    /// Returns the tables of the authorization server.
    pub fn oauth(&self) -> OAuthStore {
        OAuthStore { engine: self.engine.clone() }
    }
}

impl OAuthStore {
    /// Checks whether this process knows of every acknowledged revocation: it has the store to itself, or receives the
    /// notes of other processes.
    pub fn hears_revocations(&self) -> bool {
        self.engine.kind() == Kind::Sqlite || self.engine.peers.lease.is_held()
    }

    /// Returns the channel that reports revocations in this process, by this process and by others.
    pub fn changes(&self) -> &Changes {
        &self.engine.peers.changes
    }

    /// Returns up to `limit` rows whose key is not sealed with `secret`, with ids greater than `after`, by id.
    pub async fn not_sealed_with(
        &self,
        secret: &str,
        after: &str,
        limit: i64,
    ) -> Result<Vec<SealedRow>, StoreError> {
        // For PostgreSQL a plain literal has 32 bits.
        let text = "SELECT CAST(0 AS BIGINT), id, sealed_key, sealed_with FROM oauth_grant WHERE sealed_key <> '' \
                    AND sealed_with <> $1 AND id > $2 UNION ALL SELECT 1, id, sealed_key, sealed_with \
                    FROM gateway_key WHERE sealed_key <> '' AND sealed_with <> $1 AND id > $2 ORDER BY 2 \
                    LIMIT $3";
        let row = |cells: &mut Cells<'_>| {
            let (of_gateway_key, id) = (cells.next()?, cells.next()?);
            Ok(SealedRow { of_gateway_key, id, sealed: Sealed { text: cells.next()?, with: cells.next()? } })
        };
        self.engine.rows(query(text, &[&secret, &after, &limit]), row).await
    }

    /// Replaces the sealed key of `row` by `sealed`; false when the key has changed meanwhile.
    pub async fn reseal(&self, row: &SealedRow, sealed: &Sealed) -> Result<bool, StoreError> {
        let text = if row.of_gateway_key {
            "UPDATE gateway_key SET sealed_key = $3, sealed_with = $4 WHERE id = $1 AND sealed_key = $2"
        } else {
            "UPDATE oauth_grant SET sealed_key = $3, sealed_with = $4 WHERE id = $1 AND sealed_key = $2"
        };
        Ok(self.engine.change(query(text, &[&row.id, &row.sealed.text, &sealed.text, &sealed.with])).await? > 0)
    }
}

/// Splits a list into its words, which are separated by blanks.
pub(super) fn words(text: String) -> Vec<String> {
    text.split_ascii_whitespace().map(str::to_owned).collect()
}
