//! The connection of a gateway to its Redis: over TLS, as a user with few rights, and its errors without the rights.

use super::child::Child;
use super::client;
use super::support::gateway::serve_sandbox;
use super::support::redis::Redis;
use super::tls::behind_tls;
use causeway::sandbox::{Config, Sandbox, Seed};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Longest wait for an expected event.
const PATIENCE: Duration = Duration::from_secs(30);
const WORD: &str = "a-word-that-is-not-told";

/// A Redis with a user that has the rights named in `docs/several-gateways.md`.
fn with_user() -> Redis {
    let redis = Redis::start();
    let page = include_str!("../../docs/several-gateways.md");
    let line =
        page.lines().find_map(|line| line.trim().strip_prefix("ACL SETUSER ")).expect("the line of the page");
    let mut command = redis::cmd("ACL");
    command.arg("SETUSER");
    for word in line.replace("PASSWORD", WORD).split(' ') {
        command.arg(word);
    }
    command.exec(&mut redis.connection()).expect("a user");
    redis
}

async fn v1() -> String {
    serve_sandbox(&Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() })).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_behind_tls_is_used_by_a_user_of_its_own() {
    let (redis, folder) = (with_user(), tempfile::tempdir().expect("a folder"));
    let issuer = folder.path().join("issuer.pem");
    let port = behind_tls(&format!("127.0.0.1:{}", redis.port()), &issuer).await;
    let url = format!("rediss://causeway:{WORD}@localhost:{port}");
    let env = [
        ("CAUSEWAY_SHARED__URL", url.as_str()),
        ("SSL_CERT_FILE", issuer.to_str().expect("a path")),
        ("CAUSEWAY_LIMITS__RATE__API_KEY", "600"),
        ("CAUSEWAY_UPSTREAM__QUOTA", "60"),
        ("CAUSEWAY_SECRETS__KEY", "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="),
    ];
    let gateway = Child::start_with(&v1().await, "sqlite::memory:", &env).await;
    let ask = client().get(format!("{}/api/v2/users/me/", gateway.base())).header("X-Api-Key", "ada");
    assert_eq!(ask.send().await.expect("an answer").status(), 200);
    let patience = Instant::now() + PATIENCE;
    loop {
        let contents = redis.contents();
        // The limit, the quota, the proof and the process.
        if [":limit:", ":quota:", ":proofs:", ":processes:"].iter().all(|kind| contents.contains(kind)) {
            break;
        }
        assert!(Instant::now() < patience, "{contents}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_password_ends_the_start_and_is_not_shown() {
    let (redis, v1) = (with_user(), v1().await);
    let url = format!("redis://causeway:{WORD}-or-not@127.0.0.1:{}", redis.port());
    let mut command = Command::new(env!("CARGO_BIN_EXE_causeway"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--store", "sqlite::memory:", "--upstream", &v1]);
    command.env("CAUSEWAY_SHARED__URL", url).stdin(Stdio::null());
    let ended = tokio::task::spawn_blocking(move || command.output()).await.expect("a thread").expect("an end");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(!ended.status.success() && said.contains("shared.url") && said.contains("refuses"), "{said}");
    assert!(!said.contains(WORD), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_is_not_there_yet_keeps_nobody_from_serving() {
    let mut redis = Redis::start();
    redis.stop();
    let url = redis.url();
    let env = [("CAUSEWAY_SHARED__URL", url.as_str()), ("CAUSEWAY_LIMITS__RATE__API_KEY", "600")];
    let gateway = Child::start_with(&v1().await, "sqlite::memory:", &env).await;
    let ask = || client().get(format!("{}/api/v2/users/me/", gateway.base())).header("X-Api-Key", "ada").send();
    assert_eq!(ask().await.expect("an answer").status(), 200);
    redis.start_again();
    let patience = Instant::now() + PATIENCE;
    while redis.scripts_run() < 2 {
        assert_eq!(ask().await.expect("an answer").status(), 200);
        assert!(Instant::now() < patience, "Redis is not used");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
