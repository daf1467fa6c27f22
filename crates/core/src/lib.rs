//! What everything else stands on: refusals, the life of a request, settings, work off the workers, load, and what is
//! kept for a while.

pub mod context;
pub mod fresh;
pub mod heavy;
pub mod load;
pub mod refusal;
pub mod settings;
pub mod worker;
