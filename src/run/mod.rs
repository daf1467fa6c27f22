//! Carry it out: the steps of an operation, in turn, with what v1 and the store are asked.
//!
//! A [`Job`] is one valid call on its way. Plain resources need no code here: their steps are declared in the
//! mapping. What the mapping language cannot say is one named function each under `special`, with its v1
//! calls declared in the mapping. What v1 does not have at all is under `own`.
//!
//! May use: `plan`, `access`, `v1`, `v2`, `translate`, `catalogue`, `store`, `coalesce`, `context`, `settings`,
//! `refusal`. May not use: `edge`, `cli`, `sandbox`.

mod ahead;
mod answers;
pub mod audit;
mod checks;
mod collection;
mod create;
mod delete;
mod epochs;
mod estimates;
mod expansions;
mod fields;
mod find_out;
mod item;
mod item_key;
mod item_lookup;
mod item_page;
mod item_sets;
mod job;
mod list;
mod look_up;
mod losses;
mod names;
mod outage;
pub mod outlook;
mod own;
mod parents;
mod precondition;
mod repeating;
mod roster;
mod shelf;
mod shortage;
mod special;
mod turns;
mod update;
mod workflow;
mod write;

pub use ahead::keep_ahead;
pub use collection::Collection;
pub use fields::settle_left_open;
pub use job::{Call, Job, Origin, Runner, RunnerSettings};
pub use look_up::Looked;
pub use shelf::{Audience, Changes, Loaded, Place, Shelf};

use crate::plan::Functions;

/// The functions steps of mappings may name.
pub const FUNCTIONS: Functions<'static> = Functions { specials: special::NAMES, own: own::NAMES };
