//! The definitions of workspaces in the database, and their copies in memory.
//!
//! A workspace's row has a version that grows with every change of its definitions. Readers compare it with the version
//! of their copy, so that a change by another process shows in the next read. Writers raise it first, which locks the
//! row, so that the writers of a workspace follow one another, and each sees the result of the one before.
//!
//! May use: `catalogue`, `fresh`, `refusal`, `units`, this folder.

mod effects;
mod load;
pub(super) mod memory;
mod save;
mod tables;

use super::audit::{self, AuditEntry};
use super::engine::{Kind, Writing};
use super::error::StoreError;
use super::rows::{query, sql, value};
use super::service::Store;
use super::session::Session;
use crate::catalogue::{Catalogue, Edit};
use crate::fresh::Changed;
use crate::refusal::Refusal;
use crate::units::now_micros;
use effects::Failure;
use std::sync::Arc;
use uuid::Uuid;

/// Number of attempts of an edit when other writers conflict with it.
const ATTEMPTS: usize = 3;

/// A change of definitions that returns its audit entries; it may run again.
type Change<'a> = dyn FnMut(&mut Edit) -> Result<Vec<AuditEntry>, Refusal> + Send + 'a;

impl Store {
    /// Returns the present definitions of the workspace; empty when nothing was written for it yet.
    pub async fn catalogue(&self, workspace: Uuid) -> Result<Arc<Catalogue>, StoreError> {
        let version = move |store: Self| async move {
            let text = "SELECT version FROM workspace WHERE id = $1";
            value::<i64>(store.engine.pool(), query(text, &[&workspace])).await
        };
        let version = self.ask(&self.versions, workspace, version).await?.unwrap_or_default();
        if let Some(kept) = self.memory.get(workspace, version) {
            return Ok(kept);
        }
        let mut reading = self.engine.reading().await?;
        let found = load::everything(&mut reading, workspace).await?;
        reading.rollback().await?;
        let Some(found) = found else { return Ok(self.memory.first(workspace)) };
        let catalogue = Arc::new(found);
        self.memory.put(&catalogue);
        Ok(catalogue)
    }

    /// Returns the definitions of the workspace and locks them until `writing` ends: for writes of values, which must
    /// not be stored after the definitions they were checked by have changed.
    pub async fn held_catalogue(
        &self,
        writing: &mut Writing,
        workspace: Uuid,
    ) -> Result<Arc<Catalogue>, StoreError> {
        let lock = match self.engine.kind() {
            // The writer already has the file to itself.
            Kind::Sqlite => "",
            Kind::Postgres => " FOR SHARE",
        };
        let reading = query(sql(format!("SELECT version FROM workspace WHERE id = $1{lock}")), &[&workspace]);
        let version = value(&mut **writing, reading).await?.unwrap_or_default();
        self.as_of(writing, workspace, version).await
    }

    /// Changes the definitions of a workspace. Runs `change` on the present definitions while every other writer of the
    /// workspace waits. Saves the changes, their effects on work items, and the audit entries, all or nothing. `change`
    /// may run again after a conflict with another writer.
    ///
    /// # Errors
    /// The error of `change`, 409 for a rule about work items, 503 when the store cannot be written, or 502 when it is
    /// unknown whether the change was written.
    pub async fn edit<T, F>(&self, workspace: Uuid, mut change: F) -> Result<(T, Arc<Catalogue>), Refusal>
    where
        T: Send,
        F: FnMut(&mut Edit) -> Result<(T, Vec<AuditEntry>), Refusal> + Send,
    {
        let mut result = None;
        let mut noting = |edit: &mut Edit| {
            let (done, entries) = change(edit)?;
            result = Some(done);
            Ok(entries)
        };
        let after = self.edit_with(workspace, &mut noting).await?;
        let result = result.ok_or_else(|| Refusal::internal("an edit that was not carried out"))?;
        Ok((result, after))
    }

    /// Does the same without a generic result, so that it is compiled once and not for each kind of change.
    async fn edit_with(&self, workspace: Uuid, change: &mut Change<'_>) -> Result<Arc<Catalogue>, Refusal> {
        let mut attempt = 1;
        loop {
            match self.try_edit(workspace, change).await {
                Ok(after) => return Ok(after),
                Err(Failure::Refused(refusal)) => return Err(refusal),
                Err(Failure::Store(StoreError::Contended(_))) if attempt < ATTEMPTS => attempt += 1,
                Err(Failure::Store(error)) => return Err(error.into_write_refusal()),
            }
        }
    }

    async fn try_edit(&self, workspace: Uuid, change: &mut Change<'_>) -> Result<Arc<Catalogue>, Failure> {
        let mut writing = self.engine.writing().await?;
        let version = self.lock(&mut writing, workspace).await?;
        let before = self.as_of(&mut writing, workspace, version - 1).await?;
        // Later than all existing instants, even if the clock was set back or another machine's clock is ahead.
        let mut edit = Edit::begin(&before, now_micros().max(newest(&before) + 1));
        let entries = change(&mut edit)?;
        let Edit { mut after, effects, .. } = edit;
        if after == *before && effects.is_empty() && entries.is_empty() {
            writing.rollback().await?;
            return Ok(before);
        }
        let kind = self.engine.kind();
        effects::carry_out(&mut writing, kind, &effects, &before, &after).await?;
        save::difference(&mut writing, kind, &before, &after, now_micros()).await?;
        audit::append(&mut writing, workspace, &entries).await?;
        writing.commit().await?;
        after.version = version;
        let after = Arc::new(after);
        self.memory.put(&after);
        Ok(after)
    }

    /// Waits until every earlier change of these definitions has ended at the database, even a change whose outcome
    /// this process does not know.
    pub async fn wait_for_edits(&self, workspace: Uuid) -> Result<(), StoreError> {
        let mut writing = self.engine.writing().await?;
        self.lock(&mut writing, workspace).await?;
        // The note of the change may arrive later than its end.
        self.engine.peers.changes.tell(Changed::Stored(workspace));
        writing.rollback().await
    }

    /// Raises the version of the workspace and locks its row for this transaction.
    async fn lock(&self, writing: &mut Writing, workspace: Uuid) -> Result<i64, StoreError> {
        if let Some(version) = raise(writing, workspace).await? {
            return Ok(version);
        }
        let first = self.memory.first(workspace);
        let text = "INSERT INTO workspace (id, version, flags, default_level, created_at) \
                    VALUES ($1, 0, '{}', $2, $3) ON CONFLICT (id) DO NOTHING";
        writing.run(query(text, &[&workspace, &first.features.default_level, &first.features.created_at])).await?;
        let version = raise(writing, workspace).await?;
        version.ok_or_else(|| StoreError::Internal("the row of the workspace is not there".into()))
    }

    /// Returns the catalogue at `version`, which is the stored one.
    async fn as_of(
        &self,
        writing: &mut Writing,
        workspace: Uuid,
        version: i64,
    ) -> Result<Arc<Catalogue>, StoreError> {
        if let Some(kept) = self.memory.get(workspace, version) {
            return Ok(kept);
        }
        // The row has the version to which this transaction raises it, so `version` replaces it.
        Ok(Arc::new(Catalogue { version, ..read(writing, workspace).await? }))
    }
}

/// Reads all stored definitions of the workspace, bypassing the copies in memory.
pub(super) async fn read(connection: &mut Session, workspace: Uuid) -> Result<Catalogue, StoreError> {
    let found = load::everything(connection, workspace).await?;
    Ok(found.unwrap_or_else(|| Catalogue::empty(workspace, now_micros())))
}

async fn raise(writing: &mut Writing, workspace: Uuid) -> Result<Option<i64>, StoreError> {
    let text = "UPDATE workspace SET version = version + 1 WHERE id = $1 RETURNING version";
    let version = value(&mut **writing, query(text, &[&workspace])).await?;
    writing.raises(workspace);
    Ok(version)
}

/// Returns the latest instant of any record.
fn newest(catalogue: &Catalogue) -> i64 {
    let types = catalogue.types.values().map(|record| record.created_at);
    let properties = catalogue.properties.values().map(|record| record.created_at);
    let options = catalogue.options.values().map(|record| record.created_at);
    let contexts = catalogue.contexts.values().map(|record| record.created_at);
    let links = catalogue.attachments.values().map(|record| record.created_at);
    let imports = catalogue.imports.values().copied();
    types.chain(properties).chain(options).chain(contexts).chain(links).chain(imports).max().unwrap_or(0)
}
