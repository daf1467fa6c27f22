//! The gateway's own keys.
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
    /// Its id, used to list and revoke it.
    pub id: Uuid,
    /// Hash of the key.
    pub hash: String,
    /// Its purpose.
    pub title: String,
    /// The person it acts for.
    pub user: Uuid,
    /// Name of the person when the key was created.
    pub user_name: String,
    /// Scopes that it opens.
    pub scopes: Vec<String>,
    /// The only workspace that it opens: its id, and its slug when the key was created; `None` for all.
    pub workspace: Option<(Uuid, String)>,
    /// The person's v1 key; empty when revoked.
    pub sealed: Sealed,
    /// Time when it expires; `None` for never.
    pub expires_at: Option<i64>,
    /// Whether it was revoked.
    pub revoked: bool,
}

const COLUMNS: &str = "SELECT id, hash, title, user_id, user_name, scopes, workspace_id, workspace_slug, \
                       sealed_key, sealed_with, expires_at, COALESCE(revoked_at, 0) FROM gateway_key";

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

    /// Returns the key with this hash, revoked or not.
    pub async fn key(&self, hash: &str) -> Result<Option<GatewayKey>, StoreError> {
        Ok(self.engine.rows(query(sql(format!("{COLUMNS} WHERE hash = $1")), &[&hash]), read).await?.pop())
    }

    /// Returns the keys of a person, or of all people, that were not revoked, oldest first; expired keys are included.
    pub async fn keys(&self, user: Option<Uuid>) -> Result<Vec<GatewayKey>, StoreError> {
        let text = sql(format!(
            "{COLUMNS} WHERE revoked_at IS NULL AND (user_id = $1 OR $1 = '') ORDER BY created_at, id"
        ));
        let user = user.map(|user| user.to_string()).unwrap_or_default();
        self.engine.rows(query(text, &[&user]), read).await
    }

    /// Returns the key with this id if it was not revoked; if `user` is given, only a key of this person.
    pub async fn key_to_revoke(&self, key: Uuid, user: Option<Uuid>) -> Result<Option<GatewayKey>, StoreError> {
        let text = sql(format!("{COLUMNS} WHERE id = $1 AND (user_id = $2 OR $2 = '') AND revoked_at IS NULL"));
        let user = user.map(|user| user.to_string()).unwrap_or_default();
        Ok(self.engine.rows(query(text, &[&key, &user]), read).await?.pop())
    }

    /// Revokes a key; if `user` is given, only a key of this person. False when there is no such key.
    pub async fn revoke_key(&self, key: Uuid, user: Option<Uuid>) -> Result<bool, StoreError> {
        let mut writing = self.engine.writing().await?;
        // Also when it was already revoked: the answer to that write may have been lost.
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
        expires_at: Some(cells.next()?).filter(|at| *at != i64::MAX),
        revoked: cells.next()?,
    })
}
