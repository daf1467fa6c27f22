//! Keys of the gateway's own.
//!
//! May use: `fresh`, `units`, this folder, the engine.

use super::tables::{OAuthStore, Sealed, words};
use crate::fresh::Changed;
use crate::store::error::StoreError;
use crate::store::rows::{Cells, NewRow, insert, query, read_id, sql};
use crate::units::now_micros;
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
        let row: NewRow = &[
            ("id", &key.id),
            ("hash", &key.hash),
            ("title", &key.title),
            ("user_id", &key.user),
            ("user_name", &key.user_name),
            ("scopes", &key.scopes.join(" ")),
            ("workspace_id", &workspace),
            ("workspace_slug", &slug),
            ("sealed_key", &key.sealed.text),
            ("sealed_with", &key.sealed.with),
            ("created_at", &now_micros()),
            ("expires_at", &key.expires_at.unwrap_or(i64::MAX)),
        ];
        self.engine.change(insert("gateway_key", row)).await.map(drop)
    }

    /// The key with this hash, revoked or not.
    pub async fn key(&self, hash: &str) -> Result<Option<GatewayKey>, StoreError> {
        Ok(self.engine.rows(query(sql(format!("{COLUMNS} WHERE hash = $1")), &[&hash]), read).await?.pop())
    }

    /// The keys of a person, or of everybody, that were not revoked, oldest first; also those that have expired.
    pub async fn keys(&self, user: Option<Uuid>) -> Result<Vec<GatewayKey>, StoreError> {
        let text = sql(format!(
            "{COLUMNS} WHERE revoked_at IS NULL AND (user_id = $1 OR $1 = '') ORDER BY created_at, id"
        ));
        let user = user.map(|user| user.to_string()).unwrap_or_default();
        self.engine.rows(query(text, &[&user]), read).await
    }

    /// The key with this id that was not revoked, of this person when one is named.
    pub async fn key_to_revoke(&self, key: Uuid, user: Option<Uuid>) -> Result<Option<GatewayKey>, StoreError> {
        let text = sql(format!("{COLUMNS} WHERE id = $1 AND (user_id = $2 OR $2 = '') AND revoked_at IS NULL"));
        let user = user.map(|user| user.to_string()).unwrap_or_default();
        Ok(self.engine.rows(query(text, &[&key, &user]), read).await?.pop())
    }

    /// Revokes a key, of this person when one is named; false when there is none.
    pub async fn revoke_key(&self, key: Uuid, user: Option<Uuid>) -> Result<bool, StoreError> {
        let mut writing = self.engine.writing().await?;
        // Also when it had been revoked: the answer to that write may have been lost.
        writing.voids(Changed::Credentials);
        let text = "UPDATE gateway_key SET revoked_at = $3, sealed_key = '' WHERE id = $1 AND (user_id = $2 \
                    OR $2 = '') AND revoked_at IS NULL";
        let done = writing
            .run(query(text, &[&key, &user.map(|user| user.to_string()).unwrap_or_default(), &now_micros()]))
            .await?;
        writing.commit().await?;
        Ok(done > 0)
    }
}

fn read(cells: &mut Cells<'_>) -> Result<GatewayKey, StoreError> {
    let workspace = |id: String, slug| match id.as_str() {
        "" => Ok(None),
        id => read_id(id).map(|id| Some((id, slug))),
    };
    Ok(GatewayKey {
        id: cells.next()?,
        hash: cells.next()?,
        title: cells.next()?,
        user: cells.next()?,
        user_name: cells.next()?,
        scopes: words(cells.next()?),
        workspace: workspace(cells.next()?, cells.next()?)?,
        sealed: Sealed { text: cells.next()?, with: cells.next()? },
        created_at: cells.next()?,
        expires_at: Some(cells.next()?).filter(|at| *at != i64::MAX),
        revoked: cells.next()?,
    })
}
