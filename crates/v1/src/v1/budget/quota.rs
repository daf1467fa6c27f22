//! How much one key may ask of v1. May use: nothing of this crate.

/// Calls a window that v1 allows one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quota {
    /// Any number.
    Unlimited,
    /// So many, whatever v1 says.
    Fixed(usize),
    /// So many, until v1's own figures show that it allows more.
    AtLeast(usize),
}
