//! The source of work items at hand. May use: nothing of this crate.

/// The source of the items at hand, and their purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::run) enum ItemSource {
    Read,
    /// Rows of an index, which may be a little older.
    Indexed,
    /// About to be written with a type or values, which decides writes that v1's data cannot decide.
    Deciding {
        /// Whether they are rows of an index.
        indexed: bool,
    },
}

impl ItemSource {
    /// Checks whether the items are rows of an index.
    pub(super) fn is_index(self) -> bool {
        matches!(self, Self::Indexed | Self::Deciding { indexed: true })
    }
}
