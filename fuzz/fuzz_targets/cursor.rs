//! Fuzz target: `reading::cursor`, within the cost of `reads::cursor`.

#![no_main]

#[path = "../cost.rs"]
mod cost;
#[path = "../reading.rs"]
#[allow(dead_code, reason = "each target is one of them")]
mod reading;
#[path = "../reads.rs"]
#[allow(dead_code, reason = "each target is one of them")]
mod reads;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    cost::within(&cost::USUAL, data.len(), || reads::cursor(data));
    reading::cursor(data);
});
