//! Fuzz target: `reading::query_string`, within the cost of `reads::query_string`.

#![no_main]

#[path = "../cost.rs"]
mod cost;
#[path = "../reading.rs"]
#[allow(dead_code, reason = "each target is one of them")]
mod reading;
#[path = "../reads.rs"]
#[allow(dead_code, reason = "each target is one of them")]
mod reads;

/// Each unknown parameter is compared with all known ones to name the nearest, which is slow in a fuzzing build.
const BOUND: cost::Bound = cost::Bound { nanos: (20_000_000, 2_000), ..cost::USUAL };

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    cost::within(&BOUND, data.len(), || reads::query_string(data));
    reading::query_string(data);
});
