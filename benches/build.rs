//! A cold build of 10,000 work items in front of a v1 that is as slow as a real one: its cost at that v1, and the
//! waits of another client of it meanwhile. All times are those of the sandbox's cost model, on a clock that
//! jumps from one timer to the next, so the figures are the same in every run and on every machine.
//!
//! `cargo bench --bench build`; with `-- --check` it fails beyond 1.1 times the pages or 1.5 times the wait.

#[path = "../tests/support/cold_build.rs"]
#[allow(dead_code)]
mod cold_build;
#[path = "../tests/support/gateway.rs"]
#[allow(dead_code)]
mod gateway;

use std::time::Duration;

const ITEMS: usize = 10_000;
/// Limit of v1's time for a build, divided by that of its pages.
const MOST_TIME: f64 = 1.1;
/// Limit of the median call of another client, divided by that at a quiet v1.
const MOST_WAIT: f64 = 1.5;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    let figures = runtime.expect("a runtime").block_on(cold_build::measure(ITEMS));
    let seconds = |time: Duration| format!("{:.1} s", time.as_secs_f64());
    let millis = |time: Duration| format!("{:.0} ms", time.as_secs_f64() * 1e3);
    println!("work items                               {ITEMS}");
    println!("v1 calls of the build                    {}", figures.calls);
    println!("v1 time of the build                     {}", seconds(figures.used));
    println!("v1 time of ten full pages                {}", seconds(figures.pages));
    println!("ratio                                    {:.2}", figures.of_the_pages());
    println!("the build took                           {}", seconds(figures.took));
    println!("another client's calls, p50 before       {}", millis(figures.before));
    println!("another client's calls, p50 during       {}", millis(figures.during));
    println!("ratio                                    {:.2}", figures.slower());
    println!("another client's calls, longest during   {}", millis(figures.longest));
    if std::env::args().any(|argument| argument == "--check") {
        assert!(figures.of_the_pages() <= MOST_TIME, "the build costs v1 too much");
        assert!(figures.slower() <= MOST_WAIT, "other clients wait too long");
    }
}
