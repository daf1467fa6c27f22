//! The source that is read, its changes, and all parts that take part; each part checks its own results. May use:
//! this folder.

use super::changed::Changed;
use super::changes::Changes;
use super::clock::Clock;
use super::shared::{Fresh, ReadLost, Reading};
use super::sync;
use shuttle::future::yield_now;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// The value that a read brings.
#[derive(Debug, Clone)]
pub struct Value {
    /// Number of changes of the source by others.
    version: u64,
    /// Number of changes by the gateway itself.
    own: u64,
    /// Number of the own write that wrote the record; zero without the record.
    record: u64,
    /// When the read began, or began anew.
    read_at: Instant,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    ReadLost,
    /// The source has refused the read with this number in the order of events.
    Refused(u64),
}

impl From<ReadLost> for Fault {
    fn from(_: ReadLost) -> Self {
        Self::ReadLost
    }
}

pub const MINUTE: Duration = Duration::from_secs(60);
pub const HALF: Duration = Duration::from_secs(30);
const KEY: u8 = 7;

/// The source, the cache of it, and the counters with which the parts check their results.
pub struct World {
    clock: Clock,
    changes: Changes,
    fresh: Fresh<u8, Value, Fault>,
    /// Number of changes of the source by others, and number of those that were told.
    version: AtomicU64,
    told: AtomicU64,
    /// Number, in the order of events, of the last change that was told.
    told_at: AtomicU64,
    /// The same two counts for changes that the gateway itself writes and carries over.
    own: AtomicU64,
    carried: AtomicU64,
    /// The record at the source, and the last one of which it was told that others removed it.
    record: AtomicU64,
    removed: AtomicU64,
    reading: AtomicBool,
    /// The source refuses the reads whose numbers this divides; zero for none.
    refused: u64,
    /// Held while the gateway writes and replaces the kept value.
    turn: sync::Mutex<()>,
}

/// A read at the source, of which there is only one at a time.
struct AtSource<'w>(&'w World);

impl<'w> AtSource<'w> {
    fn begin(world: &'w World) -> Self {
        assert!(!world.reading.swap(true, SeqCst), "two reads at a time");
        Self(world)
    }
}

impl Drop for AtSource<'_> {
    fn drop(&mut self) {
        self.0.reading.store(false, SeqCst);
    }
}

fn voids() -> [Changed; 2] {
    [Changed::Project(Uuid::nil()), Changed::Collection("x/".into())]
}

impl World {
    /// Creates a world with an empty cache. The source refuses every read whose number `refused` divides; zero for
    /// none.
    pub fn new(refused: u64) -> Arc<Self> {
        sync::forget_tasks();
        let clock = Clock::stopped();
        let changes = Changes::new(clock.clone());
        Arc::new(Self {
            fresh: Fresh::new(&changes, 8),
            clock,
            changes,
            version: AtomicU64::new(0),
            told: AtomicU64::new(0),
            told_at: AtomicU64::new(0),
            own: AtomicU64::new(0),
            carried: AtomicU64::new(0),
            record: AtomicU64::new(0),
            removed: AtomicU64::new(0),
            reading: AtomicBool::new(false),
            refused,
            turn: sync::Mutex::new(()),
        })
    }

    /// Reads the source. The read shows the state of some moment, and takes a while before and after it. Some reads
    /// begin anew at the source, and their value counts from then.
    async fn read(self: Arc<Self>, reading: Reading<u8, Value, Fault>) {
        let at_source = AtSource::begin(&self);
        let number = reading.began().number;
        yield_now().await;
        let began = if number.is_multiple_of(2) { reading.began() } else { self.changes.now() };
        yield_now().await;
        let (version, own) = (self.version.load(SeqCst), self.own.load(SeqCst));
        let record = self.record.load(SeqCst);
        yield_now().await;
        drop(at_source);
        if self.refused != 0 && number.is_multiple_of(self.refused) {
            reading.fail(Fault::Refused(number));
        } else {
            drop(reading.land(Value { version, own, record, read_at: began.at }, began));
        }
    }

    /// Asks for a value that is younger than `max_age`, and checks the result.
    pub async fn ask(self: Arc<Self>, max_age: Duration) {
        let (told, told_at) = (self.told.load(SeqCst), self.told_at.load(SeqCst));
        let (carried, removed) = (self.carried.load(SeqCst), self.removed.load(SeqCst));
        let before = self.changes.now();
        let need = self.changes.need(&voids(), max_age);
        let kept = match self.fresh.get(&KEY, need, |reading| Arc::clone(&self).read(reading)).await {
            Ok(kept) => kept,
            Err(Fault::ReadLost) => return,
            Err(Fault::Refused(number)) => {
                assert!(number > told_at, "the failure of a read that began before a change");
                return;
            }
        };
        let Value { version, own, record, read_at } = kept.value;
        assert!(kept.began.number > told_at, "a read that began before a change");
        assert!(version >= told, "the value shows {version} changes, and {told} were told before it was asked for");
        assert!(
            own >= carried,
            "the value shows {own} own writes, and {carried} were made before it was asked for"
        );
        assert!(record == 0 || record > removed, "the record of write {record}, but {removed} was removed before");
        let age = before.at.saturating_duration_since(read_at);
        assert!(age.is_zero() || age < max_age, "{age:?} old, where {max_age:?} are allowed");
    }

    /// Changes the source as others do, and then tells the change.
    pub async fn change(self: Arc<Self>) {
        let version = self.version.fetch_add(1, SeqCst) + 1;
        yield_now().await;
        let now = self.changes.tell(Changed::Project(Uuid::nil()));
        self.told.fetch_max(version, SeqCst);
        self.told_at.fetch_max(now.number, SeqCst);
    }

    /// Changes the source as the gateway does, and carries the change into the kept value and the read under way.
    pub async fn write(self: Arc<Self>) {
        let own = self.own.fetch_add(1, SeqCst) + 1;
        self.record.store(own, SeqCst);
        yield_now().await;
        self.fresh.amend(&KEY, move |value| {
            value.own = value.own.max(own);
            value.record = value.record.max(own);
            true
        });
        self.carried.fetch_max(own, SeqCst);
    }

    /// Removes the record at the source as others do, and then tells the change.
    pub async fn remove(self: Arc<Self>) {
        let record = self.record.swap(0, SeqCst);
        yield_now().await;
        let now = self.changes.tell(Changed::Project(Uuid::nil()));
        self.removed.fetch_max(record, SeqCst);
        self.told_at.fetch_max(now.number, SeqCst);
    }

    /// Changes the source as the gateway does, and puts the value that follows from the kept one in its place, unless
    /// anything else has changed meanwhile; as collections do.
    pub async fn replace(self: Arc<Self>) {
        let turn = self.turn.lock();
        let kept = self.fresh.kept(&KEY, &self.changes.need(&voids(), MINUTE));
        let begun = self.changes.tell(Changed::Collection("x/".into()));
        let version = self.version.fetch_add(1, SeqCst) + 1;
        let ended = self.changes.tell(Changed::Collection("x/".into()));
        let known = self.changes.now();
        let undisturbed = !self.changes.is_void(&voids()[..1], begun);
        if let Some(kept) = kept.filter(|kept| undisturbed && kept.value.version + 1 == version) {
            self.fresh.put(&KEY, Value { version, ..kept.value }, kept.began.known_up_to(known));
        }
        self.told.fetch_max(version, SeqCst);
        self.told_at.fetch_max(ended.number, SeqCst);
        drop(turn);
    }

    /// Lets time pass.
    pub async fn wait(self: Arc<Self>) {
        self.clock.advance(MINUTE);
        yield_now().await;
    }

    /// Makes the read under way panic, if there is one.
    pub async fn lose(self: Arc<Self>) {
        yield_now().await;
        sync::drop_last_task();
    }
}
