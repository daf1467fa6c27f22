//! The last local writes and when v1 had confirmed them, so that they stay in force over what was read before them.
//!
//! May use: this folder.

use super::local_write::LocalWrite;
use std::collections::{HashSet, VecDeque};
use std::time::Instant;
use uuid::Uuid;

/// Writes that are remembered.
const MOST: usize = 256;

/// The last local writes of one list, in order.
#[derive(Debug, Default)]
pub(super) struct LocalWriteLog {
    writes: VecDeque<(Instant, LocalWrite)>,
    /// When the last of those was that are not remembered.
    forgotten: Option<Instant>,
}

impl LocalWriteLog {
    /// v1 has confirmed a write.
    pub fn note(&mut self, at: Instant, local: LocalWrite) {
        if self.writes.len() == MOST {
            self.forgotten = self.writes.pop_front().map(|(at, _)| at).max(self.forgotten);
        }
        self.writes.push_back((at, local));
    }

    /// All writes from `since` on; none when not all of them are known.
    pub fn since(&self, since: Instant) -> Option<Vec<(Instant, LocalWrite)>> {
        if self.forgotten.is_some_and(|forgotten| forgotten >= since) {
            return None;
        }
        Some(self.writes.iter().filter(|(at, _)| *at >= since).cloned().collect())
    }

    /// Nobody asks for writes before `since` any more.
    pub fn drop_before(&mut self, since: Instant) {
        while self.writes.front().is_some_and(|(at, _)| *at < since) {
            self.writes.pop_front();
        }
    }
}

/// Items that these writes have left removed.
pub(super) fn removed<'w>(writes: impl IntoIterator<Item = &'w (Instant, LocalWrite)>) -> HashSet<Uuid> {
    let mut gone = HashSet::new();
    for (_, local) in writes {
        match local {
            LocalWrite::Gone(id) => gone.insert(*id),
            LocalWrite::Changed(item) => gone.remove(&item.id),
        };
    }
    gone
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::tests::{id, plain_item};
    use std::time::Duration;

    #[test]
    fn what_is_not_known_whole_is_not_told() {
        let (mut log, begun) = (LocalWriteLog::default(), Instant::now());
        let at = |number: usize| begun + Duration::from_secs(number as u64);
        (0..=MOST).for_each(|number| log.note(at(number), LocalWrite::Gone(id(7, number as u128))));
        assert!(log.since(at(0)).is_none(), "the first is forgotten");
        assert_eq!(log.since(at(1)).map(|writes| writes.len()), Some(MOST));
        log.drop_before(at(MOST));
        assert_eq!(log.since(at(1)).map(|writes| writes.len()), Some(1));
    }

    #[test]
    fn what_came_back_is_not_removed() {
        let at = Instant::now();
        let changed = |number| LocalWrite::of(&plain_item(id(7, number)));
        let writes = [LocalWrite::Gone(id(7, 1)), LocalWrite::Gone(id(7, 2)), changed(1), changed(3)]
            .map(|local| (at, local));
        assert_eq!(removed(&writes), HashSet::from([id(7, 2)]));
    }
}
