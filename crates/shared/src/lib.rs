//! What the processes of one deployment share through Redis.

pub mod shared;
