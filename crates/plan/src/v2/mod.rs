//! The client's side of the gateway: requests and answers of v2, without any knowledge of v1.
//!
//! The query and body of a request become validated values; records in their read shape become
//! pages and envelopes.
//!
//! May use: `plan`, `refusal`. May not use: `v1`, `translate`, `run`, `store`.

pub mod body;
mod conditions;
pub mod cursor;
pub mod page;
pub mod parameters;
pub mod query;
pub mod record;
mod reply;
pub mod tag;
pub mod time;
pub mod value;

pub use conditions::{Demand, NamedVersions};
pub use parameters::Parameters;
pub use record::{Cell, Record};
pub use reply::Reply;
