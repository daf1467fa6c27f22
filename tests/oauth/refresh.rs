//! Refresh tokens: rotation, reuse, a lost answer, and no growth of the store on the way.

use crate::oauth::stage::{ME, Stage, Tokens, changed, expect_dead, expect_error, register};
use std::time::Duration;

#[tokio::test]
async fn a_refresh_gives_a_new_pair() {
    let stage = Stage::new().await;
    let old = stage.tokens("read").await;
    let new = Tokens::of(&stage.token(&stage.refreshing(&old.refresh)).await.expect(200));
    assert!(new.access != old.access && new.refresh != old.refresh);
    stage.call(&new.access, ME).await.expect(200);
    stage.token(&stage.refreshing(&new.refresh)).await.expect(200);
}

/// A request with an `Idempotency-Key` is the same request after a refresh, and another app's is a different one.
#[tokio::test]
async fn a_repeated_request_is_known_across_refreshed_tokens() {
    let stage = Stage::new().await;
    let old = stage.tokens("write").await;
    let path = format!("{}/labels/", crate::support::gateway::WEB);
    let send = async |access: &str| {
        let bearer = format!("Bearer {access}");
        let headers =
            [("authorization", bearer.as_str()), ("idempotency-key", "k"), ("content-type", "application/json")];
        stage.send("POST", &path, &headers, "{\"name\": \"once\"}".into()).await
    };
    let first = send(&old.access).await.expect(201);
    let new = Tokens::of(&stage.token(&stage.refreshing(&old.refresh)).await.expect(200));
    let again = send(&new.access).await.expect(201);
    assert_eq!((&again.bytes, again.headers["idempotency-replayed"].as_str()), (&first.bytes, "true"));
    let another = stage.tokens("write").await;
    send(&another.access).await.expect_problem(409, "conflict");
}

#[tokio::test]
async fn a_public_client_refreshes_without_a_secret() {
    let stage = Stage::new().await;
    let code = stage.code(&stage.native_request(), "ada").await;
    let old = Tokens::of(&stage.token(&stage.native_exchange(&code)).await.expect(200));
    let content = changed(stage.refreshing(&old.refresh), "client_secret", None);
    stage.token(&changed(content, "client_id", Some(&stage.native.id))).await.expect(200);
}

#[tokio::test]
async fn a_refresh_token_used_again_ends_the_family() {
    let stage = Stage::new().await;
    let first = stage.tokens("read").await;
    let second = Tokens::of(&stage.token(&stage.refreshing(&first.refresh)).await.expect(200));
    let third = Tokens::of(&stage.token(&stage.refreshing(&second.refresh)).await.expect(200));
    stage.call(&third.access, ME).await.expect(200);
    expect_error(stage.token(&stage.refreshing(&first.refresh)).await, 400, "invalid_grant");
    for access in [&first.access, &second.access, &third.access] {
        expect_dead(stage.call(access, ME).await);
    }
    expect_error(stage.token(&stage.refreshing(&third.refresh)).await, 400, "invalid_grant");
}

#[tokio::test]
async fn without_a_grace_any_repetition_ends_the_family() {
    let stage = Stage::with(&[("oauth.refresh_retry", "0s")]).await;
    let first = stage.tokens("read").await;
    let second = Tokens::of(&stage.token(&stage.refreshing(&first.refresh)).await.expect(200));
    expect_error(stage.token(&stage.refreshing(&first.refresh)).await, 400, "invalid_grant");
    expect_dead(stage.call(&second.access, ME).await);
}

#[tokio::test]
async fn after_the_grace_a_repetition_ends_the_family() {
    let stage = Stage::with(&[("oauth.refresh_retry", "20ms")]).await;
    let first = stage.tokens("read").await;
    let second = Tokens::of(&stage.token(&stage.refreshing(&first.refresh)).await.expect(200));
    tokio::time::sleep(Duration::from_millis(50)).await;
    expect_error(stage.token(&stage.refreshing(&first.refresh)).await, 400, "invalid_grant");
    expect_dead(stage.call(&second.access, ME).await);
}

#[tokio::test]
async fn a_lost_answer_can_be_asked_for_again_and_replaces_what_was_lost() {
    let stage = Stage::new().await;
    let first = stage.tokens("read").await;
    let lost = Tokens::of(&stage.token(&stage.refreshing(&first.refresh)).await.expect(200));
    stage.call(&lost.access, ME).await.expect(200);
    let again = Tokens::of(&stage.token(&stage.refreshing(&first.refresh)).await.expect(200));
    stage.call(&again.access, ME).await.expect(200);
    expect_dead(stage.call(&lost.access, ME).await);
}

#[tokio::test]
async fn a_thief_within_the_grace_is_found_out_by_the_next_honest_refresh() {
    let stage = Stage::new().await;
    let first = stage.tokens("read").await;
    let honest = Tokens::of(&stage.token(&stage.refreshing(&first.refresh)).await.expect(200));
    let thief = Tokens::of(&stage.token(&stage.refreshing(&first.refresh)).await.expect(200));
    expect_error(stage.token(&stage.refreshing(&honest.refresh)).await, 400, "invalid_grant");
    expect_dead(stage.call(&thief.access, ME).await);
    expect_error(stage.token(&stage.refreshing(&thief.refresh)).await, 400, "invalid_grant");
}

#[tokio::test]
async fn a_refresh_may_ask_for_less() {
    let stage = Stage::new().await;
    let old = stage.tokens("read projects.states:read").await;
    let mut content = stage.refreshing(&old.refresh);
    content.push(("scope", "projects.states:read"));
    let less = stage.token(&content).await.expect(200);
    assert_eq!(less.text("scope"), "projects.states:read");
    stage.call(&less.text("access_token"), ME).await.expect_problem(403, "forbidden");
    let all = stage.token(&stage.refreshing(&less.text("refresh_token"))).await.expect(200);
    assert_eq!(all.text("scope"), "projects.states:read read", "the grant is as large as before");
}

#[tokio::test]
async fn a_refresh_cannot_ask_for_more() {
    let stage = Stage::new().await;
    let old = stage.tokens("projects.states:read").await;
    for more in ["read", "projects.states:read write", "admin"] {
        let mut content = stage.refreshing(&old.refresh);
        content.push(("scope", more));
        expect_error(stage.token(&content).await, 400, "invalid_scope");
    }
    stage.token(&stage.refreshing(&old.refresh)).await.expect(200);
}

/// The scope does not matter: whoever uses the token a second time has stolen it, or it was stolen.
#[tokio::test]
async fn a_refresh_token_used_again_with_other_scopes_ends_the_family() {
    let stage = Stage::new().await;
    let first = stage.tokens("projects.states:read").await;
    let second = Tokens::of(&stage.token(&stage.refreshing(&first.refresh)).await.expect(200));
    let mut again = stage.refreshing(&first.refresh);
    again.push(("scope", "write"));
    expect_error(stage.token(&again).await, 400, "invalid_grant");
    expect_error(stage.token(&stage.refreshing(&second.refresh)).await, 400, "invalid_grant");
}

#[tokio::test]
async fn a_refresh_token_of_another_client_is_invalid_grant() {
    let stage = Stage::new().await;
    let old = stage.tokens("read").await;
    let other = register(&stage.gateway, "Other", crate::oauth::stage::REDIRECT, false, "").await;
    let content = changed(stage.refreshing(&old.refresh), "client_id", Some(&other.id));
    let content = changed(content, "client_secret", other.secret.as_deref());
    expect_error(stage.token(&content).await, 400, "invalid_grant");
    stage.token(&stage.refreshing(&old.refresh)).await.expect(200);
}

#[tokio::test]
async fn an_access_token_does_not_refresh() {
    let stage = Stage::new().await;
    let old = stage.tokens("read").await;
    expect_error(stage.token(&stage.refreshing(&old.access)).await, 400, "invalid_grant");
}

#[tokio::test]
async fn an_unknown_refresh_token_is_invalid_grant() {
    let stage = Stage::new().await;
    expect_error(stage.token(&stage.refreshing("cwr_unknown")).await, 400, "invalid_grant");
}

#[tokio::test]
async fn without_a_refresh_token_is_invalid_request() {
    let stage = Stage::new().await;
    expect_error(stage.token(&changed(stage.refreshing("x"), "refresh_token", None)).await, 400, "invalid_request");
}

#[tokio::test]
async fn a_refresh_token_that_is_not_used_expires() {
    let stage = Stage::with(&[("oauth.refresh_token", "20ms")]).await;
    let old = stage.tokens("read").await;
    tokio::time::sleep(Duration::from_millis(40)).await;
    expect_error(stage.token(&stage.refreshing(&old.refresh)).await, 400, "invalid_grant");
}

#[tokio::test]
async fn two_families_of_one_person_are_apart() {
    let stage = Stage::with(&[("oauth.refresh_retry", "0s")]).await;
    let (one, other) = (stage.tokens("read").await, stage.tokens("read").await);
    stage.token(&stage.refreshing(&one.refresh)).await.expect(200);
    expect_error(stage.token(&stage.refreshing(&one.refresh)).await, 400, "invalid_grant");
    stage.call(&other.access, ME).await.expect(200);
}
