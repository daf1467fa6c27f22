//! What is read and what may have changed in it, and everybody who takes part; each checks what concerns it. May use:
//! this folder.

use super::changed::Changed;
use super::changes::Changes;
use super::clock::Clock;
use super::shared::{Fresh, Lost, Reading};
use super::sync;
use shuttle::future::yield_now;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// What a read brings.
#[derive(Debug, Clone)]
pub struct Value {
    /// How often others had changed the source.
    version: u64,
    /// How often the gateway itself had.
    own: u64,
    /// When the read began.
    read_at: Instant,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    Lost,
    /// The source has refused the read with this number in the order of events.
    Refused(u64),
}

impl From<Lost> for Fault {
    fn from(_: Lost) -> Self {
        Self::Lost
    }
}

pub const MINUTE: Duration = Duration::from_secs(60);
pub const HALF: Duration = Duration::from_secs(30);
const KEY: u8 = 7;

/// The source, what is kept of it, and what is known to all about it.
pub struct World {
    clock: Clock,
    changes: Changes,
    fresh: Fresh<u8, Value, Fault>,
    /// How often others have changed the source, and how often that was told.
    version: AtomicU64,
    told: AtomicU64,
    /// The number of the last time it was told in the order of events.
    told_at: AtomicU64,
    /// The same as the first two for what the gateway itself writes and carries over.
    own: AtomicU64,
    carried: AtomicU64,
    reading: AtomicBool,
    /// The source refuses the reads whose numbers this divides; none for zero.
    refused: u64,
    /// Held while the gateway writes and replaces what is kept.
    turn: sync::Mutex<()>,
}

/// One read at a time.
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
    /// Nothing is kept. Every read whose number `refused` divides is refused by the source; none for zero.
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
            reading: AtomicBool::new(false),
            refused,
            turn: sync::Mutex::new(()),
        })
    }

    /// A read of the source: it shows what is there at some moment, and takes a while before and after.
    async fn read(self: Arc<Self>, reading: Reading<u8, Value, Fault>) {
        let at_source = AtSource::begin(&self);
        yield_now().await;
        let (version, own) = (self.version.load(SeqCst), self.own.load(SeqCst));
        yield_now().await;
        drop(at_source);
        match reading.began().number {
            number if self.refused != 0 && number.is_multiple_of(self.refused) => {
                reading.fail(Fault::Refused(number))
            }
            _ => {
                let read_at = reading.began().at;
                reading.end(Ok(Value { version, own, read_at }));
            }
        }
    }

    /// Somebody asks for a value that is younger than `max_age`, and checks what they get.
    pub async fn ask(self: Arc<Self>, max_age: Duration) {
        let (told, told_at) = (self.told.load(SeqCst), self.told_at.load(SeqCst));
        let carried = self.carried.load(SeqCst);
        let before = self.changes.now();
        let need = self.changes.need(&voids(), max_age);
        let kept = match self.fresh.get(&KEY, need, |reading| Arc::clone(&self).read(reading)).await {
            Ok(kept) => kept,
            Err(Fault::Lost) => return,
            Err(Fault::Refused(number)) => {
                assert!(number > told_at, "the failure of a read that began before a change");
                return;
            }
        };
        let Value { version, own, read_at } = kept.value;
        assert!(kept.began.number > told_at, "a read that began before a change");
        assert!(version >= told, "the value shows {version} changes, and {told} were told before it was asked for");
        assert!(
            own >= carried,
            "the value shows {own} own writes, and {carried} were made before it was asked for"
        );
        let age = before.at.saturating_duration_since(read_at);
        assert!(age.is_zero() || age < max_age, "{age:?} old, where {max_age:?} are allowed");
    }

    /// Others change the source, and then it is told.
    pub async fn change(self: Arc<Self>) {
        let version = self.version.fetch_add(1, SeqCst) + 1;
        yield_now().await;
        let now = self.changes.tell(Changed::Project(Uuid::nil()));
        self.told.fetch_max(version, SeqCst);
        self.told_at.fetch_max(now.number, SeqCst);
    }

    /// The gateway changes the source and carries that into what is kept and what is being read.
    pub async fn write(self: Arc<Self>) {
        let own = self.own.fetch_add(1, SeqCst) + 1;
        yield_now().await;
        self.fresh.amend(&KEY, move |value| {
            value.own = value.own.max(own);
            true
        });
        self.carried.fetch_max(own, SeqCst);
    }

    /// The gateway changes the source and puts what follows from what is kept in its place, unless anything else has
    /// changed meanwhile; as collections do.
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

    /// Time passes.
    pub async fn wait(self: Arc<Self>) {
        self.clock.advance(MINUTE);
        yield_now().await;
    }

    /// The read under way panics, if there is one.
    pub async fn lose(self: Arc<Self>) {
        yield_now().await;
        sync::drop_last_task();
    }
}
