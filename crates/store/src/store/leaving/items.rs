//! Records about the work items of a workspace.
//!
//! May use: `v2` (times), this folder.

use super::super::error::StoreError;
use super::super::recorded::{Element, ItemValues};
use super::super::rows::{Cells, all, query, read_from_its_columns, sql};
use super::super::service::Store;
use crate::v2::time::Micros;
use std::collections::HashMap;
use uuid::Uuid;

/// The record about a work item, without its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedItem {
    /// The item.
    pub id: Uuid,
    /// Its project.
    pub project_id: Uuid,
    /// Its type.
    pub type_id: Option<Uuid>,
    /// Time when it was archived through the gateway.
    pub archived_at: Option<Micros>,
    /// Its number within the project at the time of archiving.
    pub archived_number: Option<i64>,
    /// Its name at the time of archiving.
    pub archived_name: Option<String>,
    /// Time since which v1 does not show it.
    pub missing_since: Option<Micros>,
}

read_from_its_columns!(
    RecordedItem: id, project_id, type_id, archived_at, archived_number, archived_name, missing_since
);

impl Store {
    /// Returns the records about the work items of a workspace.
    pub async fn recorded_items(&self, workspace: Uuid) -> Result<Vec<RecordedItem>, StoreError> {
        let columns = RecordedItem::COLUMNS;
        let text = format!("SELECT {columns} FROM work_item WHERE workspace_id = $1 ORDER BY project_id, id");
        all(self.engine.pool(), query(sql(text), &[&workspace]), RecordedItem::read).await
    }

    /// Returns the custom values of all work items of a project; items without values are left out.
    pub async fn recorded_values(&self, project: Uuid) -> Result<HashMap<Uuid, ItemValues>, StoreError> {
        let text = "SELECT work_item_id, property_id, value, option_id FROM custom_value WHERE work_item_id IN \
                    (SELECT id FROM work_item WHERE project_id = $1) ORDER BY work_item_id, property_id, position";
        let rows = query(text, &[&project]).fetch_all(self.engine.pool()).await?;
        let mut found: HashMap<Uuid, ItemValues> = HashMap::new();
        for row in &rows {
            let mut cells = Cells::of(row);
            let (item, property) = (cells.next()?, cells.next()?);
            let element = Element { value: cells.next()?, option: cells.next()? };
            found.entry(item).or_default().entry(property).or_default().push(element);
        }
        Ok(found)
    }
}
