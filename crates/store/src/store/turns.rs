//! Turns: a write to v1 gets exclusive use of the records or rules that it must not share, in order of arrival.
//!
//! One interface serves one process and several. The writers of this process wait in line here. Where several
//! processes share a store (PostgreSQL), the first of each line then takes the same names as advisory locks of one
//! transaction. So a process holds one connection for each write with a turn, not one for each that waits. A process
//! that dies loses its connection and with it its locks. A SQLite file belongs to one process, where waiting in line
//! is enough.
//!
//! A write that wants several names takes them in the order of their texts, so that no two writes wait for each other.
//! May use: this folder.

use super::error::StoreError;
use super::kind::Kind;
use super::lines::Inside;
use super::rows::query;
use super::service::Store;
use super::session::Session;
use super::under_way::{AT_WORK, HeldNames};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{sleep_until, timeout_at};
use uuid::Uuid;

/// Time for which a check of the locks counts. It is short beside [`AT_WORK`]: a writer that takes the locks right after
/// the check waits that long, and v1 must have ended this write by then.
const RECENT: Duration = Duration::from_millis(250);

/// Time for which the database keeps unused locks, in addition to twice the time for which their writer would have
/// waited in line. That is three quarters of the writer's time, and it begins to write within the rest or not at all.
const UNUSED: Duration = Duration::from_secs(1);

/// A name that a writer must hold exclusively, or may share with writers that also only share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnName {
    /// Its name; names are taken in the order of their texts.
    pub name: String,
    /// Whether other writers that share it may hold it at the same time.
    pub shared: bool,
}

/// Limits for waiting in line.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Maximum number of writers that may wait for one name in this process before this one.
    pub waiting: usize,
    /// Time when the writer gives up.
    pub until: Instant,
}

/// Reason why a writer did not get its turn. Nothing was done.
#[derive(Debug, thiserror::Error)]
pub enum NoTurn {
    /// Too many writers already wait.
    #[error("too many writers wait for the same")]
    Full,
    /// The time ran out while other writers held the names or all connections for turns.
    #[error("other writers took too long")]
    TooLate,
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A turn; it ends when this is dropped.
#[must_use = "the turn ends when this is dropped"]
pub struct Turn {
    // Fields are dropped in this order: first release other processes, then the writers that wait in this process.
    held: Option<Session>,
    /// Whether it waits for further names later.
    grows: bool,
    permits: Vec<OwnedSemaphorePermit>,
    here: BTreeMap<String, Inside>,
    store: Store,
    id: Uuid,
    /// Names that this turn holds exclusively among all processes. `since`: the time when it took the last of them.
    /// `settled`: whether v1 has certainly ended all writes that other turns may have left on them.
    alone: BTreeSet<String>,
    since: Instant,
    settled: bool,
    /// Begin of the last check that found the locks held.
    checked: Option<Instant>,
}

impl Store {
    /// Waits until this writer has its turn for everything `wanted`, among all gateway processes. Dropping the future
    /// gives up its places.
    ///
    /// # Errors
    /// [`NoTurn`]; then no names are held.
    pub async fn turn(&self, wanted: Vec<TurnName>, patience: Patience) -> Result<Turn, NoTurn> {
        self.begin_turn(wanted, false, patience).await
    }

    /// The same for a writer that will wait for more names ([`Turn::also`]). Writers of this process that have these
    /// names may still wait for a connection, so such turns never hold all of them.
    ///
    /// # Errors
    /// [`NoTurn`]; then no names are held.
    pub async fn growing_turn(&self, wanted: Vec<TurnName>, patience: Patience) -> Result<Turn, NoTurn> {
        self.begin_turn(wanted, true, patience).await
    }

    async fn begin_turn(&self, wanted: Vec<TurnName>, grows: bool, patience: Patience) -> Result<Turn, NoTurn> {
        let mut turn = Turn {
            held: None,
            grows,
            permits: Vec::new(),
            here: BTreeMap::new(),
            store: self.clone(),
            id: Uuid::new_v4(),
            alone: BTreeSet::new(),
            since: Instant::now(),
            settled: false,
            checked: None,
        };
        turn.also(wanted, patience).await?;
        Ok(turn)
    }
}

/// A place in a line of this process alone; the next caller continues when this is dropped.
#[must_use = "the place is given up when this is dropped"]
pub struct InLine(#[expect(dead_code, reason = "dropped with this")] Inside);

impl Store {
    /// Waits until this writer is first in a line of this process alone; this is no turn among the processes.
    ///
    /// # Errors
    /// [`NoTurn`]; then no name is held.
    pub async fn join_queue(&self, name: &str, patience: Patience) -> Result<InLine, NoTurn> {
        self.enter(name, false, patience).await.map(InLine)
    }

    async fn enter(&self, name: &str, shared: bool, patience: Patience) -> Result<Inside, NoTurn> {
        let entering = self.turns.lines.enter(name, shared, patience.waiting);
        let inside = timeout_at(patience.until.into(), entering).await.map_err(|_| NoTurn::TooLate)?;
        inside.map_err(|_| NoTurn::Full)
    }
}

impl Turn {
    /// Waits for more names, within the same turn, which must be a growing one. The caller must know why no other
    /// writer can hold these names and wait for those that this turn already holds (no deadlock). A name that the turn
    /// shares cannot become exclusive.
    ///
    /// # Errors
    /// [`NoTurn`]; then the caller must write nothing more. [`Turn::ensure_held`] fails if the locks were lost.
    pub async fn also(&mut self, wanted: Vec<TurnName>, patience: Patience) -> Result<(), NoTurn> {
        let began = Instant::now();
        let mut modes: BTreeMap<String, bool> = BTreeMap::new();
        for TurnName { name, shared } in wanted {
            if self.here.contains_key(&name) {
                let is_enough = shared || self.store.engine.kind() == Kind::Sqlite || self.alone.contains(&name);
                debug_assert!(is_enough, "{name} is shared and wanted exclusively");
                continue;
            }
            let both = modes.entry(name).or_insert(shared);
            *both = *both && shared;
        }
        for (name, shared) in &modes {
            let inside = self.store.enter(name, *shared, patience).await?;
            self.here.insert(name.clone(), inside);
        }
        if self.store.engine.kind() == Kind::Sqlite || modes.is_empty() {
            return Ok(());
        }
        self.among_processes(&modes, began, patience.until).await
    }

    /// Returns the names that this turn holds exclusively among the processes; none where one process has the store.
    pub fn noted(&self) -> Option<HeldNames> {
        let names: Vec<&str> = self.alone.iter().map(String::as_str).collect();
        (!names.is_empty()).then(|| HeldNames::new(self.id, &names))
    }

    /// Releases the locks among the processes after a write that v1 may still be carrying out. The names stay taken in
    /// this process, and a writer of another process finds the note about them and waits by itself. Nothing more may be
    /// written in this turn.
    pub fn leave_other_processes(&mut self) {
        self.held = None;
        self.permits.clear();
    }

    /// Checks that the turn is still this writer's; must be called before each write to v1. A lost connection loses its
    /// locks, and another writer may have them by now. If another turn ended in the middle of a write to the same
    /// names, this waits until v1 has certainly ended that write.
    ///
    /// # Errors
    /// [`StoreError`] when the turn is lost, or its state is unknown.
    pub async fn ensure_held(&mut self) -> Result<(), StoreError> {
        if !self.finds_another().await? || self.settled {
            return Ok(());
        }
        tracing::warn!("v1 may still carry out a write of another gateway process; waiting until it has ended it");
        sleep_until((self.since + AT_WORK).into()).await;
        self.settled = true;
        self.finds_another().await?;
        // If the note stayed, it would only make the next writer wait.
        if let Err(fault) = self.store.forget_others(&self.names()).await {
            tracing::warn!(%fault, "the leftovers of a write could not be removed");
        }
        Ok(())
    }

    /// Checks again that the turn is still this writer's, for a write that may have waited since [`Turn::ensure_held`];
    /// costs nothing right after it. It never waits for v1: a note that another turn left later belongs to a turn that
    /// was lost before its write.
    ///
    /// # Errors
    /// See [`Turn::ensure_held`].
    pub async fn ensure_still_held(&mut self) -> Result<(), StoreError> {
        if self.checked.is_some_and(|at| at.elapsed() < RECENT) {
            return Ok(());
        }
        self.finds_another().await.map(drop)
    }

    /// Checks whether another turn left a note on the names of this turn; fails when this turn is lost.
    async fn finds_another(&mut self) -> Result<bool, StoreError> {
        let names = self.names();
        let Some(held) = &mut self.held else {
            // The locks of all names are on one connection, which is lost when more names could not be taken.
            let is_lost = self.store.engine.kind() == Kind::Postgres && !self.here.is_empty();
            return match is_lost {
                true => Err(StoreError::Unavailable("the write has lost its turn".into())),
                false => Ok(false),
            };
        };
        let begun = Instant::now();
        let found = self.store.engine.unless_unavailable(names.finds_another(held)).await?;
        self.checked = Some(begun);
        Ok(found)
    }

    fn names(&self) -> HeldNames {
        self.noted().unwrap_or_else(|| HeldNames::new(self.id, &[]))
    }

    async fn among_processes(
        &mut self,
        modes: &BTreeMap<String, bool>,
        began: Instant,
        until: Instant,
    ) -> Result<(), NoTurn> {
        if self.permits.is_empty() {
            let turns = &self.store.turns;
            for free in self.grows.then_some(&turns.growing).into_iter().chain([&turns.connections]) {
                let permit = timeout_at(until.into(), Arc::clone(free).acquire_owned()).await;
                // The semaphores are never closed, so only the time can fail this.
                self.permits.extend(permit.map_err(|_| NoTurn::TooLate)?.ok());
            }
        }
        let mut held = match self.held.take() {
            Some(held) => held,
            None => {
                self.store
                    .engine
                    .unless_unavailable(self.store.engine.pool().begin("BEGIN", Instant::now()))
                    .await?
            }
        };
        let left = until.saturating_duration_since(Instant::now()).as_millis().max(1);
        // The database must not wait longer. A process that is stopped while it waits must not get locks that it does
        // not use; the check before the first write lifts this limit.
        let idle = until.saturating_duration_since(began).as_millis() * 2 + UNUSED.as_millis();
        let text = "SELECT set_config('lock_timeout', $1, true), \
                    set_config('idle_in_transaction_session_timeout', $2, true)";
        query(text, &[&left.to_string(), &idle.to_string()])
            .fetch_one(&mut held)
            .await
            .map_err(StoreError::from)?;
        for (name, shared) in modes {
            // Cast to text, because the `Any` driver cannot read the type `void`.
            let lock = match shared {
                true => "SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0))::text",
                false => "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))::text",
            };
            query(lock, &[&name]).fetch_one(&mut held).await.map_err(no_turn)?;
        }
        self.held = Some(held);
        self.alone.extend(modes.iter().filter(|(_, shared)| !**shared).map(|(name, _)| name.clone()));
        (self.since, self.settled) = (Instant::now(), false);
        Ok(())
    }
}

/// Converts an error of the lock statement. `lock_not_available` means that the time set above has passed.
fn no_turn(error: sqlx::Error) -> NoTurn {
    let code = error.as_database_error().and_then(|cause| cause.code().map(|code| code.into_owned()));
    match code.as_deref() {
        Some("55P03") => NoTurn::TooLate,
        _ => NoTurn::Store(error.into()),
    }
}
