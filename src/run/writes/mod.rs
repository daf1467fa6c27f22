//! Writes: their turns, the checks before them, the calls to v1, and the search for a missing outcome.
//!
//! May use: what `run` may use.

pub(super) mod checks;
pub(super) mod create;
pub(super) mod delete;
pub(super) mod exclusive;
pub(super) mod find_out;
pub(super) mod flagged_delete;
pub(super) mod look_up;
pub(super) mod one_flag;
pub(super) mod precondition;
pub(super) mod turns;
pub(super) mod update;
pub(super) mod write;
pub(super) mod writing;
