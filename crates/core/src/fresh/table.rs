//! The kept values and the reads under way, by key: plain transitions, each carried out under the lock of [`Fresh`].
//!
//! May use: this folder.
//!
//! [`Fresh`]: super::Fresh

use super::changes::{Moment, Need};
use foldhash::quality::RandomState;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

/// With fewer entries than this, the table does not look for old ones.
const FEW: usize = 1024;
/// When the table is too heavy, one in this many entries is evicted at once, so that the search for them is rare.
const PART: usize = 16;

/// A type that can be a key.
pub trait Key: Hash + Eq + Clone + Send + Sync + 'static {}
impl<T: Hash + Eq + Clone + Send + Sync + 'static> Key for T {}

/// A type that can be kept, or be the reason why there is no value.
pub trait Value: Clone + Send + Sync + 'static {}
impl<T: Clone + Send + Sync + 'static> Value for T {}

/// A value and when its read began.
#[derive(Debug, Clone)]
pub struct Kept<V> {
    /// The value.
    pub value: V,
    /// When its read began.
    pub began: Moment,
}

/// The result of a read that brought a value.
pub struct ReadEnded<K, V> {
    /// The value, with all changes that were carried into it meanwhile.
    pub now: Kept<V>,
    /// The value that was kept before.
    pub before: Option<Kept<V>>,
    /// The entries that were evicted.
    pub evicted: Vec<(K, V)>,
}

/// A change that is carried into a value; returns whether it made any difference.
pub(super) type Amendment<V> = Arc<dyn Fn(&mut V) -> bool + Send + Sync>;

/// The function that returns the weight of a value.
type Weigh<K, V> = Box<dyn Fn(&K, &V) -> u64 + Send + Sync>;

/// The maximum weight of all values, and the time for which a value is good.
pub(super) struct Bounds<K, V> {
    /// Maximum weight of all values together.
    pub capacity: u64,
    pub weigh: Weigh<K, V>,
    /// Maximum time for which a value is good, whatever age a caller allows.
    pub lasting: Box<dyn Fn(&V) -> Duration + Send + Sync>,
    /// Age from which no caller can use a value.
    pub useless: Duration,
}

/// The size of the table, and the counts of its use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    /// Number of entries.
    pub entries: usize,
    /// Weight of all entries, in the unit of their bound.
    pub weight: u64,
    /// Number of times that a caller got a kept value.
    pub hits: u64,
    /// Sum of the ages of these values.
    pub hit_age: Duration,
    /// Number of reads that were begun.
    pub reads: u64,
    /// Number of entries that were evicted.
    pub evicted: u64,
}

/// Entries by key. A caller that waits for a read holds a `W`.
pub(super) struct Table<K, V, W> {
    slots: HashMap<K, Slot<V, W>, RandomState>,
    pub bounds: Bounds<K, V>,
    weight: u64,
    /// Counter of uses.
    uses: u64,
    /// Number of entries from which the table looks for old ones before it adds another.
    room: usize,
    figures: Figures,
}

struct Slot<V, W> {
    kept: Option<Kept<V>>,
    weight: u64,
    used: u64,
    read: Option<UnderWay<V, W>>,
}

struct UnderWay<V, W> {
    began: Moment,
    waiting: W,
    /// The changes since the read began, each with its moment.
    amendments: Vec<(Moment, Amendment<V>)>,
}

impl<K: Key, V: Value, W: Clone> Table<K, V, W> {
    pub fn new(bounds: Bounds<K, V>) -> Self {
        Self { slots: HashMap::default(), bounds, weight: 0, uses: 0, room: FEW, figures: Figures::default() }
    }

    /// Checks whether a value is good enough.
    pub fn meets(&self, need: &Need, kept: &Kept<V>) -> bool {
        need.is_met_within(kept.began, (self.bounds.lasting)(&kept.value))
    }

    /// Returns the kept value when it is good enough.
    pub fn kept(&mut self, key: &K, need: &Need) -> Option<Kept<V>> {
        self.uses += 1;
        let slot = self.slots.get_mut(key)?;
        slot.used = self.uses;
        let kept = slot.kept.clone()?;
        if !self.meets(need, &kept) {
            return None;
        }
        self.figures.hits += 1;
        self.figures.hit_age += need.age_of(kept.began);
        Some(kept)
    }

    /// Returns the kept value, whatever it is. This does not count as a use.
    pub fn any(&self, key: &K) -> Option<Kept<V>> {
        self.slots.get(key)?.kept.clone()
    }

    /// Returns the keys of all values that are kept or being read.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.slots.keys()
    }

    /// Returns the read under way, and when it began.
    pub fn under_way(&self, key: &K) -> Option<(Moment, W)> {
        let read = self.slots.get(key)?.read.as_ref()?;
        Some((read.began, read.waiting.clone()))
    }

    /// Begins a read. No other read of the key may be under way.
    pub fn begin(&mut self, key: &K, began: Moment, waiting: W) {
        self.prune(key, began);
        let read = UnderWay { began, waiting, amendments: Vec::new() };
        self.slot(key).read = Some(read);
        self.figures.reads += 1;
    }

    /// Ends the read under way with a value that includes everything up to `began`. Only later amendments are applied
    /// to it: an earlier one may have been undone since, and the value then shows that.
    pub fn land(&mut self, key: &K, mut value: V, began: Moment) -> ReadEnded<K, V> {
        let read = self.slots.get_mut(key).and_then(|slot| slot.read.take());
        let amendments = read.iter().flat_map(|read| &read.amendments);
        for (_, amendment) in amendments.filter(|(at, _)| !at.is_before(began)) {
            amendment(&mut value);
        }
        let now = Kept { value, began };
        let (before, evicted) = self.keep(key, now.clone());
        ReadEnded { now, before, evicted }
    }

    /// Ends the read under way without a value.
    pub fn over(&mut self, key: &K) {
        if let Some(slot) = self.slots.get_mut(key) {
            slot.read = None;
        }
        self.drop_empty(key);
    }

    /// Keeps a value that does not come from a read under way. Returns the evicted entries.
    pub fn put(&mut self, key: &K, kept: Kept<V>) -> Vec<(K, V)> {
        self.prune(key, kept.began);
        self.keep(key, kept).1
    }

    /// Applies a change, made at `at` or before, to the kept value, and to the value that the read under way will
    /// bring. Returns whether it changed the kept value.
    pub fn amend(&mut self, key: &K, at: Moment, change: Amendment<V>) -> bool {
        let Some(slot) = self.slots.get_mut(key) else { return false };
        if let Some(read) = &mut slot.read {
            read.amendments.push((at, Arc::clone(&change)));
        }
        let Some(kept) = &mut slot.kept else { return false };
        let differs = change(&mut kept.value);
        let weight = (self.bounds.weigh)(key, &kept.value);
        self.weight = self.weight - slot.weight + weight;
        slot.weight = weight;
        differs
    }

    fn slot(&mut self, key: &K) -> &mut Slot<V, W> {
        self.uses += 1;
        let slot = self.slots.entry(key.clone());
        let slot = slot.or_insert_with(|| Slot { kept: None, weight: 0, used: 0, read: None });
        slot.used = self.uses;
        slot
    }

    /// Keeps a value unless a later one is kept or it is too heavy by itself. Returns the value that was kept before,
    /// and the evicted entries.
    fn keep(&mut self, key: &K, now: Kept<V>) -> (Option<Kept<V>>, Vec<(K, V)>) {
        let weight = (self.bounds.weigh)(key, &now.value);
        let fits = weight <= self.bounds.capacity;
        let slot = self.slot(key);
        if slot.kept.as_ref().is_some_and(|kept| kept.began.number > now.began.number) {
            return (slot.kept.clone(), Vec::new());
        }
        let (weight, now) = if fits { (weight, Some(now)) } else { (0, None) };
        let (old_weight, before) =
            (std::mem::replace(&mut slot.weight, weight), std::mem::replace(&mut slot.kept, now));
        self.weight = self.weight - old_weight + weight;
        self.drop_empty(key);
        (before, self.evict(key))
    }

    fn drop_empty(&mut self, key: &K) {
        if self.slots.get(key).is_some_and(|slot| slot.kept.is_none() && slot.read.is_none()) {
            self.slots.remove(key);
        }
    }

    /// Evicts the values that were used longest ago, except the one under `key`, until the rest fits.
    fn evict(&mut self, key: &K) -> Vec<(K, V)> {
        let mut evicted = Vec::new();
        while self.weight > self.bounds.capacity {
            let others = || self.slots.iter().filter(|(other, slot)| *other != key && slot.kept.is_some());
            // Plain numbers are sorted, because the code of a sort is compiled once for each type of its values.
            let mut used: Vec<u64> = others().map(|(_, slot)| slot.used).collect();
            if used.is_empty() {
                break;
            }
            let some = (used.len() / PART).max(1);
            let last = *used.select_nth_unstable(some - 1).1;
            let oldest: Vec<K> =
                others().filter(|(_, slot)| slot.used <= last).map(|(other, _)| other.clone()).collect();
            for other in oldest {
                let Some(slot) = self.slots.get_mut(&other) else { continue };
                self.weight -= std::mem::take(&mut slot.weight);
                evicted.extend(slot.kept.take().map(|kept| (other.clone(), kept.value)));
                self.drop_empty(&other);
            }
        }
        self.figures.evicted += evicted.len() as u64;
        evicted
    }

    /// Returns the size of the table, and the counts of its use.
    pub fn figures(&self) -> Figures {
        Figures { entries: self.slots.len(), weight: self.weight, ..self.figures }
    }

    /// Drops the values that no caller can use any more, before an entry is added, when it is time.
    fn prune(&mut self, key: &K, now: Moment) {
        if self.slots.len() < self.room || self.slots.contains_key(key) {
            return;
        }
        let (useless, weight) = (self.bounds.useless, &mut self.weight);
        self.slots.retain(|_, slot| {
            let is_young = |kept: &Kept<V>| now.at.saturating_duration_since(kept.began.at) < useless;
            let stays = slot.read.is_some() || slot.kept.as_ref().is_some_and(is_young);
            *weight -= if stays { 0 } else { slot.weight };
            stays
        });
        self.room = (2 * self.slots.len()).max(FEW);
    }
}
