//! The store itself: its connections and its data in memory.
//!
//! The other files of this folder add its operations. May use: `fresh`, `trace`, `units`, `v1` (the base URL), `v2`
//! (time), this folder.

use super::asked::{Answers, QueryFailed};
use super::definitions::memory::Memory;
use super::engine::Engine;
use super::error::StoreError;
use super::items_kept::ProjectItems;
use super::kind::Kind;
use super::lines::Turns;
use super::place::opening;
use super::repeated::Repeated;
use super::rows::query;
use super::running::Running;
use super::unchanged::Unchanged;
use crate::fresh::{Changed, Reading, Value};
use crate::trace::carried;
use crate::units::now_micros;
use crate::v1::BaseUrl;
use crate::v2::time::Micros;
use sqlx::Row;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// The store; cheap to clone, all clones share its connections.
#[derive(Debug, Clone)]
pub struct Store {
    pub(super) engine: Engine,
    /// Records about work items, by project.
    pub(super) items: Answers<Arc<ProjectItems>>,
    /// Counters of the records, by project.
    pub(super) counters: Unchanged,
    pub(super) running: Arc<Running>,
    pub(super) memory: Memory,
    /// Versions of definitions, by workspace.
    pub(super) versions: Answers<Option<i64>>,
    /// Numbers that grow with writes of all processes, by project.
    pub(super) epochs: Answers<i64>,
    pub(super) turns: Turns,
    pub(super) repeated: Repeated,
}

impl Store {
    /// Opens the store at `url` (`sqlite:PATH`, `sqlite::memory:`, `postgres://…`), creates its tables on first start,
    /// and checks that it belongs to the v1 deployment at `v1_base_url`. A read-only store of an older version is
    /// opened, but all its operations fail until its tables can be changed.
    ///
    /// # Errors
    /// [`StoreError`]: unknown kind, no access, created by a newer version, or belongs to another deployment.
    pub async fn open(url: &str, v1_base_url: &str) -> Result<Self, StoreError> {
        let configured = BaseUrl::parse(v1_base_url)?;
        let store = Self::open_for_upkeep(url).await?;
        store.update_for(url, &configured).await?;
        store.bind(url, &configured).await?;
        Ok(store)
    }

    /// Opens the store as [`Store::open`] does, for a gateway that will serve it ([`Store::join`]). Takes the lock of a
    /// SQLite file before it changes a table, because another process that serves the file may be of an older version.
    ///
    /// # Errors
    /// Errors of [`Store::open`] and [`Store::join`]; waits up to `patience` for the end of another process first.
    pub async fn open_to_serve(url: &str, v1_base_url: &str, patience: Duration) -> Result<Self, StoreError> {
        let configured = BaseUrl::parse(v1_base_url)?;
        let store = Self::open_for_upkeep(url).await?;
        store.engine.lock_to_serve(patience).await?;
        store.update_for(url, &configured).await?;
        store.bind(url, &configured).await?;
        Ok(store)
    }

    /// Brings the tables up to date, unless they belong to another deployment than `configured`. A store that belongs
    /// to no deployment yet stays so until [`Store::bind`].
    ///
    /// # Errors
    /// [`StoreError`]: no access, created by a newer version, or belongs to another deployment.
    pub async fn update_for(&self, url: &str, configured: &BaseUrl) -> Result<(), StoreError> {
        self.expect_unicode().await?;
        // Check first: the tables of another deployment may be in use by an older version, so they must not be changed.
        if self.engine.tables_version().await.is_ok_and(|version| version > 0)
            && let Ok(Some((recorded, _))) = deployment_of(self.engine.pool_of_any_version()).await
        {
            self.expect_same(recorded, configured).await?;
        }
        let migrated = self.engine.migrate_when_writable().await;
        migrated.map_err(|fault| opening(fault, url))
    }

    /// Makes the store that of the deployment `configured`, if it belongs to no deployment yet.
    ///
    /// # Errors
    /// [`StoreError`]: it cannot be written, or belongs to another deployment.
    pub async fn bind(&self, url: &str, configured: &BaseUrl) -> Result<(), StoreError> {
        let (recorded, recorded_at) = self.claim(configured.as_str()).await.map_err(|fault| opening(fault, url))?;
        self.expect_same(recorded, configured).await?;
        self.memory.begin_at(recorded_at);
        Ok(())
    }

    /// Closes the store and fails when it belongs to another deployment.
    async fn expect_same(&self, recorded: String, configured: &BaseUrl) -> Result<(), StoreError> {
        if recorded == configured.as_str() {
            return Ok(());
        }
        self.close().await;
        Err(StoreError::OtherDeployment { recorded, configured: configured.to_string() })
    }

    /// Records the deployment on first use; returns the recorded deployment and the time of recording.
    async fn claim(&self, v1_base_url: &str) -> Result<(String, Micros), StoreError> {
        // Read first: a store that already has a deployment must also open when it is read-only.
        if let Some(recorded) = deployment_of(self.engine.pool_of_any_version()).await? {
            return Ok(recorded);
        }
        let text = "INSERT INTO service (id, v1_base_url, recorded_at) VALUES (1, $1, $2) ON CONFLICT DO NOTHING";
        query(text, &[&v1_base_url, &now_micros()]).execute(self.engine.pool()).await?;
        let claimed = deployment_of(&self.engine.pool()).await?;
        claimed.ok_or_else(|| StoreError::Internal("the claim of the store is not there".into()))
    }

    /// Returns the connections, for the other parts of this folder and for its tests.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Checks whether the store could only be read at its last use.
    pub fn is_read_only(&self) -> bool {
        self.engine.is_read_only()
    }

    /// Checks whether gateway processes can share their quota and indices in this store.
    pub fn is_for_many(&self) -> bool {
        self.engine.kind() == Kind::Postgres
    }

    /// Checks that the store can be read now.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.engine.recheck_writable().await;
        self.engine.unless_unavailable(deployment_of(&self.engine.pool())).await?;
        self.engine.unless_unavailable(self.engine.check_still_writable()).await
    }

    /// Waits for work in progress and closes the connections; the store cannot be used afterwards.
    pub async fn close(&self) {
        self.engine.close().await;
    }

    /// Runs the query `question` now and shares its result with all callers that ask `answers` for the same `key` now.
    ///
    /// # Errors
    /// Errors of `question`. A failure is not shared: each caller then runs the query itself.
    pub(super) async fn ask<T, F>(
        &self,
        answers: &Answers<T>,
        key: Uuid,
        question: impl Fn(Self) -> F,
    ) -> Result<T, StoreError>
    where
        T: Value,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let read = |reading: Reading<Uuid, T, QueryFailed>| {
            let (engine, asking) = (self.engine.clone(), question(self.clone()));
            carried(async move { reading.end(engine.unless_unavailable(asking).await.map_err(|_| QueryFailed)) })
        };
        // Until it is known that this process hears the others, no kept answer is used.
        let age = if self.engine.peers.lease.is_held() { Duration::MAX } else { Duration::ZERO };
        let need = self.engine.peers.changes.need(&[Changed::Stored(key), Changed::AnyStored], age);
        match answers.get(&key, need, read).await {
            Ok(kept) => Ok(kept.value),
            Err(QueryFailed) => match self.engine.unless_unavailable(question(self.clone())).await {
                // Reads use the kept answer and say so; writes need the store anyway and fail.
                Err(fault) if self.engine.peers.lease.is_away() => {
                    answers.any(&key).map(|kept| kept.value).ok_or(fault)
                }
                outcome => outcome,
            },
        }
    }

    /// Returns the store with at most `most` connections for writes that hold turns. Must be called before the store is
    /// used.
    #[must_use]
    pub fn with_lock_connections(self, most: usize) -> Self {
        Self { turns: Turns::new(most), ..self }
    }

    /// Returns the time up to which the whole store was known, while its database does not respond.
    pub fn away_since(&self) -> Option<Instant> {
        self.engine.peers.lease.away_since()
    }

    /// Returns the number of times that the database was found not to respond.
    pub fn outages(&self) -> u64 {
        self.engine.peers.lease.outages()
    }

    /// Returns the id of this process among those that serve the store; each opening of a store has a new id.
    pub fn me(&self) -> Uuid {
        self.engine.peers.me
    }

    /// Sets the text that this process publishes about itself, at the latest with the next renewal of its lease.
    pub fn say(&self, word: String) {
        *self.engine.peers.word.lock() = word;
    }

    /// Returns the living processes with the text that each publishes about itself (older versions: none), this one
    /// included; none while this process hears nothing of the others.
    pub fn words(&self) -> Option<HashMap<Uuid, Option<String>>> {
        self.engine.peers.words()
    }

    /// Returns the number of gateway processes that serve this store, this one included.
    pub fn processes(&self) -> usize {
        self.engine.peers.count()
    }
}

/// Returns the deployment that the store belongs to, and the time when it was recorded.
pub(super) async fn deployment_of(pool: &sqlx::AnyPool) -> Result<Option<(String, Micros)>, StoreError> {
    let row = sqlx::query("SELECT v1_base_url, recorded_at FROM service WHERE id = 1").fetch_optional(pool).await?;
    Ok(row.map(|row| Ok::<_, sqlx::Error>((row.try_get(0)?, row.try_get(1)?))).transpose()?)
}
