//! A map from which what has no use any more is taken out now and then.
//!
//! May use: nothing of this crate.

use std::collections::HashMap;
use std::hash::Hash;

/// Entries by key. Looking through all of them happens when there are twice as many as the last look left, so that it
/// costs little for each entry.
#[derive(Debug)]
pub struct PrunedMap<K, V> {
    entries: HashMap<K, V>,
    /// Entries that are never looked through.
    few: usize,
    /// How many there may be before they are looked through again.
    room: usize,
}

impl<K: Eq + Hash, V> PrunedMap<K, V> {
    /// An empty map that may hold `few` entries without looking for old ones.
    pub fn new(few: usize) -> Self {
        Self { entries: HashMap::new(), few, room: few }
    }

    /// The entry of `key`.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key)
    }

    /// All entries.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.entries.iter()
    }

    /// The entry of `key`, made when there is none; before that those go, when it is time, that `keep` has no use for.
    pub fn get_or_insert(&mut self, key: K, keep: impl FnMut(&V) -> bool, make: impl FnOnce() -> V) -> &mut V {
        if self.entries.len() >= self.room && !self.entries.contains_key(&key) {
            self.prune(keep);
        }
        self.entries.entry(key).or_insert_with(make)
    }

    fn prune(&mut self, mut keep: impl FnMut(&V) -> bool) {
        self.entries.retain(|_, value| keep(value));
        self.room = (2 * self.entries.len()).max(self.few);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_entries_go_when_there_are_twice_as_many() {
        let mut map = PrunedMap::new(4);
        let mut looks = 0;
        for number in 0..100 {
            let keep = |value: &i32| {
                looks += 1;
                *value + 6 > number
            };
            map.get_or_insert(number, keep, || number);
            assert!(map.entries.len() <= 12, "{number}");
        }
        assert_eq!(map.get(&99), Some(&99));
        assert_eq!(map.get(&0), None);
        assert!(looks < 250, "{looks} looks for 100 entries");
    }
}
