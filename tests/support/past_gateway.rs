//! Calls of v1 past the gateway, as another client would make them, and the gateway's store as it is then.
//!
//! May use: the public interface of the crate, this folder.

use super::audit::ACME;
use super::gateway::Gateway;
use super::switch::until;
use bytes::Bytes;
use causeway::sandbox::Sandbox;
use http::Request;
use serde_json::Value;

/// The recorded project `WEB` at v1.
pub const V1_WEB: &str = "/api/v1/workspaces/acme/projects/00000000-0000-4000-c000-000000000001/";

/// Returns status and body for a request with `key`; `path` begins with `/api/`, and null means no body.
pub fn ask_v1(sandbox: &Sandbox, key: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let request = Request::builder().method(method).uri(path).header("X-Api-Key", key);
    let bytes = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
    let request = request.header("Content-Type", "application/json").body(bytes);
    let answer = sandbox.handle(request.expect("a request"));
    (answer.status().as_u16(), serde_json::from_slice(answer.body()).unwrap_or_default())
}

/// Sends a request of ada in the project `WEB`, which must succeed, and returns the body.
#[track_caller]
pub fn in_web(sandbox: &Sandbox, method: &str, path: &str, body: &Value) -> Value {
    let (status, answer) = ask_v1(sandbox, "ada", method, &format!("{V1_WEB}{path}"), body);
    assert!((200..300).contains(&status), "{method} {path}: {status} {answer}");
    answer
}

/// Waits until the gateway keeps no value of these fields beside v1; reads remove outdated values without waiting for
/// it.
pub async fn until_not_kept(gateway: &Gateway, kind: &str, fields: &[&str]) {
    let store = gateway.store().await;
    let is_done = async || {
        let kept = store.overlay_of(ACME, kind).await.expect("overlay values");
        kept.values().flatten().all(|value| !fields.contains(&value.field.as_str()))
    };
    until("outdated values are removed", is_done).await;
}
