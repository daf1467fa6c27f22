//! A v2 of the deployment's own: which operations it answers in place of the translation, and the way to it.
//!
//! `Modes` says who answers an operation in a workspace; operations on records that this gateway's store holds go
//! there all at once, workspace by workspace, after the records have been carried over. `Native` passes requests on,
//! with the key that the translation would use. `probe` asks whether there is a v2 at all, and not this gateway.
//!
//! May use: `access` (who asks), `context`, `edge` (the way through), `hop`, `plan`, `refusal`, `settings`, `store`
//! (which workspaces have been left).

mod modes;
pub(crate) mod probe;
mod way;

pub(crate) use modes::Modes;
pub use modes::is_kept;
pub(crate) use way::Native;
