//! What everything else stands on: refusals, the life of a request, settings, work off the workers, load, and what is
//! kept for a while.

pub mod coalesce;
pub mod context;
pub mod heavy;
pub mod load;
pub mod pruned;
pub mod refusal;
pub mod settings;
