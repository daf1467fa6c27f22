//! Fuzz target: `plain::translated`.

#![no_main]

#[path = "../plain.rs"]
mod plain;

libfuzzer_sys::fuzz_target!(|data: &[u8]| plain::translated(data));
