//! The whole set of operations, as the contract and the compiled plan list them, called over HTTP.
//!
//! No list is maintained by hand: requests and expectations are read from `fixtures/contract` and the plan.
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
