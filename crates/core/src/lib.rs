//! What everything else stands on: refusals, the life of a request, settings, work off the workers, load, what is
//! kept for a while, and what is counted.

pub mod context;
pub mod fresh;
pub mod heavy;
pub mod load;
pub mod refusal;
pub mod settings;
pub mod tally;
pub mod worker;
