//! What v1 cannot hold: the gateway's own store.
//!
//! Purpose: the definitions of workspaces, what is recorded on work items, the audit log, and overlay values,
//! each with the v1 value seen when it was written; all under workspace ids, never slugs. A store belongs to
//! one v1 deployment and refuses any other. One interface and one SQL text whatever holds the data: a SQLite
//! file or a PostgreSQL database; `engine` knows what differs.
//!
//! May use: `catalogue`, `refusal`, `v1` (the base URL), `v2` (times). May not use: `translate`, `run`, `edge`.

mod archived;
mod audit;
mod audit_reads;
mod audit_search;
mod audit_sight;
mod definitions;
mod dump;
mod engine;
mod epochs;
mod error;
mod gone;
mod grouped;
mod intents;
mod items;
mod lines;
pub mod oauth;
mod overlay;
mod overlays;
mod recovery;
mod repeatable;
mod repeated;
mod rows;
mod tables;
mod turns;
mod upkeep;

pub use archived::{ArchivedItem, ArchivedNames};
pub use audit::{AuditActor, AuditEntry};
pub use audit_reads::{AuditColumn, AuditFilter, AuditOrder, AuditPage, AuditQuery, AuditRecord, AuditStart};
pub use dump::DumpError;
pub use engine::{Engine, Kind, Writing};
pub use error::StoreError;
pub use intents::{Intent, IntentKind, IntentState, RunningIntent, Settled};
pub use items::{Element, ItemValues, OwnWrite, ProjectItems, TypeChange};
pub use overlay::{OverlayValue, overlay_wins};
pub use repeatable::{Attempt, KeptAnswer, Repeatable, RepeatableBounds, RepeatableRequest};
pub use turns::{NoTurn, Patience, Turn, Wanted};
pub use upkeep::Swept;

use crate::v1::BaseUrl;
use grouped::Grouped;
use sqlx::Row;
use std::collections::HashMap;
use std::sync::Arc;
use uuid::Uuid;

/// Overlaid fields by the id of the v1 record.
pub type Overlays = HashMap<Uuid, Vec<OverlayValue>>;

/// The store; cheap to clone, all clones share the connections.
#[derive(Debug, Clone)]
pub struct Store {
    engine: Engine,
    items: Arc<items::ItemsKept>,
    running: Arc<intents::Running>,
    memory: definitions::Memory,
    /// Versions of definitions, by workspace.
    versions: Grouped<Option<i64>>,
    /// Writes of all processes, by project.
    epochs: Grouped<i64>,
    turns: turns::Turns,
    repeated: repeated::Repeated,
}

impl Store {
    /// Opens the store at `url` (`sqlite:PATH`, `sqlite::memory:`, `postgres://…`), creating its tables on
    /// first start, and makes sure that it belongs to the v1 deployment at `v1_base_url`.
    ///
    /// # Errors
    /// [`StoreError`]: unknown kind, no access, made by a newer version, or another deployment's.
    pub async fn open(url: &str, v1_base_url: &str) -> Result<Self, StoreError> {
        let configured = BaseUrl::parse(v1_base_url)?;
        let store = Self::open_for_upkeep(url).await?;
        store.engine.migrate().await?;
        let recorded = store.claim(configured.as_str()).await?;
        if recorded != configured.as_str() {
            store.close().await;
            return Err(StoreError::OtherDeployment { recorded, configured: configured.to_string() });
        }
        Ok(store)
    }

    /// Records the deployment on first use; returns the one recorded.
    async fn claim(&self, v1_base_url: &str) -> Result<String, StoreError> {
        // A look first: a store that is already claimed must also open when it is read-only.
        if let Some(recorded) = self.recorded().await? {
            return Ok(recorded);
        }
        sqlx::query("INSERT INTO service (id, v1_base_url, recorded_at) VALUES (1, $1, $2) ON CONFLICT DO NOTHING")
            .bind(v1_base_url)
            .bind(engine::now())
            .execute(self.engine.pool())
            .await?;
        self.recorded().await?.ok_or_else(|| StoreError::Internal("the claim of the store is not there".into()))
    }

    async fn recorded(&self) -> Result<Option<String>, StoreError> {
        let row =
            sqlx::query("SELECT v1_base_url FROM service WHERE id = 1").fetch_optional(self.engine.pool()).await?;
        Ok(row.map(|row| row.try_get(0)).transpose()?)
    }

    /// The connections, for the other parts of this folder and for tests of it.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Whether the store could only be read when it was last used.
    pub fn is_read_only(&self) -> bool {
        self.engine.is_read_only()
    }

    /// Whether the store can be read now.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.engine.look_again().await;
        self.recorded().await.map(|_| ())
    }

    /// Waits for work under way and closes the connections; the store cannot be used afterwards.
    pub async fn close(&self) {
        self.engine.close().await;
    }
}
