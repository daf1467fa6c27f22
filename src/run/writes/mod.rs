//! Writes: whose turn it is, what is checked before, what is sent to v1, and what became of it where no answer says so.
//!
//! May use: what `run` may use.

pub(super) mod checks;
pub(super) mod create;
pub(super) mod delete;
pub(super) mod exclusive;
pub(super) mod find_out;
pub(super) mod look_up;
pub(super) mod precondition;
pub(super) mod turns;
pub(super) mod update;
pub(super) mod write;
pub(super) mod writing;
