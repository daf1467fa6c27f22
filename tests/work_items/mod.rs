//! Work items apart from their list, end to end: against the sandbox for behaviour, against a scripted v1 for
//! exact calls.
//!
//! May use: the public interface of the crate and `tests/support`.

mod archive;
mod costs;
mod expand;
mod labels_past_the_gateway;
mod large;
mod list;
mod names;
mod own;
mod reads;
mod spoiled;
mod traps;
mod traps_of_reads;
mod unlisted_states;
mod workflow;
mod world;
mod writes;
