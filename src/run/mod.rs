//! Carry it out: the steps of an operation, in turn, with what v1 and the store are asked.
//!
//! A [`Job`] is one valid call on its way. Plain resources need no code here: their steps are declared in the
//! mapping. Steps that the mapping language cannot say are one named function each under `special`, with their v1 calls
//! declared in the mapping. Resources that v1 does not have at all are under `own`.
//!
//! May use: `amount`, `plan`, `access`, `v1`, `v2`, `translate`, `catalogue`, `store`, `context`, `fresh`, `settings`,
//! `refusal`. May not use: `edge`, `cli`, `sandbox`.

mod ahead;
mod answers;
pub mod audit;
mod beginners;
mod catch_up;
mod checks;
mod collection;
mod create;
mod delete;
mod dispatch;
mod empty_lists;
mod exclusive;
mod external_pair;
mod find_out;
mod flagged;
pub mod hinted;
mod in_project;
mod items;
mod job;
mod list;
mod load;
mod look_up;
mod losses;
mod members;
mod outage;
pub mod outlook;
mod own;
mod precondition;
mod ready;
mod repeating;
mod roster;
mod rules;
mod runner;
mod shelf;
mod shortage;
mod special;
mod turns;
mod update;
mod v1_faults;
mod write;
mod writing;

pub use ahead::keep_ahead;
pub use collection::Collection;
pub use items::fields::settle_left_open;
pub use job::{Call, Job, Origin};
pub use look_up::Looked;
pub use own::forget_project;
pub use runner::{Runner, RunnerSettings};
pub use shelf::{Audience, Place, Shelf};
