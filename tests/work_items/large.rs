//! Writes in a project that is too large for a complete read before each of them.

use crate::support::gateway::{Gateway, WEB, serve_sandbox};
use crate::support::switch::{Line, Switch};
use causeway::sandbox::{Config, Sandbox, Seed};
use serde_json::json;

/// The query to v1 that compares all ids of a project.
const ALL_IDS: &str = "fields=id,updated_at";

/// Items that were deleted at v1 past the gateway make the index compare all ids, which takes long in a large project.
/// A delete only needs to know the children, and must miss none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delete_does_not_wait_until_all_ids_are_compared() {
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, work_items: 1_200, ..Config::default() });
    let wire = Switch::before(&serve_sandbox(&sandbox).await).await;
    let gateway = Gateway::with(
        &wire.base_url(),
        &[("limits.deadline", "20s"), ("index.freshness", "0s"), ("upstream.quota", "0")],
    )
    .await;
    let items = format!("{WEB}/work-items/");
    let v1 = "/api/v1/workspaces/acme/projects/00000000-0000-4000-c000-000000000001/work-items/";
    let made = async |name: &str| gateway.post("ada", &items, json!({"name": name})).await.expect(201).text("id");
    let (parent, early, late, moved) = (made("P").await, made("E").await, made("L").await, made("M").await);
    for child in [&early, &moved] {
        let body = json!({"parent_id": parent});
        gateway.patch("ada", &format!("{items}{child}/"), body).await.expect(200);
    }
    gateway.get("ada", &format!("{items}?priority=none&per_page=1")).await.expect(200);
    // Past the gateway: one item is deleted, one becomes a child, one stops being a child.
    let gone = made("G").await;
    let past = serve_sandbox(&sandbox).await;
    let past = Gateway::with(&past, &[]).await;
    past.delete("ada", &format!("{v1}{gone}/")).await.expect(204);
    past.patch("ada", &format!("{v1}{late}/"), json!({"parent": parent})).await.expect(200);
    past.patch("ada", &format!("{v1}{moved}/"), json!({"parent": early})).await.expect(200);
    wire.set(Line::HangingFor(ALL_IDS)).await;
    gateway.delete("ada", &format!("{items}{parent}/")).await.expect(204);
    wire.set(Line::Up).await;
    for (child, of) in [(&early, json!(null)), (&late, json!(null)), (&moved, json!(early))] {
        let shown = past.get("ada", &format!("{v1}{child}/")).await.expect(200);
        assert_eq!(shown.json["parent"], of, "{child}");
    }
    past.get("ada", &format!("{v1}{parent}/")).await.expect(404);
}
