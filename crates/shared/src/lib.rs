//! State that the processes of one deployment share through Redis.
//!
//! May use: none of the other crates of this workspace.

pub mod shared;
