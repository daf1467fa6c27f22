//! What can come of a comparison.
//!
//! May use: nothing of this crate.

use strum::{EnumString, IntoStaticStr, VariantArray};

/// What came of a read that was to be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Outcome {
    /// Both sides say the same.
    Equal,
    /// They say different things.
    Different,
    /// Their answers cannot be held against each other.
    NotComparable,
    /// There was no room or time to compare it.
    Dropped,
    /// The other side could not be asked.
    Failed,
}

impl Outcome {
    /// As it is kept and shown.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A place where two answers differ.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Difference {
    /// A JSON pointer with `*` for places in lists and for names that are no words of the contract; or `status`, or
    /// `header` and a name.
    pub place: String,
    /// What the gateway says.
    pub ours: String,
    /// What the other side says.
    pub theirs: String,
}
