//! A `moka` cache for keys and values of any type, with limits of time and size.
//!
//! moka is generic code: each pair of types would be compiled again, and would be in the program again. Thirteen pairs
//! were a seventh of the code that the gateway's crate had to compile. So keys and values are kept behind pointers, and
//! moka is compiled once, here. A look-up allocates nothing.
//!
//! May use: this folder. Values that are read from elsewhere and shared are kept by `fresh`, which has
//! stricter rules.

mod any_key;
mod bounds;
mod kept;

pub use any_key::Key;
pub use bounds::Bounds;

use any_key::AnyKey;
use kept::Kept;

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// A value that a [`Cache`] can keep.
pub trait Value: Clone + Send + Sync + 'static {}
impl<T: Clone + Send + Sync + 'static> Value for T {}

/// Entries by key; cheap to clone, all clones share the entries.
pub struct Cache<K, V> {
    kept: Kept,
    types: PhantomData<fn(K) -> V>,
}

impl<K: Key, V: Value> Cache<K, V> {
    /// Creates a cache within `bounds`. Each entry counts one.
    pub fn new(bounds: Bounds) -> Self {
        Self { kept: Kept::new(bounds, None), types: PhantomData }
    }

    /// Creates a cache within `bounds`. Each entry counts its `weight`.
    pub fn weighed(bounds: Bounds, weight: impl Fn(&K, &V) -> u32 + Send + Sync + 'static) -> Self {
        let weigh = move |key: &dyn Any, value: &dyn Any| match (key.downcast_ref(), value.downcast_ref()) {
            (Some(key), Some(value)) => weight(key, value),
            _ => 1,
        };
        Self { kept: Kept::new(bounds, Some(Box::new(weigh))), types: PhantomData }
    }

    /// Returns the value under `key`. This counts as a use.
    pub fn get(&self, key: &K) -> Option<V> {
        self.kept.get(key).as_ref().and_then(value)
    }

    /// Checks whether there is a value under `key`. This does not count as a use.
    pub fn contains(&self, key: &K) -> bool {
        self.kept.contains(key)
    }

    /// Stores `value` and replaces any earlier value.
    pub fn insert(&self, key: K, value: V) {
        self.kept.insert(AnyKey::of(key), Arc::new(value));
    }

    /// Stores `value` unless there is one. Returns whether it did; of several callers at once exactly one gets true.
    pub fn insert_new(&self, key: K, value: V) -> bool {
        self.kept.insert_new(AnyKey::of(key), Arc::new(value))
    }

    /// Returns the value under `key`, else stores the result of `make`. All callers at once get the same value.
    pub fn get_or_insert(&self, key: K, make: impl FnOnce() -> V) -> V {
        if let Some(kept) = self.get(&key) {
            return kept;
        }
        let made = make();
        value(&self.kept.get_or_insert(AnyKey::of(key), Arc::new(made.clone()))).unwrap_or(made)
    }

    /// Removes the value under `key`.
    pub fn remove(&self, key: &K) {
        self.kept.remove(key);
    }

    /// Returns the number of entries, after removing those that must go.
    pub fn entries(&self) -> u64 {
        self.kept.entries()
    }
}

impl<K, V> Clone for Cache<K, V> {
    fn clone(&self) -> Self {
        Self { kept: self.kept.clone(), types: PhantomData }
    }
}

impl<K, V> fmt::Debug for Cache<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").finish_non_exhaustive()
    }
}

/// Returns the value as a `V`: a cache has values of one type only.
fn value<V: Value>(kept: &Arc<dyn Any + Send + Sync>) -> Option<V> {
    kept.downcast_ref().cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn an_entry_is_found_only_by_an_equal_key() {
        let cache = Cache::<(String, u8), Arc<str>>::new(Bounds::of(10));
        let key = |text: &str, number| (text.to_owned(), number);
        cache.insert(key("a", 1), "one".into());
        cache.insert(key("a", 2), "two".into());
        assert_eq!(cache.get(&key("a", 1)).as_deref(), Some("one"));
        assert_eq!(cache.clone().get(&key("a", 2)).as_deref(), Some("two"));
        assert_eq!(cache.get(&key("b", 1)), None);
        assert!(cache.contains(&key("a", 1)) && !cache.contains(&key("a", 3)));
        cache.insert(key("a", 1), "other".into());
        assert_eq!(cache.get(&key("a", 1)).as_deref(), Some("other"));
        cache.remove(&key("a", 1));
        assert_eq!(cache.get(&key("a", 1)), None);
        assert_eq!(cache.entries(), 1);
    }

    #[test]
    fn of_several_the_first_is_kept() {
        let cache = Cache::<u8, u8>::new(Bounds::of(10));
        assert!(cache.insert_new(1, 10) && !cache.insert_new(1, 11));
        assert_eq!(cache.get_or_insert(1, || unreachable!("it is kept")), 10);
        assert_eq!(cache.get_or_insert(2, || 20), 20);
        assert_eq!(cache.get(&2), Some(20));
    }

    #[test]
    fn it_keeps_no_more_and_no_longer_than_it_may() {
        let heavy = Cache::<u8, u32>::weighed(Bounds::of(100).keeping_recent(), |_, weight| *weight);
        for key in 0..50 {
            heavy.insert(key, 10);
        }
        assert_eq!(heavy.entries(), 10);
        assert!(heavy.contains(&49) && !heavy.contains(&0));
        let life = Duration::from_secs(1);
        let short = Cache::<u8, ()>::new(Bounds::of(10).for_time(life));
        let used = Cache::<u8, ()>::new(Bounds::of(10).while_used_within(life));
        short.insert(1, ());
        used.insert(1, ());
        for _ in 0..6 {
            std::thread::sleep(life / 5);
            let _ = used.get(&1);
        }
        assert_eq!((short.get(&1), used.get(&1)), (None, Some(())));
    }
}
