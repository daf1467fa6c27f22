//! Sealed v1 keys: which rows hold one, and putting one sealed anew in its place.
//!
//! May use: this folder, the engine.

use super::tables::OAuthStore;
use crate::store::error::StoreError;
use crate::store::rows::query;
use sqlx::Row;

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

impl OAuthStore {
    /// Up to `limit` rows whose key is not sealed with `secret`, with ids greater than `after`, by id.
    pub async fn not_sealed_with(
        &self,
        secret: &str,
        after: &str,
        limit: i64,
    ) -> Result<Vec<SealedRow>, StoreError> {
        let text = "SELECT 0 AS kind, id, sealed_key, sealed_with FROM oauth_grant WHERE sealed_key <> '' \
                    AND sealed_with <> $1 AND id > $2 UNION ALL SELECT 1, id, sealed_key, sealed_with \
                    FROM gateway_key WHERE sealed_key <> '' AND sealed_with <> $1 AND id > $2 ORDER BY 2 \
                    LIMIT $3";
        let reading = query(text, &[&secret, &after, &limit]).fetch_all(self.engine.pool());
        let rows = self.engine.while_there(reading).await?;
        rows.iter()
            .map(|row| {
                // PostgreSQL gives a literal 32 bits, SQLite 64.
                let kind = row.try_get::<i64, _>(0).or_else(|_| row.try_get::<i32, _>(0).map(i64::from))?;
                let sealed = Sealed { text: row.try_get(2)?, with: row.try_get(3)? };
                Ok(SealedRow { of_gateway_key: kind == 1, id: row.try_get(1)?, sealed })
            })
            .collect()
    }

    /// Puts `sealed` in place of what `row` held; false when that has changed meanwhile.
    pub async fn reseal(&self, row: &SealedRow, sealed: &Sealed) -> Result<bool, StoreError> {
        let text = if row.of_gateway_key {
            "UPDATE gateway_key SET sealed_key = $3, sealed_with = $4 WHERE id = $1 AND sealed_key = $2"
        } else {
            "UPDATE oauth_grant SET sealed_key = $3, sealed_with = $4 WHERE id = $1 AND sealed_key = $2"
        };
        let putting =
            query(text, &[&row.id, &row.sealed.text, &sealed.text, &sealed.with]).execute(self.engine.pool());
        let done = self.engine.while_there(putting).await?;
        Ok(done.rows_affected() > 0)
    }
}
