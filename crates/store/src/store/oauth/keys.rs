//! Keys of the gateway's own.
//!
//! May use: `fresh`, `units`, this folder, the engine.

use super::sealed::Sealed;
use super::tables::{OAuthStore, id, joined, words};
use crate::fresh::Changed;
use crate::store::engine::sql;
use crate::store::error::StoreError;
use crate::units::now_micros;
use sqlx::Row;
use sqlx::any::AnyRow;
use uuid::Uuid;

/// A gateway key.
#[derive(Debug, Clone)]
pub struct GatewayKey {
    /// Its id, by which it is listed and revoked.
    pub id: Uuid,
    /// Hash of it.
    pub hash: String,
    /// What it is for.
    pub title: String,
    /// The person it acts for.
    pub user: Uuid,
    /// What that person was called when it was made.
    pub user_name: String,
    /// What it opens.
    pub scopes: Vec<String>,
    /// The only workspace it opens, by id and what it was called; `None` for all.
    pub workspace: Option<(Uuid, String)>,
    /// The person's v1 key; empty when revoked.
    pub sealed: Sealed,
    /// When it was made; set by the store.
    pub created_at: i64,
    /// Until when it is good; `None` for ever.
    pub expires_at: Option<i64>,
    /// Whether it was revoked.
    pub revoked: bool,
}

const COLUMNS: &str = "SELECT id, hash, title, user_id, user_name, scopes, workspace_id, workspace_slug, \
                       sealed_key, sealed_with, created_at, expires_at, COALESCE(revoked_at, 0) FROM gateway_key";

impl OAuthStore {
    /// Adds a key.
    pub async fn add_key(&self, key: &GatewayKey) -> Result<(), StoreError> {
        let (workspace, slug) = match &key.workspace {
            Some((id, slug)) => (id.to_string(), slug.clone()),
            None => Default::default(),
        };
        let adding = sqlx::query(
            "INSERT INTO gateway_key (id, hash, title, user_id, user_name, scopes, workspace_id, workspace_slug, \
             sealed_key, sealed_with, created_at, expires_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        )
        .bind(key.id.to_string())
        .bind(key.hash.clone())
        .bind(key.title.clone())
        .bind(key.user.to_string())
        .bind(key.user_name.clone())
        .bind(joined(&key.scopes))
        .bind(workspace)
        .bind(slug)
        .bind(key.sealed.text.clone())
        .bind(key.sealed.with.clone())
        .bind(now_micros())
        .bind(key.expires_at.unwrap_or(i64::MAX))
        .execute(self.engine.pool());
        self.engine.while_there(adding).await?;
        Ok(())
    }

    /// The key with this hash, revoked or not.
    pub async fn key(&self, hash: &str) -> Result<Option<GatewayKey>, StoreError> {
        let text = sql(format!("{COLUMNS} WHERE hash = $1"));
        let reading = sqlx::query(text).bind(hash.to_owned()).fetch_optional(self.engine.pool());
        let row = self.engine.while_there(reading).await?;
        row.as_ref().map(read).transpose()
    }

    /// The keys of a person, or of everybody, that were not revoked, oldest first; also those that have expired.
    pub async fn keys(&self, user: Option<Uuid>) -> Result<Vec<GatewayKey>, StoreError> {
        let text = sql(format!(
            "{COLUMNS} WHERE revoked_at IS NULL AND (user_id = $1 OR $1 = '') ORDER BY created_at, id"
        ));
        let user = user.map(|user| user.to_string()).unwrap_or_default();
        let reading = sqlx::query(text).bind(user).fetch_all(self.engine.pool());
        self.engine.while_there(reading).await?.iter().map(read).collect()
    }

    /// Revokes a key, of this person when one is named; false when there is none.
    pub async fn revoke_key(&self, key: Uuid, user: Option<Uuid>) -> Result<bool, StoreError> {
        let mut writing = self.engine.writing().await?;
        // Also when it had been revoked: the answer to that write may have been lost.
        writing.voids(Changed::Credentials);
        let done = sqlx::query(
            "UPDATE gateway_key SET revoked_at = $3, sealed_key = '' \
             WHERE id = $1 AND (user_id = $2 OR $2 = '') AND revoked_at IS NULL",
        )
        .bind(key.to_string())
        .bind(user.map(|user| user.to_string()).unwrap_or_default())
        .bind(now_micros())
        .execute(&mut *writing)
        .await?;
        writing.commit().await?;
        Ok(done.rows_affected() > 0)
    }
}

fn read(row: &AnyRow) -> Result<GatewayKey, StoreError> {
    let (workspace, expires_at): (String, i64) = (row.try_get(6)?, row.try_get(11)?);
    let workspace = match workspace.as_str() {
        "" => None,
        text => Some((id(text)?, row.try_get(7)?)),
    };
    Ok(GatewayKey {
        id: id(row.try_get::<String, _>(0)?.as_str())?,
        hash: row.try_get(1)?,
        title: row.try_get(2)?,
        user: id(row.try_get::<String, _>(3)?.as_str())?,
        user_name: row.try_get(4)?,
        scopes: words(row.try_get::<String, _>(5)?.as_str()),
        workspace,
        sealed: Sealed { text: row.try_get(8)?, with: row.try_get(9)? },
        created_at: row.try_get(10)?,
        expires_at: (expires_at != i64::MAX).then_some(expires_at),
        revoked: row.try_get::<i64, _>(12)? != 0,
    })
}
