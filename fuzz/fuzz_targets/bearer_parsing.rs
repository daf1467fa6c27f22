//! Fuzz target: `properties::bearer_parsing`.

#![no_main]

#[path = "../properties.rs"]
#[allow(dead_code, reason = "each target is one of them")]
mod properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::bearer_parsing(data));
