//! Codes for tokens: the authentication of clients, the bindings of a code, and its single use.

use crate::oauth::stage::{
    NATIVE_REDIRECT, REDIRECT, Stage, Tokens, VERIFIER, as_json, changed, expect_dead, expect_error, form, register,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::time::Duration;

fn basic(id: &str, secret: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{id}:{secret}")))
}

#[tokio::test]
async fn a_code_becomes_tokens() {
    let stage = Stage::new().await;
    let code = stage.code(&stage.request(), "ada").await;
    let answer = stage.token(&stage.exchange(&code)).await.expect(200);
    assert_eq!((answer.text("token_type"), answer.json["expires_in"].as_u64()), ("Bearer".into(), Some(86_400)));
    assert_eq!(answer.text("scope"), "projects.states:read read");
    let tokens = Tokens::of(&answer);
    assert!(tokens.access.starts_with("cwa_") && tokens.access.len() == 47);
    assert!(tokens.refresh.starts_with("cwr_") && tokens.refresh.len() == 47);
    assert_eq!((&*answer.headers["cache-control"], &*answer.headers["pragma"]), ("no-store", "no-cache"));
}

#[tokio::test]
async fn a_public_client_needs_no_secret() {
    let stage = Stage::new().await;
    let code = stage.code(&stage.native_request(), "ada").await;
    stage.token(&stage.native_exchange(&code)).await.expect(200);
}

#[tokio::test]
async fn a_client_may_authenticate_by_basic() {
    let stage = Stage::new().await;
    let code = stage.code(&stage.request(), "ada").await;
    let content = changed(changed(stage.exchange(&code), "client_secret", None), "client_id", None);
    let header = basic(&stage.app.id, stage.app.secret.as_ref().unwrap());
    stage.post_form("/auth/o/token/", &[("authorization", &header)], &content).await.expect(200);
}

#[tokio::test]
async fn a_client_may_send_json() {
    let stage = Stage::new().await;
    let code = stage.code(&stage.request(), "ada").await;
    let headers = [("content-type", "application/json")];
    stage.send("POST", "/auth/o/token/", &headers, as_json(&stage.exchange(&code))).await.expect(200);
}

#[tokio::test]
async fn the_slash_at_the_end_may_be_left_out() {
    let stage = Stage::new().await;
    let code = stage.code(&stage.request(), "ada").await;
    stage.post_form("/auth/o/token", &[], &stage.exchange(&code)).await.expect(200);
}

/// Changes one parameter of a valid exchange; a request that proves nothing does not use up the code.
macro_rules! is_refused {
    ($($name:ident: $parameter:literal = $value:expr => $status:literal $error:literal, usable $usable:literal;)*) => {$(
        #[tokio::test]
        async fn $name() {
            let stage = Stage::new().await;
            let code = stage.code(&stage.request(), "ada").await;
            let value: Option<&str> = $value;
            expect_error(stage.token(&changed(stage.exchange(&code), $parameter, value)).await, $status, $error);
            let again = stage.token(&stage.exchange(&code)).await;
            assert_eq!(again.status == 200, $usable, "{}", again.json);
        }
    )*};
}

is_refused! {
    without_a_grant_type_is_invalid_request: "grant_type" = None => 400 "invalid_request", usable true;
    the_password_grant_is_unsupported: "grant_type" = Some("password") => 400 "unsupported_grant_type", usable true;
    the_client_credentials_grant_is_unsupported: "grant_type" = Some("client_credentials") => 400 "unsupported_grant_type", usable true;
    without_a_code_is_invalid_request: "code" = None => 400 "invalid_request", usable true;
    an_unknown_code_is_invalid_grant: "code" = Some("cwc_unknown") => 400 "invalid_grant", usable true;
    without_the_address_is_invalid_request: "redirect_uri" = None => 400 "invalid_request", usable true;
    another_address_than_asked_is_invalid_grant: "redirect_uri" = Some("https://app.example/other") => 400 "invalid_grant", usable false;
    without_a_verifier_is_invalid_grant: "code_verifier" = None => 400 "invalid_grant", usable false;
    a_wrong_verifier_is_invalid_grant: "code_verifier" = Some("wrong-wrong-wrong-wrong-wrong-wrong-wrong-wrong") => 400 "invalid_grant", usable false;
    the_challenge_is_no_verifier: "code_verifier" = Some(crate::oauth::stage::CHALLENGE) => 400 "invalid_grant", usable false;
    a_short_verifier_is_invalid_grant: "code_verifier" = Some("short") => 400 "invalid_grant", usable false;
    a_wrong_secret_is_invalid_client: "client_secret" = Some("cws_wrong") => 401 "invalid_client", usable true;
    a_confidential_client_without_its_secret_is_invalid_client: "client_secret" = None => 401 "invalid_client", usable true;
    an_unknown_client_is_invalid_client: "client_id" = Some("nobody") => 401 "invalid_client", usable true;
    no_client_is_invalid_client: "client_id" = None => 401 "invalid_client", usable true;
}

#[tokio::test]
async fn invalid_client_says_how_to_authenticate() {
    let stage = Stage::new().await;
    let answer = stage.token(&changed(stage.exchange("x"), "client_secret", Some("wrong"))).await;
    assert!(expect_error(answer, 401, "invalid_client").headers["www-authenticate"].starts_with("Basic"));
}

#[tokio::test]
async fn a_public_client_with_a_secret_is_invalid_client() {
    let stage = Stage::new().await;
    let code = stage.code(&stage.native_request(), "ada").await;
    let content = changed(stage.native_exchange(&code), "client_secret", Some("cws_any"));
    expect_error(stage.token(&content).await, 401, "invalid_client");
}

#[tokio::test]
async fn two_ways_to_authenticate_at_once_are_refused() {
    let stage = Stage::new().await;
    let code = stage.code(&stage.request(), "ada").await;
    let header = basic(&stage.app.id, stage.app.secret.as_ref().unwrap());
    let answer = stage.post_form("/auth/o/token/", &[("authorization", &header)], &stage.exchange(&code)).await;
    expect_error(answer, 400, "invalid_request");
}

#[tokio::test]
async fn a_header_for_one_client_and_a_body_for_another_is_refused() {
    let stage = Stage::new().await;
    let header = basic(&stage.app.id, stage.app.secret.as_ref().unwrap());
    let content = changed(stage.native_exchange("x"), "client_secret", None);
    let answer = stage.post_form("/auth/o/token/", &[("authorization", &header)], &content).await;
    expect_error(answer, 400, "invalid_request");
}

#[tokio::test]
async fn a_bearer_token_is_no_client_authentication() {
    let stage = Stage::new().await;
    let content = changed(stage.exchange("x"), "client_secret", None);
    let answer = stage.post_form("/auth/o/token/", &[("authorization", "Bearer x")], &content).await;
    expect_error(answer, 401, "invalid_client");
}

#[tokio::test]
async fn parameters_in_the_address_are_refused() {
    let stage = Stage::new().await;
    let code = stage.code(&stage.request(), "ada").await;
    let path = format!("/auth/o/token/?{}", form(&stage.exchange(&code)));
    expect_error(stage.post_form(&path, &[], &[]).await, 400, "invalid_request");
    expect_error(stage.post_form(&path, &[], &stage.exchange(&code)).await, 400, "invalid_request");
}

#[tokio::test]
async fn a_repeated_parameter_is_refused() {
    let stage = Stage::new().await;
    let code = stage.code(&stage.request(), "ada").await;
    let mut content = stage.exchange(&code);
    content.push(("code", "other"));
    expect_error(stage.token(&content).await, 400, "invalid_request");
}

#[tokio::test]
async fn bodies_that_cannot_be_read_are_refused() {
    let stage = Stage::new().await;
    let large = format!("a={}", "x".repeat(70_000));
    for (kind, body) in [
        ("text/plain", "grant_type=refresh_token"),
        ("application/json", "{"),
        ("application/json", r#"{"grant_type":7}"#),
        ("application/json", r#"["grant_type"]"#),
        ("application/x-www-form-urlencoded", "a=%ff"),
        ("application/x-www-form-urlencoded", large.as_str()),
    ] {
        let answer = stage.send("POST", "/auth/o/token/", &[("content-type", kind)], body.to_owned()).await;
        expect_error(answer, 400, "invalid_request");
    }
}

#[tokio::test]
async fn a_code_of_another_client_is_invalid_grant_and_stays_good() {
    let stage = Stage::new().await;
    let other = register(&stage.gateway, "Other", REDIRECT, false, "").await;
    let code = stage.code(&stage.request(), "ada").await;
    let content = changed(stage.exchange(&code), "client_id", Some(&other.id));
    let content = changed(content, "client_secret", other.secret.as_deref());
    expect_error(stage.token(&content).await, 400, "invalid_grant");
    stage.token(&stage.exchange(&code)).await.expect(200);
}

#[tokio::test]
async fn a_code_used_twice_is_invalid_grant_and_ends_what_came_of_it() {
    let stage = Stage::new().await;
    let code = stage.code(&stage.request(), "ada").await;
    let tokens = Tokens::of(&stage.token(&stage.exchange(&code)).await.expect(200));
    stage.call(&tokens.access, crate::oauth::stage::ME).await.expect(200);
    expect_error(stage.token(&stage.exchange(&code)).await, 400, "invalid_grant");
    expect_dead(stage.call(&tokens.access, crate::oauth::stage::ME).await);
    expect_error(stage.token(&stage.refreshing(&tokens.refresh)).await, 400, "invalid_grant");
}

#[tokio::test]
async fn a_code_used_twice_at_once_gives_at_most_one_pair_and_ends_it() {
    let stage = Stage::new().await;
    let code = stage.code(&stage.request(), "ada").await;
    let content = stage.exchange(&code);
    let (one, other) = tokio::join!(stage.token(&content), stage.token(&content));
    let good: Vec<_> = [one, other].into_iter().filter(|answer| answer.status == 200).collect();
    assert_eq!(good.len(), 1);
    expect_dead(stage.call(&Tokens::of(&good[0]).access, crate::oauth::stage::ME).await);
}

#[tokio::test]
async fn a_code_expires() {
    let stage = Stage::with(&[("oauth.code", "20ms")]).await;
    let code = stage.code(&stage.request(), "ada").await;
    tokio::time::sleep(Duration::from_millis(40)).await;
    expect_error(stage.token(&stage.exchange(&code)).await, 400, "invalid_grant");
}

#[tokio::test]
async fn a_verifier_for_a_code_without_challenge_is_refused() {
    let stage = Stage::new().await;
    let request = changed(changed(stage.request(), "code_challenge", None), "code_challenge_method", None);
    let code = stage.code(&request, "ada").await;
    expect_error(stage.token(&stage.exchange(&code)).await, 400, "invalid_grant");
}

#[tokio::test]
async fn a_confidential_client_without_pkce_sends_no_verifier() {
    let stage = Stage::new().await;
    let request = changed(changed(stage.request(), "code_challenge", None), "code_challenge_method", None);
    let code = stage.code(&request, "ada").await;
    stage.token(&changed(stage.exchange(&code), "code_verifier", None)).await.expect(200);
}

#[tokio::test]
async fn a_native_code_is_bound_to_the_port_it_was_sent_to() {
    let stage = Stage::new().await;
    let code = stage.code(&stage.native_request(), "ada").await;
    let other = changed(stage.native_exchange(&code), "redirect_uri", Some("http://127.0.0.1:1/cb"));
    assert_ne!(NATIVE_REDIRECT, "http://127.0.0.1:1/cb");
    expect_error(stage.token(&other).await, 400, "invalid_grant");
}

#[tokio::test]
async fn a_code_injected_into_another_session_fails_its_verifier() {
    let stage = Stage::new().await;
    let stolen = stage.code(&stage.native_request(), "bob").await;
    let mine = "another-session-with-a-verifier-of-its-own-0000000";
    expect_error(
        stage.token(&changed(stage.native_exchange(&stolen), "code_verifier", Some(mine))).await,
        400,
        "invalid_grant",
    );
    assert_ne!(mine, VERIFIER);
}

#[tokio::test]
async fn a_deleted_client_gets_nothing() {
    let stage = Stage::new().await;
    let code = stage.code(&stage.request(), "ada").await;
    stage.gateway.oauth().delete_client(&stage.app.id).await.unwrap();
    expect_error(stage.token(&stage.exchange(&code)).await, 401, "invalid_client");
}

#[tokio::test]
async fn a_rotated_secret_replaces_the_old_one() {
    let stage = Stage::new().await;
    let code = stage.code(&stage.request(), "ada").await;
    let new = stage.gateway.oauth().rotate_client(&stage.app.id).await.unwrap().unwrap();
    expect_error(stage.token(&stage.exchange(&code)).await, 401, "invalid_client");
    stage.token(&changed(stage.exchange(&code), "client_secret", Some(&new))).await.expect(200);
}
