//! Notes about work items archived through the gateway: v1 keeps only the day, and no read of v1 shows these items.
//!
//! May use: `v2` (times), this folder.

use super::error::StoreError;
use super::items::{bump, touch};
use super::recorded::OwnWrite;
use super::rows::{all, query, sql, value};
use super::service::Store;
use crate::v2::time::Micros;
use std::collections::HashMap;
use std::sync::Arc;
use uuid::Uuid;

/// A work item at the moment it was archived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivedItem {
    /// Time of archiving.
    pub at: Micros,
    /// Its title.
    pub name: String,
    /// Its number within the project.
    pub sequence_id: i64,
    /// Its parent item.
    pub parent: Option<Uuid>,
}

/// Titles and numbers of archived items, by item id.
pub type ArchivedNames = HashMap<Uuid, (String, i64)>;

impl Store {
    /// Records that an item was archived through the gateway, or (`None`) that it was restored.
    pub async fn mark_archived(
        &self,
        workspace: Uuid,
        project: Uuid,
        item: Uuid,
        archived: Option<&ArchivedItem>,
    ) -> Result<(), StoreError> {
        let mut writing = self.engine.writing().await?;
        let version = bump(&mut writing, project).await?;
        let at = touch(&mut writing, workspace, project, item).await?;
        let text = "UPDATE work_item SET archived_at = $2, archived_name = $3, archived_number = $4, \
                    archived_parent_id = $5 WHERE id = $1";
        let (instant, name) = archived.map(|archived| (archived.at, archived.name.clone())).unzip();
        let number = archived.map(|archived| archived.sequence_id);
        let parent = archived.and_then(|archived| archived.parent);
        writing.run(query(text, &[&item, &instant, &name, &number, &parent])).await?;
        writing.commit().await?;
        let is_archived = archived.is_some();
        self.carry(project, version, move |items| {
            items.wrote(item, &OwnWrite::default(), at);
            let set = Arc::make_mut(&mut items.archived);
            if is_archived {
                set.insert(item)
            } else {
                set.remove(&item)
            };
        });
        Ok(())
    }

    /// Returns the items of the project whose parent was `parent` when they were archived through the gateway.
    pub async fn archived_below(&self, project: Uuid, parent: Uuid) -> Result<Vec<Uuid>, StoreError> {
        let text = "SELECT id FROM work_item WHERE archived_parent_id = $1 AND project_id = $2 ORDER BY id";
        all(self.engine.pool(), query(text, &[&parent, &project]), |cells| cells.next()).await
    }

    /// Returns the parent that an item had when it was archived through the gateway; none if the item is not archived.
    pub async fn archived_parent(&self, item: Uuid) -> Result<Option<Uuid>, StoreError> {
        let text = "SELECT archived_parent_id FROM work_item WHERE id = $1 AND archived_at IS NOT NULL";
        Ok(value(self.engine.pool(), query(text, &[&item])).await?.flatten())
    }

    /// Returns titles and numbers of those `items` of the project that were archived through the gateway.
    pub async fn archived_names(&self, project: Uuid, items: &[Uuid]) -> Result<ArchivedNames, StoreError> {
        let text = format!(
            "SELECT id, archived_name, archived_number FROM work_item WHERE archived_name IS NOT NULL \
             AND project_id = $1 AND id IN {}",
            self.engine.kind().elements("$2")
        );
        all(self.engine.pool(), query(sql(text), &[&project, &items]), |cells| {
            Ok((cells.next()?, (cells.next()?, cells.next()?)))
        })
        .await
    }
}
