//! Workspaces that have been left: all that this store held of them lies in a v2 of the deployment's own.
//!
//! May use: `units`, this folder.

use super::error::StoreError;
use super::rows::{query, read_all};
use super::service::Store;
use crate::units::now_micros;

/// A workspace that has been left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftWorkspace {
    /// What it is called in paths.
    pub slug: String,
    /// Where its records went.
    pub url: String,
}

impl Store {
    /// Notes that what this store holds of the workspace `slug` has been carried over to the v2 at `url`, and checked
    /// there. A later note takes the place of an earlier one.
    pub async fn mark_left(&self, slug: &str, url: &str) -> Result<(), StoreError> {
        let mut writing = self.engine.writing().await?;
        let text = "INSERT INTO left_workspaces (slug, url, left_at) VALUES ($1, $2, $3) ON CONFLICT (slug) \
                    DO UPDATE SET url = excluded.url, left_at = excluded.left_at";
        query(text, &[&slug, &url, &now_micros()]).execute(&mut *writing).await?;
        writing.commit().await
    }

    /// The workspace `slug` when it has been left.
    pub async fn left(&self, slug: &str) -> Result<Option<LeftWorkspace>, StoreError> {
        Ok(self.left_workspaces().await?.into_iter().find(|left| left.slug == slug))
    }

    /// All workspaces that have been left, in the order of their names.
    pub async fn left_workspaces(&self) -> Result<Vec<LeftWorkspace>, StoreError> {
        let text = "SELECT slug, url FROM left_workspaces ORDER BY slug";
        let rows = sqlx::query(text).fetch_all(self.engine.pool()).await?;
        read_all(&rows, |cells| Ok(LeftWorkspace { slug: cells.next()?, url: cells.next()? }))
    }
}
