//! v1 stopped for a quarter of an hour under load: the share of reads that are answered, minute by minute and kind by
//! kind, the age of the answers, and the calls that v1 gets when it is back. Two gateways stand before the same v1, one
//! with a short and one with a long `cache.outage_grace`. Nothing changes at v1 meanwhile, so a reader gets the same
//! bytes each time, or a 503 that says that v1 is away.
//!
//! `OUTAGE_MINUTES` scales everything: the outage, the ages and the graces (a third of it, and all of it). Prints
//! its figures; runs in real time, hence only with `LONG_TESTS=1`.

use crate::support::gateway::{Answer, Gateway, serve_sandbox};
use crate::support::switch::{Line, Switch, until};
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::task::spawn;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Number of readers of each gateway.
const READERS: usize = 50;
/// Time a reader takes between two reads.
const PAUSE: Duration = Duration::from_millis(500);
const KINDS: [&str; 5] = ["lists", "items", "states", "members", "comments"];

/// Observations of one kind of read in one part of the outage.
#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    asked: u32,
    answered: u32,
    oldest: u64,
}

/// By part of the outage and kind.
type Figures = Arc<Mutex<BTreeMap<(usize, usize), Seen>>>;

/// Durations in seconds.
struct Scale {
    outage: f64,
}

impl Scale {
    fn new() -> Self {
        let minutes = std::env::var("OUTAGE_MINUTES").ok().and_then(|text| text.parse::<f64>().ok());
        Self { outage: minutes.unwrap_or(15.0) * 60.0 }
    }

    /// Scales `seconds`, which are for an outage of a quarter of an hour.
    fn of(&self, seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds * self.outage / 900.0)
    }

    fn text(&self, seconds: f64) -> String {
        format!("{}ms", self.of(seconds).as_millis())
    }
}

fn paths(kind: usize, number: usize) -> String {
    let project = "/api/v2/workspaces/acme/projects/00000000-0000-4000-c000-000000000001";
    let item = format!("{project}/work-items/00000000-0000-4000-e000-{:012}/", number % 30 + 1);
    match KINDS[kind] {
        "lists" => {
            let which = ["?priority__in=urgent,high", "?search=the&order_by=priority", "?order_by=-created_at"];
            format!("{project}/work-items/{}", which[number % which.len()])
        }
        "items" => item,
        "states" => format!("{project}/states/"),
        "members" => format!("{project}/members/"),
        _ => format!("{item}comments/"),
    }
}

async fn before(base_url: &str, scale: &Scale, grace: f64) -> Arc<Gateway> {
    let values = [
        ("cache.card", scale.text(30.0)),
        ("cache.identity", scale.text(60.0)),
        ("cache.collection", scale.text(10.0)),
        ("index.freshness", scale.text(5.0)),
        ("cache.stale_if_error", scale.text(900.0)),
        ("cache.outage_grace", scale.text(grace)),
    ];
    let settings: Vec<(&str, &str)> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
    Arc::new(Gateway::with(base_url, &settings).await)
}

/// Reads until told to stop, and notes each answer under the part of the outage that `now` returns.
async fn reader(
    gateway: Arc<Gateway>,
    number: usize,
    now: impl Fn() -> Option<usize>,
    figures: Figures,
    over: Arc<AtomicBool>,
) {
    let keys = ["demo-admin-key", "demo-member-key", "demo-designer-key", "demo-remote-key"];
    let mut shown = BTreeMap::new();
    for round in 0.. {
        if over.load(Ordering::SeqCst) {
            return;
        }
        let kind = (number + round) % KINDS.len();
        let part = now();
        let path = paths(kind, number + round * 7);
        let answer = gateway.get(keys[number % keys.len()], &path).await;
        if answer.status == 200 {
            let before = shown.entry(path).or_insert_with(|| answer.bytes.clone());
            assert_eq!(answer.bytes, *before, "{} {:?}", KINDS[kind], answer.headers);
        } else {
            assert!((502..=504).contains(&answer.status), "{} {}", answer.status, answer.json);
        }
        if let Some(part) = part {
            let mut figures = figures.lock().expect("a lock");
            let seen = figures.entry((part, kind)).or_default();
            seen.asked += 1;
            if answer.status == 200 {
                seen.answered += 1;
                seen.oldest = seen.oldest.max(age(&answer));
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn age(answer: &Answer) -> u64 {
    answer.headers.get("age").and_then(|age| age.parse().ok()).unwrap_or_default()
}

fn print(title: &str, figures: &Figures, parts: usize) -> (u32, u32) {
    println!("\n{title}: answered/asked by part of the outage, oldest age in seconds");
    println!("{:>5} {}", "part", KINDS.map(|kind| format!("{kind:>18}")).concat());
    let figures = figures.lock().expect("a lock");
    for part in 0..parts {
        let seen = (0..KINDS.len()).map(|kind| figures.get(&(part, kind)).copied().unwrap_or_default());
        let cells =
            seen.map(|seen| format!("{:>18}", format!("{}/{} ≤{}", seen.answered, seen.asked, seen.oldest)));
        println!("{:>5} {}", part + 1, cells.collect::<String>());
    }
    let (asked, answered) = figures.values().fold((0, 0), |sum, seen| (sum.0 + seen.asked, sum.1 + seen.answered));
    println!(
        "{title}: {answered} of {asked} reads answered, {:.1} %",
        100.0 * f64::from(answered) / f64::from(asked)
    );
    (asked, answered)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn v1_stopped_under_load() {
    if std::env::var_os("LONG_TESTS").is_none() {
        return;
    }
    let (scale, parts) = (Scale::new(), 15);
    let sandbox = Sandbox::new(Config { seed: Seed::Demo, ..Config::default() });
    let switch = Switch::before(&serve_sandbox(&sandbox).await).await;
    let graces = [300.0, 900.0];
    let began: Arc<Mutex<Option<Instant>>> = Arc::default();
    let over = Arc::new(AtomicBool::new(false));
    let (mut gateways, mut readers) = (Vec::new(), Vec::new());
    for grace in graces {
        let gateway = before(&switch.base_url(), &scale, grace).await;
        let figures = Figures::default();
        for number in 0..READERS {
            let (began, length) = (Arc::clone(&began), scale.outage);
            let now = move || {
                let passed = began.lock().expect("a lock").as_ref()?.elapsed().as_secs_f64();
                (passed < length).then_some((passed * parts as f64 / length) as usize)
            };
            let work = reader(Arc::clone(&gateway), number, now, Arc::clone(&figures), Arc::clone(&over));
            readers.push(spawn(work));
        }
        gateways.push((gateway, figures, grace));
    }
    // Time to read everything once.
    tokio::time::sleep(Duration::from_secs(30)).await;
    println!("v1 stops for {} s under {READERS} readers of each gateway", scale.outage);
    switch.set(Line::Refusing).await;
    *began.lock().expect("a lock") = Some(Instant::now());
    tokio::time::sleep(scale.of(900.0)).await;
    sandbox.clear_journal();
    let back = Instant::now();
    switch.set(Line::Up).await;
    for (gateway, ..) in &gateways {
        until("v1 is asked again", async || {
            let answer = gateway.get("demo-admin-key", &paths(2, 0)).await;
            answer.status == 200 && !answer.headers.contains_key("cache-status")
        })
        .await;
    }
    let recovered = back.elapsed();
    tokio::time::sleep(scale.of(10.0)).await;
    let (journal, watched) = (sandbox.journal(), back.elapsed());
    over.store(true, Ordering::SeqCst);
    for one in readers {
        one.await.expect("a reader");
    }
    for (_, figures, grace) in &gateways {
        let title = format!("outage_grace {}", scale.text(*grace));
        let (asked, answered) = print(&title, figures, parts);
        assert!(asked > 0 && answered > 0);
        let figures = figures.lock().expect("a lock");
        let oldest = figures.values().map(|seen| seen.oldest).max().unwrap_or_default();
        // Data, and the owner of the key, which may have its usual age in a workspace (five times `cache.identity`) and the
        // grace; rounded up.
        let allowed = scale.of(f64::max(900.0, grace + 300.0)).as_secs_f64().ceil() as u64 + 1;
        assert!(oldest <= allowed, "{oldest} s where {allowed} s are allowed");
        // Proofs end with their grace, whatever the age of the data.
        let last = (grace + 60.0) / 900.0 * parts as f64;
        let late = figures.iter().filter(|((part, _), _)| *part as f64 >= last.ceil());
        let late: u32 = late.map(|(_, seen)| seen.answered).sum();
        assert_eq!(late, 0, "answered with proofs that are too old");
        // Up to then everything is answered; what was read last before the outage is a little older than that.
        let early = f64::min(*grace, 780.0) / 900.0 * parts as f64;
        let early = figures.iter().filter(|((part, _), _)| *part < early as usize);
        let unanswered: u32 = early.map(|(_, seen)| seen.asked - seen.answered).sum();
        assert_eq!(unanswered, 0, "not answered, though the proofs are young enough");
        println!("{title}: oldest {oldest} s of {allowed} s allowed");
    }
    let mut calls = BTreeMap::<(String, String), usize>::new();
    for call in &journal {
        let path = call.path.split('?').next().unwrap_or_default().to_owned();
        *calls.entry((path, call.key.clone().unwrap_or_default())).or_default() += 1;
    }
    println!("\nrecovery: v1 is asked again after {recovered:.1?}; {} calls in {watched:.1?}", journal.len());
    let mut most: Vec<_> = calls.iter().collect();
    most.sort_by_key(|(_, calls)| std::cmp::Reverse(**calls));
    for ((path, key), calls) in most.iter().take(12) {
        println!("{calls:>6} {key:<18} {path}");
    }
    // Each gateway reads cached data once in each time to live.
    let rounds = |seconds: f64| 2 * (1 + (watched.as_secs_f64() / scale.of(seconds).as_secs_f64()).ceil() as usize);
    for (end, seconds) in [("/states/", 10.0), ("/users/me/", 60.0)] {
        let of = |calls: &BTreeMap<(String, String), usize>| {
            let matching = calls.iter().filter(|((path, _), _)| path.ends_with(end));
            matching.map(|(_, calls)| *calls).max().unwrap_or_default()
        };
        assert!(of(&calls) <= rounds(seconds), "{end}: {} calls", of(&calls));
    }
}
