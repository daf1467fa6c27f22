//! What this process knows of the others, shared by all who use the store.
//!
//! May use: `fresh`, `v2` (times), this folder.

use super::lease::Lease;
use super::note::{Heard, Hint, Note};
use crate::fresh::{Changed, Changes};
use crate::v2::time::Micros;
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::sync::mpsc::Sender;
use uuid::Uuid;

/// How long the list of living processes counts.
const CURRENT: Duration = Duration::from_secs(2);
/// Most transactions that are remembered as undecided: many were never carried out, and their notes never come.
const MOST_UNDECIDED: usize = 10_000;

/// This process among those that share the store.
#[derive(Debug, Default)]
pub(in crate::store) struct Peers {
    /// Id of this process; it has a new one whenever it opens a store.
    pub me: Uuid,
    /// Events by which the counters in memory become void.
    pub changes: Changes,
    /// While it is held, counters in memory are those of the database, as long as no change of them was told.
    pub lease: Lease,
    /// Whether this process listens, so that it hears confirmations.
    pub listens: AtomicBool,
    /// Whether it ever did.
    pub listened: AtomicBool,
    /// Whether the database has answered that it must not: it can only be read, for example.
    pub refused: AtomicBool,
    /// Number of the last note of this process.
    notes: AtomicU64,
    /// Who has heard each note of this process that is waited for.
    awaited: Mutex<HashMap<u64, HashSet<Uuid>>>,
    /// Notes of transactions of which this process does not know whether they were carried out.
    undecided: Mutex<BTreeSet<u64>>,
    /// Told with each confirmation.
    pub heard: Notify,
    living: Mutex<Option<Living>>,
    /// How many processes live, this one included.
    count: AtomicUsize,
    /// What this process says of itself with each renewal of its lease.
    pub word: Mutex<String>,
    /// Where hints go that other processes pass on.
    pub(super) hints: Mutex<Option<Sender<Hint>>>,
}

/// Processes that lived when the database was asked last.
#[derive(Debug)]
struct Living {
    /// With what each says of itself; older versions say nothing.
    words: HashMap<Uuid, Option<String>>,
    /// By the clock of the database.
    asked_at: Micros,
    at: Instant,
}

/// A note of this process; as long as there is this, it is noted who hears it.
#[derive(Debug)]
pub(in crate::store) struct Awaited {
    peers: Arc<Peers>,
    number: u64,
}

impl Awaited {
    /// Whether all of these processes have heard it.
    pub(super) fn is_heard_by<'i>(&self, mut ids: impl Iterator<Item = &'i Uuid>) -> bool {
        let awaited = self.peers.awaited.lock();
        awaited.get(&self.number).is_some_and(|by| ids.all(|id| by.contains(id)))
    }

    /// Nobody knows whether the transaction with this note is carried out: if it comes, it is news to this process too.
    pub fn undecided(&self) {
        let mut undecided = self.peers.undecided.lock();
        undecided.insert(self.number);
        if undecided.len() > MOST_UNDECIDED {
            undecided.pop_first();
        }
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        self.peers.awaited.lock().remove(&self.number);
    }
}

impl Peers {
    pub fn new(changes: &Changes) -> Arc<Self> {
        let (me, changes, count) = (Uuid::new_v4(), changes.clone(), AtomicUsize::new(1));
        Arc::new(Self { me, changes, count, ..Self::default() })
    }

    /// How many processes share the store, this one included.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// What this process says of itself from now on.
    pub fn say(&self, word: String) {
        *self.word.lock() = word;
    }

    /// The living processes, this one included, with what each says of itself; none while this one has no lease.
    pub fn words(&self) -> Option<HashMap<Uuid, Option<String>>> {
        if !self.lease.is_held() {
            return None;
        }
        let living = self.living.lock();
        let living = living.as_ref().filter(|living| living.at.elapsed() < CURRENT)?;
        let mut words = living.words.clone();
        words.entry(self.me).or_default();
        Some(words)
    }

    /// A note of what has changed, with its number.
    pub fn note(&self, changed: Vec<Changed>) -> (u64, String) {
        let number = self.notes.fetch_add(1, Ordering::SeqCst) + 1;
        (number, Note { from: self.me, number, changed }.text())
    }

    /// A note of what has changed, of which it is noted from now on who hears it.
    pub fn awaited_note(self: &Arc<Self>, changed: Vec<Changed>) -> (Awaited, String) {
        let (number, note) = self.note(changed);
        self.awaited.lock().insert(number, HashSet::new());
        (Awaited { peers: Arc::clone(self), number }, note)
    }

    /// Voids what is kept in this process.
    pub fn tell_here(&self, changed: &[Changed]) {
        for one in changed {
            self.changes.tell(one.clone());
        }
    }

    /// Whether the process `id`, which has begun something at `began_at`, still lives; none when nobody can say.
    pub fn lives(&self, id: Uuid, began_at: Micros) -> Option<bool> {
        let living = self.living.lock();
        let living = living.as_ref().filter(|living| living.at.elapsed() < CURRENT)?;
        // One that came later than the list was made.
        Some(living.words.contains_key(&id) || began_at >= living.asked_at)
    }

    /// Whether the note, which has come now, is of a transaction of which nobody knew whether it was carried out.
    pub fn was_undecided(&self, number: u64) -> bool {
        self.undecided.lock().remove(&number)
    }

    /// Another process has heard notes of this one.
    pub(super) fn was_heard(&self, told: &Heard) {
        let mut awaited = self.awaited.lock();
        for number in told.notes() {
            if let Some(by) = awaited.get_mut(number) {
                by.insert(told.by);
            }
        }
        drop(awaited);
        self.heard.notify_waiters();
    }

    pub fn living_are(&self, words: HashMap<Uuid, Option<String>>, asked_at: Micros, at: Instant) {
        self.count.store(words.len().max(1), Ordering::Relaxed);
        *self.living.lock() = Some(Living { words, asked_at, at });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_heard_when_it_was_named_and_not_when_a_later_one_was() {
        let (peers, other, third) = (Peers::new(&Changes::default()), Uuid::from_u128(2), Uuid::from_u128(3));
        let (first, _) = peers.awaited_note(Vec::new());
        let (second, _) = peers.awaited_note(Vec::new());
        let heard = |by, number| {
            peers.was_heard(&Heard { by, of: peers.me, number, numbers: vec![number] });
        };
        // The second one's transaction has ended first.
        heard(other, second.number);
        assert!(second.is_heard_by([other].iter()) && !first.is_heard_by([other].iter()));
        heard(other, first.number);
        assert!(first.is_heard_by([other].iter()) && !first.is_heard_by([other, third].iter()));
        heard(third, first.number);
        assert!(first.is_heard_by([other, third].iter()));
        let number = first.number;
        drop((first, second));
        heard(other, number);
        assert!(peers.awaited.lock().is_empty());
    }
}
