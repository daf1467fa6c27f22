//! The counts since the last write, in several parts so that threads rarely meet.
//!
//! May use: nothing of this crate.

use foldhash::fast::RandomState;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

const PARTS: usize = 16;
/// Most counts of a part: while the store cannot be written, further ones are not kept.
const MOST: usize = 20_000;

/// What a call is counted under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) day: u32,
    pub(super) operation: u32,
    pub(super) class: u8,
    pub(super) caller: u32,
    pub(super) client: u32,
}

/// Counts of some threads, in lines of the processor's cache that no other part is in.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Part(Mutex<HashMap<Key, i64, RandomState>>);

#[derive(Debug, Default)]
pub(super) struct Tally {
    parts: [Part; PARTS],
    lost: AtomicUsize,
}

thread_local! {
    static PART: usize = {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed) % PARTS
    };
}

impl Tally {
    pub(super) fn add(&self, key: Key) {
        let part = PART.with(|part| *part);
        let mut part = self.parts[part].0.lock();
        if let Some(calls) = part.get_mut(&key) {
            *calls += 1;
        } else if part.len() < MOST {
            part.insert(key, 1);
        } else {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn take(&self) -> HashMap<Key, i64> {
        let mut all = HashMap::new();
        for part in &self.parts {
            for (key, calls) in std::mem::take(&mut *part.0.lock()) {
                *all.entry(key).or_default() += calls;
            }
        }
        all
    }

    /// Calls that could not be counted since this was last asked.
    pub(super) fn lost(&self) -> usize {
        self.lost.swap(0, Ordering::Relaxed)
    }
}
