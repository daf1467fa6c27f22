//! Fuzz target: `properties::token_form`.

#![no_main]

#[path = "../properties.rs"]
#[allow(dead_code, reason = "each target is one of them")]
mod properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::token_form(data));
