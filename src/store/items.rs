//! What is recorded on work items: their types and custom values, kept as long as v1 has the item.
//!
//! The types of a project are kept in memory beside the project's counter `items`, which grows with every own
//! write about its work items; a read compares the counter, so that another gateway's write is seen at once.
//! May use: `catalogue`, `v2` (times), this folder.

use super::engine::{Writing, json_list, now, sql};
use super::error::StoreError;
use super::intents::{self, Intent};
use super::rows::read_id as id;
use super::{Kind, Store};
use crate::catalogue::Catalogue;
use crate::v2::time::Micros;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::{AnyConnection, Row};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use uuid::Uuid;

/// Projects kept in memory.
const PROJECTS: usize = 1024;

/// What a write makes of an item's type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TypeChange {
    /// It stays.
    #[default]
    Kept,
    /// It becomes this, or none.
    Set(Option<Uuid>),
}

/// One element of a custom value, as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Element {
    /// A JSON scalar.
    pub value: Value,
    /// The option it points at.
    pub option: Option<Uuid>,
}

/// What one write leaves on a work item beside v1.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OwnWrite {
    /// Its type.
    pub type_id: TypeChange,
    /// Properties with all their elements; without any the value goes. Other properties stay.
    pub values: Vec<(Uuid, Vec<Element>)>,
}

impl OwnWrite {
    /// Whether it leaves everything as it is.
    pub fn is_empty(&self) -> bool {
        self.type_id == TypeChange::Kept && self.values.is_empty()
    }
}

/// Values of one item by property.
pub type ItemValues = HashMap<Uuid, Vec<Element>>;

/// What is recorded about the work items of a project, as of one moment. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct ProjectItems {
    version: i64,
    /// Types of items that have one.
    pub types: Arc<HashMap<Uuid, Uuid>>,
    /// Items anything is recorded about.
    pub known: Arc<HashSet<Uuid>>,
    /// Of them, those v1 did not show when they were last looked for.
    pub missing: Arc<HashSet<Uuid>>,
    /// Of them, those archived through the gateway.
    pub archived: Arc<HashSet<Uuid>>,
    /// Writes that are not settled, oldest first.
    pub open: Arc<Vec<Intent>>,
}

/// What is kept in memory, by project.
#[derive(Debug, Default)]
pub(super) struct ItemsKept {
    projects: Mutex<HashMap<Uuid, ProjectItems>>,
    looks: Mutex<HashMap<Uuid, Look>>,
}

/// When the last look at a project in the database began, and the counter it found. A crowd that asks at once shares the first
/// look that begins after it came, instead of each waiting for a connection.
type Look = Arc<tokio::sync::Mutex<Option<(Instant, i64)>>>;

impl ItemsKept {
    fn all(&self) -> MutexGuard<'_, HashMap<Uuid, ProjectItems>> {
        self.projects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self, project: Uuid) -> Look {
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        if looks.len() >= PROJECTS && !looks.contains_key(&project) {
            looks.retain(|_, look| Arc::strong_count(look) > 1);
        }
        Arc::clone(looks.entry(project).or_default())
    }

    fn at(&self, project: Uuid, version: i64) -> Option<ProjectItems> {
        if version == 0 {
            // Nothing was ever recorded.
            return Some(ProjectItems::default());
        }
        self.all().get(&project).filter(|kept| kept.version == version).cloned()
    }

    fn put(&self, project: Uuid, items: ProjectItems) {
        let mut all = self.all();
        if all.get(&project).is_some_and(|kept| kept.version > items.version) {
            return;
        }
        if all.len() >= PROJECTS && !all.contains_key(&project) {
            all.clear();
        }
        all.insert(project, items);
    }

    /// Carries an own write into what is kept, when it is the very next one; else the next read loads anew.
    pub(super) fn carry(&self, project: Uuid, version: i64, change: impl FnOnce(&mut ProjectItems)) {
        let mut all = self.all();
        match all.get_mut(&project) {
            Some(kept) if kept.version + 1 == version => {
                change(kept);
                kept.version = version;
            }
            _ => {}
        }
    }
}

impl ProjectItems {
    pub(super) fn wrote(&mut self, item: Uuid, own: &OwnWrite) {
        Arc::make_mut(&mut self.known).insert(item);
        self.unmiss(&[item]);
        match own.type_id {
            TypeChange::Kept => {}
            TypeChange::Set(Some(type_id)) => drop(Arc::make_mut(&mut self.types).insert(item, type_id)),
            TypeChange::Set(None) => drop(Arc::make_mut(&mut self.types).remove(&item)),
        }
    }

    pub(super) fn purged(&mut self, item: Uuid) {
        Arc::make_mut(&mut self.types).remove(&item);
        for set in [&mut self.known, &mut self.missing, &mut self.archived] {
            if set.contains(&item) {
                Arc::make_mut(set).remove(&item);
            }
        }
    }

    fn unmiss(&mut self, items: &[Uuid]) {
        if items.iter().any(|item| self.missing.contains(item)) {
            let missing = Arc::make_mut(&mut self.missing);
            missing.retain(|item| !items.contains(item));
        }
    }
}

impl Store {
    /// Types of the project's items; items not in it have none.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    pub async fn types_of(&self, project: Uuid) -> Result<Arc<HashMap<Uuid, Uuid>>, StoreError> {
        Ok(self.project_items(project).await?.types)
    }

    /// Writes about the project's items that are not settled.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    pub async fn open_intents(&self, project: Uuid) -> Result<Arc<Vec<Intent>>, StoreError> {
        Ok(self.project_items(project).await?.open)
    }

    /// What is recorded about the project's items.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    pub async fn project_items(&self, project: Uuid) -> Result<ProjectItems, StoreError> {
        let (came, look) = (Instant::now(), self.items.look(project));
        let mut last = look.lock().await;
        if let Some((_, version)) = last.filter(|(began, _)| *began > came)
            && let Some(kept) = self.items.at(project, version)
        {
            return Ok(kept);
        }
        let began = Instant::now();
        let items = self.look_at_items(project).await?;
        *last = Some((began, items.version));
        Ok(items)
    }

    async fn look_at_items(&self, project: Uuid) -> Result<ProjectItems, StoreError> {
        let row = sqlx::query("SELECT items FROM project WHERE id = $1")
            .bind(project.to_string())
            .fetch_optional(self.engine.pool())
            .await?;
        let Some(version) = row.map(|row| row.try_get::<i64, _>(0)).transpose()? else {
            return Ok(ProjectItems::default());
        };
        if let Some(kept) = self.items.at(project, version) {
            return Ok(kept);
        }
        let loaded = self.load_items(project).await?;
        self.items.put(project, loaded.clone());
        Ok(loaded)
    }

    async fn load_items(&self, project: Uuid) -> Result<ProjectItems, StoreError> {
        let mut reading = self.engine.reading().await?;
        let row = sqlx::query("SELECT items FROM project WHERE id = $1")
            .bind(project.to_string())
            .fetch_one(&mut *reading)
            .await?;
        let mut items = ProjectItems { version: row.try_get(0)?, ..ProjectItems::default() };
        let rows =
            sqlx::query("SELECT id, type_id, archived_at, missing_since FROM work_item WHERE project_id = $1")
                .bind(project.to_string())
                .fetch_all(&mut *reading)
                .await?;
        let (mut types, mut known) = (HashMap::new(), HashSet::with_capacity(rows.len()));
        let (mut missing, mut archived) = (HashSet::new(), HashSet::new());
        for row in &rows {
            let item = id(row.try_get(0)?)?;
            known.insert(item);
            if let Some(type_id) = row.try_get::<Option<&str>, _>(1)? {
                types.insert(item, id(type_id)?);
            }
            if row.try_get::<Option<i64>, _>(2)?.is_some() {
                archived.insert(item);
            }
            if row.try_get::<Option<i64>, _>(3)?.is_some() {
                missing.insert(item);
            }
        }
        items.open = intents::open_of(&mut reading, project).await?.into();
        reading.commit().await?;
        (items.types, items.known) = (types.into(), known.into());
        (items.missing, items.archived) = (missing.into(), archived.into());
        Ok(items)
    }

    /// Custom values of these items; items without any are left out.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    pub async fn values_of(&self, item: Uuid) -> Result<ItemValues, StoreError> {
        let rows = sqlx::query(
            "SELECT property_id, value, option_id FROM custom_value WHERE work_item_id = $1 \
             ORDER BY property_id, position",
        )
        .bind(item.to_string())
        .fetch_all(self.engine.pool())
        .await?;
        let mut values = ItemValues::new();
        for row in &rows {
            let text: &str = row.try_get(1)?;
            let value = serde_json::from_str(text).map_err(|_| StoreError::unreadable("custom value", text))?;
            let option = row.try_get::<Option<&str>, _>(2)?.map(id).transpose()?;
            values.entry(id(row.try_get(0)?)?).or_default().push(Element { value, option });
        }
        Ok(values)
    }

    /// Stores type and values of a live item without any write to v1. False when the type was deleted
    /// meanwhile; then nothing is stored.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written; then nothing was.
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
        apply(&mut writing, &catalogue, project, item, own).await?;
        writing.commit().await?;
        self.items.carry(project, version, |items| items.wrote(item, own));
        Ok(true)
    }

    /// Removes everything recorded about an item that was deleted through the gateway.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written.
    pub async fn purge_item(&self, project: Uuid, item: Uuid) -> Result<(), StoreError> {
        let mut writing = self.engine.writing().await?;
        let version = bump(&mut writing, project).await?;
        purge(&mut writing, item).await?;
        writing.commit().await?;
        self.items.carry(project, version, |items| items.purged(item));
        Ok(())
    }

    /// Notes that v1 does not show `gone` and shows `back` again. Nothing is removed: v1's own users may have
    /// archived an item, and its values return with it. Items written to after `before` are left alone.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written.
    pub async fn mark_missing(
        &self,
        project: Uuid,
        gone: &[Uuid],
        back: &[Uuid],
        before: Micros,
    ) -> Result<(), StoreError> {
        let mut writing = self.engine.writing().await?;
        bump(&mut writing, project).await?;
        for (items, since) in [(gone, Some(now())), (back, None)] {
            let text = format!(
                "UPDATE work_item SET missing_since = $3 WHERE project_id = $1 AND changed_at <= $4 \
                 AND (missing_since IS NULL) = ($5 = 1) AND id IN {}",
                self.engine.kind().elements("$2")
            );
            sqlx::query(sql(text))
                .bind(project.to_string())
                .bind(json_list(items.iter().map(Uuid::to_string)))
                .bind(since)
                .bind(if since.is_some() { before } else { i64::MAX })
                .bind(i64::from(since.is_some()))
                .execute(&mut *writing)
                .await?;
        }
        writing.commit().await
    }

    /// Items with this type, by project, and writes under way that will give it to one.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    pub async fn items_of_type(&self, type_id: Uuid) -> Result<Vec<(Uuid, Uuid)>, StoreError> {
        let rows = sqlx::query("SELECT project_id, id FROM work_item WHERE type_id = $1")
            .bind(type_id.to_string())
            .fetch_all(self.engine.pool())
            .await?;
        rows.iter().map(|row| Ok((id(row.try_get(0)?)?, id(row.try_get(1)?)?))).collect()
    }

    pub(super) fn kind(&self) -> Kind {
        self.engine.kind()
    }
}

/// Work items that have the type, or will have it once a write under way is settled.
pub(super) async fn uses_of_type(connection: &mut AnyConnection, type_id: Uuid) -> Result<i64, StoreError> {
    let row = sqlx::query(
        "SELECT (SELECT COUNT(*) FROM work_item WHERE type_id = $1) + \
         (SELECT COUNT(*) FROM intent WHERE settled_at IS NULL AND own LIKE $2)",
    )
    .bind(type_id.to_string())
    .bind(format!("%{type_id}%"))
    .fetch_one(connection)
    .await?;
    Ok(row.try_get(0)?)
}

/// Whether the type of a write is still defined.
pub(super) fn type_stands(catalogue: &Catalogue, own: &OwnWrite) -> bool {
    match own.type_id {
        TypeChange::Set(Some(type_id)) => catalogue.types.contains_key(&type_id),
        _ => true,
    }
}

/// The counter of the project, one higher; its row is held until the commit.
pub(super) async fn bump(writing: &mut Writing, project: Uuid) -> Result<i64, StoreError> {
    let row = sqlx::query(
        "INSERT INTO project (id, items, epoch) VALUES ($1, 1, 0) \
         ON CONFLICT (id) DO UPDATE SET items = project.items + 1 RETURNING items",
    )
    .bind(project.to_string())
    .fetch_one(&mut **writing)
    .await?;
    Ok(row.try_get(0)?)
}

/// Makes sure that there is a row for the item; v1 shows it, so it is not missing.
pub(super) async fn touch(
    writing: &mut Writing,
    workspace: Uuid,
    project: Uuid,
    item: Uuid,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO work_item (id, workspace_id, project_id, changed_at) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (id) DO UPDATE SET missing_since = NULL, changed_at = excluded.changed_at",
    )
    .bind(item.to_string())
    .bind(workspace.to_string())
    .bind(project.to_string())
    .bind(now())
    .execute(&mut **writing)
    .await?;
    Ok(())
}

/// Stores type and values, by the definitions as they are now: what does not cover the item any more since
/// the write was judged would have been removed, and is not stored.
pub(super) async fn apply(
    writing: &mut Writing,
    catalogue: &Catalogue,
    project: Uuid,
    item: Uuid,
    own: &OwnWrite,
) -> Result<(), StoreError> {
    touch(writing, catalogue.workspace, project, item).await?;
    let type_id = type_after(writing, item, own).await?.unwrap_or_default();
    for (property, elements) in &own.values {
        sqlx::query("DELETE FROM custom_value WHERE work_item_id = $1 AND property_id = $2")
            .bind(item.to_string())
            .bind(property.to_string())
            .execute(&mut **writing)
            .await?;
        let Some(options) = catalogue.offers(*property, project, type_id) else { continue };
        let offered = |element: &&Element| element.option.is_none_or(|option| options.contains(&option));
        for (position, element) in (0_i64..).zip(elements.iter().filter(offered)) {
            sqlx::query(
                "INSERT INTO custom_value (work_item_id, property_id, position, value, option_id) \
                 VALUES ($1, $2, $3, $4, $5)",
            )
            .bind(item.to_string())
            .bind(property.to_string())
            .bind(position)
            .bind(element.value.to_string())
            .bind(element.option.map(|id| id.to_string()))
            .execute(&mut **writing)
            .await?;
        }
    }
    Ok(())
}

/// The type the item has once the write is done.
async fn type_after(writing: &mut Writing, item: Uuid, own: &OwnWrite) -> Result<Option<Uuid>, StoreError> {
    if let TypeChange::Set(type_id) = own.type_id {
        sqlx::query("UPDATE work_item SET type_id = $2 WHERE id = $1")
            .bind(item.to_string())
            .bind(type_id.map(|id| id.to_string()))
            .execute(&mut **writing)
            .await?;
        return Ok(type_id);
    }
    let row = sqlx::query("SELECT type_id FROM work_item WHERE id = $1")
        .bind(item.to_string())
        .fetch_one(&mut **writing)
        .await?;
    row.try_get::<Option<&str>, _>(0)?.map(id).transpose()
}

/// Removes type, values and marks of an item.
pub(super) async fn purge(writing: &mut Writing, item: Uuid) -> Result<(), StoreError> {
    for text in ["DELETE FROM custom_value WHERE work_item_id = $1", "DELETE FROM work_item WHERE id = $1"] {
        sqlx::query(text).bind(item.to_string()).execute(&mut **writing).await?;
    }
    Ok(())
}
