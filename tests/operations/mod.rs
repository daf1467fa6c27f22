//! One scene or more for every working operation, in the tree of their URLs: the calls v1 gets, in order and
//! with their bodies, beside the answer the client gets.
//!
//! May use: the public interface of the crate and `tests/support`.

mod scene;
mod users;
mod workspaces;
