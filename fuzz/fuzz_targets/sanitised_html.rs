//! Fuzz target: `reading::sanitised_html`, within the cost of `reads::sanitised_html`.

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
    cost::within(&cost::RICH_TEXT, data.len(), || reads::sanitised_html(data));
    reading::sanitised_html(data);
});
