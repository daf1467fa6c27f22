//! A key of any type behind one pointer, which compares and hashes as the key itself does.
//!
//! May use: nothing of this crate.

use std::any::Any;
use std::borrow::Borrow;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A type that can be a key of a [`Cache`](super::Cache).
pub trait Key: Hash + Eq + Send + Sync + 'static {}

impl<T: Hash + Eq + Send + Sync + 'static> Key for T {}

/// A key of any type.
#[derive(Eq)]
pub(super) struct AnyKey(Arc<dyn Comparable>);

impl AnyKey {
    pub(super) fn of(key: impl Key) -> Self {
        Self(Arc::new(key))
    }

    /// Returns the key itself. The pointer to it could be a key too, so it must not be used by mistake.
    pub(super) fn inner(&self) -> &(dyn Comparable + 'static) {
        &*self.0
    }
}

impl Hash for AnyKey {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.inner().hash_into(hasher);
    }
}

impl PartialEq for AnyKey {
    fn eq(&self, other: &Self) -> bool {
        self.inner().is_same(other.inner())
    }
}

impl Borrow<dyn Comparable> for AnyKey {
    fn borrow(&self) -> &(dyn Comparable + 'static) {
        self.inner()
    }
}

/// The functions of a key that a cache needs.
pub(super) trait Comparable: Any + Send + Sync {
    fn hash_into(&self, hasher: &mut dyn Hasher);
    fn is_same(&self, other: &dyn Any) -> bool;
}

impl<K: Key> Comparable for K {
    fn hash_into(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }

    fn is_same(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<K>().is_some_and(|other| self == other)
    }
}

impl Hash for dyn Comparable {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.hash_into(hasher);
    }
}

impl PartialEq for dyn Comparable {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other)
    }
}

impl Eq for dyn Comparable {}
