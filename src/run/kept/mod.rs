//! What is kept of what v1 has shown: collections, rosters and the last answers, for those v1 shows the same, with who
//! reads them anew and when an empty list is believed.
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
