//! Mixed v2 reads a minute over 5,000 items before a v1 that accepts 60 calls a minute, without one 429.
//!
//! `cargo bench --bench budget`, about a minute and a half; `-- SECONDS` measures for longer or shorter. With `--admin
//! ADDRESS` operators are served there, so that a Prometheus may scrape it, and the bench scrapes `/metrics` every five
//! seconds itself: it reports the number of series and the time of the slowest scrape.

#[path = "../tests/support/gateway.rs"]
#[allow(dead_code)]
mod gateway;
#[path = "../tests/support/mixed.rs"]
mod mixed;

use bytes::Bytes;
use causeway::sandbox::{Config, Sandbox, Seed};
use gateway::{Gateway, serve_sandbox};
use http::Request;
use http_body_util::Full;
use mixed::Reader;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

const QUOTA: u32 = 60;
const ITEMS: usize = 5_000;
/// The rate that must be sustained.
const FLOOR: f64 = 600.0;
/// Time in which builds and first reads use up the quota that is free at the start.
const WARM_UP: Duration = Duration::from_secs(10);

/// Time between two scrapes.
const SCRAPE: Duration = Duration::from_secs(5);

/// Results of the scrapes.
#[derive(Default)]
struct Scraped {
    scrapes: u32,
    series: usize,
    bytes: usize,
    slowest: Duration,
}

/// Scrapes again and again.
async fn scrape(gateway: Arc<Gateway>, scraped: Arc<Mutex<Scraped>>) {
    loop {
        let request = Request::get(format!("{}/metrics", gateway.operators())).body(Full::new(Bytes::new()));
        let asked = Instant::now();
        let answer = gateway.request(request.expect("a request")).await.expect(200);
        let took = asked.elapsed();
        let series = answer.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && line[0] != b'#');
        {
            let mut scraped = scraped.lock().await;
            scraped.scrapes += 1;
            scraped.series = scraped.series.max(series.count());
            scraped.bytes = scraped.bytes.max(answer.bytes.len());
            scraped.slowest = scraped.slowest.max(took);
        }
        tokio::time::sleep(SCRAPE).await;
    }
}

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
    let arguments: Vec<String> = std::env::args().collect();
    let seconds = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(75);
    let admin = arguments.iter().position(|argument| argument == "--admin").and_then(|at| arguments.get(at + 1));
    let sandbox = Sandbox::new(Config {
        seed: Seed::Demo,
        quota_per_minute: Some(QUOTA),
        work_items: ITEMS,
        ..Config::default()
    });
    let base = serve_sandbox(&sandbox).await;
    let quota = QUOTA.to_string();
    let mut settings = vec![("upstream.quota", quota.as_str()), ("log.filter", "off")];
    settings.extend(admin.map(|address| ("admin.listen", address.as_str())));
    let gateway = Arc::new(Gateway::with(&base, &settings).await);
    let scraped = Arc::new(Mutex::new(Scraped::default()));
    if admin.is_some() {
        tokio::spawn(scrape(Arc::clone(&gateway), Arc::clone(&scraped)));
    }
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
    if admin.is_some() {
        let scraped = scraped.lock().await;
        println!("scrapes                        {}", scraped.scrapes);
        println!("series                         {} in {} KiB", scraped.series, scraped.bytes / 1024);
        println!("slowest scrape                 {:.1} ms", scraped.slowest.as_secs_f64() * 1e3);
    }
    assert_eq!(seen.refused + warm.refused, 0, "no read is refused");
    assert!(reads >= FLOOR, "{reads:.0} reads a minute are fewer than {FLOOR}");
}
