//! The limits of clients over HTTP: headers, order, addresses.

use crate::support::gateway::{Answer, Gateway, WEB};
use bytes::Bytes;
use causeway::sandbox::Seed;
use causeway::settings::Settings;
use http::Request;
use http_body_util::Full;
use std::time::{Duration, Instant};

const ME: &str = "/api/v2/users/me/";

async fn limited(rate: &str) -> Gateway {
    Gateway::sandboxed_with(Seed::Recorded, &[("limits.rate.api_key", rate)]).await
}

/// Returns `r` and `t` of `RateLimit`.
fn standing(answer: &Answer) -> (u32, u64) {
    let parts: Vec<&str> = answer.headers["ratelimit"].split(';').collect();
    assert_eq!(parts[0], "\"api_key\"");
    let number =
        |at: usize, name: &str| parts[at].strip_prefix(name).expect("a parameter").parse().expect("a number");
    (number(1, "r=") as u32, number(2, "t="))
}

#[tokio::test]
async fn every_answer_of_a_proven_credential_says_where_it_stands() {
    let gateway = limited("60").await;
    let missing = format!("{WEB}/states/00000000-0000-4000-d000-00000000ffff/");
    let states = format!("{WEB}/states/");
    for (number, (path, status)) in
        [(ME, 200), (missing.as_str(), 404), ("/api/v2/nothing/", 404), (states.as_str(), 200)]
            .into_iter()
            .enumerate()
    {
        let answer = gateway.get("ada", path).await.expect(status);
        let (remaining, reset) = standing(&answer);
        assert!((59 - number as u32..=60).contains(&remaining), "{path}: {remaining}");
        assert!((1..=60).contains(&reset));
        assert_eq!(answer.headers["ratelimit-policy"], "\"api_key\";q=60;w=60");
        assert_eq!(answer.headers["x-ratelimit-limit"], "60");
        assert_eq!(answer.headers["x-ratelimit-remaining"], remaining.to_string());
        assert!(answer.headers["x-ratelimit-reset"].parse::<u64>().expect("a Unix second") > 1_700_000_000);
    }
    let stranger = gateway.get("nobody", ME).await.expect(401);
    assert!(!stranger.headers.contains_key("ratelimit"), "a credential that is none stands nowhere");
    let v1 = gateway.get("ada", "/api/v1/users/me/").await.expect(200);
    assert!(!v1.headers.contains_key("ratelimit"), "the pass-through is v1's");
}

#[tokio::test]
async fn the_limit_comes_after_the_credential_and_before_all_else() {
    let gateway = limited("1").await;
    gateway.get("ada", ME).await.expect(200);
    for path in [ME, "/api/v2/nothing/", &format!("{WEB}/states/not-an-id/")] {
        let answer = gateway.get("ada", path).await.expect_problem(429, "rate_limited");
        let wait: u64 = answer.headers["retry-after"].parse().expect("whole seconds");
        assert!((50..=60).contains(&wait), "{wait}");
        assert_eq!(standing(&answer).0, 0);
    }
    gateway.send(Some("ada"), "PUT", ME, None).await.expect_problem(429, "rate_limited");
    gateway.get("nobody", ME).await.expect_problem(401, "unauthorized");
    gateway.get("bob", "/api/v2/nothing/").await.expect_problem(404, "resource_not_found");
    gateway.get("ada", "/api/v1/users/me/").await.expect(200);
}

#[tokio::test]
async fn after_retry_after_the_next_request_is_taken() {
    let gateway = limited("40").await;
    let refused = loop {
        let answer = gateway.get("ada", ME).await;
        if answer.status == 429 {
            break answer;
        }
    };
    let begun = Instant::now();
    let wait: u64 = refused.headers["retry-after"].parse().expect("whole seconds");
    assert!((1..=2).contains(&wait), "a slot comes back every second and a half: {wait}");
    tokio::time::sleep(Duration::from_secs(wait)).await;
    gateway.get("ada", ME).await.expect(200);
    assert!(begun.elapsed() < Duration::from_secs(wait + 10));
}

#[tokio::test]
async fn nought_switches_a_limit_off() {
    let gateway = limited("0").await;
    for _ in 0..50 {
        assert!(!gateway.get("ada", ME).await.expect(200).headers.contains_key("ratelimit"));
    }
}

async fn from(gateway: &Gateway, key: &str, client: &str) -> Answer {
    let request = Request::get(format!("{}{ME}", gateway.base())).header("X-Api-Key", key);
    gateway
        .request(request.header("X-Forwarded-For", client).body(Full::<Bytes>::default()).expect("a request"))
        .await
}

#[tokio::test]
async fn failed_attempts_are_limited_by_address_and_cost_v1_nothing_then() {
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &[("limits.rate.unauthenticated", "3")]).await;
    gateway.get("ada", ME).await.expect(200);
    let begun = Instant::now();
    for number in 0..3 {
        gateway.get(&format!("guess-{number}"), ME).await.expect_problem(401, "unauthorized");
    }
    let refused = gateway.get("guess-3", ME).await.expect_problem(429, "rate_limited");
    let wait: u64 = refused.headers["retry-after"].parse().expect("whole seconds");
    // A place comes back 20 s after the first of them was taken.
    assert!(wait <= 20 && wait + begun.elapsed().as_secs() + 1 >= 20, "{wait}");
    gateway.sandbox().clear_journal();
    gateway.get("guess-4", ME).await.expect_problem(429, "rate_limited");
    gateway.get("bob", ME).await.expect_problem(429, "rate_limited");
    gateway.send(None, "GET", ME, None).await.expect_problem(429, "rate_limited");
    assert_eq!(gateway.sandbox().journal().len(), 0, "v1 is not asked about credentials nobody knows");
    gateway.get("ada", ME).await.expect(200);
    // The client's own statement about its address is not believed.
    from(&gateway, "guess-5", "203.0.113.1").await.expect_problem(429, "rate_limited");
}

/// v1 does not count them either (`throttle_forbidden_is_not_counted`).
#[tokio::test]
async fn calls_with_wrong_keys_use_nothing_of_the_quota_that_all_keys_share() {
    let settings = [("upstream.total_quota", "12"), ("limits.deadline", "10s")];
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &settings).await;
    for number in 0..20 {
        let wrong = format!("wrong-{number}");
        gateway.get(&wrong, ME).await.expect_problem(401, "unauthorized");
        gateway.get(&wrong, "/api/v1/users/me/").await.expect(403);
    }
    gateway.get("ada", ME).await.expect(200);
}

/// The server before v1 answers such a head with 400 and HTML, so the call would be in vain and count as v1's fault.
#[tokio::test]
async fn a_key_that_is_too_long_is_a_failed_attempt_that_v1_never_sees() {
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &[("limits.rate.unauthenticated", "3")]).await;
    gateway.get("ada", ME).await.expect(200);
    gateway.sandbox().clear_journal();
    for number in 0..3 {
        let refused = gateway.get(&format!("{number:09000}"), ME).await.expect_problem(401, "unauthorized");
        assert_eq!(refused.text("detail"), "X-Api-Key holds no key: it is too long.");
    }
    gateway.get(&format!("{:09000}", 3), ME).await.expect_problem(429, "rate_limited");
    assert_eq!(gateway.sandbox().journal().len(), 0);
}

/// The contract's answer is 401, so a client may well try each of the 88 operations for it.
#[tokio::test]
async fn by_default_every_operation_can_be_tried_with_nothing_and_with_what_is_no_credential() {
    let rate = Settings::default().limits.rate.unauthenticated.to_string();
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &[("limits.rate.unauthenticated", &rate)]).await;
    for _ in 0..88 {
        gateway.send(None, "GET", ME, None).await.expect_problem(401, "unauthorized");
        gateway.get("wrong", ME).await.expect_problem(401, "unauthorized");
        gateway.get("cwk_wrong", ME).await.expect_problem(401, "unauthorized");
    }
}

#[tokio::test]
async fn behind_a_trusted_proxy_each_client_has_its_own_address() {
    let settings = [("limits.rate.unauthenticated", "1"), ("trusted_proxies", "127.0.0.0/8")];
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &settings).await;
    from(&gateway, "guess-1", "203.0.113.1").await.expect_problem(401, "unauthorized");
    from(&gateway, "guess-2", "203.0.113.1").await.expect_problem(429, "rate_limited");
    from(&gateway, "guess-2", "203.0.113.2").await.expect_problem(401, "unauthorized");
    from(&gateway, "guess-3", "203.0.113.1, 127.0.0.9").await.expect_problem(429, "rate_limited");
}
