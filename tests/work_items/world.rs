//! Names of the recorded situation, and the calls of v1 without proofs of access.

use crate::support::gateway::{Answer, Gateway};
use causeway::sandbox::Seed;
use serde_json::{Value, json};

/// Work items of `WEB`.
pub const ITEMS: &str = "/api/v2/workspaces/acme/projects/00000000-0000-4000-c000-000000000001/work-items/";
/// Work items of `ARC`, with one archived, a draft, one in triage and a deleted one.
pub const ARCHIVED: &str = "/api/v2/workspaces/acme/projects/00000000-0000-4000-c000-000000000003/work-items/";
/// Work items of `TYP`, with types and an estimate at v1.
pub const TYPED: &str = "/api/v2/workspaces/acme/projects/00000000-0000-4000-c000-000000000004/work-items/";
pub use crate::support::past_gateway::V1_WEB;

/// A fixed id of the recorded situation: `e` items, `d` states, `a` people, `f` types, `6` points, `7` labels.
pub fn id(kind: char, number: u64) -> String {
    format!("00000000-0000-4000-{kind}000-{number:012}")
}

/// The recorded situation behind a gateway.
pub async fn recorded() -> Gateway {
    Gateway::sandboxed(Seed::Recorded).await
}

/// Creates an item of `WEB` as ada.
pub async fn new_item(gateway: &Gateway, body: Value) -> Answer {
    gateway.post("ada", ITEMS, body).await.expect(201)
}

/// Creates a label of `WEB` and returns its id.
pub async fn new_label(gateway: &Gateway, name: &str) -> String {
    let labels = ITEMS.replace("work-items", "labels");
    gateway.post("ada", &labels, json!({"name": name})).await.expect(201).text("id")
}

/// Path of one item of `WEB`.
pub fn one(item: &str) -> String {
    format!("{ITEMS}{item}/")
}

/// Returns v1's record of an item of `WEB`.
pub async fn at_v1(gateway: &Gateway, item: &str) -> Value {
    gateway.get("ada", &format!("{V1_WEB}work-items/{item}/")).await.expect(200).json
}

/// Returns methods and first path segments of the calls to v1 since the journal was cleared, without proofs.
pub fn steps(gateway: &Gateway) -> Vec<String> {
    let is_proof = |path: &str| {
        path.starts_with("/api/v1/users/me/")
            || path.contains("/?fields=id,is_member")
            || path.starts_with("/api/v1/workspaces/acme/members/")
    };
    let journal = gateway.sandbox().journal().into_iter().filter(|entry| !is_proof(&entry.path));
    let short = |path: &str| {
        let path = path.split('?').next().unwrap_or_default();
        let within =
            path.split("/projects/").nth(1).map_or(path, |rest| rest.split_once('/').map_or(rest, |r| r.1));
        within.split('/').next().unwrap_or_default().to_owned()
    };
    journal.map(|entry| format!("{} {}", entry.method, short(&entry.path))).collect()
}
