//! Credentials: which are accepted, how long that is cached, and how often v1 is asked.

use crate::support::gateway::{Gateway, WEB, serve_sandbox};
use crate::support::proofs::{card, get_card};
use crate::support::recorded::recorded;
use crate::support::scripted::{Exchange, Gate, ScriptedV1};
use crate::upstream::{LONG, access_to, context, project_id};
use causeway::access::{Access, Caller, OwnerAge, PrincipalKind};
use causeway::context::Context;
use causeway::refusal::Refusal;
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::task::spawn;
use http::{HeaderMap, HeaderValue};
use serde_json::json;
use std::time::Duration;

fn headers(key: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("x-api-key", HeaderValue::from_str(key).unwrap());
    headers
}

fn me(file: &str, name: &str) -> Exchange {
    Exchange::get("users/me/").recorded(file, name)
}

async fn identify(access: &Access, key: &str) -> Result<Caller, Refusal> {
    access.identify(&headers(key), None, OwnerAge::Recent, &context()).await
}

async fn code(access: &Access, key: &str) -> Option<&'static str> {
    identify(access, key).await.err().map(|refusal| refusal.code())
}

#[tokio::test]
async fn a_valid_key_is_a_person() {
    let v1 = ScriptedV1::start().await;
    v1.expect(me("users", "users_me_admin").key("ada"));
    let (access, _) = access_to(&v1);
    let caller = identify(&access, "ada").await.unwrap();
    assert_eq!(caller.user.id.to_string(), recorded("users", "users_me_admin").body["id"].as_str().unwrap());
    assert_eq!((caller.user.email.as_str(), caller.user.display_name.as_str()), ("ada@acme.test", "ada"));
    assert_eq!((caller.kind, caller.scopes), (PrincipalKind::ApiKey, None));
    v1.finish();
}

#[tokio::test]
async fn a_key_that_v1_does_not_take_is_401_whatever_v1_calls_it() {
    for name in ["auth_wrong_key", "auth_expired_key", "auth_deactivated_key", "auth_missing_key", "auth_empty_key"]
    {
        let v1 = ScriptedV1::start().await;
        v1.expect(me("auth", name));
        let (access, _) = access_to(&v1);
        assert_eq!(code(&access, "some").await, Some("unauthorized"), "{name}");
        v1.finish();
    }
}

#[tokio::test]
async fn keys_that_v1_takes_are_taken() {
    // Trap 59: keys of deactivated accounts are accepted too; the cards decide what they see.
    for (file, name) in [
        ("auth", "auth_future_expiry_key"),
        ("auth", "auth_service_key"),
        ("users", "users_me_deactivated_user"),
        ("users", "users_me_inactive_workspace_member"),
    ] {
        let v1 = ScriptedV1::start().await;
        v1.expect(me(file, name));
        assert!(identify(&access_to(&v1).0, "some").await.is_ok(), "{name}");
        v1.finish();
    }
}

#[tokio::test]
async fn without_a_credential_v1_is_not_asked() {
    let v1 = ScriptedV1::start().await;
    let (access, _) = access_to(&v1);
    let mut both = headers("ada");
    both.insert("authorization", HeaderValue::from_static("Bearer ada"));
    for headers in [HeaderMap::new(), headers(""), both] {
        let refused = access.identify(&headers, None, OwnerAge::Recent, &context()).await.unwrap_err();
        assert_eq!(refused.code(), "unauthorized", "{headers:?}");
    }
    assert_eq!(v1.calls(), 0);
    v1.finish();
}

#[tokio::test]
async fn a_person_is_remembered_for_a_minute_and_a_refusal_for_five_seconds() {
    let v1 = ScriptedV1::start().await;
    v1.expect(me("users", "users_me_admin").key("ada").times(2));
    v1.expect(me("auth", "auth_wrong_key").key("nosuchkey").times(2));
    let (access, clock) = access_to(&v1);
    for _ in 0..3 {
        assert_eq!(code(&access, "ada").await, None);
        assert_eq!(code(&access, "nosuchkey").await, Some("unauthorized"));
    }
    assert_eq!(v1.calls(), 2);
    clock.advance(Duration::from_secs(5));
    assert_eq!(code(&access, "ada").await, None);
    assert_eq!(code(&access, "nosuchkey").await, Some("unauthorized"));
    assert_eq!(v1.calls(), 3, "the refusal is old, the person is not");
    clock.advance(Duration::from_secs(55));
    assert_eq!(code(&access, "ada").await, None);
    v1.finish();
}

/// A card proves the key as well, but not its owner's name: reads need the owner every five minutes, writes more often.
#[tokio::test]
async fn the_identity_of_a_reader_with_cards_is_asked_for_every_five_minutes() {
    let v1 = ScriptedV1::start().await;
    v1.expect(me("users", "users_me_admin").key("ada").times(3));
    v1.expect(get_card().key("ada").reply(200, card(Some(20))).times(10));
    let (access, clock) = access_to(&v1);
    let read = async || {
        let ctx = context();
        let caller = access.identify(&headers("ada"), None, OwnerAge::Relaxed, &ctx).await?;
        access.project(&caller, "acme", project_id(), &ctx).await
    };
    let asked = || v1.seen().iter().filter(|call| call.target.contains("users/me/")).count();
    for _ in 0..10 {
        assert!(read().await.is_ok());
        clock.advance(Duration::from_secs(30));
    }
    assert_eq!(asked(), 1, "within five minutes");
    assert!(access.identify(&headers("ada"), None, OwnerAge::Relaxed, &context()).await.is_ok());
    assert_eq!(asked(), 2, "after them");
    clock.advance(Duration::from_secs(60));
    assert!(identify(&access, "ada").await.is_ok());
    assert_eq!(asked(), 3, "for a write after one minute");
    v1.finish();
}

#[tokio::test]
async fn the_name_of_a_caller_is_asked_for_only_where_it_is_shown_or_recorded() {
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let base = serve_sandbox(&sandbox).await;
    let gateway = Gateway::with(&base, &[("cache.identity", "3s"), ("cache.card", "2s")]).await;
    let by_ada = || sandbox.journal().into_iter().filter(|call| call.key.as_deref() == Some("ada"));
    let asked = || by_ada().filter(|call| call.path == "/api/v1/users/me/").count();
    let (states, labels) = (format!("{WEB}/states/"), format!("{WEB}/labels/"));
    gateway.get("ada", &states).await.expect(200);
    for pause in [2_100, 1_000] {
        tokio::time::sleep(Duration::from_millis(pause)).await;
        gateway.get("ada", &states).await.expect(200);
    }
    assert_eq!(asked(), 1);
    gateway.get("ada", "/api/v2/users/me/").await.expect(200);
    assert_eq!(asked(), 2, "the operation that tells it");
    for pause in [2_100, 1_000] {
        tokio::time::sleep(Duration::from_millis(pause)).await;
        gateway.get("ada", &states).await.expect(200);
    }
    gateway.post("ada", &labels, json!({"name": "asked for"})).await.expect(201);
    assert_eq!(asked(), 3, "a write, which the audit log tells of");
}

/// A request that needs no card proves no key, whatever its answer.
#[tokio::test]
async fn reads_without_a_card_ask_for_the_owner_as_often_as_writes() {
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let base = serve_sandbox(&sandbox).await;
    let gateway = Gateway::with(&base, &[("cache.identity", "1s")]).await;
    let asked = || {
        let journal = sandbox.journal().into_iter();
        journal.filter(|call| call.path == "/api/v1/users/me/").count()
    };
    let malformed = format!("{WEB}/states/zz/");
    let paths = [("/api/v2/schema/", 200), ("/api/v2/zzz/", 404), (malformed.as_str(), 400)];
    gateway.get("ada", paths[0].0).await.expect(200);
    for (number, (path, status)) in paths.into_iter().enumerate() {
        tokio::time::sleep(Duration::from_millis(1_100)).await;
        gateway.get("ada", path).await.expect(status);
        assert_eq!(asked(), number + 2, "{path}");
    }
}

#[tokio::test]
async fn a_card_that_is_refused_ends_what_is_known_of_the_key() {
    let v1 = ScriptedV1::start().await;
    v1.expect(me("users", "users_me_admin").key("ada"));
    v1.expect(get_card().key("ada").reply(200, card(Some(20))).times(3));
    let (access, clock) = access_to(&v1);
    let ctx = context();
    let reader = async || access.identify(&headers("ada"), None, OwnerAge::Relaxed, &ctx).await;
    let caller = reader().await.unwrap();
    let card = async || access.project(&caller, "acme", project_id(), &ctx).await;
    for _ in 0..3 {
        assert!(card().await.is_ok());
        clock.advance(Duration::from_secs(30));
    }
    // The next card shows that the key is invalid, and everything proven with it is invalidated.
    v1.expect(get_card().key("ada").recorded("auth", "auth_wrong_key"));
    v1.expect(me("auth", "auth_wrong_key").key("ada"));
    assert!(card().await.is_err());
    assert_eq!(reader().await.err().map(|lost| lost.code()), Some("unauthorized"));
    v1.finish();
}

#[tokio::test]
async fn faults_are_not_remembered() {
    let v1 = ScriptedV1::start().await.in_order();
    v1.expect(me("throttle", "throttle_limited"))
        .expect(me("errors", "errors_500_order_by"))
        .expect(me("errors", "errors_null_byte_in_query"))
        .expect(Exchange::get("users/me/").reply(200, json!({"name": "no id"})))
        .expect(Exchange::get("users/me/").reply(200, json!({"id": uuid::Uuid::nil(), "display_name": "ada"})))
        .expect(Exchange::get("users/me/").reply(404, json!({"error": "Page not found."})))
        .expect(Exchange::get("users/me/").drop_after_reading().times(2))
        .expect(me("users", "users_me_admin"));
    let (access, _) = access_to(&v1);
    let mut codes = Vec::new();
    for _ in 0..8 {
        codes.push(code(&access, "ada").await.unwrap_or("ok"));
    }
    let upstream = "upstream_error";
    assert_eq!(
        codes,
        ["rate_limited", upstream, upstream, upstream, upstream, upstream, "upstream_unavailable", "ok"]
    );
    v1.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_first_uses_are_one_call_also_when_the_first_client_leaves() {
    let (v1, gate) = (ScriptedV1::start().await, Gate::default());
    v1.expect(me("users", "users_me_admin").held(&gate));
    let (access, _) = access_to(&v1);
    let first = spawn({
        let access = access.clone();
        async move { identify(&access, "ada").await }
    });
    v1.until_called(1).await;
    let others: Vec<_> = (0..1000)
        .map(|_| {
            let access = access.clone();
            spawn(async move { identify(&access, "ada").await })
        })
        .collect();
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    gate.open();
    for other in others {
        assert_eq!(other.await.unwrap().unwrap().user.display_name, "ada");
    }
    assert_eq!(v1.calls(), 1);
    v1.finish();
}

#[tokio::test]
async fn waiting_for_shared_work_keeps_the_callers_own_deadline() {
    let (v1, gate) = (ScriptedV1::start().await, Gate::default());
    v1.expect(me("users", "users_me_admin").held(&gate));
    let (access, _) = access_to(&v1);
    let hurried = Context::new("r", Duration::from_secs(2));
    let refused = tokio::time::timeout(LONG, access.identify(&headers("ada"), None, OwnerAge::Recent, &hurried))
        .await
        .expect("it ends");
    assert_eq!(refused.unwrap_err().code(), "upstream_timeout");
    gate.open();
    assert_eq!(code(&access, "ada").await, None, "the work went on and is shared");
    assert_eq!(v1.calls(), 1);
    v1.finish();
}

#[tokio::test]
async fn a_key_reported_as_lost_is_checked_again() {
    let v1 = ScriptedV1::start().await.in_order();
    v1.expect(me("users", "users_me_admin")).expect(me("auth", "auth_deactivated_key"));
    let (access, _) = access_to(&v1);
    let caller = identify(&access, "ada").await.unwrap();
    access.forget_identity(caller.key.id());
    assert_eq!(code(&access, "ada").await, Some("unauthorized"));
    v1.finish();
}
