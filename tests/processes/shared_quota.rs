//! v1's quota under three processes that share a Redis, or only a database: v1 never has to refuse a call.

use super::child::Child;
use super::client;
use super::support::gateway::serve_sandbox;
use super::support::redis::Redis;
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::task::spawn;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const QUOTA: u32 = 30;
const LABELS: &str = "/api/v2/workspaces/acme/projects/00000000-0000-4000-c000-000000000001/labels/";

/// Ten minutes in the long run; else a time in which the quota is used up once.
fn time() -> Duration {
    Duration::from_secs(if std::env::var("LONG_TESTS").is_ok() { 600 } else { 15 })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn v1_refuses_nothing_at_the_quota() {
    let redis = Redis::start();
    v1_refuses_nothing(Some(&redis), 3, 0.9).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_redis_the_processes_on_one_database_divide_the_quota() {
    v1_refuses_nothing(None, 3, 0.8).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_redis_a_process_that_uses_a_key_alone_gets_far_more_than_its_even_part() {
    // The even part is a third; a few calls stay free for the other processes.
    v1_refuses_nothing(None, 1, 0.8).await;
}

/// Lets `writing` of three processes write; they must use at least the part `used` of the quota.
async fn v1_refuses_nothing(redis: Option<&Redis>, writing: usize, used: f64) {
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, quota_per_minute: Some(QUOTA), ..Config::default() });
    let v1 = serve_sandbox(&sandbox).await;
    let database = super::support::postgres::Database::create().await;
    let (url, quota) = (redis.map(Redis::url).unwrap_or_default(), QUOTA.to_string());
    // Errors are logged with their cause.
    let log = ("CAUSEWAY_LOG__FILTER", "warn,causeway::cli::serve=info");
    let env = [("CAUSEWAY_SHARED__URL", url.as_str()), ("CAUSEWAY_UPSTREAM__QUOTA", &quota), log];
    let mut children = Vec::new();
    for _ in 0..3 {
        children.push(Child::start_with(&v1, &database.url(), &env).await);
    }
    if redis.is_none() {
        // Time for the processes to learn of each other, also on a busy machine.
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
    let (begun, time) = (Instant::now(), time());
    let counts = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    let writers: Vec<_> = (0..12)
        .map(|number: usize| {
            let url = format!("{}{LABELS}", children[number % writing].base());
            let (client, counts) = (client(), Arc::clone(&counts));
            spawn(async move {
                for turn in 0.. {
                    if begun.elapsed() > time {
                        return;
                    }
                    let body = json!({"name": format!("label {number} {turn}")}).to_string();
                    let request = client.post(&url).header("X-Api-Key", "ada");
                    let request = request.header("Content-Type", "application/json").body(body);
                    let answer = request.send().await.expect("an answer");
                    match answer.status().as_u16() {
                        201 => counts[0].fetch_add(1, Ordering::Relaxed),
                        429 | 503 => {
                            tokio::time::sleep(Duration::from_millis(500)).await;
                            counts[1].fetch_add(1, Ordering::Relaxed)
                        }
                        status => {
                            let (at, text) = (begun.elapsed(), answer.text().await.unwrap_or_default());
                            panic!("{status} after {at:?}: {text}")
                        }
                    };
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.expect("a writer that ends");
    }
    let journal = sandbox.journal();
    let refused = journal.iter().filter(|call| call.status == 429).count();
    let [made, told] = [0, 1].map(|at| counts[at].load(Ordering::Relaxed));
    let minutes = begun.elapsed().as_secs_f64() / 60.0;
    println!(
        "{made} made and {told} told to wait in {minutes:.1} min; {} calls of v1, {refused} refused",
        journal.len()
    );
    assert_eq!(refused, 0, "429 of v1");
    // The quota of the first minute at once, and then the calls that become free again.
    let allowed = f64::from(QUOTA) * (minutes.floor() + 1.0);
    assert!(journal.len() as f64 >= allowed * used, "{} of {allowed} calls are used", journal.len());
}
