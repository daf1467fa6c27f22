//! Comments of work items end to end: in front of the sandbox for behaviour, in front of a scripted v1 for the
//! exact calls and their number.
//!
//! May use: the public interface of the crate and `tests/support`.

mod calls;
mod lists;
mod traps;
mod writes;

use crate::support::gateway::{Answer, Gateway, WEB};
use causeway::sandbox::Seed;
use serde_json::{Value, json};

/// Work item WEB-1.
const ITEM: &str = "00000000-0000-4000-e000-000000000001";
/// An id that exists nowhere.
const NOWHERE: &str = "deadbeef-0000-4000-8000-00000000dead";

async fn gateway() -> Gateway {
    Gateway::sandboxed(Seed::Recorded).await
}

/// v2 path of the comments of WEB-1.
fn comments() -> String {
    comments_of(ITEM)
}

fn comments_of(item: &str) -> String {
    format!("{WEB}/work-items/{item}/comments/")
}

/// v2 path of one comment of WEB-1.
fn comment(id: &str) -> String {
    format!("{}{id}/", comments())
}

/// The same path on v1, through the gateway.
fn on_v1(path: &str) -> String {
    path.replacen("/api/v2/", "/api/v1/", 1)
}

/// v2 path of an item's comments in the project `ARC`, where items are archived, deleted, in triage.
fn archive_case(item: u32) -> String {
    let project = "/api/v2/workspaces/acme/projects/00000000-0000-4000-c000-000000000003";
    format!("{project}/work-items/00000000-0000-4000-e000-0000000000{item}/comments/")
}

async fn post(gateway: &Gateway, key: &str, body: Value) -> Answer {
    gateway.post(key, &comments(), body).await.expect(201)
}

/// Posts a paragraph as `key` and returns the id of the comment.
async fn said(gateway: &Gateway, key: &str, text: &str) -> String {
    post(gateway, key, json!({"comment_html": format!("<p>{text}</p>")})).await.text("id")
}
