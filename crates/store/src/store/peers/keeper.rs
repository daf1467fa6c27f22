//! Keeping the lease: the connection that receives notes, renews the lease, and proves that this process lives.
//!
//! May use: `fresh`, `engine`, `opening` (what each connection is told), `service`, `task`, `units`, this folder.

use super::super::engine::{Engine, Kind};
use super::super::error::StoreError;
use super::super::opening::NOTICING_LOST_CLIENTS;
use super::super::service::Store;
use super::alone::{FileLock, NotTaken, SERVES, Serving};
use super::confirm::DATABASE_NOW;
use super::lease::LEASE;
use super::note::{HEARD, HINTS, NOTES, Note, ReceivedNotes};
use super::state::Peers;
use crate::fresh::{Changed, Changes};
use crate::task::spawn;
use crate::units::shared_clock_showed;
use sqlx::postgres::{PgConnectOptions, PgDatabaseError, PgListener, PgNotification, PgPoolOptions, PgSeverity};
use sqlx::{AnyPool, AssertSqlSafe, ConnectOptions, Connection, Executor, Row};
use std::collections::HashMap;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use uuid::Uuid;

/// Time between two renewals.
const BEAT: Duration = Duration::from_millis(400);
/// Longest wait for a connection or a statement of the keeper.
const WAIT: Duration = Duration::from_millis(500);
/// Pause before a lost connection is opened again.
const AGAIN: Duration = Duration::from_millis(200);
/// Longest wait for the lock of a file: a program that is starting holds the locks of its parent for a moment.
const MOMENT: Duration = Duration::from_millis(200);
/// Longest wait for the first lease. Notes that have not arrived by then never will.
const FIRST: Duration = Duration::from_secs(5);
/// First half of the name of the lock that a living process holds.
const LIVES: i32 = 0x6361_7573;

/// Membership of this process in the group that shares the store; dropping it leaves the group.
#[derive(Debug)]
pub struct Joined {
    keeping: Option<tokio::task::JoinHandle<()>>,
    engine: Engine,
    superseded: watch::Receiver<bool>,
}

/// Reason why the keeper must connect again.
#[derive(Debug, thiserror::Error)]
enum ReconnectReason {
    #[error("no answer within {WAIT:?}")]
    Silent,
    #[error("the connection was closed")]
    Closed,
    #[error(transparent)]
    Failed(#[from] sqlx::Error),
}

impl ReconnectReason {
    /// Checks whether the database rejected a statement and can be used otherwise. A fatal error is no such answer: it
    /// refuses a login or ends a session. Errors of class 08 come from a pooler that cannot reach the database.
    fn was_answered(&self) -> bool {
        let Self::Failed(sqlx::Error::Database(cause)) = self else { return false };
        let cause = cause.try_downcast_ref::<PgDatabaseError>();
        cause.is_some_and(|cause| cause.severity() == PgSeverity::Error && !cause.code().starts_with("08"))
    }
}

impl Store {
    /// Adds this process to those that serve the store, until the returned value is dropped. With PostgreSQL it
    /// receives notes of writes by other processes, which are also reported to `changes`, and answers from memory
    /// meanwhile. A SQLite file belongs to this process alone.
    ///
    /// # Errors
    /// [`StoreError::Served`] for a SQLite file that another process still serves after `patience`;
    /// [`StoreError::NoLock`] when its lock cannot be opened; [`StoreError::Pooled`] when the notes that PostgreSQL
    /// sends do not arrive.
    pub async fn join(&self, changes: &Changes, patience: Duration) -> Result<Joined, StoreError> {
        let engine = &self.engine;
        let (tell, superseded) = watch::channel(false);
        let joined = |keeping| Joined { keeping, engine: engine.clone(), superseded };
        if engine.kind() == Kind::Sqlite {
            engine.lock_to_serve(patience).await?;
            return Ok(joined(None));
        }
        let url = engine.url_of_postgres().unwrap_or_default();
        let options = PgConnectOptions::from_str(&url)?.disable_statement_logging();
        let keeper = Keeper {
            peers: Arc::clone(&engine.peers),
            changes: changes.clone(),
            options,
            pool: engine.pool_of_any_version().clone(),
            superseded: tell,
            version: engine.newest_step(),
            said: false,
        };
        let keeping = spawn(keeper.keep());
        let joined = joined(Some(keeping));
        if !engine.first_lease().await {
            return Err(StoreError::Pooled);
        }
        Ok(joined)
    }
}

impl Engine {
    /// Takes the lock of a SQLite file for a gateway that will serve it, unless this process has the lock already.
    ///
    /// # Errors
    /// [`StoreError::Served`] when another process still has it after `patience`, [`StoreError::NoLock`] when the lock
    /// file cannot be opened.
    pub(in crate::store) async fn lock_to_serve(&self, patience: Duration) -> Result<(), StoreError> {
        let Some(file) = self.file_on_disk() else { return Ok(()) };
        if !matches!(*self.serving.lock(), Serving::No) {
            return Ok(());
        }
        let serving = match self.is_read_only() {
            // Any number of processes may read it.
            true => Serving::WithoutLock(file),
            false => Serving::WithLock(lock_of(&file, patience).await?),
        };
        *self.serving.lock() = serving;
        Ok(())
    }

    /// Checks that no process serves this store. No process can serve a SQLite file while the returned value lives.
    ///
    /// # Errors
    /// [`StoreError::InUse`] when a process serves it; [`StoreError`] when that cannot be found out.
    pub(in crate::store) async fn ensure_unserved(&self) -> Result<Option<FileLock>, StoreError> {
        if self.kind() == Kind::Sqlite {
            let Some(file) = self.file_on_disk().filter(|_| !self.is_read_only()) else { return Ok(None) };
            return lock_of(&file, MOMENT).await.map(Some).map_err(|fault| match fault {
                StoreError::Served { .. } => StoreError::InUse,
                other => other,
            });
        }
        match self.is_leased().await? {
            true => Err(StoreError::InUse),
            false => Ok(None),
        }
    }

    /// Takes the lock for a gateway that began when its file could only be read. Must be called before the first write.
    ///
    /// # Errors
    /// [`StoreError::Served`] when another process has the lock, [`StoreError::NoLock`] when it cannot be opened.
    pub(in crate::store) async fn lock_to_write(&self) -> Result<(), StoreError> {
        let file = match &*self.serving.lock() {
            Serving::WithoutLock(file) | Serving::BesideAWriter(file) => file.clone(),
            Serving::No | Serving::WithLock(_) => return Ok(()),
        };
        let alone = lock_of(&file, Duration::ZERO).await?;
        let mut serving = self.serving.lock();
        if !matches!(*serving, Serving::No) {
            *serving = Serving::WithLock(alone);
        }
        Ok(())
    }

    /// Waits for the first lease; returns false when it is missing without a reason. If notes do not come back although
    /// statements are answered, a pooler shares the connection between clients.
    async fn first_lease(&self) -> bool {
        let (end, peers) = (Instant::now() + FIRST, &self.peers);
        while Instant::now() < end {
            if peers.lease.is_held() || peers.lease.is_away() || peers.refused.load(Ordering::Acquire) {
                return true;
            }
            sleep(Duration::from_millis(5)).await;
        }
        !peers.listened.load(Ordering::Acquire)
    }
}

impl Joined {
    /// Completes when a newer version has changed the store so that this version must not write to it.
    pub fn superseded(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut told = self.superseded.clone();
        async move {
            if told.wait_for(|superseded| *superseded).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Leaves the group, so that no process waits for this one any more.
    pub async fn leave(mut self) {
        let Some(keeping) = self.keeping.take() else { return };
        keeping.abort();
        let _ = keeping.await;
        let peers = &self.engine.peers;
        peers.listens.store(false, Ordering::Release);
        peers.lease.lost();
        let gone = sqlx::query("DELETE FROM process WHERE id = $1")
            .bind(peers.me.to_string())
            .execute(self.engine.pool_of_any_version());
        let _ = timeout(WAIT, gone).await;
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        if let Some(keeping) = self.keeping.take() {
            keeping.abort();
            self.engine.peers.lease.lost();
        }
        *self.engine.serving.lock() = Serving::No;
    }
}

/// Takes the lock of a gateway that serves `file`; waits up to `patience` for another gateway to end.
async fn lock_of(file: &Path, patience: Duration) -> Result<FileLock, StoreError> {
    FileLock::take(file, SERVES, patience).await.map_err(|fault| match fault {
        NotTaken::Taken => StoreError::Served { file: file.to_owned() },
        NotTaken::Unusable { lock, cause } => StoreError::NoLock { lock, cause: cause.to_string() },
    })
}

struct Keeper {
    peers: Arc<Peers>,
    changes: Changes,
    options: PgConnectOptions,
    /// The connections of the users of the store.
    pool: AnyPool,
    superseded: watch::Sender<bool>,
    /// The last step of the tables that this program knows.
    version: i64,
    /// Whether it was logged that the database rejects the keeper's statements or its login.
    said: bool,
}

impl Keeper {
    async fn keep(mut self) {
        loop {
            let Err(lost) = self.session().await;
            let did_listen = self.peers.listens.swap(false, Ordering::AcqRel);
            self.peers.lease.lost();
            let another = match lost {
                // A server may count the logins that it refuses, so the session's own login is enough.
                ReconnectReason::Failed(sqlx::Error::Database(_)) if lost.was_answered() || !did_listen => {
                    Err(lost)
                }
                // One connection may be lost alone; if the process cannot open another one, the database is away.
                _ => within(self.options.connect()).await.map(drop),
            };
            match another {
                Ok(()) if self.peers.lease.back() => tracing::info!("the store answers again"),
                Err(cause) if cause.was_answered() || self.has_connection(&cause).await => {
                    // The store can be used, but not listened to: no lease, and every counter is queried.
                    self.peers.lease.back();
                    self.peers.refused.store(true, Ordering::Release);
                    if !std::mem::replace(&mut self.said, true) {
                        tracing::warn!(
                            %cause,
                            "the store answers, but this process cannot hear of others' writes; every read asks the \
                             store"
                        );
                    }
                }
                Err(cause) if self.peers.lease.gone() => {
                    tracing::warn!(
                        %cause,
                        "the store cannot be used; reads make do with what is in memory, the rest is refused"
                    );
                }
                _ => {}
            }
            sleep(AGAIN).await;
        }
    }

    /// Checks whether the database refused only a login, so that open connections still work. Removes idle ones that
    /// have ended; those in use count as open, until their use finds out.
    async fn has_connection(&self, refusal: &ReconnectReason) -> bool {
        let ReconnectReason::Failed(sqlx::Error::Database(_)) = refusal else { return false };
        while let Some(mut idle) = self.pool.try_acquire() {
            if within(idle.ping()).await.is_ok() {
                return true;
            }
            drop(idle.detach());
        }
        self.pool.size() > 0
    }

    /// Runs one connection, for as long as it lasts.
    async fn session(&mut self) -> Result<std::convert::Infallible, ReconnectReason> {
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(WAIT)
            .max_lifetime(None)
            .idle_timeout(None)
            .connect_lazy_with(self.options.clone());
        let mut listener = within(PgListener::connect_with(&pool)).await?;
        listener.eager_reconnect(false);
        // Nothing that this session writes must survive a crash of the server.
        within(listener.execute("SET synchronous_commit = off")).await?;
        for statement in NOTICING_LOST_CLIENTS {
            let _ = within(listener.execute(statement)).await;
        }
        within(listener.listen_all([NOTES, HEARD, HINTS])).await?;
        let number = self.peers.me.as_u128() as i32;
        let lock = format!("SELECT pg_try_advisory_lock({LIVES}, {number})");
        within(listener.execute(AssertSqlSafe(lock))).await?;
        // Earlier notes were not received.
        self.tell(&[Changed::AnyStored, Changed::Credentials]);
        if self.peers.lease.back() {
            tracing::info!("the store answers again");
        }
        self.peers.listens.store(true, Ordering::Release);
        self.peers.listened.store(true, Ordering::Release);
        let mut beats = interval(BEAT);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut sent: HashMap<u64, Instant> = HashMap::new();
        loop {
            let first = tokio::select! {
                _ = beats.tick() => {
                    if sent.len() > 3 {
                        // Statements are answered, but notes do not arrive.
                        return Err(ReconnectReason::Silent);
                    }
                    let begun = Instant::now();
                    let number = self.beat(&mut listener, number).await?;
                    sent.insert(number, begun);
                    self.look(&mut listener).await?;
                    None
                }
                note = listener.try_recv() => Some(note?.ok_or(ReconnectReason::Closed)?),
            };
            let mut heard = HashMap::new();
            for note in first.into_iter().chain(std::iter::from_fn(|| listener.next_buffered())) {
                self.take(&note, &mut sent, &mut heard);
            }
            self.confirm(&mut listener, heard).await?;
        }
    }

    /// Renews the lease in the database, with a note to this process itself.
    async fn beat(&self, listener: &mut PgListener, number: i32) -> Result<u64, ReconnectReason> {
        let (note_number, note) = self.peers.note(Vec::new());
        let renewal = format!(
            "WITH renewed AS (INSERT INTO process (id, number, lease_until, beats, word) \
             VALUES ($1, $2, {DATABASE_NOW} + {}, 1, $5) ON CONFLICT (id) DO UPDATE \
             SET lease_until = excluded.lease_until, beats = process.beats + 1, word = excluded.word RETURNING id) \
             SELECT pg_notify($3, $4)::text FROM renewed",
            LEASE.as_micros()
        );
        let renewal = sqlx::query(AssertSqlSafe(renewal)).bind(self.peers.me.to_string()).bind(i64::from(number));
        let renewal = renewal.bind(NOTES).bind(note).bind(self.peers.word.lock().clone());
        within(renewal.fetch_one(&mut *listener)).await?;
        Ok(note_number)
    }

    /// Reads the living processes, the text that each publishes about itself, and the version that the tables need.
    async fn look(&self, listener: &mut PgListener) -> Result<(), ReconnectReason> {
        let at = Instant::now();
        let living = format!(
            "SELECT p.id, {DATABASE_NOW}, s.min_writer, p.word FROM service s LEFT JOIN process p ON EXISTS (SELECT 1 FROM pg_locks l \
             WHERE l.locktype = 'advisory' AND l.classid = {LIVES} AND l.objid = (p.number & 4294967295)::oid AND l.objsubid = 2 \
             AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())) WHERE s.id = 1"
        );
        let rows = within(sqlx::query(AssertSqlSafe(living)).fetch_all(&mut *listener)).await?;
        let mut words = HashMap::new();
        let (mut now, mut min_writer) = (0, 0);
        for row in &rows {
            let id: Option<&str> = row.try_get(0)?;
            if let Some(id) = id.and_then(|id| Uuid::try_parse(id).ok()) {
                words.insert(id, row.try_get(3)?);
            }
            (now, min_writer) = (row.try_get(1)?, row.try_get(2)?);
        }
        if !rows.is_empty() {
            // All processes use this clock, because the clocks of their machines may differ.
            shared_clock_showed(now, at, Instant::now());
            self.peers.living_are(words, now, at);
        }
        if min_writer > self.version && !*self.superseded.borrow() {
            tracing::error!(
                needs = min_writer,
                knows = self.version,
                "a newer version has changed the store so that this one must not write to it; this process ends"
            );
            self.superseded.send_replace(true);
        }
        Ok(())
    }

    fn take(&self, note: &PgNotification, sent: &mut HashMap<u64, Instant>, heard: &mut HashMap<Uuid, Vec<u64>>) {
        match note.channel() {
            HEARD => {
                let Ok(told) = serde_json::from_str::<ReceivedNotes>(note.payload()) else { return };
                if told.of == self.peers.me {
                    self.peers.was_heard(&told);
                }
            }
            HINTS => self.peers.hinted(note.payload()),
            _ => {
                let Ok(note) = serde_json::from_str::<Note>(note.payload()) else {
                    // A note of another version, with unknown meaning.
                    return self.tell(&[Changed::AnyStored, Changed::Credentials]);
                };
                if note.from == self.peers.me {
                    if let Some(begun) = sent.remove(&note.number) {
                        sent.retain(|number, _| *number > note.number);
                        self.peers.lease.renewed(begun);
                    }
                    if self.peers.was_undecided(note.number) {
                        // Only now is it certain that the transaction was committed.
                        self.tell(&note.changed);
                    }
                } else if !note.changed.is_empty() {
                    self.tell(&note.changed);
                    heard.entry(note.from).or_default().push(note.number);
                }
            }
        }
    }

    /// Invalidates the cache entries of this process.
    fn tell(&self, changed: &[Changed]) {
        self.peers.invalidate_locally(changed);
        for one in changed {
            self.changes.tell(one.clone());
        }
    }

    async fn confirm(
        &self,
        listener: &mut PgListener,
        heard: HashMap<Uuid, Vec<u64>>,
    ) -> Result<(), ReconnectReason> {
        let messages = heard.iter().flat_map(|(of, numbers)| ReceivedNotes::messages(self.peers.me, *of, numbers));
        for text in messages {
            let told = sqlx::query("SELECT pg_notify($1, $2)").bind(HEARD).bind(text);
            within(told.execute(&mut *listener)).await?;
        }
        Ok(())
    }
}

async fn within<T>(work: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, ReconnectReason> {
    Ok(timeout(WAIT, work).await.map_err(|_| ReconnectReason::Silent)??)
}
