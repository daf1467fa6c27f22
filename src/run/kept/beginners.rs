//! Who begins a read that others join: somebody whose key v1's quota has room for.
//!
//! Such a read is made with the key of the one who began it, and without quota it ends after a second for all who
//! joined. So who would have to wait for the quota begins nothing, but waits for room or for a read that somebody else
//! begins. Of each key one waits for all, so that the others take no calls that nobody makes.
//!
//! May use: `v1` (keys).

use crate::v1::KeyId;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;

/// A v1 path that is to be read, and the key to read it with.
type What = (Arc<str>, KeyId);

/// Keys that wait for room to begin a read.
#[derive(Default, Clone)]
pub(in crate::run) struct Beginners(Arc<Mutex<HashSet<What>>>);

/// Waits for all who would read the same with the same key; ends when dropped.
pub(in crate::run) struct Waiting {
    among: Beginners,
    what: What,
}

impl Beginners {
    /// None while somebody waits for it already.
    pub(in crate::run) fn wait_for(&self, what: &What) -> Option<Waiting> {
        self.0.lock().insert(what.clone()).then(|| Waiting { among: self.clone(), what: what.clone() })
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.among.0.lock().remove(&self.what);
    }
}
