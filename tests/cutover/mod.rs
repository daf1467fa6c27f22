//! Operations that move to a v2 of the deployment's own, one after the other: which side answers, and the comparisons
//! before the move.
//!
//! `stage` has a gateway, the v1 behind it, and another gateway before the same v1 as that v2.

mod compared;
mod faulty;
mod kept;
mod many;
mod moved;
mod shadowed;
mod stage;
