//! Every trap of v1 that touches the operations served so far, one test or more a trap, and the recorded
//! exchanges of v1 replayed through the gateway as v2 requests.
//!
//! May use: the public interface of the crate and `tests/support`.

mod access;
mod dates;
mod defaults;
mod differences;
mod names;
mod page;
mod reads;
mod reference;
mod replay;
mod scene;
mod writes;
