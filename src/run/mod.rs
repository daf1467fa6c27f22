//! Carrying a call out: the steps of an operation, in order, with their calls to v1 and the store.
//!
//! A [`Job`] is one valid call under way. Plain resources need no code here: their steps are declared in the mapping.
//! A step that the mapping language cannot express is one named function under `special`; its v1 calls are declared in
//! the mapping. Resources that v1 does not have at all are under `own`, work items under `items`. The shared code for
//! reading and writing is in `reads`, `writes` and `kept`.
//!
//! May use: everything but `app`, `cli`, `edge`, `limits`, `mapping`, `oauth`, `request` and `sandbox`.

mod audit;
mod dispatch;
mod items;
mod job;
mod kept;
mod members;
pub mod outlook;
mod own;
mod reads;
mod rules;
mod runner;
mod special;
mod writes;

pub use job::{Call, Job};
pub use kept::collection::Collection;
pub use own::forget_project;
pub use reads::ahead::keep_ahead;
pub use reads::hinted::{follow_hints, touched};
pub use reads::left_open::settle_left_open;
pub use runner::{Runner, service_key};
pub use writes::look_up::Looked;
