//! What v1 cannot hold: the gateway's own store.
//!
//! Purpose: overlay values, each with the v1 value seen when it was written, under workspace ids, never
//! slugs. A store belongs to one v1 deployment and refuses any other. One interface whatever holds the
//! data: SQLite today; another kind of store is one more variant here and one more file with its SQL.
//!
//! May use: `refusal`, `v1` (the base URL). May not use: `v2`, `translate`, `run`, `edge`.

mod error;
mod overlay;
mod sqlite;

pub use error::StoreError;
pub use overlay::{OverlayValue, overlay_wins};

use crate::v1::BaseUrl;
use sqlite::SqliteStore;
use std::collections::HashMap;
use uuid::Uuid;

/// Overlaid fields by the id of the v1 record.
pub type Overlays = HashMap<Uuid, Vec<OverlayValue>>;

/// The store; cheap to clone, all clones share the connections.
#[derive(Debug, Clone)]
pub struct Store {
    engine: Engine,
}

/// Kinds of store.
#[derive(Debug, Clone)]
enum Engine {
    Sqlite(SqliteStore),
}

impl Store {
    /// Opens the store at `url` (`sqlite:PATH`, `sqlite::memory:`), creating it on first start, and makes
    /// sure that it belongs to the v1 deployment at `v1_base_url`.
    ///
    /// # Errors
    /// [`StoreError`]: unknown kind, no access, made by a newer version, or another deployment's.
    pub async fn open(url: &str, v1_base_url: &str) -> Result<Self, StoreError> {
        let configured = BaseUrl::parse(v1_base_url)?;
        let Some(("sqlite", _)) = url.split_once(':') else {
            let scheme = url.split_once(':').map_or(url, |(scheme, _)| scheme);
            return Err(StoreError::UnknownKind { url: scheme.into() });
        };
        let store = SqliteStore::open(url).await?;
        let recorded = store.claim(configured.as_str()).await?;
        if recorded != configured.as_str() {
            store.close().await;
            return Err(StoreError::OtherDeployment { recorded, configured: configured.to_string() });
        }
        Ok(Self { engine: Engine::Sqlite(store) })
    }

    /// All overlay values of one kind of record in a workspace.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    pub async fn overlay_of(&self, workspace: Uuid, kind: &str) -> Result<Overlays, StoreError> {
        match &self.engine {
            Engine::Sqlite(store) => store.overlay_of(workspace, kind).await,
        }
    }

    /// The overlay values of these records only, for pages of large collections.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    pub async fn overlay_of_records(
        &self,
        workspace: Uuid,
        kind: &str,
        records: &[Uuid],
    ) -> Result<Overlays, StoreError> {
        match &self.engine {
            Engine::Sqlite(store) => store.overlay_of_records(workspace, kind, records).await,
        }
    }

    /// Writes these fields of a record, all or none; other fields of the record stay.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written; then nothing was.
    pub async fn put_overlay(
        &self,
        workspace: Uuid,
        kind: &str,
        record: Uuid,
        fields: &[OverlayValue],
    ) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(store) => store.put_overlay(workspace, kind, record, fields).await,
        }
    }

    /// Removes all fields of a record, because the record was deleted.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written.
    pub async fn delete_overlay(&self, workspace: Uuid, kind: &str, record: Uuid) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(store) => store.delete_overlay(workspace, kind, record).await,
        }
    }

    /// Removes these fields of a record, because v1 now holds the value itself: an old overlay value would
    /// return as soon as v1 shows the value seen back then again.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written.
    pub async fn delete_overlay_fields(
        &self,
        workspace: Uuid,
        kind: &str,
        record: Uuid,
        fields: &[&str],
    ) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(store) => store.delete_overlay_fields(workspace, kind, record, fields).await,
        }
    }

    /// Reads through the whole store and reports damage.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] with the first findings, or why the store cannot be read.
    pub async fn check(&self) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(store) => store.check().await,
        }
    }

    /// Waits for work under way and closes the connections; the store cannot be used afterwards.
    pub async fn close(&self) {
        match &self.engine {
            Engine::Sqlite(store) => store.close().await,
        }
    }
}
