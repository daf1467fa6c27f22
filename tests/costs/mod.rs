//! The costs of operations at v1: counted by v1 itself, reported by `Causeway-V1-Calls`, declared in the mappings.
//!
//! May use: the public interface of the crate and `tests/support`.

mod crowd;
mod declared;
mod equal_reads;
mod extras;
mod freshness;
mod further;
mod items;
mod place;
mod planned;
mod statements;
