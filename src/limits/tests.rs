//! The limits under a stopped clock. May use: this folder.

use super::*;
use std::net::IpAddr;
use std::time::Duration;
use tokio::time::advance;

const ADA: CredentialId = [1; 32];
const BOB: CredentialId = [2; 32];

fn all(rate: u32) -> RateSettings {
    RateSettings {
        api_key: rate,
        oauth: rate,
        workspace: rate,
        service: rate,
        external: rate,
        unauthenticated: rate,
    }
}

fn wait_of(refusal: &Refusal) -> u64 {
    let Refusal::RateLimited { retry_after, .. } = refusal else { panic!("{refusal:?}") };
    *retry_after
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn no_credential() -> Refusal {
    Refusal::Unauthorized { detail: "none".into() }
}

#[tokio::test(start_paused = true)]
async fn each_class_and_credential_has_a_bucket_of_its_own() {
    for (number, class) in Class::ALL.into_iter().enumerate() {
        let rate = 3 + u32::try_from(number).unwrap();
        let mut settings = all(0);
        match class {
            Class::ApiKey => settings.api_key = rate,
            Class::OAuth => settings.oauth = rate,
            Class::Workspace => settings.workspace = rate,
            Class::Service => settings.service = rate,
            Class::External => settings.external = rate,
        }
        let limits = Limits::new(&settings);
        for left in (0..rate).rev() {
            let standing = limits.take(class, ADA).await.unwrap().unwrap();
            assert_eq!((standing.policy, standing.limit, standing.remaining), (class.name(), rate, left));
        }
        let (refusal, standing) = limits.take(class, ADA).await.unwrap_err();
        assert_eq!((wait_of(&refusal), standing.remaining), (60_u64.div_ceil(u64::from(rate)), 0));
        assert!(limits.take(class, BOB).await.is_ok(), "{class:?}");
        for other in Class::ALL.into_iter().filter(|other| *other != class) {
            assert_eq!(limits.take(other, ADA).await.unwrap(), None, "0 is no limit");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn after_the_time_told_it_works_and_a_second_before_it_does_not() {
    let limits = Limits::new(&all(3));
    while limits.take(Class::ApiKey, ADA).await.is_ok() {}
    advance(Duration::from_secs(7)).await;
    let wait = wait_of(&limits.take(Class::ApiKey, ADA).await.unwrap_err().0);
    assert_eq!(wait, 13);
    advance(Duration::from_secs(wait - 1)).await;
    assert_eq!(wait_of(&limits.take(Class::ApiKey, ADA).await.unwrap_err().0), 1);
    advance(Duration::from_secs(1)).await;
    assert!(limits.take(Class::ApiKey, ADA).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn the_reset_is_when_the_bucket_is_full() {
    let limits = Limits::new(&all(6));
    assert_eq!(limits.take(Class::ApiKey, ADA).await.unwrap().unwrap().reset, Duration::from_secs(10));
    while limits.take(Class::ApiKey, ADA).await.is_ok() {}
    let reset = limits.take(Class::ApiKey, ADA).await.unwrap_err().1.reset;
    assert_eq!(reset.as_secs_f64().round(), 60.0);
    advance(reset).await;
    assert_eq!(limits.take(Class::ApiKey, ADA).await.unwrap().unwrap().remaining, 5);
}

#[tokio::test(start_paused = true)]
async fn buckets_of_those_who_no_longer_come_are_dropped() {
    let buckets = Buckets::new(60).unwrap();
    for key in 0..3000_u32 {
        buckets.take(&key).unwrap();
    }
    assert!(buckets.len() >= 3000);
    advance(Duration::from_secs(61)).await;
    for key in 0..4096_u32 {
        let _ = buckets.take(&(key % 2));
    }
    assert!(buckets.len() <= 2, "{}", buckets.len());
}

#[tokio::test(start_paused = true)]
async fn failed_attempts_are_limited_by_address_and_known_credentials_are_not() {
    let attempts = Attempts::new(2);
    let home = address("192.0.2.1");
    attempts.proven(ADA);
    for _ in 0..2 {
        assert_eq!(attempts.failed(home, None, no_credential()).await.code(), "unauthorized");
    }
    attempts.may_try(home, None).unwrap();
    let refused = attempts.failed(home, Some(BOB), no_credential()).await;
    assert_eq!((refused.code(), wait_of(&refused)), ("rate_limited", 30));
    assert_eq!(wait_of(&attempts.may_try(home, None).unwrap_err()), 30);
    assert_eq!(wait_of(&attempts.may_try(home, Some(BOB)).unwrap_err()), 30);
    attempts.may_try(home, Some(ADA)).expect("it was proven before");
    attempts.may_try(address("192.0.2.2"), Some(BOB)).expect("another address");
    advance(Duration::from_secs(30)).await;
    attempts.may_try(home, Some(BOB)).expect("the slot is free");
    assert_eq!(attempts.failed(home, Some(BOB), no_credential()).await.code(), "unauthorized");
}

#[tokio::test(start_paused = true)]
async fn a_credential_that_was_withdrawn_is_no_longer_known() {
    let attempts = Attempts::new(1);
    let home = address("192.0.2.1");
    attempts.proven(ADA);
    assert_eq!(attempts.failed(home, Some(ADA), no_credential()).await.code(), "unauthorized");
    assert_eq!(attempts.failed(home, None, no_credential()).await.code(), "rate_limited");
    assert!(attempts.may_try(home, Some(ADA)).is_err());
}

#[tokio::test(start_paused = true)]
async fn of_ipv6_the_64_counts_and_mapped_ipv4_is_ipv4() {
    let attempts = Attempts::new(1);
    for (first, second, same) in [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true),
        ("2001:db8:1:3::1", "2001:db8:1:4::1", false),
        ("192.0.2.7", "::ffff:192.0.2.7", true),
    ] {
        attempts.failed(address(first), None, no_credential()).await;
        let code = attempts.failed(address(second), None, no_credential()).await.code();
        assert_eq!(code == "rate_limited", same, "{first} {second}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_limit_of_attempts_is_none() {
    let attempts = Attempts::new(0);
    for _ in 0..10_000 {
        assert_eq!(attempts.failed(address("192.0.2.1"), None, no_credential()).await.code(), "unauthorized");
    }
    attempts.proven(ADA);
    assert!(attempts.knows(ADA) && !attempts.knows(BOB));
    attempts.failed(address("192.0.2.1"), Some(ADA), no_credential()).await;
    assert!(!attempts.knows(ADA));
}

/// A reload that changes one rate must not forgive what was used of the others, nor forget who is known.
#[tokio::test(start_paused = true)]
async fn another_rate_leaves_the_other_buckets_and_the_known_credentials() {
    let limits = Limits::new(&all(2));
    limits.take(Class::ApiKey, ADA).await.unwrap();
    limits.take(Class::OAuth, ADA).await.unwrap();
    limits.attempts.proven(ADA);
    let changed = limits.with_rates(&RateSettings { oauth: 5, unauthenticated: 1, ..all(2) });
    assert_eq!(changed.take(Class::ApiKey, ADA).await.unwrap().unwrap().remaining, 0);
    assert_eq!(changed.take(Class::OAuth, ADA).await.unwrap().unwrap().remaining, 4);
    let client = address("203.0.113.9");
    for _ in 0..2 {
        changed.attempts.failed(client, None, no_credential()).await;
    }
    assert!(changed.attempts.may_try(client, Some(BOB)).is_err());
    assert!(changed.attempts.may_try(client, Some(ADA)).is_ok());
    assert!(changed.with_rates(&all(600)).attempts.may_try(client, Some(BOB)).is_ok(), "another limit");
    let same = changed.with_rates(&RateSettings { unauthenticated: 1, ..all(2) });
    assert!(same.attempts.may_try(client, Some(BOB)).is_err());
    assert_eq!(changed.figures()[..2], [("api_key", 2, 0), ("oauth", 2, 0)]);
}
