//! A v2 of the deployment's own: the operations that it answers in place of the translation, and how they reach it.
//!
//! `Modes` decides who answers an operation in a workspace. Operations on records in this gateway's store move there
//! all at once, workspace by workspace, after the records have been carried over. `Native` forwards requests with the
//! key that the translation would use. `probe` checks whether there is a v2 at all, and that it is not this gateway.
//!
//! May use: `access` (who asks), `context`, `edge` (the way through), `hop`, `plan`, `refusal`, `settings`, `store`
//! (which workspaces have been left).

mod modes;
pub(crate) mod probe;
mod way;

pub(crate) use modes::Modes;
pub use modes::is_kept;
pub(crate) use way::Native;
