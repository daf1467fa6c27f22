//! Connections to the database that holds the store, of either kind.
//!
//! One SQL text serves both kinds: parameters are written `$1`, ids and JSON are text, times and flags are whole
//! numbers, and [`Engine`] handles the few differences. SQLite: write-ahead log, so that readers do not wait for the
//! writer; `synchronous=FULL`, so that an acknowledged write survives a power cut. Writers queue in this process and
//! take the file's lock when they begin, because a transaction that first reads and then wants to write is rejected at
//! once instead of waiting for the lock. PostgreSQL: `synchronous_commit` on, and writers of one workspace queue at
//! its row. May use: `fresh`, `tally`, this folder.

use super::error::{StoreError, is_of_full_disk, is_undone};
use super::file_log::{Ending, Log, LogState, Writes};
use super::file_mode::{READ_ONLY, creating, is_only_read, mode_is_automatic};
use super::in_place::InPlace;
pub use super::kind::Kind;
use super::opening::{BUSY, options_of, target_of, tried};
use super::peers::{Awaited, NOTES, Peers, Serving};
use super::place::file_of;
use super::pool_options::pool_options;
use super::rows::{Cells, Statement, all, query};
use super::session::{Pool, Session};
use super::writable::Writable;
use crate::fresh::{Changed, Changes};
use crate::tally::{Counter, Durations};
use sqlx::AnyPool;
use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::sync::{Arc, Once};
use std::time::Instant;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::timeout;
use uuid::Uuid;

/// The pool of connections.
#[derive(Debug, Clone)]
pub struct Engine {
    kind: Kind,
    pool: AnyPool,
    /// Closed pool, used while the store cannot be used (`Engine::usable`), so that statements fail at once.
    shut: AnyPool,
    /// Queue of this process's writers, one at a time. SQLite allows one writer anyway, and a queue is fairer than
    /// polling for its lock.
    turn: Option<Arc<Mutex<()>>>,
    /// The URL of a SQLite store that is opened read-only when its file cannot be written.
    file: Option<Arc<str>>,
    /// Whether the URL itself asks for read-only access.
    only_reads: bool,
    /// Whether this process serves the file.
    pub(super) serving: Arc<parking_lot::Mutex<Serving>>,
    pub(super) writable: Arc<Writable>,
    writes: Writes,
    log: Log,
    in_place: InPlace,
    /// The other processes on the same database.
    pub(super) peers: Arc<Peers>,
    used: Arc<Used>,
}

/// Counts of the uses of the store, and the waiting times of writers.
#[derive(Debug, Default)]
pub struct Used {
    /// Single statements.
    pub statements: Counter,
    /// Transactions that only read.
    pub reads: Counter,
    /// Transactions that write.
    pub writes: Counter,
    /// Time from asking for a write transaction to its begin.
    pub waits: Durations,
}

/// A transaction that writes; rolled back unless committed.
pub struct Writing {
    session: Session,
    ending: Ending,
    _turn: Option<OwnedMutexGuard<()>>,
    engine: Engine,
    /// Cached data that the transaction makes stale in every process.
    changed: Vec<Changed>,
}

impl Engine {
    /// Opens the database and creates a missing SQLite file. [`Engine::migrate`] creates the tables.
    pub(super) async fn open(url: &str, changes: &Changes) -> Result<Self, StoreError> {
        static DRIVERS: Once = Once::new();
        DRIVERS.call_once(sqlx::any::install_default_drivers);
        let Some(kind) = Kind::of(url) else {
            let scheme = url.split_once(':').map_or(url, |(scheme, _)| scheme);
            return Err(StoreError::UnknownKind { url: scheme.into() });
        };
        let (writable, file) = (Arc::<Writable>::default(), mode_is_automatic(kind, url).then(|| url.into()));
        let target = tried(kind, target_of(kind, url, &writable)?).await?;
        let shut = AnyPoolOptions::new().connect_lazy_with(target.clone());
        shut.close().await;
        let pool = pool_options(kind, url, &writable).connect_with(target).await?;
        let turn = (kind == Kind::Sqlite).then(Arc::default);
        let only_reads = kind == Kind::Sqlite && url.contains(READ_ONLY);
        Ok(Self {
            kind,
            pool,
            shut,
            turn,
            file,
            only_reads,
            serving: Arc::default(),
            writable,
            writes: Writes::default(),
            log: Log::of(url),
            in_place: InPlace::of(if only_reads { "" } else { url }),
            peers: Peers::new(changes),
            used: Arc::default(),
        })
    }

    /// Returns the target of new connections; none for a file that can still only be read.
    pub(super) fn target(&self) -> Result<Option<AnyConnectOptions>, StoreError> {
        let Some(url) = &self.file else { return Ok(Some(AnyConnectOptions::clone(&self.pool.connect_options()))) };
        // On a file opened for reading, SQLite treats a write transaction as a read transaction.
        let address = creating(url);
        if address.contains(READ_ONLY) { Ok(None) } else { options_of(&address).map(Some) }
    }

    /// Checks whether the file can only be read now.
    pub(super) fn is_protected(&self) -> bool {
        self.file.as_ref().is_some_and(|url| is_only_read(self.kind, url))
    }

    /// Sets the target of new connections; those opened before are not used any more.
    pub(super) fn renew(&self, target: AnyConnectOptions) {
        self.pool.set_connect_options(target);
        self.writable.renewed();
    }

    /// Checks whether the store is known to be read-only.
    pub fn is_read_only(&self) -> bool {
        self.only_reads || self.writable.is_lost()
    }

    /// Returns the kind of database.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the pool, for single statements. It is a closed pool while the tables are of an older version, while the
    /// database does not respond, or when the file was moved, so that nothing is read or written.
    pub fn pool(&self) -> Pool<'_> {
        self.used.statements.add(1);
        self.recheck_in_background();
        self.usable()
    }

    fn usable(&self) -> Pool<'_> {
        Pool::new(if self.is_shut() { &self.shut } else { &self.pool }, self.kind)
    }

    /// Checks whether the store can neither be read nor written at present, as far as is known.
    fn is_shut(&self) -> bool {
        self.writable.is_behind() || self.peers.lease.is_away() || !self.in_place.is_kept()
    }

    /// Checks whether the store can be written, as far as is known. After a write that found the disk of a SQLite store
    /// full, it cannot until a write succeeds.
    pub fn is_writable(&self) -> bool {
        !self.is_read_only() && !self.is_shut() && !self.writable.is_full()
    }

    /// Returns the result of `work`, unless the database is found not to respond while `work` waits.
    ///
    /// `work` is on the heap: it is large, and many requests never run it.
    ///
    /// # Errors
    /// Errors of `work`, or [`StoreError::Unavailable`].
    pub(super) fn unless_unavailable<'w, T, E, F>(
        &'w self,
        work: F,
    ) -> impl Future<Output = Result<T, StoreError>> + use<'w, T, E, F>
    where
        E: Into<StoreError>,
        F: Future<Output = Result<T, E>>,
    {
        let work = Box::pin(work);
        async move {
            if self.kind == Kind::Sqlite {
                return work.await.map_err(E::into);
            }
            tokio::select! {
                biased;
                outcome = work => outcome.map_err(E::into),
                () = self.peers.lease.until_away() => Err(StoreError::Unavailable("the database does not answer".into())),
            }
        }
    }

    /// Returns all rows of a statement, each read by `one`. Fails when the database does not respond.
    pub(super) async fn rows<T>(
        &self,
        statement: Statement,
        one: impl Fn(&mut Cells<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        self.unless_unavailable(all(self.pool(), statement, one)).await
    }

    /// Runs one statement that writes and returns the number of changed rows. Fails when the database does not respond.
    pub(super) async fn change(&self, statement: Statement) -> Result<u64, StoreError> {
        Ok(self.unless_unavailable(statement.execute(self.pool())).await?.rows_affected())
    }

    /// Returns the file of a SQLite store on disk.
    pub(super) fn file_on_disk(&self) -> Option<PathBuf> {
        file_of(self.file.as_ref()?)
    }

    /// Returns the target of connections that read a file while another process writes it.
    pub(super) fn read_only_target(&self) -> Result<Option<AnyConnectOptions>, StoreError> {
        let Some(url) = &self.file else { return Ok(None) };
        let sign = if url.contains('?') { '&' } else { '?' };
        options_of(&format!("{url}{sign}{READ_ONLY}")).map(Some)
    }

    /// Returns the URL of a database server; it may hold a password.
    pub(super) fn url_of_postgres(&self) -> Option<String> {
        (self.kind == Kind::Postgres).then(|| self.pool.connect_options().database_url.to_string())
    }

    /// Returns the pool, for tables of any version.
    pub(super) fn pool_of_any_version(&self) -> &AnyPool {
        &self.pool
    }

    /// Begins a transaction that only reads and sees one state of the store throughout.
    pub async fn reading(&self) -> Result<Session, StoreError> {
        let begin = match self.kind {
            Kind::Sqlite => "BEGIN DEFERRED",
            Kind::Postgres => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        };
        self.used.reads.add(1);
        self.recheck_in_background();
        self.unless_unavailable(self.usable().begin(begin, Instant::now())).await
    }

    /// Begins a transaction that writes.
    pub async fn writing(&self) -> Result<Writing, StoreError> {
        let wanted = Instant::now();
        let turn = match &self.turn {
            Some(turn) => Some(Arc::clone(turn).lock_owned().await),
            None => None,
        };
        let begin = match self.kind {
            Kind::Sqlite => "BEGIN IMMEDIATE",
            // A process that hangs must not keep the locks of its rows: after this time PostgreSQL ends its session.
            Kind::Postgres => "BEGIN; SET LOCAL idle_in_transaction_session_timeout = 2000",
        };
        self.recheck_writable().await;
        let ending = self.writes.ending();
        let session = self.unless_unavailable(self.usable().begin(begin, wanted)).await?;
        self.used.writes.add(1);
        self.used.waits.add(wanted.elapsed());
        Ok(Writing { session, ending, _turn: turn, engine: self.clone(), changed: Vec::new() })
    }

    /// Runs one statement that writes in its own transaction; returns the number of changed rows.
    pub(super) async fn write(&self, statement: Statement) -> Result<u64, StoreError> {
        let mut writing = self.writing().await?;
        let changed = writing.run(statement).await?;
        writing.commit().await?;
        Ok(changed)
    }

    /// Returns the present state of a SQLite store's log; none for PostgreSQL, where others may write at any time.
    pub(super) fn seen(&self) -> Option<LogState> {
        (self.kind == Kind::Sqlite).then(|| self.log.look(&self.writes))
    }

    /// Returns the counts of uses.
    pub fn used(&self) -> &Used {
        &self.used
    }

    /// Returns the numbers of open connections and of idle connections.
    pub fn connections(&self) -> (usize, usize) {
        (usize::try_from(self.pool.size()).unwrap_or(usize::MAX), self.pool.num_idle())
    }

    /// Closes all connections after the work in progress is done. A database that does not answer ends no work, so
    /// this does not wait for it.
    pub async fn close(&self) {
        let closing = self.pool.close();
        match self.kind {
            Kind::Sqlite => closing.await,
            Kind::Postgres => {
                if timeout(BUSY, closing).await.is_err() {
                    tracing::warn!("the store does not answer; its connections are left as they are");
                }
            }
        }
    }
}

impl Writing {
    /// Records that this transaction raises the counter of this project or workspace.
    pub(super) fn raises(&mut self, counter: Uuid) {
        self.voids(Changed::Stored(counter));
    }

    /// Records that this transaction invalidates the cache entries of `changed`, in every process.
    pub(super) fn voids(&mut self, changed: Changed) {
        if !self.changed.contains(&changed) {
            self.changed.push(changed);
        }
    }

    /// Commits the writes, and waits until every process that answers from memory has received the note of the change.
    ///
    /// # Errors
    /// When the commit fails; then nothing was written. [`StoreError::Undecided`] when the database does not say
    /// whether the writes were committed.
    pub async fn commit(self) -> Result<(), StoreError> {
        let Self { mut session, ending, _turn, engine, changed } = self;
        let mut told = None;
        if engine.kind == Kind::Postgres && !changed.is_empty() {
            let (awaited, note) = engine.peers.awaited_note(changed.clone());
            told = Some(awaited);
            let sending = query("SELECT pg_notify($1, $2)::text", &[&NOTES, &note]);
            engine.unless_unavailable(sending.fetch_one(&mut session)).await?;
        }
        let mut ended = Ended { ending: Some(ending), peers: &engine.peers, changed: &changed, told };
        let committing = async { Ok::<_, StoreError>(session.commit().await) };
        let committed = engine.unless_unavailable(committing).await;
        if let Ok(committed) = &committed {
            engine.writable.committed(committed.as_ref().is_err_and(is_of_full_disk));
        }
        let outcome = match committed {
            Ok(Ok(())) => Ok(()),
            Ok(Err(refused)) if is_undone(&refused) => Err(refused.into()),
            Ok(Err(lost)) => Err(StoreError::Undecided(lost.to_string())),
            Err(away) => Err(StoreError::Undecided(away.to_string())),
        };
        let is_undecided = matches!(outcome, Err(StoreError::Undecided(_)));
        let told = ended.told.take_if(|_| !is_undecided);
        drop(ended);
        outcome?;
        drop(_turn);
        if let Some(awaited) = told {
            engine.wait_until_confirmed(awaited).await;
        }
        Ok(())
    }

    /// Undoes the writes now. Dropping undoes them later, when the connection is used again.
    pub async fn rollback(self) -> Result<(), StoreError> {
        self.session.rollback().await
    }
}

/// The end of a transaction, reported in this process when dropped. It is also reported after a failure, or when the
/// caller is dropped during the commit, because the database may still have written.
struct Ended<'w> {
    ending: Option<Ending>,
    peers: &'w Peers,
    changed: &'w [Changed],
    /// Note of the transaction, as long as its outcome is unknown.
    told: Option<Awaited>,
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        if let Some(told) = &self.told {
            told.undecided();
        }
        drop(self.ending.take());
        self.peers.invalidate_locally(self.changed);
    }
}

impl Deref for Writing {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

impl DerefMut for Writing {
    fn deref_mut(&mut self) -> &mut Session {
        &mut self.session
    }
}
