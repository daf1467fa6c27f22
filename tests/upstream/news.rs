//! Messages that one process sends to all others through Redis, and the log about a Redis that cannot be used.

use crate::support::captured::Captured;
use crate::support::redis::Redis;
use crate::support::switch::until;
use causeway::shared::Shared;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

const MOMENT: Duration = Duration::from_secs(1);

/// All messages were kept for a reader that took none, without a bound.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_is_too_late_misses_messages_and_gets_later_ones() {
    let redis = Redis::start();
    let shared = Shared::open(&redis.url(), "http://v1.test", MOMENT).await.expect("a shared place");
    let (mut news, channel) = (shared.listen("test"), shared.channel("test"));
    let publish = |text: &str| -> usize {
        let mut message = redis::cmd("PUBLISH");
        message.arg(&channel).arg(text).query(&mut redis.connection()).expect("a message")
    };
    let patience = Instant::now() + Duration::from_secs(60);
    while publish("first") == 0 {
        assert!(Instant::now() < patience, "no subscription");
        sleep(Duration::from_millis(20)).await;
    }
    let mut many = redis::pipe();
    for _ in 0..3_000 {
        many.cmd("PUBLISH").arg(&channel).arg("one of many").ignore();
    }
    many.exec(&mut redis.connection()).expect("many messages");
    // The subscription ends when its reader takes nothing for two seconds.
    sleep(Duration::from_secs(6)).await;
    let mut heard = 0;
    while let Ok(Some(_)) = timeout(MOMENT, news.next()).await {
        heard += 1;
    }
    assert!((1_024..1_100).contains(&heard), "{heard} messages");
    loop {
        publish("later");
        if timeout(MOMENT, news.next()).await.is_ok_and(|message| message.as_deref() == Some(&b"later"[..])) {
            break;
        }
        assert!(Instant::now() < patience, "no further messages");
    }
}

/// The log had only the lost connection, and nobody could see why there was no new one.
#[tokio::test]
async fn the_log_tells_that_redis_refuses_the_credentials_meanwhile() {
    let redis = Redis::start();
    let log = Captured::default();
    let _listening = log.listen();
    let shared = Shared::open(&redis.url(), "http://v1.test", MOMENT).await.expect("a shared place");
    assert!(shared.is_up(), "{}", log.text());
    let mut operator = redis.connection();
    redis::cmd("CONFIG").arg("SET").arg("requirepass").arg("secret").exec(&mut operator).expect("a password");
    redis::cmd("CLIENT").arg("KILL").arg("TYPE").arg("normal").exec(&mut operator).expect("no connections");
    until("the log has the reason", async || log.text().contains("Redis refuses to be used")).await;
    assert!(!shared.is_up());
    redis::cmd("CONFIG").arg("SET").arg("requirepass").arg("").exec(&mut operator).expect("no password");
    until("Redis is back", async || shared.is_up()).await;
}

#[tokio::test]
async fn a_database_that_redis_does_not_have_cannot_be_opened() {
    let redis = Redis::start();
    let refused = Shared::open(&format!("{}/99", redis.url()), "http://v1.test", MOMENT).await;
    let told = refused.map(drop).expect_err("there are 16").to_string();
    assert!(told.contains("DB index is out of range"), "{told}");
}
