//! Values by key that are read once for all callers; the rules are at the top of the folder.
//!
//! May use: this folder.

use super::changes::{Changes, Moment, Need};
use super::sync::{Mutex, spawn};
use super::table::{Bounds, Figures, Kept, Key, ReadEnded, Table, Value};
use futures_util::FutureExt;
use futures_util::future::Shared;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// The read ended without an outcome: it panicked, or the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLost;

type Outcome<V, E> = Result<Kept<V>, E>;
type Waiting<V, E> = Shared<oneshot::Receiver<Outcome<V, E>>>;
type Entries<K, V, E> = Table<K, V, Waiting<V, E>>;

/// Values by key, and the reads under way; cheap to clone, all clones are the same.
pub struct Fresh<K, V, E> {
    changes: Changes,
    table: Arc<Mutex<Entries<K, V, E>>>,
}

impl<K, V, E> Clone for Fresh<K, V, E> {
    fn clone(&self) -> Self {
        Self { changes: self.changes.clone(), table: Arc::clone(&self.table) }
    }
}

impl<K, V, E> fmt::Debug for Fresh<K, V, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fresh").finish_non_exhaustive()
    }
}

/// A read under way. When it is dropped before it has landed or failed, it is [`ReadLost`].
pub struct Reading<K: Key, V: Value, E: Value + From<ReadLost>> {
    of: Fresh<K, V, E>,
    key: K,
    began: Moment,
    tell: Option<oneshot::Sender<Outcome<V, E>>>,
    fault: Option<E>,
}

enum LookupOutcome<K: Key, V: Value, E: Value + From<ReadLost>> {
    Kept(Kept<V>),
    UnderWay(Moment, Waiting<V, E>),
    Begun(Reading<K, V, E>, Waiting<V, E>),
}

impl<K: Key, V: Value, E: Value + From<ReadLost>> Fresh<K, V, E> {
    /// Creates a cache of at most `capacity` values, in the order of events of `changes`.
    pub fn new(changes: &Changes, capacity: u64) -> Self {
        let bounds = Bounds {
            capacity,
            weigh: Box::new(|_, _| 1),
            lasting: Box::new(|_| Duration::MAX),
            useless: Duration::MAX,
        };
        Self { changes: changes.clone(), table: Arc::new(Mutex::new(Table::new(bounds))) }
    }

    /// Measures the capacity in units of `weigh`. A value heavier than the whole capacity is not kept.
    #[must_use]
    pub fn weighing(self, weigh: impl Fn(&K, &V) -> u64 + Send + Sync + 'static) -> Self {
        self.table.lock().bounds.weigh = Box::new(weigh);
        self
    }

    /// Limits the time for which a value is good, whatever age the callers allow.
    #[must_use]
    pub fn lasting(self, lasting: impl Fn(&V) -> Duration + Send + Sync + 'static) -> Self {
        self.table.lock().bounds.lasting = Box::new(lasting);
        self
    }

    /// Sets the age from which no caller can use a value.
    #[must_use]
    pub fn useless_after(self, age: Duration) -> Self {
        self.table.lock().bounds.useless = age;
        self
    }

    /// Returns the record of the changes that void the values.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Returns the kept value when it is good enough.
    pub fn kept(&self, key: &K, need: &Need) -> Option<Kept<V>> {
        self.table.lock().kept(key, need)
    }

    /// Returns the kept value, whatever its age and whatever has changed since.
    pub fn any(&self, key: &K) -> Option<Kept<V>> {
        self.table.lock().any(key)
    }

    /// Checks whether a read is under way that is good enough when it lands.
    pub fn is_under_way(&self, key: &K, need: &Need) -> bool {
        self.table.lock().under_way(key).is_some_and(|(began, _)| need.is_met(began))
    }

    /// Returns when the read under way began.
    pub fn under_way_since(&self, key: &K) -> Option<Instant> {
        self.table.lock().under_way(key).map(|(began, _)| began.at)
    }

    /// Returns the `wanted` keys of all values that are kept or being read. It looks at all keys.
    pub fn keys(&self, wanted: impl Fn(&K) -> bool) -> Vec<K> {
        self.table.lock().keys().filter(|key| wanted(key)).cloned().collect()
    }

    /// Returns the size of the cache, and the counts of its use.
    pub fn figures(&self) -> Figures {
        self.table.lock().figures()
    }

    /// Keeps a value that came from elsewhere, by a read that began at `began`. A kept value of a later read stays.
    pub fn put(&self, key: &K, value: V, began: Moment) {
        let evicted = self.table.lock().put(key, Kept { value, began });
        drop(evicted);
    }

    /// Applies a change to the kept value, and to the value that a read under way will bring, unless that value
    /// includes everything up to a later moment. The change may be applied twice. Returns whether it changed the kept
    /// value.
    pub fn amend(&self, key: &K, change: impl Fn(&mut V) -> bool + Send + Sync + 'static) -> bool {
        let mut table = self.table.lock();
        table.amend(key, self.changes.now(), Arc::new(change))
    }

    /// Returns the value under `key`, kept or read with `read`. The future may be dropped at any time: the read
    /// continues.
    ///
    /// # Errors
    /// The error of the read, or [`ReadLost`].
    pub async fn get<F>(&self, key: &K, need: Need, read: impl FnOnce(Reading<K, V, E>) -> F) -> Outcome<V, E>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (reading, waiting) = loop {
            match self.ask(key, &need) {
                LookupOutcome::Kept(kept) => return Ok(kept),
                LookupOutcome::UnderWay(began, waiting) => match outcome_of(waiting).await {
                    Ok(kept) if self.table.lock().meets(&need, &kept) => return Ok(kept),
                    Err(fault) if need.is_met(began) => return Err(fault),
                    _ => {}
                },
                LookupOutcome::Begun(reading, waiting) => break (reading, waiting),
            }
        };
        spawn(read(reading));
        outcome_of(waiting).await
    }

    fn ask(&self, key: &K, need: &Need) -> LookupOutcome<K, V, E> {
        let mut table = self.table.lock();
        if let Some(kept) = table.kept(key, need) {
            return LookupOutcome::Kept(kept);
        }
        if let Some((began, waiting)) = table.under_way(key) {
            return LookupOutcome::UnderWay(began, waiting);
        }
        let (tell, told) = oneshot::channel();
        let (began, waiting) = (self.changes.now(), told.shared());
        table.begin(key, began, waiting.clone());
        LookupOutcome::Begun(
            Reading { of: self.clone(), key: key.clone(), began, tell: Some(tell), fault: None },
            waiting,
        )
    }
}

async fn outcome_of<V: Value, E: Value + From<ReadLost>>(waiting: Waiting<V, E>) -> Outcome<V, E> {
    waiting.await.unwrap_or_else(|_| Err(ReadLost.into()))
}

impl<K: Key, V: Value, E: Value + From<ReadLost>> Reading<K, V, E> {
    /// Returns when the read began.
    pub fn began(&self) -> Moment {
        self.began
    }

    /// Ends the read.
    pub fn end(self, outcome: Result<V, E>) {
        let began = self.began;
        match outcome {
            Ok(value) => drop(self.land(value, began)),
            Err(fault) => self.fail(fault),
        }
    }

    /// Ends the read with a value that includes everything up to `began`. When that is before the start of the read,
    /// the value must also include the writes of the gateway itself up to this start.
    pub fn land(mut self, value: V, began: Moment) -> ReadEnded<K, V> {
        let landed = self.of.table.lock().land(&self.key, value, began);
        // Perhaps no caller waits for it any more.
        self.tell.take().map(|tell| tell.send(Ok(landed.now.clone())));
        landed
    }

    /// Ends the read without a value.
    pub fn fail(mut self, fault: E) {
        self.fault = Some(fault);
    }
}

impl<K: Key, V: Value, E: Value + From<ReadLost>> Drop for Reading<K, V, E> {
    fn drop(&mut self) {
        if let Some(tell) = self.tell.take() {
            // The read is removed first, so that a caller that gets its outcome does not find it again.
            self.of.table.lock().over(&self.key);
            let _ = tell.send(Err(self.fault.take().unwrap_or_else(|| ReadLost.into())));
        }
    }
}
