//! Who calls which operation: counted by day, operation, class of status, caller and client, for the move from v1 to
//! v2.
//!
//! A request is marked when it arrives (`arrived` of `edge::Counting`) and counted when it is answered; both only touch
//! memory. `writer` brings the counts into the store together, every few seconds. The counts keep names of operations,
//! fingerprints of credentials (a keyed HMAC), people as v1 names them, and products of clients: no path, query or body
//! value. Only credentials that have been proven have a row of their own, so that strangers cannot fill the table.
//!
//! May use: `access` (who a credential belongs to), `context`, `edge` (its traits), `plan`, `settings`, `store`, `units`,
//! `v1`.

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
