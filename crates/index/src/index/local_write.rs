//! The writes of this gateway. They are noted so that older rows of a read under way do not undo them. The time of v1's
//! confirmation is noted too, so that they stay in force over rows that were read before.
//!
//! May use: `translate` (the typed item), this folder.

use super::rows::Rows;
use crate::translate::work_items::Item;
use std::collections::{HashSet, VecDeque};
use std::time::Instant;
use uuid::Uuid;

/// Number of writes that are remembered.
const MOST: usize = 256;

/// One local write.
#[derive(Debug, Clone)]
pub(super) enum LocalWrite {
    /// An item, as it is after the write.
    Changed(Box<Item>),
    /// An item that lists do not show any more.
    Gone(Uuid),
}

impl LocalWrite {
    /// Returns the write whose result is `item`. Lists show neither archived items nor drafts (trap 53).
    pub fn of(item: &Item) -> Self {
        if item.archived_at.is_some() || item.is_draft {
            Self::Gone(item.id)
        } else {
            Self::Changed(item.clone().into())
        }
    }

    /// Applies the write, unless the row is already newer. Returns whether anything changed.
    pub fn apply(self, rows: &mut Rows) -> bool {
        match self {
            Self::Changed(item) => {
                let newer = rows.find(item.id).is_some_and(|(_, row)| row.updated > item.updated_at);
                if !newer {
                    rows.apply(vec![*item], &HashSet::new());
                }
                !newer
            }
            Self::Gone(id) => {
                let known = rows.find(id).is_some();
                if known {
                    rows.apply(Vec::new(), &HashSet::from([id]));
                }
                known
            }
        }
    }
}

/// The last local writes of one list, in order.
#[derive(Debug, Default)]
pub(super) struct LocalWriteLog {
    writes: VecDeque<(Instant, LocalWrite)>,
    /// Time of the last write that is not remembered any more.
    forgotten: Option<Instant>,
}

impl LocalWriteLog {
    /// Notes a write that v1 has confirmed.
    pub fn note(&mut self, at: Instant, local: LocalWrite) {
        if self.writes.len() == MOST {
            self.forgotten = self.writes.pop_front().map(|(at, _)| at).max(self.forgotten);
        }
        self.writes.push_back((at, local));
    }

    /// Returns all writes from `since` on; none when not all of them are known.
    pub fn since(&self, since: Instant) -> Option<Vec<(Instant, LocalWrite)>> {
        if self.forgotten.is_some_and(|forgotten| forgotten >= since) {
            return None;
        }
        Some(self.writes.iter().filter(|(at, _)| *at >= since).cloned().collect())
    }

    /// Drops the writes before `since`, which are not needed any more.
    pub fn drop_before(&mut self, since: Instant) {
        while self.writes.front().is_some_and(|(at, _)| *at < since) {
            self.writes.pop_front();
        }
    }
}

/// Returns the items that are removed after these writes.
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
    fn an_incomplete_log_of_local_writes_is_not_returned() {
        let (mut log, begun) = (LocalWriteLog::default(), Instant::now());
        let at = |number: usize| begun + Duration::from_secs(number as u64);
        (0..=MOST).for_each(|number| log.note(at(number), LocalWrite::Gone(id(7, number as u128))));
        assert!(log.since(at(0)).is_none(), "the first is forgotten");
        assert_eq!(log.since(at(1)).map(|writes| writes.len()), Some(MOST));
        log.drop_before(at(MOST));
        assert_eq!(log.since(at(1)).map(|writes| writes.len()), Some(1));
    }

    #[test]
    fn an_item_written_after_its_removal_is_not_removed() {
        let at = Instant::now();
        let changed = |number| LocalWrite::of(&plain_item(id(7, number)));
        let writes = [LocalWrite::Gone(id(7, 1)), LocalWrite::Gone(id(7, 2)), changed(1), changed(3)]
            .map(|local| (at, local));
        assert_eq!(removed(&writes), HashSet::from([id(7, 2)]));
    }
}
