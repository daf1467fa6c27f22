//! Workspaces that have been left.
//!
//! May use: `units`, this folder.

use super::super::error::StoreError;
use super::super::rows::{query, read_from_its_columns, sql};
use super::super::service::Store;
use crate::units::now_micros;

/// A workspace that has been left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftWorkspace {
    /// Its name in paths.
    pub slug: String,
    /// URL of the v2 to which its records were moved.
    pub url: String,
}

read_from_its_columns!(LeftWorkspace: slug, url);

impl Store {
    /// Records that all data of the workspace `slug` in this store was moved to the v2 at `url`, and checked there. A
    /// later record replaces an earlier one.
    pub async fn mark_left(&self, slug: &str, url: &str) -> Result<(), StoreError> {
        let text = "INSERT INTO left_workspaces (slug, url, left_at) VALUES ($1, $2, $3) ON CONFLICT (slug) \
                    DO UPDATE SET url = excluded.url, left_at = excluded.left_at";
        self.engine.write(query(text, &[&slug, &url, &now_micros()])).await.map(drop)
    }

    /// Returns the workspace `slug` if it has been left.
    pub async fn left(&self, slug: &str) -> Result<Option<LeftWorkspace>, StoreError> {
        Ok(self.left_workspaces().await?.into_iter().find(|left| left.slug == slug))
    }

    /// Returns all workspaces that have been left, in the order of their names.
    pub async fn left_workspaces(&self) -> Result<Vec<LeftWorkspace>, StoreError> {
        let text = format!("SELECT {} FROM left_workspaces ORDER BY slug", LeftWorkspace::COLUMNS);
        self.engine.rows(query(sql(text), &[]), LeftWorkspace::read).await
    }
}
