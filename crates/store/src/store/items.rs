//! Records about work items: their types and custom values, kept as long as v1 has the item.
//!
//! The types of a project are kept in memory with the project's counter `items`, which grows with every write to the
//! store about its work items. A read compares the counter, so that another gateway's write is seen at once. A
//! process that has the store to itself knows the counter as long as it writes nothing (`unchanged`). May use:
//! `catalogue`, `units`, `v2` (times), this folder.

use super::engine::Writing;
use super::error::StoreError;
use super::intent_rows;
use super::items_kept::{NOTHING, ProjectItems};
use super::kind::Kind;
use super::recorded::{Element, ItemValues, OwnWrite, TypeChange};
use super::rows::{Cells, all, at_once, cells, placeholder_rows, query, read_id as id, sql, value, with_cells};
use super::service::Store;
use super::session::Session;
use crate::catalogue::Catalogue;
use crate::units::now_micros;
use crate::v2::time::Micros;
use sqlx::Row;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;
use uuid::Uuid;

impl Store {
    /// Returns the records about the project's items.
    pub async fn project_items(&self, project: Uuid) -> Result<Arc<ProjectItems>, StoreError> {
        if let Some(items) = self.items_if_current(project) {
            return Ok(items);
        }
        self.ask(&self.items, project, move |store| async move { store.look_at_items(project).await }).await
    }

    /// Returns the records from memory, if they are certainly still current.
    fn items_if_current(&self, project: Uuid) -> Option<Arc<ProjectItems>> {
        match self.counters.get(project, self.engine.seen()?)? {
            0 => Some(Arc::clone(&NOTHING)),
            version => self.items.any(&project).map(|kept| kept.value).filter(|items| items.version == version),
        }
    }

    async fn look_at_items(self, project: Uuid) -> Result<Arc<ProjectItems>, StoreError> {
        let (seen, at) = (self.engine.seen(), Instant::now());
        let reading = query("SELECT items FROM project WHERE id = $1", &[&project]);
        let version: i64 = value(self.engine.pool(), reading).await?.unwrap_or_default();
        if let Some(seen) = seen {
            self.counters.saw(project, version, seen, at);
        }
        if version == 0 {
            // Nothing was ever recorded.
            return Ok(Arc::clone(&NOTHING));
        }
        match self.items.any(&project).filter(|kept| kept.value.version == version) {
            Some(kept) => Ok(kept.value),
            None => self.load_items(project).await.map(Arc::new),
        }
    }

    /// Applies an own write to the records in memory if it is the very next one; else the next read loads them again.
    pub(super) fn carry(
        &self,
        project: Uuid,
        version: i64,
        change: impl Fn(&mut ProjectItems) + Send + Sync + 'static,
    ) {
        self.items.amend(&project, move |items| {
            let is_next = items.version + 1 == version;
            if is_next {
                let items = Arc::make_mut(items);
                change(items);
                items.version = version;
            }
            is_next
        });
    }

    async fn load_items(&self, project: Uuid) -> Result<ProjectItems, StoreError> {
        let mut reading = self.engine.reading().await?;
        let text = "SELECT items, epoch FROM project WHERE id = $1";
        let row = query(text, &[&project]).fetch_one(&mut reading).await?;
        // A SQLite file has one process, so there are no epochs.
        let epoch = if self.engine.kind() == Kind::Sqlite { 0 } else { row.try_get(1)? };
        let mut items = ProjectItems { version: row.try_get(0)?, epoch, ..ProjectItems::default() };
        let text = "SELECT id, type_id, archived_at, missing_since, changed_at FROM work_item \
                    WHERE project_id = $1";
        let rows = query(text, &[&project]).fetch_all(&mut reading).await?;
        let (mut types, mut known) = (HashMap::new(), HashMap::with_capacity(rows.len()));
        let (mut missing, mut archived) = (HashSet::new(), HashSet::new());
        for row in &rows {
            let mut cells = Cells::of(row);
            let item = cells.next()?;
            if let Some(type_id) = cells.next()? {
                types.insert(item, type_id);
            }
            if cells.next::<Option<i64>>()?.is_some() {
                archived.insert(item);
            }
            if cells.next::<Option<i64>>()?.is_some() {
                missing.insert(item);
            }
            known.insert(item, cells.next()?);
        }
        items.open = intent_rows::open_of(&mut reading, project).await?.into();
        reading.commit().await?;
        (items.types, items.known) = (types.into(), known.into());
        (items.missing, items.archived) = (missing.into(), archived.into());
        Ok(items)
    }

    /// Returns the custom values of an item.
    pub async fn values_of(&self, item: Uuid) -> Result<ItemValues, StoreError> {
        Ok(self.values_as_written(item).await?.1)
    }

    /// Returns the custom values of an item and the time of the last write of its records; read at one moment.
    pub async fn values_as_written(&self, item: Uuid) -> Result<(Option<Micros>, ItemValues), StoreError> {
        let text = "SELECT changed_at, property_id, value, option_id FROM work_item LEFT JOIN custom_value \
                    ON custom_value.work_item_id = work_item.id WHERE work_item.id = $1 \
                    ORDER BY property_id, position";
        let rows = query(text, &[&item]).fetch_all(self.engine.pool()).await?;
        let (mut values, mut written) = (ItemValues::new(), None);
        for row in &rows {
            written = Some(row.try_get(0)?);
            // The only row of an item without values.
            let Some(property) = row.try_get::<Option<&str>, _>(1)? else { continue };
            let text: &str = row.try_get(2)?;
            let value = serde_json::from_str(text).map_err(|_| StoreError::unreadable("custom value", text))?;
            let option = row.try_get::<Option<&str>, _>(3)?.map(id).transpose()?;
            values.entry(id(property)?).or_default().push(Element { value, option });
        }
        Ok((written, values))
    }

    /// Stores type and values of an existing item without a write to v1. Returns false when the type was deleted
    /// meanwhile; then nothing is stored.
    pub async fn write_item(
        &self,
        workspace: Uuid,
        project: Uuid,
        item: Uuid,
        own: &OwnWrite,
    ) -> Result<bool, StoreError> {
        let mut writing = self.engine.writing().await?;
        let catalogue = self.held_catalogue(&mut writing, workspace).await?;
        if !type_stands(&catalogue, own) {
            return Ok(false);
        }
        let version = bump(&mut writing, project).await?;
        let at = apply(&mut writing, &catalogue, project, item, own).await?;
        writing.commit().await?;
        let own = own.clone();
        self.carry(project, version, move |items| items.wrote_and_remembered(item, &own, at, None));
        Ok(true)
    }

    /// Records that v1 no longer shows `gone`, and shows `back` again. Nothing is removed: users of v1 may have
    /// archived an item, and its values return with it. Items of `gone` written after `before` are left alone.
    pub async fn mark_missing(
        &self,
        project: Uuid,
        gone: &[Uuid],
        back: &[Uuid],
        before: Micros,
    ) -> Result<(), StoreError> {
        let mut writing = self.engine.writing().await?;
        bump(&mut writing, project).await?;
        for (items, since) in [(gone, Some(now_micros())), (back, None)] {
            let text = format!(
                "UPDATE work_item SET missing_since = $3 WHERE project_id = $1 AND changed_at <= $4 \
                 AND (missing_since IS NULL) = ($5 = 1) AND id IN {}",
                self.engine.kind().elements("$2")
            );
            let before = if since.is_some() { before } else { i64::MAX };
            writing.run(query(sql(text), &[&project, &items, &since, &before, &since.is_some()])).await?;
        }
        writing.commit().await
    }

    /// Returns the items with this type, as pairs of project and item.
    pub async fn items_of_type(&self, type_id: Uuid) -> Result<Vec<(Uuid, Uuid)>, StoreError> {
        let text = "SELECT project_id, id FROM work_item WHERE type_id = $1";
        all(self.engine.pool(), query(text, &[&type_id]), |cells| Ok((cells.next()?, cells.next()?))).await
    }

    /// Returns the workspaces whose definitions name the project: in a context, as an owner, or in an import.
    pub async fn workspaces_naming(&self, project: Uuid) -> Result<Vec<Uuid>, StoreError> {
        let text = "SELECT workspace_id FROM property_context WHERE deleted_at IS NULL AND projects LIKE $1 \
                    UNION SELECT workspace_id FROM work_item_type WHERE deleted_at IS NULL AND project_id = $2 \
                    UNION SELECT workspace_id FROM property WHERE deleted_at IS NULL AND project_id = $2 \
                    UNION SELECT workspace_id FROM type_import WHERE project_id = $2";
        all(self.engine.pool(), query(text, &[&format!("%{project}%"), &project]), |cells| cells.next()).await
    }

    /// Records that v1 no longer shows any item of the project, so that a sweep can remove their records.
    pub async fn miss_project(&self, project: Uuid) -> Result<(), StoreError> {
        let mut writing = self.engine.writing().await?;
        let text = "UPDATE work_item SET missing_since = $2 WHERE project_id = $1 AND missing_since IS NULL";
        let missed = writing.run(query(text, &[&project, &now_micros()])).await?;
        if missed == 0 {
            return writing.rollback().await;
        }
        bump(&mut writing, project).await?;
        writing.commit().await
    }
}

/// Counts the work items that have the type, or will have it once a write in progress is settled.
pub(super) async fn uses_of_type(connection: &mut Session, type_id: Uuid) -> Result<i64, StoreError> {
    let text = "SELECT (SELECT COUNT(*) FROM work_item WHERE type_id = $1) + (SELECT COUNT(*) FROM intent \
                WHERE settled_at IS NULL AND own LIKE $2)";
    let row = query(text, &[&type_id, &format!("%{type_id}%")]).fetch_one(connection).await?;
    Ok(row.try_get(0)?)
}

/// Checks whether the type of a write is still defined.
pub(super) fn type_stands(catalogue: &Catalogue, own: &OwnWrite) -> bool {
    match own.type_id {
        TypeChange::Set(Some(type_id)) => catalogue.types.contains_key(&type_id),
        _ => true,
    }
}

/// Raises the counter of the project by one and returns it; its row is locked until the commit.
pub(super) async fn bump(writing: &mut Writing, project: Uuid) -> Result<i64, StoreError> {
    bump_with(writing, project, 0).await.map(|(version, _)| version)
}

/// Does the same, and raises the epoch of the project by `steps`; returns both.
pub(super) async fn bump_with(writing: &mut Writing, project: Uuid, steps: i64) -> Result<(i64, i64), StoreError> {
    let text = "INSERT INTO project (id, items, epoch) VALUES ($1, 1, $2) ON CONFLICT (id) \
                DO UPDATE SET items = project.items + 1, epoch = project.epoch + $2 RETURNING items, epoch";
    let row = query(text, &[&project, &steps]).fetch_one(&mut **writing).await?;
    writing.raises(project);
    Ok((row.try_get(0)?, row.try_get(1)?))
}

/// Makes sure that the item has a row. v1 shows the item, so it is not missing. Returns the time of this write.
pub(super) async fn touch(
    writing: &mut Writing,
    workspace: Uuid,
    project: Uuid,
    item: Uuid,
) -> Result<Micros, StoreError> {
    let at = now_micros();
    let text = "INSERT INTO work_item (id, workspace_id, project_id, changed_at) VALUES ($1, $2, $3, $4) \
                ON CONFLICT (id) DO UPDATE SET missing_since = NULL, changed_at = excluded.changed_at";
    writing.run(query(text, &[&item, &workspace, &project, &at])).await?;
    Ok(at)
}

/// Stores type and values by the present definitions. If a property no longer covers the item since the write was
/// checked, its value would have been removed, so it is not stored. Returns the time of this write.
pub(super) async fn apply(
    writing: &mut Writing,
    catalogue: &Catalogue,
    project: Uuid,
    item: Uuid,
    own: &OwnWrite,
) -> Result<Micros, StoreError> {
    let at = touch(writing, catalogue.workspace, project, item).await?;
    let type_id = type_after(writing, item, own).await?.unwrap_or_default();
    for (property, elements) in &own.values {
        let text = "DELETE FROM custom_value WHERE work_item_id = $1 AND property_id = $2";
        writing.run(query(text, &[&item, &property])).await?;
        let Some(options) = catalogue.takes(*property, project, type_id) else { continue };
        let offered = |element: &&Element| element.option.is_none_or(|option| options.contains(&option));
        let placed: Vec<(i64, &Element)> = (0..).zip(elements.iter().filter(offered)).collect();
        for some in at_once(&placed) {
            let rows = placeholder_rows(some.len(), 5);
            let text = format!(
                "INSERT INTO custom_value (work_item_id, property_id, position, value, option_id) VALUES {rows}"
            );
            let cells = some.iter().flat_map(|(position, element)| {
                cells([&item, property, position, &element.value, &element.option])
            });
            writing.run(with_cells(sql(text), cells)).await?;
        }
    }
    Ok(at)
}

/// Returns the type of the item after the write, and stores it.
async fn type_after(writing: &mut Writing, item: Uuid, own: &OwnWrite) -> Result<Option<Uuid>, StoreError> {
    if let TypeChange::Set(type_id) = own.type_id {
        let text = "UPDATE work_item SET type_id = $2 WHERE id = $1";
        writing.run(query(text, &[&item, &type_id])).await?;
        return Ok(type_id);
    }
    let row = query("SELECT type_id FROM work_item WHERE id = $1", &[&item]).fetch_one(&mut **writing).await?;
    Cells::of(&row).next()
}

/// Removes type, values and marks of an item.
pub(super) async fn purge(writing: &mut Writing, item: Uuid) -> Result<(), StoreError> {
    for text in ["DELETE FROM custom_value WHERE work_item_id = $1", "DELETE FROM work_item WHERE id = $1"] {
        writing.run(query(text, &[&item])).await?;
    }
    Ok(())
}
