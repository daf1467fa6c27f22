//! Mixed v2 reads a minute over 5,000 items before a v1 that takes 60 calls a minute, without one 429.
//!
//! `cargo bench --bench budget`, about a minute and a half; `-- SECONDS` measures for longer or shorter.

#[path = "../tests/support/gateway.rs"]
#[allow(dead_code)]
mod gateway;
#[path = "../tests/support/mixed.rs"]
mod mixed;

use causeway::sandbox::{Config, Sandbox, Seed};
use gateway::{Gateway, serve_sandbox};
use mixed::Reader;
use std::time::{Duration, Instant};

const QUOTA: u32 = 60;
const ITEMS: usize = 5_000;
/// What must be sustained.
const FLOOR: f64 = 600.0;
/// Time in which builds and first reads spend what is free at the start.
const WARM_UP: Duration = Duration::from_secs(10);

#[derive(Default)]
struct Seen {
    reads: u32,
    refused: u32,
    stale: u32,
    oldest: u64,
    slowest: Duration,
}

async fn read_for(time: Duration, reader: &Reader, gateway: &Gateway, round: &mut usize) -> Seen {
    let (mut seen, begun) = (Seen::default(), Instant::now());
    while begun.elapsed() < time {
        for path in reader.round(*round) {
            let asked = Instant::now();
            let answer = gateway.get(&reader.key, &path).await;
            seen.slowest = seen.slowest.max(asked.elapsed());
            seen.reads += 1;
            match answer.status {
                200 => {}
                429 => seen.refused += 1,
                status => panic!("{path}: {status} {}", answer.json),
            }
            if let Some(age) = answer.headers.get("age").and_then(|age| age.parse().ok()) {
                seen.stale += 1;
                seen.oldest = seen.oldest.max(age);
            }
        }
        *round += 1;
    }
    seen
}

#[tokio::main]
async fn main() {
    let seconds = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(75);
    let sandbox = Sandbox::new(Config {
        seed: Seed::Demo,
        quota_per_minute: Some(QUOTA),
        work_items: ITEMS,
        ..Config::default()
    });
    let base = serve_sandbox(&sandbox).await;
    let quota = QUOTA.to_string();
    let gateway = Gateway::with(&base, &[("upstream.quota", &quota), ("log.filter", "off")]).await;
    let (reader, mut round) = (Reader::of(&sandbox, &gateway).await, 0);
    let warm = read_for(WARM_UP, &reader, &gateway, &mut round).await;
    sandbox.clear_journal();
    let begun = Instant::now();
    let seen = read_for(Duration::from_secs(seconds), &reader, &gateway, &mut round).await;
    let minutes = begun.elapsed().as_secs_f64() / 60.0;
    let calls = sandbox.journal().len() as f64 / minutes;
    let reads = f64::from(seen.reads) / minutes;
    println!("work items                     {ITEMS}");
    println!("v1 calls a minute allowed      {QUOTA}");
    println!("measured for                   {:.0} s after {} s of warm-up", minutes * 60.0, WARM_UP.as_secs());
    println!("v2 reads a minute              {reads:.0}");
    println!("v1 calls a minute              {calls:.1}");
    println!("reads for one v1 call          {:.0}", reads / calls);
    println!("answers of 429                 {} ({} during warm-up)", seen.refused, warm.refused);
    println!("answers that said their age    {:.0} %", f64::from(seen.stale) / f64::from(seen.reads) * 100.0);
    println!("oldest age                     {} s", seen.oldest);
    println!("slowest answer                 {:.0} ms", seen.slowest.as_secs_f64() * 1e3);
    assert_eq!(seen.refused + warm.refused, 0, "no read is refused");
    assert!(reads >= FLOOR, "{reads:.0} reads a minute are fewer than {FLOOR}");
}
