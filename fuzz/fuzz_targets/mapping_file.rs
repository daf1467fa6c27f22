//! Fuzz target: `reading::mapping_file`.

#![no_main]

#[path = "../reading.rs"]
#[allow(dead_code, reason = "each target is one of them")]
mod reading;

libfuzzer_sys::fuzz_target!(|data: &[u8]| reading::mapping_file(data));
