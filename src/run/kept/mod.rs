//! Caches of v1's data: collections, rosters and the last answers, for callers to whom v1 shows the same; with the
//! rules about who reads them again and when an empty list is trusted.
//!
//! May use: what `run` may use.

pub(super) mod answers;
pub(super) mod beginners;
pub(super) mod collection;
pub(super) mod empty_lists;
pub(super) mod losses;
pub(super) mod roster;
pub(super) mod shelf;
pub(super) mod writers;
