//! The whole set of operations, as the contract and the compiled plan list them, asked over HTTP.
//!
//! No list is kept by hand: what is sent and what is expected is read off `fixtures/contract` and the plan.
//!
//! May use: the public interface of the crate and `tests/support`.

mod answers;
mod bodies;
mod credentials;
mod document;
mod doors;
mod errors;
mod expand;
mod filters;
mod ids;
mod items;
mod links;
mod operations;
mod orders;
mod own;
mod paging;
mod proofs;
mod scopes;
mod served;
mod tags;
mod verify;
mod world;
