//! Possible results of a comparison.
//!
//! May use: nothing of this crate.

use strum::{EnumString, IntoStaticStr, VariantArray};

/// Result for a read that was chosen to be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Outcome {
    /// Both answers are the same.
    Equal,
    /// The answers differ.
    Different,
    /// The answers cannot be compared.
    NotComparable,
    /// There was no room or no time to compare it.
    Dropped,
    /// The other side could not be asked.
    Failed,
}

impl Outcome {
    /// Returns the name that is stored and shown.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A place where two answers differ.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Difference {
    /// A JSON pointer, with `*` for positions in lists and for names that are not in the contract; or `status`, or
    /// `header` and a name.
    pub place: String,
    /// Value or kind in the gateway's answer.
    pub ours: String,
    /// Value or kind in the other side's answer.
    pub theirs: String,
}
