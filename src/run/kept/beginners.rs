//! Which request begins a shared read: one whose key has room in v1's quota.
//!
//! A shared read uses the key of the request that began it. Without quota, it ends after a second for all that
//! joined. So a request that would have to wait for quota begins no read; it waits for room, or for a read that another
//! request begins. Only one request of each key waits, so that the others do not reserve calls that they do not make.
//!
//! May use: `v1` (keys).

use crate::v1::KeyId;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;

/// A v1 path to read, and the key for it.
type PathRead = (Arc<str>, KeyId);

/// Keys that wait for room to begin a read.
#[derive(Default, Clone)]
pub(in crate::run) struct Beginners(Arc<Mutex<HashSet<PathRead>>>);

/// Waits on behalf of all requests that would read the same with the same key; ends when dropped.
pub(in crate::run) struct Waiting {
    among: Beginners,
    what: PathRead,
}

impl Beginners {
    /// Begins to wait; none if another request already waits for the same.
    pub(in crate::run) fn wait_for(&self, what: &PathRead) -> Option<Waiting> {
        self.0.lock().insert(what.clone()).then(|| Waiting { among: self.clone(), what: what.clone() })
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.among.0.lock().remove(&self.what);
    }
}
