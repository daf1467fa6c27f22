//! One call to v1: the request, the allowed retries, the refusals.

use crate::support::scripted::{Exchange, Gate, ScriptedV1, nobody};
use crate::upstream::{LONG, client_of, context};
use causeway::context::Context;
use causeway::refusal::Refusal;
use causeway::task::spawn;
use causeway::v1::{
    Budget, BudgetSettings, Client, ClientSettings, ConcurrencySettings, Doubt, Method, NotDone, Outcome, Quota,
    V1Error, V1Key, V1Request,
};
use serde_json::json;
use std::time::Duration;

const READ: &str = "users/me/";

fn key() -> V1Key {
    V1Key::new("ada")
}

fn read() -> V1Request {
    V1Request::get(READ, "")
}

fn write() -> V1Request {
    V1Request::write(Method::POST, "labels/", r#"{"name":"bug"}"#)
}

#[tokio::test]
async fn a_call_says_who_it_is_for_and_what_it_takes() {
    let v1 = ScriptedV1::start().await;
    v1.expect(Exchange::post("labels/?a=b").key("ada").body(json!({"name": "bug"})).reply(201, json!({"id": 1})));
    let request = V1Request { query: "a=b".into(), ..write() };
    let Outcome::Done(answer) = client_of(v1.base_url()).write(&key(), request, &context(), None).await else {
        panic!("not carried out")
    };
    assert_eq!((answer.status, &answer.body[..]), (201, &br#"{"id":1}"#[..]));
    let headers = &v1.seen()[0].headers;
    assert_eq!(headers["accept"], "application/json");
    assert_eq!(headers["content-type"], "application/json");
    assert_eq!(headers["x-request-id"], "req-1");
    assert!(!headers.contains_key("accept-encoding"), "{headers:?}");
    v1.finish();
}

#[tokio::test]
async fn the_path_of_the_base_url_is_kept() {
    let v1 = ScriptedV1::start().await;
    v1.expect(Exchange::get("/tracker/api/v1/users/me/"));
    let client = client_of(&format!("{}/tracker/api/v1/", v1.base_url()));
    client.ask(&key(), read(), &context()).await.unwrap();
    v1.finish();
}

#[tokio::test]
async fn a_read_is_repeated_once_and_both_attempts_count() {
    for failing in [502, 503, 504] {
        let v1 = ScriptedV1::start().await.in_order();
        v1.expect(Exchange::get(READ).html(failing, "<h1>proxy</h1>")).expect(Exchange::get(READ));
        let ctx = context();
        let answer = client_of(v1.base_url()).ask(&key(), read(), &ctx).await.unwrap();
        assert_eq!((answer.status, ctx.meter.calls()), (200, 2));
        v1.finish();
    }
}

#[tokio::test]
async fn a_read_is_repeated_once_only() {
    let v1 = ScriptedV1::start().await;
    v1.expect(Exchange::get(READ).html(503, "").times(2));
    let refusal = client_of(v1.base_url()).ask(&key(), read(), &context()).await.unwrap_err();
    assert_eq!(refusal.code(), "upstream_unavailable");
    v1.finish();
}

#[tokio::test]
async fn a_read_survives_a_lost_connection() {
    let v1 = ScriptedV1::start().await.in_order();
    v1.expect(Exchange::get(READ).drop_after_reading()).expect(Exchange::get(READ));
    let client = client_of(v1.base_url());
    assert!(client.ask(&key(), read(), &context()).await.is_ok());
    v1.finish();

    let v1 = ScriptedV1::start().await;
    v1.drop_before_reading(1);
    v1.expect(Exchange::get(READ));
    assert!(client_of(v1.base_url()).ask(&key(), read(), &context()).await.is_ok());
    v1.finish();
}

#[tokio::test]
async fn an_answer_shorter_than_promised_is_no_answer() {
    let v1 = ScriptedV1::start().await;
    v1.expect(Exchange::get(READ).reply(200, json!({"id": 1})).wrong_length(5).times(2));
    let lost = client_of(v1.base_url()).call(&key(), read(), &context()).await.unwrap_err();
    assert!(matches!(lost, V1Error::Broken(_)), "{lost:?}");
    v1.finish();
}

#[tokio::test]
async fn a_write_that_was_sent_is_never_repeated() {
    for lost in [
        Exchange::post("labels/").drop_after_reading(),
        Exchange::post("labels/").reply(201, json!({})).wrong_length(3),
    ] {
        let v1 = ScriptedV1::start().await;
        v1.expect(lost);
        let Outcome::Unknown(doubt) = client_of(v1.base_url()).write(&key(), write(), &context(), None).await
        else {
            panic!("not unknown")
        };
        let Refusal::OutcomeUnknown { detail, timed_out: true, .. } = doubt.refusal() else { panic!("{doubt:?}") };
        assert!(detail.contains("may have been carried out"), "{detail}");
        assert_eq!(v1.calls(), 1);
        v1.finish();
    }
    for (status, code) in [(502, "upstream_error"), (503, "upstream_error"), (504, "upstream_timeout")] {
        let v1 = ScriptedV1::start().await;
        v1.expect(Exchange::post("labels/").html(status, ""));
        let Outcome::Unknown(doubt) = client_of(v1.base_url()).write(&key(), write(), &context(), None).await
        else {
            panic!("not unknown")
        };
        assert_eq!(doubt.refusal().code(), code);
        v1.finish();
    }
}

#[tokio::test]
async fn a_write_without_a_connection_may_be_tried_again() {
    let client = client_of(&nobody().await);
    let ctx = context();
    let lost = client.call(&key(), read(), &ctx).await.unwrap_err();
    assert!(matches!(lost, V1Error::Unreachable(_)), "{lost:?}");
    assert_eq!((lost.refusal().code(), ctx.meter.calls()), ("upstream_unavailable", 2));
    let (client, ctx) = (client_of(&nobody().await), context());
    let Outcome::NotDone(NotDone::Refused(refusal)) = client.write(&key(), write(), &ctx, None).await else {
        panic!()
    };
    assert_eq!((refusal.code(), ctx.meter.calls()), ("upstream_unavailable", 2));
}

#[tokio::test]
async fn the_deadline_ends_a_call() {
    let (v1, never) = (ScriptedV1::start().await, Gate::default());
    v1.expect(Exchange::get(READ).held(&never)).expect(Exchange::post("labels/").held(&never));
    let client = client_of(v1.base_url());
    let ctx = Context::new("r", Duration::from_secs(2));
    let lost = tokio::time::timeout(LONG, client.call(&key(), read(), &ctx)).await.expect("it ends");
    assert!(matches!(lost, Err(V1Error::Timeout { maybe_done: false })), "{lost:?}");
    assert!(ctx.meter.v1_time() >= Duration::from_secs(1));
    // A write leaves some of the time for finding out its outcome.
    let ctx = Context::new("r", Duration::from_secs(3));
    let unknown = tokio::time::timeout(LONG, client.write(&key(), write(), &ctx, None)).await.expect("it ends");
    assert!(matches!(unknown, Outcome::Unknown(Doubt { timed_out: true, .. })), "{unknown:?}");
    assert!(ctx.meter.v1_time() >= Duration::from_secs(1));
    v1.finish();
}

#[tokio::test]
async fn after_the_deadline_v1_is_not_called() {
    let v1 = ScriptedV1::start().await;
    let ctx = Context::new("r", Duration::ZERO);
    let ended = client_of(v1.base_url()).write(&key(), write(), &ctx, None).await;
    assert!(matches!(ended, Outcome::NotDone(NotDone::Refused(Refusal::UpstreamTimeout { .. }))), "{ended:?}");
    assert_eq!((v1.calls(), ctx.meter.calls()), (0, 0));
    v1.finish();
}

#[tokio::test]
async fn an_answer_beyond_the_cap_is_not_read() {
    let v1 = ScriptedV1::start().await;
    let cap = 64 * 1024;
    v1.expect(Exchange::get("a/").oversize(cap + 1))
        .expect(Exchange::get("b/").oversize(cap + 1).without_length())
        .expect(Exchange::get("c/").oversize(cap))
        .expect(Exchange::get("d/").oversize(cap).without_length());
    let client = client_of(v1.base_url());
    for path in ["a/", "b/"] {
        let refused = client.call(&key(), V1Request::get(path, ""), &context()).await;
        assert!(matches!(refused, Err(V1Error::TooLarge(_))), "{path} {refused:?}");
    }
    for path in ["c/", "d/"] {
        assert_eq!(client.ask(&key(), V1Request::get(path, ""), &context()).await.unwrap().body.len(), cap);
    }
    v1.finish();
}

#[tokio::test]
async fn redirects_are_refused_and_not_followed() {
    let v1 = ScriptedV1::start().await;
    v1.expect(Exchange::get(READ).recorded("errors", "errors_slash_missing_get"))
        .expect(Exchange::post("labels/").html(302, "").header("location", "/api/v1/other/"));
    let client = client_of(v1.base_url());
    assert_eq!(client.ask(&key(), read(), &context()).await.unwrap_err().code(), "upstream_error");
    assert!(matches!(client.write(&key(), write(), &context(), None).await, Outcome::Unknown(_)));
    v1.finish();
}

#[tokio::test]
async fn faults_of_v1_are_never_passed_on_as_success() {
    let damaged = || Exchange::get(READ).raw(200, r#"{"id": "x", "#);
    let cases = [
        (Exchange::get(READ).recorded("errors", "errors_null_byte_in_query"), "upstream_error"),
        (Exchange::get(READ).recorded("errors", "errors_500_order_by"), "upstream_error"),
        (Exchange::get(READ).recorded("errors", "errors_accept_xml"), "upstream_error"),
        (Exchange::get(READ).recorded("errors", "errors_text_plain"), "upstream_error"),
        (Exchange::get(READ).recorded("errors", "errors_body_too_large"), "upstream_error"),
        (Exchange::get(READ).html(200, "<h1>Sign in</h1>"), "upstream_error"),
        (Exchange::get(READ).html(404, "<h1>nginx</h1>"), "upstream_error"),
        (damaged(), "upstream_error"),
        (Exchange::get(READ).truncated_json(200, json!({"results": [1, 2]}), 3), "upstream_error"),
        (Exchange::get(READ).header("content-encoding", "gzip"), "upstream_error"),
        (Exchange::get(READ).recorded("throttle", "throttle_limited"), "rate_limited"),
        (Exchange::get(READ).recorded("auth", "auth_wrong_key"), "unauthorized"),
    ];
    for (exchange, code) in cases {
        let v1 = ScriptedV1::start().await;
        v1.expect(exchange.clone());
        let refused = client_of(v1.base_url()).ask(&key(), read(), &context()).await;
        assert_eq!(refused.as_ref().map_err(Refusal::code), Err(code), "{exchange:?}");
        v1.finish();
    }
}

#[tokio::test]
async fn the_quota_of_v1_says_when_to_come_back() {
    let v1 = ScriptedV1::start().await;
    v1.expect(Exchange::get(READ).recorded("throttle", "throttle_limited"));
    let refused = client_of(v1.base_url()).ask(&key(), read(), &context()).await;
    assert!(matches!(refused, Err(Refusal::RateLimited { retry_after: 60, .. })), "{refused:?}");
    v1.finish();
}

#[tokio::test]
async fn a_path_that_would_lead_elsewhere_is_not_sent() {
    let v1 = ScriptedV1::start().await;
    let request = V1Request::get("workspaces/../admin/", "");
    let refused = client_of(v1.base_url()).ask(&key(), request, &context()).await;
    assert_eq!(refused.unwrap_err().code(), "internal_error");
    v1.finish();
}

#[tokio::test]
async fn a_key_is_in_no_error_and_no_debug_output() {
    let (secret, v1) = (V1Key::new("plane_api_5ecret"), ScriptedV1::start().await);
    v1.expect(Exchange::get(READ).drop_after_reading().times(2));
    let client = client_of(v1.base_url());
    let broken = client.call(&secret, read(), &context()).await.unwrap_err();
    let away = client_of(&nobody().await).call(&secret, read(), &context()).await.unwrap_err();
    let unfit = client.call(&V1Key::new("5ecret\n"), read(), &context()).await.unwrap_err();
    let all = format!("{secret:?} {client:?} {broken:?} {broken} {away:?} {away} {unfit:?} {:?}", secret.id());
    assert!(!all.contains("5ecret"), "{all}");
    v1.finish();
}

#[test]
fn a_base_url_that_cannot_be_used_is_an_error_at_the_start() {
    let settings = ClientSettings {
        base_url: "tracker.example".into(),
        connect_timeout: Duration::from_secs(2),
        response_cap: 1,
        pool_per_host: 1,
        retry_jitter: Duration::ZERO,
        concurrency: ConcurrencySettings { min: 4, max: 256 },
    };
    assert!(Client::new(settings.clone()).is_err());
    assert!(Client::new(ClientSettings { base_url: "https://tracker.example".into(), ..settings }).is_ok());
}

#[tokio::test]
async fn calls_of_one_key_that_hang_do_not_hold_up_another_key() {
    let (v1, gate) = (ScriptedV1::start().await, Gate::default());
    v1.expect(Exchange::get("hangs/").key("ada").times(20).held(&gate)).expect(Exchange::get(READ).key("bob"));
    let client = client_of(v1.base_url());
    let hanging: Vec<_> = (0..20)
        .map(|_| {
            let client = client.clone();
            spawn(async move { client.ask(&key(), V1Request::get("hangs/", ""), &context()).await })
        })
        .collect();
    v1.until_called(12).await;
    let answer = tokio::time::timeout(LONG, client.ask(&V1Key::new("bob"), read(), &context())).await;
    assert_eq!(answer.expect("a place").unwrap().status, 200);
    assert_eq!(v1.calls(), 13, "eight still wait for a place");
    gate.open();
    for call in hanging {
        assert_eq!(call.await.unwrap().unwrap().status, 200);
    }
    v1.finish();
}

#[tokio::test]
async fn leaving_before_a_call_has_a_place_uses_no_quota() {
    let (v1, gate) = (ScriptedV1::start().await, Gate::default());
    v1.expect(Exchange::get(READ).held(&gate)).expect(Exchange::get(READ).times(2));
    let (window, quota, total) = (Duration::from_secs(60), Quota::Fixed(3), Quota::Unlimited);
    let settings = BudgetSettings { window, quota, service_quota: quota, total, write_reserve: 0, service: None };
    let client = one_at_a_time(v1.base_url()).paced_by(Budget::new(settings));
    let ask = async |client: Client| client.call(&key(), read(), &context()).await;
    let held = spawn({
        let client = client.clone();
        async move { client.call(&key(), read(), &context()).await }
    });
    v1.until_called(1).await;
    for _ in 0..2 {
        let leaves = tokio::time::timeout(Duration::from_millis(50), ask(client.clone())).await;
        assert!(leaves.is_err(), "there is one place");
    }
    gate.open();
    held.await.unwrap().expect("an answer");
    for _ in 0..2 {
        ask(client.clone()).await.expect("within the quota");
    }
    v1.finish();
}

fn one_at_a_time(base_url: &str) -> Client {
    let settings = ClientSettings {
        base_url: base_url.into(),
        connect_timeout: Duration::from_secs(2),
        response_cap: 1024,
        pool_per_host: 1,
        retry_jitter: Duration::from_millis(2),
        concurrency: ConcurrencySettings { min: 1, max: 1 },
    };
    Client::new(settings).expect("a client")
}
