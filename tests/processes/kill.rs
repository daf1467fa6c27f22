//! The gateway is killed at random moments while it writes, over and over, on both engines.
//!
//! Each round starts the gateway on the same store, checks that all acknowledged writes are there, lets several
//! writers write, and sends SIGKILL. An acknowledged write must be there afterwards, any other write may be there
//! wholly or not at all, and the store must be sound. 1,000 rounds for each engine with LONG_TESTS=1. Else 60 on
//! SQLite and 20 on PostgreSQL, where the first write after each kill waits until v1 must be done with the last one.

use super::child::Child;
use super::ledger::Ledger;
use super::support::gateway::serve_sandbox;
use super::support::random::Random;
use super::{sound, support, writer};
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::task::spawn;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Number of writers at once.
const WRITERS: usize = 4;
/// Number of rounds in the everyday run, on SQLite and on PostgreSQL.
const ROUNDS: (usize, usize) = (60, 20);
/// Rounds between two complete checks; the other rounds check the writes of the last round.
const FULL: usize = 20;

/// Rounds between two starts of a gateway that was stopped cleanly, with which starts after a kill are compared.
const CALM: usize = 5;

/// Longest wait for the first acknowledged write of a round.
const PATIENCE: Duration = Duration::from_secs(60);

fn rounds(everyday: usize) -> usize {
    if std::env::var_os("LONG_TESTS").is_some() { 1000 } else { everyday }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_on_sqlite() {
    let folder = tempfile::tempdir().expect("a folder");
    let [url, calm] = ["store.db", "calm.db"].map(|name| format!("sqlite:{}", folder.path().join(name).display()));
    survive(&url, &calm, rounds(ROUNDS.0)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_on_postgres() {
    let (database, calm) =
        (support::postgres::Database::create().await, support::postgres::Database::create().await);
    survive(&database.url(), &calm.url(), rounds(ROUNDS.1)).await;
}

/// Starts a gateway whose last process ended by itself, and ends it so again. Returns the time until it was ready.
async fn calm_start(v1: &str, store_url: &str) -> Duration {
    let began = Instant::now();
    let mut child = Child::start(v1, store_url).await;
    let took = began.elapsed();
    child.signal(rustix::process::Signal::TERM);
    assert!(child.ended().success());
    took
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Kills the gateway on `store_url` over and over; the gateway on `calm_url` is never killed.
async fn survive(store_url: &str, calm_url: &str, rounds: usize) {
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let v1 = serve_sandbox(&sandbox).await;
    let ledger = Arc::new(Mutex::new(Ledger::default()));
    let mut kind = String::new();
    let (mut starts, mut calm) = (Vec::new(), Vec::new());
    let mut random = Random::new(0x9e37_79b9_7f4a_7c15);
    for round in 0..rounds {
        if round % CALM == 0 {
            calm.push(calm_start(&v1, calm_url).await);
        }
        let began = Instant::now();
        let child = Child::start(&v1, store_url).await;
        starts.push(began.elapsed());
        let everything = round % FULL == 0;
        Ledger::settle(&ledger, &child, everything).await;
        if round == 0 {
            kind = writer::prepare(child.base()).await;
        }
        let before = ledger.lock().expect("a ledger").acknowledged();
        let writers: Vec<_> = (0..WRITERS)
            .map(|number| {
                let (base, kind, ledger) = (child.base().to_owned(), kind.clone(), Arc::clone(&ledger));
                spawn(writer::write(base, kind, number, round, ledger))
            })
            .collect();
        // Even on a slow machine the kill comes while writes are acknowledged.
        while ledger.lock().expect("a ledger").acknowledged() == before && began.elapsed() < PATIENCE {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(Duration::from_millis(random.below(120) as u64)).await;
        child.kill();
        for writer in writers {
            writer.await.expect("a writer that ends when the gateway is gone");
        }
        if everything {
            sound(store_url, &v1).await;
            let (engine, acknowledged) =
                (store_url.split(':').next(), ledger.lock().expect("a ledger").acknowledged());
            println!("{}: round {round}, {acknowledged} writes acknowledged", engine.unwrap_or_default());
        }
    }
    let child = Child::start(&v1, store_url).await;
    Ledger::settle(&ledger, &child, true).await;
    child.kill();
    sound(store_url, &v1).await;
    let acknowledged = ledger.lock().expect("a ledger").acknowledged();
    // Each round waits for one; a slow machine may acknowledge no second one before the kill.
    assert!(acknowledged >= rounds, "only {acknowledged} writes were acknowledged: the rounds prove nothing");
    // A busy machine makes both kinds of starts slow. What a kill left behind would make only one kind wait.
    let (again, calm) = (median(starts), median(calm));
    let most = calm.mul_f64(1.5) + Duration::from_millis(500);
    assert!(again < most, "the gateway took {again:?} to start again, and {calm:?} after a clean stop");
}
