//! What several integration tests share.
//!
//! May use: the recorded exchanges in `fixtures/`. Each test file uses a part of it.
#![allow(dead_code, unused_imports)]

pub mod exchange;
pub mod gateway;
pub mod recorded;
pub mod scripted;
