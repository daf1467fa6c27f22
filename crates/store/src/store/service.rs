//! The store itself: its connections and what it keeps in memory.
//!
//! The other files of this folder add what can be asked of it. May use: `fresh`, `trace`, `units`, `v1` (the base URL),
//! `v2` (time), this folder.

use super::asked::{Answers, Unanswered};
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
use crate::fresh::{Changed, Changes, Reading, Value};
use crate::trace::carried;
use crate::units::now_micros;
use crate::v1::BaseUrl;
use crate::v2::time::Micros;
use sqlx::Row;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// The store; cheap to clone, all clones share the connections.
#[derive(Debug, Clone)]
pub struct Store {
    pub(super) engine: Engine,
    pub(super) changes: Changes,
    /// What is recorded about work items, by project.
    pub(super) items: Answers<Arc<ProjectItems>>,
    /// Their counters, by project.
    pub(super) counters: Unchanged,
    pub(super) running: Arc<Running>,
    pub(super) memory: Memory,
    /// Versions of definitions, by workspace.
    pub(super) versions: Answers<Option<i64>>,
    /// Writes of all processes, by project.
    pub(super) epochs: Answers<i64>,
    pub(super) turns: Turns,
    pub(super) repeated: Repeated,
}

impl Store {
    /// Opens the store at `url` (`sqlite:PATH`, `sqlite::memory:`, `postgres://…`), creating its tables on
    /// first start, and makes sure that it belongs to the v1 deployment at `v1_base_url`. A store that can only be
    /// read and is that of an older version opens, and refuses everything until its tables could be changed.
    ///
    /// # Errors
    /// [`StoreError`]: unknown kind, no access, made by a newer version, or another deployment's.
    pub async fn open(url: &str, v1_base_url: &str) -> Result<Self, StoreError> {
        let configured = BaseUrl::parse(v1_base_url)?;
        let store = Self::open_for_upkeep(url).await?;
        let migrated = store.engine.migrate_when_writable().await;
        migrated.map_err(|fault| opening(fault, url))?;
        let (recorded, recorded_at) =
            store.claim(configured.as_str()).await.map_err(|fault| opening(fault, url))?;
        if recorded != configured.as_str() {
            store.close().await;
            return Err(StoreError::OtherDeployment { recorded, configured: configured.to_string() });
        }
        store.memory.begin_at(recorded_at);
        Ok(store)
    }

    /// Records the deployment on first use; returns the one recorded, and when that was.
    async fn claim(&self, v1_base_url: &str) -> Result<(String, Micros), StoreError> {
        // A look first: a store that is already claimed must also open when it is read-only.
        if let Some(recorded) = deployment_of(self.engine.pool_of_any_version()).await? {
            return Ok(recorded);
        }
        let text = "INSERT INTO service (id, v1_base_url, recorded_at) VALUES (1, $1, $2) ON CONFLICT DO NOTHING";
        query(text, &[&v1_base_url, &now_micros()]).execute(self.engine.pool()).await?;
        let claimed = deployment_of(&self.engine.pool()).await?;
        claimed.ok_or_else(|| StoreError::Internal("the claim of the store is not there".into()))
    }

    /// The connections, for the other parts of this folder and for tests of it.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Whether the store could only be read when it was last used.
    pub fn is_read_only(&self) -> bool {
        self.engine.is_read_only()
    }

    /// Whether gateway processes can share their quota and indices in it.
    pub fn is_for_many(&self) -> bool {
        self.engine.kind() == Kind::Postgres
    }

    /// Whether the store can be read now.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.engine.look_again().await;
        deployment_of(&self.engine.pool()).await?;
        self.engine.while_there(self.engine.look_whether_it_is_written()).await
    }

    /// Waits for work under way and closes the connections; the store cannot be used afterwards.
    pub async fn close(&self) {
        self.engine.close().await;
    }
}

impl Store {
    /// What `question` answers when it is sent now, together with all who ask it of `answers` now.
    ///
    /// # Errors
    /// Those of `question`: a failure is nobody else's, so each then asks for itself.
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
        let read = |reading: Reading<Uuid, T, Unanswered>| {
            let (engine, asking) = (self.engine.clone(), question(self.clone()));
            carried(async move { reading.end(engine.while_there(asking).await.map_err(|_| Unanswered)) })
        };
        // An answer from before it is known whether this process hears the others at all counts for nothing.
        let age = if self.engine.peers.lease.is_held() { Duration::MAX } else { Duration::ZERO };
        let need = self.changes.need(&[Changed::Stored(key), Changed::AnyStored], age);
        match answers.get(&key, need, read).await {
            Ok(kept) => Ok(kept.value),
            Err(Unanswered) => match self.engine.while_there(question(self.clone())).await {
                // Reads make do with it and say so; writes need the store anyhow, and are refused.
                Err(fault) if self.engine.peers.lease.is_away() => {
                    answers.any(&key).map(|kept| kept.value).ok_or(fault)
                }
                outcome => outcome,
            },
        }
    }

    /// The same store with so many connections at most for writes that have something to themselves; to be called before
    /// the store is used.
    #[must_use]
    pub fn with_lock_connections(self, most: usize) -> Self {
        Self { turns: Turns::new(most), ..self }
    }

    /// Up to when all of the store was known, while its database does not answer.
    pub fn away_since(&self) -> Option<Instant> {
        self.engine.peers.lease.away_since()
    }

    /// How often its database was found not to answer.
    pub fn outages(&self) -> u64 {
        self.engine.peers.lease.outages()
    }

    /// Id of this process among those that serve this store; it has a new one whenever it opens a store.
    pub fn me(&self) -> Uuid {
        self.engine.peers.me
    }

    /// What this process tells the others of itself from now on, at the latest with the next renewal of its lease.
    pub fn say(&self, word: String) {
        self.engine.peers.say(word);
    }

    /// The living processes, this one included, with what each has said of itself (older versions nothing); none while
    /// this one hears nothing of the others.
    pub fn words(&self) -> Option<HashMap<Uuid, Option<String>>> {
        self.engine.peers.words()
    }

    /// How many gateway processes serve this store, this one included.
    pub fn processes(&self) -> usize {
        self.engine.peers.count()
    }
}

/// The deployment that the store belongs to, and when that was recorded.
pub(super) async fn deployment_of(pool: &sqlx::AnyPool) -> Result<Option<(String, Micros)>, StoreError> {
    let row = sqlx::query("SELECT v1_base_url, recorded_at FROM service WHERE id = 1").fetch_optional(pool).await?;
    Ok(row.map(|row| Ok::<_, sqlx::Error>((row.try_get(0)?, row.try_get(1)?))).transpose()?)
}
