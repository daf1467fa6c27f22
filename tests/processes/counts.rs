//! A killed gateway loses at most the counts since its last write, and counts none twice; the counts of two processes
//! on one store add up.

use super::child::Child;
use super::support::gateway::serve_sandbox;
use super::support::postgres::Database;
use super::support::random::Random;
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::store::Store;
use std::time::{Duration, Instant};

/// Time between two writes of counts, long enough to kill the gateway in between.
const FLUSH: Duration = Duration::from_millis(300);
/// Longest wait for counts that a busy machine writes late.
const PATIENCE: Duration = Duration::from_secs(30);
/// Calls of v1 and of v2 in turns.
const PATHS: [&str; 2] = ["/api/v1/users/me/", "/api/v2/users/me/"];

/// Number of calls in all; 50,000 with LONG_TESTS=1.
fn calls() -> usize {
    if std::env::var_os("LONG_TESTS").is_some() { 50_000 } else { 2_000 }
}

async fn counted(store: &Store) -> i64 {
    store.usage().await.expect("counts").iter().map(|row| row.calls).sum()
}

/// Waits for several writes of counts, and for more of them while fewer than `least` calls are counted.
async fn written(store: &Store, least: i64) -> i64 {
    tokio::time::sleep(FLUSH * 4).await;
    let began = Instant::now();
    loop {
        let counted = counted(store).await;
        if counted >= least || began.elapsed() > PATIENCE {
            return counted;
        }
        tokio::time::sleep(FLUSH).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_process_loses_what_it_had_not_written_and_no_more() {
    let database = Database::create().await;
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let v1 = serve_sandbox(&sandbox).await;
    let flush = format!("{}ms", FLUSH.as_millis());
    let env = [("CAUSEWAY_USAGE__FLUSH", flush.as_str())];
    let mut children = vec![
        Child::start_with(&v1, &database.url(), &env).await,
        Child::start_with(&v1, &database.url(), &env).await,
    ];
    let store = Store::open(&database.url(), &v1).await.expect("the store");
    let client = super::client();
    let mut random = Random::new(16);
    let mut made = 0;
    // Calls that one process received and may not have written.
    let mut at_risk = 0;
    for call in 0..calls() {
        if call == calls() / 2 {
            // Earlier counts have been written by then; later ones may be lost.
            assert_eq!(written(&store, made).await, made, "all counts of both processes, to the last");
            for _ in 0..20 {
                let sent =
                    client.get(format!("{}{}", children[0].base(), PATHS[0])).header("X-Api-Key", "ada").send();
                assert!(sent.await.expect("an answer").status().is_success());
                at_risk += 1;
            }
            children.remove(0).kill();
        }
        let base = children[random.below(children.len())].base();
        let sent = client.get(format!("{base}{}", PATHS[call % 2])).header("X-Api-Key", "ada").send();
        assert!(sent.await.expect("an answer").status().is_success());
        made += 1;
    }
    let counted = written(&store, made).await;
    assert!((made..=made + at_risk).contains(&counted), "{counted} counted of {made} and {at_risk} at risk");
    store.close().await;
}
