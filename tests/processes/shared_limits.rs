//! Client limits through three processes that share a Redis, and without it.

use super::child::Child;
use super::client;
use super::support::gateway::serve_sandbox;
use super::support::redis::Redis;
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::task::spawn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const ME: &str = "/api/v2/users/me/";
const LIMIT: u32 = 600;
/// Refusals that show that the limit was reached, also on a machine that sends few requests.
const REACHED: usize = 50;
/// Longest wait for an expected event.
const PATIENCE: Duration = Duration::from_secs(120);

/// Three gateways before one sandbox.
struct Three {
    children: Vec<Child>,
    client: reqwest::Client,
    _folder: tempfile::TempDir,
}

/// Results of many requests.
#[derive(Debug, Default)]
struct Counted {
    taken: usize,
    refused: usize,
    /// Time from the first request to the last.
    time: Duration,
    /// Time from the first answer to the last request that was refused: then nothing was left.
    used_up: Duration,
}

impl Counted {
    /// Asserts that the limit let through what it allows, no more and no less.
    fn expect_the_limit(&self) {
        let (least, most) = (allowed(self.used_up) * 0.98, allowed(self.time) * 1.02);
        assert!((least..=most).contains(&(self.taken as f64)), "{self:?}: {least:.0} to {most:.0} are allowed");
    }
}

impl Three {
    async fn with(redis: &Redis) -> Self {
        let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
        let v1 = serve_sandbox(&sandbox).await;
        let folder = tempfile::tempdir().expect("a folder");
        let (url, limit) = (redis.url(), LIMIT.to_string());
        let mut children = Vec::new();
        for number in 0..3 {
            // A store for each: they share only Redis.
            let store = format!("sqlite:{}", folder.path().join(format!("{number}.db")).display());
            let env = [("CAUSEWAY_SHARED__URL", url.as_str()), ("CAUSEWAY_LIMITS__RATE__API_KEY", &limit)];
            children.push(Child::start_with(&v1, &store, &env).await);
        }
        Self { children, client: client(), _folder: folder }
    }

    async fn get(&self, which: usize, key: &str) -> reqwest::Response {
        let url = format!("{}{ME}", self.children[which].base());
        self.client.get(url).header("X-Api-Key", key).send().await.expect("an answer")
    }

    async fn remaining(&self, which: usize, key: &str) -> u32 {
        let answer = self.get(which, key).await;
        assert_eq!(answer.status(), 200);
        answer.headers()["x-ratelimit-remaining"].to_str().expect("a text").parse().expect("a number")
    }

    /// Sends as many requests as `clients` can to each of the gateways in `of`, for this time and until so many were
    /// refused.
    async fn flood(&self, of: &[usize], clients: usize, time: Duration, refusals: usize) -> Counted {
        let counts = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let begun = Instant::now();
        let floods = of.iter().flat_map(|which| std::iter::repeat_n(*which, clients)).map(|which| {
            let (client, counts) = (self.client.clone(), Arc::clone(&counts));
            let url = format!("{}{ME}", self.children[which].base());
            spawn(async move {
                let (mut first, mut used_up) = (None, Duration::ZERO);
                while begun.elapsed() < time || counts[1].load(Ordering::Relaxed) < refusals {
                    let asked = begun.elapsed();
                    assert!(asked < PATIENCE, "only {counts:?} are taken and refused");
                    let answer = client.get(&url).header("X-Api-Key", "ada").send().await.expect("an answer");
                    first.get_or_insert_with(|| begun.elapsed());
                    match answer.status().as_u16() {
                        200 => counts[0].fetch_add(1, Ordering::Relaxed),
                        429 => {
                            used_up = asked;
                            counts[1].fetch_add(1, Ordering::Relaxed)
                        }
                        status => panic!("{status}"),
                    };
                }
                (first.unwrap_or_default(), used_up)
            })
        });
        let (mut first, mut last) = (Duration::MAX, Duration::ZERO);
        for flood in floods.collect::<Vec<_>>() {
            let (answered, used_up) = flood.await.expect("a client that ends");
            (first, last) = (first.min(answered), last.max(used_up));
        }
        let [taken, refused] = [0, 1].map(|at| counts[at].load(Ordering::Relaxed));
        Counted { taken, refused, time: begun.elapsed(), used_up: last.saturating_sub(first) }
    }
}

/// Returns how many requests the limit lets through in `time` after a pause.
fn allowed(time: Duration) -> f64 {
    f64::from(LIMIT) * (1.0 + time.as_secs_f64() / 60.0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_processes_with_redis_keep_one_limit() {
    let redis = Redis::start();
    let three = Three::with(&redis).await;
    let before = redis.scripts_run();
    let counted = three.flood(&[0, 1, 2], 4, Duration::from_secs(8), REACHED).await;
    println!("{counted:?}, {:.0} allowed, {} scripts", allowed(counted.time), redis.scripts_run() - before);
    counted.expect_the_limit();
    // Few round trips for each request under load; when a slow machine sends few requests, few in each second.
    let (asked, requests) = (redis.scripts_run() - before, counted.taken + counted.refused);
    let in_time = counted.time.as_secs_f64() * 3.0 * 15.0;
    assert!(asked as f64 <= (requests as f64 * 0.05).max(in_time), "{asked} round trips for {requests} requests");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_process_tells_what_is_left_of_the_one_limit() {
    let redis = Redis::start();
    let three = Three::with(&redis).await;
    let begun = Instant::now();
    futures_util::future::join_all((0..90).map(|number| three.get(number % 3, "ada"))).await;
    let spent = Instant::now();
    // After a second at the latest, a process asks again.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    for (number, which) in (0..).zip([0, 1, 2, 2, 1, 0]) {
        let asked = Instant::now();
        let left = three.remaining(which, "ada").await;
        // What has come back by then, at least and at most.
        let [least, most] = [asked - spent, begun.elapsed()].map(|time| {
            let back = LIMIT * u32::try_from(time.as_millis()).expect("not long") / 60_000;
            (LIMIT - 90 - 1 - number + back).min(LIMIT - 1)
        });
        assert!(left + 3 >= least && left <= most + 3, "{left}, not {least} to {most}, at {which}");
        tokio::time::sleep(Duration::from_millis(1100)).await;
    }
    assert!(three.remaining(1, "bob").await >= LIMIT - 1, "another credential has a bucket of its own");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_redis_each_process_keeps_the_limit_and_with_it_again_all_do() {
    let mut redis = Redis::start();
    let three = Three::with(&redis).await;
    let together = three.flood(&[0, 1], 2, Duration::from_secs(2), 0).await;
    assert!(together.taken as f64 <= allowed(together.time) * 1.02, "{together:?}");
    redis.stop();
    // The third process has let nothing through yet, so it has its whole limit.
    three.flood(&[2], 4, Duration::from_secs(3), REACHED).await.expect_the_limit();
    redis.start_again();
    let patience = Instant::now() + Duration::from_secs(30);
    // Together again: requests through one process reduce the limit of the other.
    loop {
        futures_util::future::join_all((0..60).map(|_| three.get(0, "bob"))).await;
        tokio::time::sleep(Duration::from_millis(1100)).await;
        let left = three.remaining(1, "bob").await;
        if left < LIMIT - 5 {
            break;
        }
        assert!(Instant::now() < patience, "{left} are left");
    }
    redis.flush();
    let flushed = three.flood(&[0, 1, 2], 2, Duration::from_secs(2), 0).await;
    assert!(flushed.taken > 0, "{flushed:?}");
}
