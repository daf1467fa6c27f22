//! Fuzz target: `reading::idempotency_record`, within the cost of `reads::idempotency_record`.

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
    cost::within(&cost::USUAL, data.len(), || reads::idempotency_record(data));
    reading::idempotency_record(data);
});
