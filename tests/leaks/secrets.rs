//! Keys reach v1 and nothing else: no log line, no error body, no header of an answer.

use crate::support::captured::Captured;
use crate::support::gateway::{Answer, Gateway, WEB};
use crate::support::scripted::{Exchange, ScriptedV1, nobody};
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::json;

const KEY: &str = "causeway-secret-0123456789";

#[track_caller]
fn silent(answer: Answer, status: u16) {
    let answer = answer.expect(status);
    assert!(!String::from_utf8_lossy(&answer.bytes).contains(KEY));
    assert!(!format!("{:?}", answer.headers).contains(KEY));
}

#[tokio::test]
async fn keys_are_neither_logged_nor_sent_back() {
    let log = Captured::default();
    let _listening = log.listen();
    let me = json!({"id": "00000000-0000-4000-a000-000000000001", "email": "a@b", "display_name": "a"});
    for (answer, status) in [
        (Exchange::get("users/me/").reply(403, json!({"detail": "Given API token is not valid"})), 401),
        (Exchange::get("users/me/").reply(500, json!({"error": format!("no {KEY}")})).repeated(), 502),
        (Exchange::get("users/me/").html(502, "<html>bad gateway</html>").repeated(), 502),
        (Exchange::get("users/me/").reply(200, json!({"id": KEY})).repeated(), 502),
        (Exchange::get("users/me/").reply(200, me).repeated(), 200),
    ] {
        let v1 = ScriptedV1::start().await;
        v1.expect(answer);
        let gateway = Gateway::before(v1.base_url()).await;
        let answer = gateway.get(KEY, "/api/v2/users/me/").await;
        assert!([status, 503].contains(&answer.status), "{}", answer.json);
        let status = answer.status;
        silent(answer, status);
        silent(
            gateway.send(Some(KEY), "PUT", "/api/v2/users/me/", None).await,
            if status == 200 { 405 } else { status },
        );
        v1.finish();
    }
    let away = Gateway::before(&nobody().await).await;
    silent(away.get(KEY, &format!("{WEB}/labels/")).await, 503);
    silent(away.get(KEY, &format!("{}/labels/", WEB.replace("/v2/", "/v1/"))).await, 503);
    for header in [format!("Bearer {KEY}"), format!("Basic {KEY}"), KEY.to_owned()] {
        let request = Request::get(format!("{}/api/v2/users/me/", away.base())).header("Authorization", &header);
        let answer = away.request(request.body(Full::new(Bytes::new())).expect("a request")).await;
        silent(answer, 401);
    }
    let text = log.text();
    assert!(text.contains("request"), "nothing was captured");
    let lines: Vec<&str> = text.lines().filter(|line| line.contains(KEY)).collect();
    assert!(lines.is_empty(), "{lines:#?}");
}
