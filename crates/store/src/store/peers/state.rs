//! State of this process among those that share the store, shared by all users of the store.
//!
//! May use: `fresh`, `v2` (times), this folder.

use super::lease::Lease;
use super::note::{Hint, Note, ReceivedNotes};
use crate::fresh::{Changed, Changes};
use crate::v2::time::Micros;
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::sync::mpsc::Sender;
use uuid::Uuid;

/// Time for which the list of living processes is valid.
const CURRENT: Duration = Duration::from_secs(2);
/// Maximum number of undecided transactions remembered: many were never committed, and their notes never arrive.
const MOST_UNDECIDED: usize = 10_000;

/// This process among those that share the store.
#[derive(Debug, Default)]
pub(in crate::store) struct Peers {
    /// Id of this process; each opening of a store has a new id.
    pub me: Uuid,
    /// Events that invalidate the counters in memory.
    pub changes: Changes,
    /// While it is held, counters in memory equal those of the database, unless a note of a change has arrived.
    pub lease: Lease,
    /// Whether this process listens, so that it receives confirmations.
    pub listens: AtomicBool,
    /// Whether it has ever listened.
    pub listened: AtomicBool,
    /// Whether the database has rejected the statements of the lease, for example because it is read-only.
    pub refused: AtomicBool,
    /// Number of the last note of this process.
    notes: AtomicU64,
    /// Processes that have confirmed each awaited note of this process, by the number of the note.
    awaited: Mutex<HashMap<u64, HashSet<Uuid>>>,
    /// Notes of transactions of this process whose outcome is unknown.
    undecided: Mutex<BTreeSet<u64>>,
    /// Notified of each confirmation.
    pub heard: Notify,
    living: Mutex<Option<LivingProcesses>>,
    /// Text that this process publishes about itself with each renewal of its lease.
    pub word: Mutex<String>,
    /// Channel for the hints that other processes pass on; none until `Store::passed_on` is called.
    pub(super) hints: Mutex<Option<Sender<Hint>>>,
}

/// Processes that lived at the last query of the database.
#[derive(Debug)]
struct LivingProcesses {
    /// The text that each process publishes about itself; older versions have none.
    words: HashMap<Uuid, Option<String>>,
    /// Time of the query by the clock of the database.
    asked_at: Micros,
    at: Instant,
}

/// A note of this process; while this exists, the confirmations of the note are recorded.
#[derive(Debug)]
pub(in crate::store) struct Awaited {
    peers: Arc<Peers>,
    number: u64,
}

impl Awaited {
    /// Checks whether all of these processes have confirmed the note.
    pub(super) fn is_heard_by<'i>(&self, mut ids: impl Iterator<Item = &'i Uuid>) -> bool {
        let awaited = self.peers.awaited.lock();
        awaited.get(&self.number).is_some_and(|by| ids.all(|id| by.contains(id)))
    }

    /// Marks the outcome of the note's transaction as unknown: if the note arrives, this process must handle it too.
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
        Arc::new(Self { me: Uuid::new_v4(), changes: changes.clone(), ..Self::default() })
    }

    /// Returns the number of processes that share the store, this one included.
    pub fn count(&self) -> usize {
        self.living.lock().as_ref().map_or(1, |living| living.words.len().max(1))
    }

    /// Returns the living processes with their texts, this one included; none while this process has no lease.
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

    /// Creates a note of a change; returns it with its number.
    pub fn note(&self, changed: Vec<Changed>) -> (u64, String) {
        let number = self.notes.fetch_add(1, Ordering::SeqCst) + 1;
        (number, Note { from: self.me, number, changed }.text())
    }

    /// Creates a note of a change; its confirmations are recorded from now on.
    pub fn awaited_note(self: &Arc<Self>, changed: Vec<Changed>) -> (Awaited, String) {
        let (number, note) = self.note(changed);
        self.awaited.lock().insert(number, HashSet::new());
        (Awaited { peers: Arc::clone(self), number }, note)
    }

    /// Invalidates the cache entries of this process.
    pub fn invalidate_locally(&self, changed: &[Changed]) {
        for one in changed {
            self.changes.tell(one.clone());
        }
    }

    /// Checks whether the process `id`, which began something at `began_at`, still lives; none when that is unknown.
    pub fn lives(&self, id: Uuid, began_at: Micros) -> Option<bool> {
        let living = self.living.lock();
        let living = living.as_ref().filter(|living| living.at.elapsed() < CURRENT)?;
        // A process missing in the list may have come after the list was made.
        Some(living.words.contains_key(&id) || began_at >= living.asked_at)
    }

    /// Checks whether the note, which has just arrived, is of a transaction whose outcome was unknown; forgets it.
    pub fn was_undecided(&self, number: u64) -> bool {
        self.undecided.lock().remove(&number)
    }

    /// Records that another process has confirmed notes of this one.
    pub(super) fn was_heard(&self, told: &ReceivedNotes) {
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
        *self.living.lock() = Some(LivingProcesses { words, asked_at, at });
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
            peers.was_heard(&ReceivedNotes { by, of: peers.me, number, numbers: vec![number] });
        };
        // The transaction of the second note has ended first.
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
