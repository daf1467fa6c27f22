//! What this gateway itself has written while a read was under way, so that older rows do not undo it.
//!
//! May use: `translate` (the typed item), this folder.

use super::rows::Rows;
use crate::translate::work_items::Item;
use std::collections::HashSet;
use uuid::Uuid;

/// One local write.
#[derive(Debug, Clone)]
pub(super) enum LocalWrite {
    /// An item as the write left it.
    Changed(Box<Item>),
    /// An item that lists do not show any more.
    Gone(Uuid),
}

impl LocalWrite {
    /// The write that left `item`; lists show neither archived items nor drafts (trap 53).
    pub fn of(item: &Item) -> Self {
        if item.archived_at.is_some() || item.is_draft {
            Self::Gone(item.id)
        } else {
            Self::Changed(item.clone().into())
        }
    }

    /// Makes the change, unless the row is newer already; tells whether anything changed.
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
