//! The limits of tokens and gateway keys, and of callers with dead ones.

use crate::oauth::stage::{ME, Stage, Tokens, expect_dead, expect_error};
use crate::support::gateway::{Answer, WEB};
use causeway::oauth::Minting;
use serde_json::json;

/// Every class has a limit of its own, so that a credential in the wrong class shows.
const RATES: [(&str, &str); 5] = [
    ("limits.rate.api_key", "50"),
    ("limits.rate.oauth", "2"),
    ("limits.rate.workspace", "3"),
    ("limits.rate.external", "4"),
    ("limits.rate.service", "60"),
];

async fn minted(stage: &Stage, workspace: Option<&str>) -> String {
    let wanted = Minting {
        title: "report".into(),
        scopes: "read".into(),
        workspace: workspace.map(str::to_owned),
        expires_at: None,
    };
    stage.gateway.mint("ada", wanted).await.expect("a key").1
}

/// Asserts that `ask` gets `rate` answers and then a refusal, and that each answer reports its quota.
async fn expect_limit(class: &str, rate: u32, ask: impl AsyncFn(&'static str, &'static str) -> Answer) {
    for left in (0..rate).rev() {
        let answer = ask("GET", ME).await.expect(200);
        assert!(answer.headers["ratelimit"].starts_with(&format!("\"{class}\";r={left};t=")), "{answer:?}");
        expect_policy(&answer, class, rate);
        assert_eq!(answer.headers["x-ratelimit-remaining"], left.to_string());
    }
    for (method, path) in [("GET", ME), ("PUT", ME), ("GET", "/api/v2/nothing/"), ("GET", "/api/v2/schema/")] {
        let answer = ask(method, path).await.expect_problem(429, "rate_limited");
        let wait: u32 = answer.headers["retry-after"].parse().expect("whole seconds");
        assert!((1..=60 / rate).contains(&wait), "{class}: {wait}");
        assert_eq!(answer.headers["x-ratelimit-remaining"], "0");
        expect_policy(&answer, class, rate);
    }
}

fn expect_policy(answer: &Answer, class: &str, rate: u32) {
    assert_eq!(answer.headers["ratelimit-policy"], format!("\"{class}\";q={rate};w=60"));
    assert_eq!(answer.headers["x-ratelimit-limit"], rate.to_string());
}

#[tokio::test]
async fn each_token_has_the_limit_of_tokens() {
    let stage = Stage::with(&RATES).await;
    let (one, other) = (stage.tokens("read").await, stage.tokens("read").await);
    let bearer = format!("Bearer {}", one.access);
    expect_limit("oauth", 2, async |method, path| {
        stage.send(method, path, &[("authorization", &bearer)], String::new()).await
    })
    .await;
    // Another token of the same app and person, and the person's own key behind both.
    stage.call(&other.access, ME).await.expect(200);
    stage.gateway.get("ada", ME).await.expect(200);
}

#[tokio::test]
async fn a_refresh_gives_a_token_with_a_limit_of_its_own() {
    let stage = Stage::with(&RATES).await;
    let old = stage.tokens("read").await;
    while stage.call(&old.access, ME).await.status == 200 {}
    let new = stage.token(&stage.refreshing(&old.refresh)).await.expect(200);
    assert_eq!(stage.call(&new.text("access_token"), ME).await.expect(200).headers["x-ratelimit-remaining"], "1");
}

/// Each refresh adds rows to the store, so a grant has a limit, too; its tokens have limits of their own.
#[tokio::test]
async fn refreshes_are_limited_by_grant() {
    let stage = Stage::with(&RATES).await;
    let (mut one, other) = (stage.tokens("read").await, stage.tokens("read").await);
    for _ in 0..2 {
        let refreshed = stage.token(&stage.refreshing(&one.refresh)).await.expect(200);
        one = Tokens::of(&refreshed);
    }
    let refused = stage.token(&stage.refreshing(&one.refresh)).await;
    let wait: u32 = refused.headers["retry-after"].parse().expect("whole seconds");
    assert!((1..=30).contains(&wait), "{wait}");
    expect_error(refused, 429, "temporarily_unavailable");
    stage.call(&one.access, ME).await.expect(200);
    stage.token(&stage.refreshing(&other.refresh)).await.expect(200);
}

/// A thief cannot hide behind refreshes without end that the token is used by two.
#[tokio::test]
async fn a_used_refresh_token_ends_its_grant_beyond_the_limit_too() {
    let stage = Stage::with(&RATES).await;
    let first = stage.tokens("read").await;
    let second = Tokens::of(&stage.token(&stage.refreshing(&first.refresh)).await.expect(200));
    let third = Tokens::of(&stage.token(&stage.refreshing(&second.refresh)).await.expect(200));
    expect_error(stage.token(&stage.refreshing(&third.refresh)).await, 429, "temporarily_unavailable");
    expect_error(stage.token(&stage.refreshing(&first.refresh)).await, 400, "invalid_grant");
    expect_dead(stage.call(&third.access, ME).await);
}

#[tokio::test]
async fn gateway_keys_are_limited_by_what_they_open() {
    let stage = Stage::with(&RATES).await;
    for (workspace, class, rate) in [(Some("acme"), "workspace", 3), (None, "external", 4)] {
        let (key, other) = (minted(&stage, workspace).await, minted(&stage, workspace).await);
        expect_limit(class, rate, async |method, path| stage.gateway.send(Some(&key), method, path, None).await)
            .await;
        stage.gateway.get(&other, ME).await.expect(200);
    }
    stage.gateway.get("ada", ME).await.expect(200);
}

#[tokio::test]
async fn a_scope_that_is_too_small_takes_a_slot_too() {
    let stage = Stage::with(&RATES).await;
    let tokens = stage.tokens("projects.states:read").await;
    for _ in 0..2 {
        stage.call(&tokens.access, ME).await.expect_problem(403, "forbidden");
    }
    stage.call(&tokens.access, ME).await.expect_problem(429, "rate_limited");
}

#[tokio::test]
async fn dead_tokens_and_keys_count_for_their_address_as_wrong_keys_do() {
    let stage = Stage::with(&[("limits.rate.unauthenticated", "4"), ("limits.rate.oauth", "0")]).await;
    let (good, revoked) = (stage.tokens("read").await, stage.tokens("read").await);
    stage.call(&good.access, ME).await.expect(200);
    stage.about("/auth/o/revoke/", &revoked.access).await.expect(200);
    expect_dead(stage.call(&revoked.access, ME).await);
    expect_dead(stage.call("cwa_unknown", ME).await);
    expect_dead(stage.gateway.get("cwk_unknown", ME).await);
    stage.gateway.send(None, "GET", ME, None).await.expect_problem(401, "unauthorized");
    for token in [&revoked.access, "cwa_another", "no-token-at-all"] {
        let refused = stage.call(token, ME).await.expect_problem(429, "rate_limited");
        let wait: u64 = refused.headers["retry-after"].parse().expect("whole seconds");
        assert!((1..=15).contains(&wait), "{wait}");
        assert!(!refused.headers.contains_key("ratelimit"), "nobody's limit is told");
    }
    stage.gateway.get("guess", ME).await.expect_problem(429, "rate_limited");
    stage.call(&good.access, ME).await.expect(200);
}

#[tokio::test]
async fn an_app_leaves_room_for_repeatable_requests_of_others() {
    let stage = Stage::with(&[("idempotency.per_person", "1")]).await;
    let (one, other) = (stage.tokens("write").await, stage.tokens("write").await);
    let (one, other) = (format!("Bearer {}", one.access), format!("Bearer {}", other.access));
    let post = async |credential: (&str, &str), key: &str| {
        let headers = [credential, ("content-type", "application/json"), ("idempotency-key", key)];
        stage.send("POST", &format!("{WEB}/labels/"), &headers, json!({ "name": key }).to_string()).await
    };
    post(("authorization", one.as_str()), "first").await.expect(201);
    post(("authorization", one.as_str()), "second").await.expect_problem(429, "rate_limited");
    post(("authorization", other.as_str()), "third").await.expect(201);
    post(("x-api-key", "ada"), "fourth").await.expect(201);
}
