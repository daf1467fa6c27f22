//! The tables of the authorization server, how lists of words stand in them, and the sealed v1 keys of their rows. May
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

/// A v1 key as the store has it.
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
    /// Whether it is a gateway key; else a grant.
    pub of_gateway_key: bool,
    /// Id of the row, to which the sealed text is bound.
    pub id: String,
    /// What it holds.
    pub sealed: Sealed,
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

    /// Up to `limit` rows whose key is not sealed with `secret`, with ids greater than `after`, by id.
    pub async fn not_sealed_with(
        &self,
        secret: &str,
        after: &str,
        limit: i64,
    ) -> Result<Vec<SealedRow>, StoreError> {
        // PostgreSQL gives a plain literal 32 bits.
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

    /// Puts `sealed` in place of what `row` held; false when that has changed meanwhile.
    pub async fn reseal(&self, row: &SealedRow, sealed: &Sealed) -> Result<bool, StoreError> {
        let text = if row.of_gateway_key {
            "UPDATE gateway_key SET sealed_key = $3, sealed_with = $4 WHERE id = $1 AND sealed_key = $2"
        } else {
            "UPDATE oauth_grant SET sealed_key = $3, sealed_with = $4 WHERE id = $1 AND sealed_key = $2"
        };
        Ok(self.engine.change(query(text, &[&row.id, &row.sealed.text, &sealed.text, &sealed.with])).await? > 0)
    }
}

/// The words of a list, which stand with blanks between them.
pub(super) fn words(text: String) -> Vec<String> {
    text.split_ascii_whitespace().map(str::to_owned).collect()
}
