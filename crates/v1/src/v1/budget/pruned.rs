//! A map that removes unused entries from time to time.
//!
//! May use: nothing of this crate.

use std::collections::HashMap;
use std::hash::Hash;

/// Entries by key. All entries are checked when there are twice as many as after the last check, so that the cost per
/// entry is small.
#[derive(Debug)]
pub struct PrunedMap<K, V> {
    entries: HashMap<K, V>,
    /// Number of entries up to which nothing is checked.
    few: usize,
    /// Number of entries at which they are checked again.
    room: usize,
}

impl<K: Eq + Hash, V> PrunedMap<K, V> {
    /// Creates an empty map that holds up to `few` entries without checks.
    pub fn new(few: usize) -> Self {
        Self { entries: HashMap::new(), few, room: few }
    }

    /// Returns the entry of `key`.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key)
    }

    /// Returns all entries.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.entries.iter()
    }

    /// Returns the entry of `key`; creates it if missing. Before that, when a check is due, entries that fail `keep`
    /// are removed.
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
