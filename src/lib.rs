//! placeholder

pub mod sandbox;
