//! Counts of who calls which operation: by day, operation, class of status, caller and client, for the move from v1 to
//! v2.
//!
//! A request is marked when it arrives (`arrived` of `edge::Counting`) and counted when it is answered; both only touch
//! memory. `writer` writes the counts into the store every few seconds. The counts contain names of operations,
//! fingerprints of credentials (a keyed HMAC), names of people from v1, and products of clients: no path, query or body
//! value. Only proven credentials have their own row, so that strangers cannot fill the table.
//!
//! May use: `access` (who a credential belongs to), `context`, `edge` (its traits), `plan`, `settings`, `store`,
//! `units`, `v1`.

mod callers;
mod client;
mod clients;
mod counting;
mod names;
mod writer;

pub(crate) use client::client_of;
pub use counting::today;
pub(crate) use counting::{Usage, beginning};
pub(crate) use writer::Writer;
