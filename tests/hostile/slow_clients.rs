//! Thousands of slow clients from a few addresses, and what honest ones from other addresses notice of them.
//!
//! The gateway runs in a process of its own, so that its memory and its processor time are its own. Every day a
//! small crowd before a small gateway; with LONG_TESTS=1 the crowd and the limits as they are by default.

use crate::child::Child;
use crate::crowd::{Deeds, Way, crowd};
use crate::sockets::exchange;
use crate::support::gateway::{WEB, serve_sandbox};
use causeway::sandbox::{Config, Sandbox, Seed};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A gateway that a small crowd could fill. The honest clients use one credential, and are fewer than its share of
/// what a crowd leaves.
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

struct Size {
    crowd: usize,
    /// Honest clients, each from an address of its own.
    honest: u8,
    /// Requests of each honest client.
    requests: usize,
    /// Time for the crowd to come in.
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
            gather: Duration::from_secs(15),
            settings: vec![SECRET],
            budget: 256 << 20,
        }
    } else {
        let settings = [&SMALL[..], &[SECRET]].concat();
        Size {
            crowd: 600,
            honest: 12,
            requests: 16,
            gather: Duration::from_millis(500),
            settings,
            budget: 64 << 20,
        }
    }
}

/// What honest clients met.
struct Met {
    times: Vec<Duration>,
    /// Which of the four that [`asked`] makes, and its status.
    refused: Vec<(usize, u16)>,
}

impl Met {
    fn percentile(&self, per_cent: usize) -> Duration {
        self.times[(self.times.len() - 1) * per_cent / 100]
    }
}

async fn honest(gateway: SocketAddr, clients: u8, requests: usize) -> Met {
    let clients = (0..clients).map(|client| {
        tokio::spawn(async move {
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

/// Three reads, then a write that is read and judged; 400 is its answer.
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
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, quota_per_minute: None, work_items: 0 });
    let v1 = serve_sandbox(&sandbox).await;
    let child = Child::start_with(&v1, "sqlite::memory:", &size.settings).await;
    let gateway = child.base().trim_start_matches("http://").parse().expect("an address");
    (child, gateway)
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_clients_of_a_few_addresses_are_not_noticed_by_others() {
    let size = size();
    let (child, gateway) = started(&size).await;
    let quiet = honest(gateway, size.honest, size.requests).await;
    assert_eq!(quiet.refused, [(0, 0); 0], "without a crowd");
    let (memory, time) = (child.memory(), child.processor_time());

    let deeds = Arc::new(Deeds::default());
    let held = crowd(gateway, size.crowd, &Way::ALL, &deeds);
    tokio::time::sleep(size.gather).await;
    let beset = honest(gateway, size.honest, size.requests).await;
    let grown = child.memory().saturating_sub(memory);
    println!(
        "{} slow clients ({} connections, {} bytes sent): honest p50 {:?} (quiet {:?}), p99 {:?} (quiet {:?}), \
         {} of {} refused; memory grew by {} KiB, processor time by {:?}",
        size.crowd,
        deeds.connections.load(Ordering::Relaxed),
        deeds.sent.load(Ordering::Relaxed),
        beset.percentile(50),
        quiet.percentile(50),
        beset.percentile(99),
        quiet.percentile(99),
        beset.refused.len(),
        beset.times.len(),
        grown / 1024,
        child.processor_time() - time,
    );
    assert_eq!(beset.refused, [(0, 0); 0], "with a crowd");
    if long() {
        // A small budget is not much more than what six hundred connections take apart from it.
        assert!(grown <= size.budget, "memory grew by {grown} bytes");
        let most = 2 * quiet.percentile(99).max(Duration::from_millis(10));
        assert!(beset.percentile(99) <= most, "{:?}, quiet {:?}", beset.percentile(99), quiet.percentile(99));
    }
    drop(held);
}

/// What each way of being slow costs either side, for `docs/slow-clients.md`.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_each_way_costs_is_measured() {
    if !long() {
        return;
    }
    let size = size();
    for way in Way::ALL {
        let (child, gateway) = started(&size).await;
        honest(gateway, size.honest, 4).await;
        let (memory, time) = (child.memory(), child.processor_time());
        let deeds = Arc::new(Deeds::default());
        let held = crowd(gateway, 1000, &[way], &deeds);
        tokio::time::sleep(Duration::from_secs(20)).await;
        let beset = honest(gateway, size.honest, 4).await;
        println!(
            "{way:?}: {} connections and {} bytes sent in 20 s by 1000; memory +{} KiB, processor time {:?}, honest p99 \
             {:?}, {} refused",
            deeds.connections.load(Ordering::Relaxed),
            deeds.sent.load(Ordering::Relaxed),
            child.memory().saturating_sub(memory) / 1024,
            child.processor_time() - time,
            beset.percentile(99),
            beset.refused.len(),
        );
        drop(held);
    }
}
