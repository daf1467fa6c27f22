//! Fuzz target: `reading::pass_through_head`.

#![no_main]

#[path = "../reading.rs"]
#[allow(dead_code, reason = "each target is one of them")]
mod reading;

libfuzzer_sys::fuzz_target!(|data: &[u8]| reading::pass_through_head(data));
