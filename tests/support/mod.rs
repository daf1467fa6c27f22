//! Code that several integration tests share.
//!
//! May use: the recorded exchanges in `fixtures/`. Each test file uses a part of it.
#![allow(dead_code, unused_imports)]

pub mod audit;
pub mod captured;
pub mod cold_build;
pub mod exchange;
pub mod furnished;
pub mod gateway;
pub mod losing;
pub mod mixed;
pub mod mounted;
pub mod past_gateway;
pub mod pg_wire;
pub mod planting;
pub mod postgres;
pub mod proofs;
pub mod random;
pub mod recorded;
pub mod redis;
pub mod replay;
pub mod schema;
pub mod scripted;
pub mod switch;
pub mod wire;
