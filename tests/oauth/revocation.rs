//! Revoking tokens (RFC 7009) and asking about them (RFC 7662).

use crate::oauth::stage::{ME, Stage, Tokens, as_json, changed, expect_dead, expect_error, register};

const REVOKE: &str = "/auth/o/revoke/";
const INTROSPECT: &str = "/auth/o/introspect/";

#[tokio::test]
async fn a_revoked_access_token_is_dead_at_once() {
    let stage = Stage::new().await;
    let tokens = stage.tokens("read").await;
    stage.call(&tokens.access, ME).await.expect(200);
    stage.about(REVOKE, &tokens.access).await.expect(200);
    expect_dead(stage.call(&tokens.access, ME).await);
    stage.token(&stage.refreshing(&tokens.refresh)).await.expect(200);
}

#[tokio::test]
async fn a_revoked_refresh_token_takes_the_access_tokens_with_it() {
    let stage = Stage::new().await;
    let tokens = stage.tokens("read").await;
    stage.call(&tokens.access, ME).await.expect(200);
    stage.about(REVOKE, &tokens.refresh).await.expect(200);
    expect_dead(stage.call(&tokens.access, ME).await);
    expect_error(stage.token(&stage.refreshing(&tokens.refresh)).await, 400, "invalid_grant");
}

/// A client that lost the answer to a refresh has no other token to revoke.
#[tokio::test]
async fn an_exchanged_refresh_token_takes_its_successors_with_it() {
    let stage = Stage::new().await;
    let tokens = stage.tokens("read").await;
    let next = Tokens::of(&stage.token(&stage.refreshing(&tokens.refresh)).await.expect(200));
    stage.call(&next.access, ME).await.expect(200);
    stage.about(REVOKE, &tokens.refresh).await.expect(200);
    expect_dead(stage.call(&next.access, ME).await);
    for refresh in [&tokens.refresh, &next.refresh] {
        expect_error(stage.token(&stage.refreshing(refresh)).await, 400, "invalid_grant");
    }
    stage.about(REVOKE, &tokens.refresh).await.expect(200);
}

#[tokio::test]
async fn the_path_and_json_of_the_published_clients_revoke_too() {
    let stage = Stage::new().await;
    let tokens = stage.tokens("read").await;
    let content = [
        ("token", tokens.access.as_str()),
        ("client_id", stage.app.id.as_str()),
        ("client_secret", stage.app.secret.as_deref().unwrap()),
    ];
    let headers = [("content-type", "application/json")];
    stage.send("POST", "/auth/o/revoke-token/", &headers, as_json(&content)).await.expect(200);
    expect_dead(stage.call(&tokens.access, ME).await);
}

#[tokio::test]
async fn unknown_and_dead_tokens_are_no_error() {
    let stage = Stage::new().await;
    let tokens = stage.tokens("read").await;
    for _ in 0..2 {
        stage.about(REVOKE, &tokens.access).await.expect(200);
    }
    for token in ["cwa_unknown", "nonsense"] {
        stage.about(REVOKE, token).await.expect(200);
    }
}

#[tokio::test]
async fn a_hint_changes_nothing() {
    let stage = Stage::new().await;
    let tokens = stage.tokens("read").await;
    let content = [
        ("token", tokens.access.as_str()),
        ("token_type_hint", "refresh_token"),
        ("client_id", stage.app.id.as_str()),
        ("client_secret", stage.app.secret.as_deref().unwrap()),
    ];
    stage.post_form(REVOKE, &[], &content).await.expect(200);
    expect_dead(stage.call(&tokens.access, ME).await);
}

#[tokio::test]
async fn another_client_cannot_revoke() {
    let stage = Stage::new().await;
    let tokens = stage.tokens("read").await;
    let content = [("token", tokens.access.as_str()), ("client_id", stage.native.id.as_str())];
    expect_error(stage.post_form(REVOKE, &[], &content).await, 400, "unauthorized_client");
    stage.call(&tokens.access, ME).await.expect(200);
}

#[tokio::test]
async fn revocation_needs_the_client_and_the_token() {
    let stage = Stage::new().await;
    let tokens = stage.tokens("read").await;
    expect_error(stage.post_form(REVOKE, &[], &[("token", &tokens.access)]).await, 401, "invalid_client");
    expect_error(stage.about(REVOKE, "").await, 400, "invalid_request");
    let wrong = [("token", tokens.access.as_str()), ("client_id", &stage.app.id), ("client_secret", "wrong")];
    expect_error(stage.post_form(REVOKE, &[], &wrong).await, 401, "invalid_client");
    stage.call(&tokens.access, ME).await.expect(200);
}

#[tokio::test]
async fn a_public_client_revokes_its_own() {
    let stage = Stage::new().await;
    let code = stage.code(&stage.native_request(), "ada").await;
    let tokens = Tokens::of(&stage.token(&stage.native_exchange(&code)).await.expect(200));
    let content = [("token", tokens.access.as_str()), ("client_id", stage.native.id.as_str())];
    stage.post_form(REVOKE, &[], &content).await.expect(200);
    expect_dead(stage.call(&tokens.access, ME).await);
}

#[tokio::test]
async fn a_good_token_is_active() {
    let stage = Stage::new().await;
    let tokens = stage.tokens("read").await;
    let known = stage.about(INTROSPECT, &tokens.access).await.expect(200);
    assert_eq!((known.json["active"].as_bool(), known.text("scope")), (Some(true), "read".into()));
    assert_eq!((known.text("client_id"), known.text("token_type")), (stage.app.id.clone(), "Bearer".into()));
    assert_eq!(known.text("sub"), "00000000-0000-4000-a000-000000000001");
    assert_eq!(known.json["exp"].as_i64().unwrap() - known.json["iat"].as_i64().unwrap(), 86_400);
    let refresh = stage.about(INTROSPECT, &tokens.refresh).await.expect(200);
    assert!(refresh.json["active"].as_bool().unwrap() && refresh.json.get("token_type").is_none());
}

#[tokio::test]
async fn of_other_tokens_nothing_is_said() {
    let stage = Stage::new().await;
    let tokens = stage.tokens("read").await;
    let other = register(&stage.gateway, "Other", crate::oauth::stage::REDIRECT, false, "").await;
    let foreign = [
        ("token", tokens.access.as_str()),
        ("client_id", other.id.as_str()),
        ("client_secret", other.secret.as_deref().unwrap()),
    ];
    let inactive = serde_json::json!({"active": false});
    assert_eq!(stage.post_form(INTROSPECT, &[], &foreign).await.expect(200).json, inactive);
    assert_eq!(stage.about(INTROSPECT, "cwa_unknown").await.expect(200).json, inactive);
    stage.about(REVOKE, &tokens.access).await.expect(200);
    assert_eq!(stage.about(INTROSPECT, &tokens.access).await.expect(200).json, inactive);
}

#[tokio::test]
async fn a_used_refresh_token_is_not_active() {
    let stage = Stage::new().await;
    let tokens = stage.tokens("read").await;
    stage.token(&stage.refreshing(&tokens.refresh)).await.expect(200);
    assert_eq!(stage.about(INTROSPECT, &tokens.refresh).await.expect(200).json["active"], false);
}

#[tokio::test]
async fn only_clients_with_a_secret_may_ask() {
    let stage = Stage::new().await;
    let public = [("token", "x"), ("client_id", stage.native.id.as_str())];
    expect_error(stage.post_form(INTROSPECT, &[], &public).await, 401, "invalid_client");
    expect_error(stage.post_form(INTROSPECT, &[], &[("token", "x")]).await, 401, "invalid_client");
    let tokens = stage.tokens("read").await;
    let content = changed(vec![("token", "x")], "unused", None);
    let headers = [("authorization", &*format!("Bearer {}", tokens.access))];
    expect_error(stage.post_form(INTROSPECT, &headers, &content).await, 401, "invalid_client");
}
