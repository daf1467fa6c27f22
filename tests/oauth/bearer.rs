//! Tokens at the API: what they open, what they do not, and when they end.

use crate::oauth::stage::{ME, SECRET, Stage, Tokens, changed, expect_dead, expect_error, led_to, values};
use crate::support::gateway::{Gateway, WEB};
use crate::support::scripted::{Exchange, ScriptedV1};
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn a_token_acts_for_its_person() {
    let stage = Stage::new().await;
    let tokens = stage.tokens("read projects.states:read").await;
    let me = stage.call(&tokens.access, ME).await.expect(200);
    assert_eq!((me.text("principal_kind"), me.text("display_name")), ("oauth".into(), "ada".into()));
    assert_eq!(me.json["scopes"], json!(["projects.states:read", "read"]));
}

#[tokio::test]
async fn a_token_costs_no_v1_call_once_its_person_is_known() {
    let stage = Stage::new().await;
    let tokens = stage.tokens("read").await;
    stage.call(&tokens.access, ME).await.expect(200);
    assert_eq!(stage.call(&tokens.access, ME).await.expect(200).calls(), 0);
}

#[tokio::test]
async fn a_scope_opens_its_resource_and_no_other() {
    let stage = Stage::new().await;
    let tokens = stage.tokens("projects.states:read").await;
    stage.call(&tokens.access, &format!("{WEB}/states/")).await.expect(200);
    let refused = stage.call(&tokens.access, &format!("{WEB}/labels/")).await.expect_problem(403, "forbidden");
    let challenge = &values(&refused, "www-authenticate")[0];
    assert!(challenge.contains("error=\"insufficient_scope\""), "{challenge}");
    assert!(challenge.contains("scope=\"") && challenge.contains("projects.labels:read"), "{challenge}");
}

#[tokio::test]
async fn reading_does_not_open_writing() {
    let stage = Stage::new().await;
    let tokens = stage.tokens("read").await;
    let headers = [("authorization", &*format!("Bearer {}", tokens.access)), ("content-type", "application/json")];
    let body = json!({"name": "bug"}).to_string();
    stage.send("POST", &format!("{WEB}/labels/"), &headers, body).await.expect_problem(403, "forbidden");
}

#[tokio::test]
async fn a_change_of_features_out_of_scope_is_in_the_log() {
    let stage = Stage::new().await;
    let features = "/api/v2/workspaces/acme/features/";
    let send = async |token: &str| {
        let headers = [("authorization", &*format!("Bearer {token}")), ("content-type", "application/json")];
        let body = json!({"is_wiki_enabled": true}).to_string();
        stage.send("PATCH", features, &headers, body).await.expect_problem(403, "forbidden");
    };
    let tokens = stage.tokens("workspaces.features:read").await;
    // The workspace's id is known only after the read, and v1 is not asked for it: the first attempt is not logged.
    send(&tokens.access).await;
    stage.call(&tokens.access, features).await.expect(200);
    send(&tokens.access).await;
    let log = "/api/v2/workspaces/acme/audit-logs/?event_name=settings.features_updated";
    let log = stage.gateway.get("ada", log).await.expect(200);
    assert_eq!(log.column("outcome"), [json!("failure")]);
    let entry = &log.data()[0];
    assert_eq!(
        (&entry["reason"], &entry["target_display_name"]),
        (&json!("insufficient_permissions"), &json!("acme"))
    );
    assert_eq!((&entry["actor_display_name"], &entry["actor_type"]), (&json!("ada"), &json!("api_token")));
    // A refusal for lack of another scope is not logged.
    let types = "/api/v2/workspaces/acme/work-item-types/";
    stage.call(&tokens.access, types).await.expect_problem(403, "forbidden");
    let log = "/api/v2/workspaces/acme/audit-logs/?outcome=failure";
    assert_eq!(stage.gateway.get("ada", log).await.expect(200).data().len(), 1);
}

#[tokio::test]
async fn writing_does_not_open_the_current_user() {
    let stage = Stage::new().await;
    let tokens = stage.tokens("write projects.states:read").await;
    stage.call(&tokens.access, ME).await.expect_problem(403, "forbidden");
}

#[tokio::test]
async fn a_token_never_exceeds_its_person() {
    let stage = Stage::new().await;
    let tokens = stage.tokens_of("read write", "eve").await;
    stage.call(&tokens.access, &format!("{WEB}/states/")).await.expect_problem(404, "resource_not_found");
}

#[tokio::test]
async fn without_a_credential_the_way_to_one_is_shown() {
    let stage = Stage::new().await;
    let answer = stage.get(ME, &[]).await.expect_problem(401, "unauthorized");
    let challenges = values(&answer, "www-authenticate");
    let metadata = format!("resource_metadata=\"{}/.well-known/oauth-protected-resource\"", stage.gateway.base());
    assert!(challenges[0].starts_with("Bearer ") && challenges[0].contains(&metadata), "{challenges:?}");
    assert!(!challenges[0].contains("error="), "nothing was wrong with a token: {challenges:?}");
}

/// Authorization headers without a valid token.
macro_rules! dead {
    ($($name:ident: $header:expr;)*) => {$(
        #[tokio::test]
        async fn $name() {
            let stage = Stage::new().await;
            stage.gateway.sandbox().clear_journal();
            expect_dead(stage.get(ME, &[("authorization", $header)]).await);
            assert!(stage.gateway.sandbox().journal().is_empty(), "v1 is not asked");
        }
    )*};
}

dead! {
    an_unknown_token_is_invalid: "Bearer cwa_0000000000000000000000000000000000000000000";
    a_token_of_another_kind_is_invalid: "Bearer eyJhbGciOiJub25lIn0.e30.";
    a_v1_key_as_a_bearer_token_is_invalid: "Bearer ada";
    an_empty_bearer_token_is_invalid: "Bearer ";
    a_bearer_token_with_blanks_is_invalid: "Bearer a b";
    a_gateway_key_as_a_bearer_token_is_invalid: "Bearer cwk_0000000000000000000000000000000000000000000";
}

#[tokio::test]
async fn a_refresh_token_opens_nothing() {
    let stage = Stage::new().await;
    let tokens = stage.tokens("read").await;
    expect_dead(stage.call(&tokens.refresh, ME).await);
}

#[tokio::test]
async fn a_code_opens_nothing() {
    let stage = Stage::new().await;
    let code = stage.code(&stage.request(), "ada").await;
    expect_dead(stage.call(&code, ME).await);
}

#[tokio::test]
async fn an_access_token_as_a_key_is_refused_and_not_shown_to_v1() {
    let stage = Stage::new().await;
    let tokens = stage.tokens("read").await;
    stage.gateway.sandbox().clear_journal();
    stage.gateway.get(&tokens.access, ME).await.expect_problem(401, "unauthorized");
    assert!(stage.gateway.sandbox().journal().is_empty());
}

#[tokio::test]
async fn a_token_in_the_address_is_not_seen() {
    let stage = Stage::new().await;
    let tokens = stage.tokens("read").await;
    stage.get(&format!("{ME}?access_token={}", tokens.access), &[]).await.expect_problem(401, "unauthorized");
}

#[tokio::test]
async fn a_token_in_a_form_is_not_seen() {
    let stage = Stage::new().await;
    let tokens = stage.tokens("write").await;
    let answer = stage.post_form(&format!("{WEB}/labels/"), &[], &[("access_token", &tokens.access)]).await;
    answer.expect_problem(401, "unauthorized");
}

#[tokio::test]
async fn a_bad_token_is_not_saved_by_a_good_key() {
    let stage = Stage::new().await;
    expect_dead(stage.get(ME, &[("authorization", "Bearer cwa_x"), ("x-api-key", "ada")]).await);
}

#[tokio::test]
async fn a_good_token_decides_over_a_key() {
    let stage = Stage::new().await;
    let tokens = stage.tokens("read").await;
    let headers = [("authorization", &*format!("bearer {}", tokens.access)), ("x-api-key", "bob")];
    assert_eq!(stage.get(ME, &headers).await.expect(200).text("display_name"), "ada");
}

#[tokio::test]
async fn two_tokens_at_once_are_refused() {
    let stage = Stage::new().await;
    let tokens = stage.tokens("read").await;
    let header = format!("Bearer {}", tokens.access);
    expect_dead(stage.get(ME, &[("authorization", &header), ("authorization", "Bearer x")]).await);
}

#[tokio::test]
async fn an_access_token_expires_although_it_was_just_used() {
    let stage = Stage::with(&[("oauth.access_token", "4s")]).await;
    let tokens = stage.tokens("read").await;
    stage.call(&tokens.access, ME).await.expect(200);
    tokio::time::sleep(Duration::from_millis(4100)).await;
    expect_dead(stage.call(&tokens.access, ME).await);
    let new = Tokens::of(&stage.token(&stage.refreshing(&tokens.refresh)).await.expect(200));
    stage.call(&new.access, ME).await.expect(200);
}

#[tokio::test]
async fn no_token_goes_through_to_v1() {
    let stage = Stage::new().await;
    let tokens = stage.tokens("read write").await;
    stage.gateway.sandbox().clear_journal();
    expect_dead(stage.call(&tokens.access, "/api/v1/users/me/").await);
    let both = [("authorization", &*format!("Bearer {}", tokens.access)), ("x-api-key", "ada")];
    expect_dead(stage.get("/api/v1/users/me/", &both).await);
    expect_dead(stage.get("/api/v1/users/me/", &[("x-api-key", &tokens.access)]).await);
    assert!(stage.gateway.sandbox().journal().is_empty());
    stage.get("/api/v1/users/me/", &[("x-api-key", "ada")]).await.expect(200);
}

#[tokio::test]
async fn a_token_whose_v1_key_has_ended_is_dead() {
    let v1 = ScriptedV1::start().await;
    let me = json!({"id": "00000000-0000-4000-a000-000000000001", "email": "a@b", "display_name": "ada"});
    for _ in 0..2 {
        v1.expect(Exchange::get("users/me/").reply(200, me.clone()));
    }
    v1.expect(Exchange::get("users/me/").reply(403, json!({"detail": "Given API token is not valid"})));
    let settings = [("secrets.key", SECRET), ("cache.identity", "0s"), ("cache.refused_identity", "0s")];
    let stage = Stage::over(Gateway::with(v1.base_url(), &settings).await).await;
    let page = stage.page(&changed(stage.request(), "scope", Some("read"))).await;
    let code = led_to(&stage.decide(&page, "allow", "key").await, crate::oauth::stage::REDIRECT)["code"].clone();
    let tokens = Tokens::of(&stage.token(&stage.exchange(&code)).await.expect(200));
    stage.call(&tokens.access, ME).await.expect(200);
    expect_dead(stage.call(&tokens.access, ME).await);
    v1.finish();
}

/// Only v1's own refusal of the key shows that a live token is dead; then the app has to ask the person again.
/// A v1 that fails says nothing about the key.
#[tokio::test]
async fn a_v1_that_errs_ends_no_grant() {
    let asked = || Exchange::get("users/me/");
    for odd in [
        asked().html(401, "Log in"),
        asked().html(403, "Forbidden"),
        asked().html(404, "Nothing here"),
        asked().html(502, ""),
        asked().reply(404, json!({"error": "Page not found."})),
        asked().reply(403, json!({"detail": "You do not have permission to perform this action."})),
        asked().reply(429, json!({"error_code": 5900, "error_message": "RATE_LIMIT_EXCEEDED"})),
        asked().reply(500, json!({"error": "Something went wrong please try again later"})),
        asked().reply(200, json!({"id": 7})),
        asked().raw(200, "{"),
        asked().drop_after_reading(),
        asked().reply(200, json!({})).delay(Duration::from_secs(4)),
    ] {
        let v1 = ScriptedV1::start().await;
        let me = json!({"id": "00000000-0000-4000-a000-000000000001", "email": "a@b", "display_name": "ada"});
        v1.expect(asked().reply(200, me));
        let settings = [("secrets.key", SECRET), ("cache.identity", "0s"), ("cache.refused_identity", "0s")];
        let stage = Stage::over(Gateway::with(v1.base_url(), &settings).await).await;
        let page = stage.page(&changed(stage.request(), "scope", Some("read"))).await;
        let code =
            led_to(&stage.decide(&page, "allow", "key").await, crate::oauth::stage::REDIRECT)["code"].clone();
        let tokens = Tokens::of(&stage.token(&stage.exchange(&code)).await.expect(200));
        let said = format!("{odd:?}");
        v1.expect(odd.repeated());
        for token in [&tokens.access, &tokens.refresh] {
            let told = stage.about("/auth/o/introspect/", token).await;
            assert_eq!((told.status, &told.json["active"]), (200, &json!(true)), "{said}");
        }
        let renewed = stage.token(&stage.refreshing(&tokens.refresh)).await;
        assert_eq!(renewed.status, 200, "{said}");
        assert!(!renewed.text("access_token").is_empty() && !renewed.text("refresh_token").is_empty());
    }
}

#[tokio::test]
async fn a_grant_whose_v1_key_has_ended_is_not_refreshed() {
    let v1 = ScriptedV1::start().await;
    let me = json!({"id": "00000000-0000-4000-a000-000000000001", "email": "a@b", "display_name": "ada"});
    v1.expect(Exchange::get("users/me/").reply(200, me));
    let settings = [("secrets.key", SECRET), ("cache.identity", "0s"), ("cache.refused_identity", "0s")];
    let stage = Stage::over(Gateway::with(v1.base_url(), &settings).await).await;
    let page = stage.page(&changed(stage.request(), "scope", Some("read"))).await;
    let code = led_to(&stage.decide(&page, "allow", "key").await, crate::oauth::stage::REDIRECT)["code"].clone();
    let mut tokens = Tokens::of(&stage.token(&stage.exchange(&code)).await.expect(200));
    let introspect = async |token: &str| stage.about("/auth/o/introspect/", token).await.expect(200).json;
    v1.expect(Exchange::get("users/me/").html(503, "").times(4));
    assert_eq!(introspect(&tokens.access).await["active"], true);
    tokens = Tokens::of(&stage.token(&stage.refreshing(&tokens.refresh)).await.expect(200));
    v1.expect(Exchange::get("users/me/").reply(403, json!({"detail": "Given API token is not valid"})).times(4));
    expect_dead(stage.call(&tokens.access, ME).await);
    for token in [&tokens.access, &tokens.refresh] {
        assert_eq!(introspect(token).await, json!({"active": false}));
    }
    expect_error(stage.token(&stage.refreshing(&tokens.refresh)).await, 400, "invalid_grant");
    v1.finish();
}

#[tokio::test]
async fn another_process_notices_a_revocation_at_once() {
    let database = crate::support::postgres::Database::create().await;
    let store = database.url();
    let delay = [("store.url", store.as_str()), ("secrets.key", SECRET), ("oauth.revocation_delay", "60s")];
    let sandbox = Stage::new().await;
    let behind = crate::support::gateway::serve_sandbox(sandbox.gateway.sandbox()).await;
    let here = Stage::over(Gateway::with(&behind, &delay).await).await;
    let there = Gateway::with(&behind, &delay).await;
    let tokens = here.tokens("read").await;
    let bearer = format!("Bearer {}", tokens.access);
    let ask = || http::Request::get(format!("{}{ME}", there.base())).header("authorization", &bearer);
    let body = || http_body_util::Full::new(bytes::Bytes::new());
    there.request(ask().body(body()).unwrap()).await.expect(200);
    here.about("/auth/o/revoke/", &tokens.access).await.expect(200);
    expect_dead(here.call(&tokens.access, ME).await);
    expect_dead(there.request(ask().body(body()).unwrap()).await);
}
