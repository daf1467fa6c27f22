//! Thousands of slow clients from a few addresses, and their effect on honest clients from other addresses.
//!
//! The gateway runs in a process of its own, so that its memory and its processor time are its own. Every day a
//! small crowd before a small gateway; with LONG_TESTS=1 the large crowd and the default limits.

use crate::child::Child;
use crate::crowd::{Crowd, Way, be_the_crowd};
use crate::sockets::exchange;
use crate::support::gateway::{WEB, serve_sandbox};
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::task::spawn;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// A gateway that a small crowd could fill. The honest clients use one credential, and need less than its share of
/// the room that a crowd leaves.
const SMALL: [(&str, &str); 7] = [
    ("CAUSEWAY_LISTEN__MAX_CONNECTIONS", "400"),
    ("CAUSEWAY_LIMITS__CONCURRENCY", "104"),
    ("CAUSEWAY_LIMITS__PASS_THROUGH", "104"),
    ("CAUSEWAY_LIMITS__OAUTH", "104"),
    ("CAUSEWAY_LIMITS__BODIES", "104"),
    ("CAUSEWAY_LIMITS__ANSWERS", "208"),
    ("CAUSEWAY_LIMITS__MEMORY", "64MiB"),
];
const SECRET: (&str, &str) = ("CAUSEWAY_SECRETS__KEY", "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=");

/// Slow clients when all are slow in the same way.
const OF_ONE_WAY: usize = 1000;
/// Least value for a quiet gateway's p99: below it, the scheduling of processes is measured, not the gateway.
const FLOOR: Duration = Duration::from_millis(5);

struct Size {
    crowd: usize,
    /// Number of honest clients, each from an address of its own.
    honest: u8,
    /// Requests of each honest client.
    requests: usize,
    /// Time in which the crowd connects.
    gather: Duration,
    settings: Vec<(&'static str, &'static str)>,
    budget: usize,
}

fn long() -> bool {
    std::env::var_os("LONG_TESTS").is_some_and(|value| value == "1")
}

fn size() -> Size {
    if long() {
        Size {
            crowd: 5000,
            honest: 50,
            requests: 100,
            gather: Duration::from_secs(12),
            settings: vec![SECRET],
            budget: 256 << 20,
        }
    } else {
        let settings = [&SMALL[..], &[SECRET]].concat();
        Size { crowd: 600, honest: 12, requests: 16, gather: Duration::from_secs(5), settings, budget: 64 << 20 }
    }
}

/// Results of the honest clients.
struct Met {
    times: Vec<Duration>,
    /// Index of the request among the four of [`asked`], and its status.
    refused: Vec<(usize, u16)>,
}

impl Met {
    fn percentile(&self, per_cent: usize) -> Duration {
        self.times[(self.times.len() - 1) * per_cent / 100]
    }
}

async fn honest(gateway: SocketAddr, clients: u8, requests: usize) -> Met {
    let clients = (0..clients).map(|client| {
        spawn(async move {
            let mut met = Vec::new();
            for request in 0..requests {
                let began = Instant::now();
                let status = exchange(gateway, 10 + client, &asked(request)).await.status;
                met.push((began.elapsed(), status));
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            met
        })
    });
    let clients: Vec<_> = clients.collect();
    let mut met = Met { times: Vec::new(), refused: Vec::new() };
    for client in clients {
        for (number, (time, status)) in client.await.expect("an honest client").into_iter().enumerate() {
            met.times.push(time);
            met.refused.extend((![200, 400].contains(&status)).then_some((number % 4, status)));
        }
    }
    met.times.sort();
    met
}

/// Returns one of three reads, or a write that is read and checked; its answer is 400.
fn asked(request: usize) -> String {
    let head = "Host: gw.example\r\nConnection: close\r\nX-Api-Key: ada\r\n";
    match request % 4 {
        3 => format!(
            "POST {WEB}/labels/ HTTP/1.1\r\n{head}Content-Type: application/json\r\nContent-Length: 11\r\n\r\n{{\"name\":\"\"}}"
        ),
        2 => format!("GET /api/v1/users/me/ HTTP/1.1\r\n{head}\r\n"),
        _ => format!("GET {WEB}/states/ HTTP/1.1\r\n{head}\r\n"),
    }
}

async fn started(size: &Size) -> (Child, SocketAddr) {
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, work_items: 500, ..Config::default() });
    let v1 = serve_sandbox(&sandbox).await;
    let child = Child::start_with(&v1, "sqlite::memory:", &size.settings).await;
    let gateway = child.base().trim_start_matches("http://").parse().expect("an address");
    (child, gateway)
}

/// The crowd's process is this program with this test; see `crowd`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_crowd_when_it_is_asked_for() {
    be_the_crowd().await;
}

/// A gateway with its memory and processor time at the first look.
struct Taken {
    memory: usize,
    time: Duration,
    since: Instant,
}

impl Taken {
    fn of(child: &Child) -> Self {
        Self { memory: child.memory(), time: child.processor_time(), since: Instant::now() }
    }

    /// Returns the bytes of memory and the share of one processor used since `before`.
    fn since(&self, before: &Self) -> (usize, f64) {
        let time = self.time.saturating_sub(before.time).as_secs_f64();
        (self.memory.saturating_sub(before.memory), time / (self.since - before.since).as_secs_f64())
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_clients_of_a_few_addresses_are_not_noticed_by_others() {
    let size = size();
    let (child, gateway) = started(&size).await;
    honest(gateway, size.honest, 4).await;
    let begun = Taken::of(&child);
    let quiet = honest(gateway, size.honest, size.requests).await;
    assert_eq!(quiet.refused, [(0, 0); 0], "without a crowd");
    let alone = Taken::of(&child);
    let mut crowd = Crowd::start(gateway, size.crowd, &Way::ALL);
    tokio::time::sleep(size.gather).await;
    let (came, before) = (crowd.deeds(), Taken::of(&child));
    let beset = honest(gateway, size.honest, size.requests).await;
    let (went, after) = (crowd.deeds(), Taken::of(&child));
    let seconds = (after.since - before.since).as_secs_f64();
    let grown = after.since(&begun).0.max(before.since(&begun).0);
    println!("| | quiet | {} slow clients |\n|---|---|---|", size.crowd);
    let row = |name: &str, quiet: String, beset: String| println!("| {name} | {quiet} | {beset} |");
    for per_cent in [50, 90, 99, 100] {
        let time = |met: &Met| format!("{:.1} ms", milliseconds(met.percentile(per_cent)));
        row(&format!("honest p{per_cent}"), time(&quiet), time(&beset));
    }
    let refused = |met: &Met| format!("{} of {}", met.refused.len(), met.times.len());
    row("refused", refused(&quiet), refused(&beset));
    let busy = |share: f64| format!("{:.0} %", 100.0 * share);
    row("one processor", busy(alone.since(&begun).1), busy(after.since(&before).1));
    row("memory", String::new(), format!("+{:.1} MiB", grown as f64 / f64::from(1 << 20)));
    row("connections open", String::new(), went.open.to_string());
    row(
        "connections a second",
        String::new(),
        format!("{:.0}", (went.connections - came.connections) as f64 / seconds),
    );
    row("KiB sent a second", String::new(), format!("{:.1}", (went.sent - came.sent) as f64 / seconds / 1024.0));
    assert_eq!(beset.refused, [(0, 0); 0], "with a crowd");
    assert!(grown <= size.budget, "memory grew by {grown} bytes");
    if long() {
        let most = 2 * quiet.percentile(99).max(FLOOR);
        assert!(beset.percentile(99) <= most, "{:?}, quiet {:?}", beset.percentile(99), quiet.percentile(99));
    }
}

/// Measures the cost of each way for both sides, for `docs/slow-clients.md`.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_cost_of_each_way_of_being_slow_is_measured() {
    if !long() {
        return;
    }
    let size = size();
    println!(
        "| Way | open | connections/s | bytes each | bytes/s | our bytes each | our processor | honest p99 | refused |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for way in Way::ALL {
        let (child, gateway) = started(&size).await;
        honest(gateway, size.honest, 4).await;
        let begun = Taken::of(&child);
        let mut crowd = Crowd::start(gateway, OF_ONE_WAY, &[way]);
        tokio::time::sleep(Duration::from_secs(5)).await;
        let (came, before) = (crowd.deeds(), Taken::of(&child));
        tokio::time::sleep(Duration::from_secs(5)).await;
        let (went, after) = (crowd.deeds(), Taken::of(&child));
        let beset = honest(gateway, size.honest, 8).await;
        let seconds = (after.since - before.since).as_secs_f64();
        let grown = after.since(&begun).0.max(before.since(&begun).0);
        println!(
            "| {way:?} | {} | {:.0} | {} | {:.0} | {:.1} KiB | {:.1} % | {:.1} ms | {} of {} |",
            went.open,
            (went.connections - came.connections) as f64 / seconds,
            went.sent.checked_div(went.connections).unwrap_or_default(),
            (went.sent - came.sent) as f64 / seconds,
            grown as f64 / 1024.0 / went.open.max(1) as f64,
            100.0 * after.since(&before).1,
            milliseconds(beset.percentile(99)),
            beset.refused.len(),
            beset.times.len(),
        );
    }
}
