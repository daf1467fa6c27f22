//! What is kept and what is being read, by key: plain transitions, each carried out under the lock of [`Fresh`].
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

/// Entries that are kept without looking for old ones.
const FEW: usize = 1024;
/// When there is too much, this part of all entries goes at once, so that looking for them is seldom.
const PART: usize = 16;

/// What can be a key.
pub trait Key: Hash + Eq + Clone + Send + Sync + 'static {}
impl<T: Hash + Eq + Clone + Send + Sync + 'static> Key for T {}

/// What can be kept, or be the reason why there is nothing.
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

/// What has become of a value that was read.
pub struct Landed<K, V> {
    /// It, with all that was carried into it meanwhile.
    pub now: Kept<V>,
    /// What was kept before.
    pub before: Option<Kept<V>>,
    /// What had to go.
    pub evicted: Vec<(K, V)>,
}

/// A change that is carried into a value; tells whether it made any difference.
pub(super) type Amendment<V> = Arc<dyn Fn(&mut V) -> bool + Send + Sync>;

/// What a value weighs.
type Weigh<K, V> = Box<dyn Fn(&K, &V) -> u64 + Send + Sync>;

/// How much is kept, and for how long it is good.
pub(super) struct Bounds<K, V> {
    /// Weight of all values together.
    pub capacity: u64,
    pub weigh: Weigh<K, V>,
    /// How long a value is good at most, whatever age is allowed.
    pub lasting: Box<dyn Fn(&V) -> Duration + Send + Sync>,
    /// Age from which nobody can use a value.
    pub useless: Duration,
}

/// What is kept, and how often it was of use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    /// Entries.
    pub entries: usize,
    /// Weight of all, in the unit of their bound.
    pub weight: u64,
    /// Times that somebody got what was kept.
    pub hits: u64,
    /// How old that was, all times together.
    pub hit_age: Duration,
    /// Reads that were begun.
    pub reads: u64,
    /// Entries that had to make room.
    pub evicted: u64,
}

/// Entries by key; `W` is what those who wait for a read hold.
pub(super) struct Table<K, V, W> {
    slots: HashMap<K, Slot<V, W>, RandomState>,
    pub bounds: Bounds<K, V>,
    weight: u64,
    /// Grows with every use.
    uses: u64,
    /// How many entries there may be before old ones are looked for.
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
    amendments: Vec<Amendment<V>>,
}

impl<K: Key, V: Value, W: Clone> Table<K, V, W> {
    pub fn new(bounds: Bounds<K, V>) -> Self {
        Self { slots: HashMap::default(), bounds, weight: 0, uses: 0, room: FEW, figures: Figures::default() }
    }

    /// Whether a value is good enough.
    pub fn meets(&self, need: &Need, kept: &Kept<V>) -> bool {
        need.is_met_within(kept.began, (self.bounds.lasting)(&kept.value))
    }

    /// The value kept, when it is good enough.
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

    /// The value kept, whatever it is. That does not count as a use.
    pub fn any(&self, key: &K) -> Option<Kept<V>> {
        self.slots.get(key)?.kept.clone()
    }

    /// What is kept or being read, by its key.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.slots.keys()
    }

    /// The read under way, and when it began.
    pub fn under_way(&self, key: &K) -> Option<(Moment, W)> {
        let read = self.slots.get(key)?.read.as_ref()?;
        Some((read.began, read.waiting.clone()))
    }

    /// A read begins; there is none under way.
    pub fn begin(&mut self, key: &K, began: Moment, waiting: W) {
        self.prune(key, began);
        let read = UnderWay { began, waiting, amendments: Vec::new() };
        self.slot(key).read = Some(read);
        self.figures.reads += 1;
    }

    /// The read under way has brought a value.
    pub fn land(&mut self, key: &K, mut value: V, began: Moment) -> Landed<K, V> {
        let read = self.slots.get_mut(key).and_then(|slot| slot.read.take());
        for amendment in read.iter().flat_map(|read| &read.amendments) {
            amendment(&mut value);
        }
        let now = Kept { value, began };
        let (before, evicted) = self.keep(key, now.clone());
        Landed { now, before, evicted }
    }

    /// The read under way has brought nothing.
    pub fn over(&mut self, key: &K) {
        if let Some(slot) = self.slots.get_mut(key) {
            slot.read = None;
        }
        self.drop_empty(key);
    }

    /// Keeps a value that no read under way has brought.
    pub fn put(&mut self, key: &K, kept: Kept<V>) -> Vec<(K, V)> {
        self.prune(key, kept.began);
        self.keep(key, kept).1
    }

    /// Carries a change into what is kept and into what the read under way will bring. Tells whether it made a
    /// difference to what is kept.
    pub fn amend(&mut self, key: &K, change: Amendment<V>) -> bool {
        let Some(slot) = self.slots.get_mut(key) else { return false };
        if let Some(read) = &mut slot.read {
            read.amendments.push(Arc::clone(&change));
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

    /// Keeps a value unless a later one is kept or it is too heavy by itself. Answers what was kept before and what had
    /// to go.
    fn keep(&mut self, key: &K, now: Kept<V>) -> (Option<Kept<V>>, Vec<(K, V)>) {
        let weight = (self.bounds.weigh)(key, &now.value);
        let fits = weight <= self.bounds.capacity;
        let slot = self.slot(key);
        if slot.kept.as_ref().is_some_and(|kept| kept.began.number > now.began.number) {
            return (slot.kept.clone(), Vec::new());
        }
        let (weight, now) = if fits { (weight, Some(now)) } else { (0, None) };
        let (lighter, before) =
            (std::mem::replace(&mut slot.weight, weight), std::mem::replace(&mut slot.kept, now));
        self.weight = self.weight - lighter + weight;
        self.drop_empty(key);
        (before, self.evict(key))
    }

    fn drop_empty(&mut self, key: &K) {
        if self.slots.get(key).is_some_and(|slot| slot.kept.is_none() && slot.read.is_none()) {
            self.slots.remove(key);
        }
    }

    /// Drops what was used longest ago, but not what is under `key`, until the rest fits.
    fn evict(&mut self, key: &K) -> Vec<(K, V)> {
        let mut evicted = Vec::new();
        while self.weight > self.bounds.capacity {
            let others = self.slots.iter().filter(|(other, slot)| *other != key && slot.kept.is_some());
            let mut others: Vec<(u64, K)> = others.map(|(other, slot)| (slot.used, other.clone())).collect();
            if others.is_empty() {
                break;
            }
            let some = (others.len() / PART).max(1);
            others.select_nth_unstable_by_key(some - 1, |(used, _)| *used);
            for (_, other) in others.drain(..some) {
                let Some(slot) = self.slots.get_mut(&other) else { continue };
                self.weight -= std::mem::take(&mut slot.weight);
                evicted.extend(slot.kept.take().map(|kept| (other.clone(), kept.value)));
                self.drop_empty(&other);
            }
        }
        self.figures.evicted += evicted.len() as u64;
        evicted
    }

    /// What is kept, and how often it was of use.
    pub fn figures(&self) -> Figures {
        Figures { entries: self.slots.len(), weight: self.weight, ..self.figures }
    }

    /// Before there is an entry more: drops what nobody can use any more, when it is time.
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
