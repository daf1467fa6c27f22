//! A plain new resource in operation: v1's links, from a mapping file added to the embedded ones.

use super::world::WEB;
use crate::support::gateway::Gateway;
use causeway::sandbox::Seed;
use serde_json::json;
use std::path::Path;

const ITEM: &str = "00000000-0000-4000-e000-000000000001";

async fn gateway() -> Gateway {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plan/mappings_links");
    Gateway::sandboxed_with(Seed::Recorded, &[("mappings", folder.to_str().expect("a path"))]).await
}

fn links() -> String {
    format!("/api/v2/workspaces/acme/projects/{WEB}/work-items/{ITEM}/links/")
}

#[tokio::test]
async fn all_five_verbs_work_without_a_line_of_rust() {
    let gateway = gateway().await;
    let created =
        gateway.post("ada", &links(), json!({"url": "https://example.com/a", "title": "A"})).await.expect(201);
    let keys: Vec<&String> = created.json.as_object().expect("a record").keys().collect();
    assert_eq!(keys, ["id", "title", "url", "work_item_id", "created_at", "created_by_id"]);
    assert_eq!(created.text("work_item_id"), ITEM);
    let one = format!("{}{}/", links(), created.text("id"));
    assert_eq!(gateway.get("ada", &one).await.expect(200).json, created.json);
    let changed = gateway.patch("ada", &one, json!({"title": null})).await.expect(200);
    assert_eq!((&changed.json["title"], &changed.json["url"]), (&json!(null), &json!("https://example.com/a")));
    let listed = gateway.get("ada", &links()).await.expect(200);
    assert_eq!((listed.data(), listed.calls()), (&vec![changed.json.clone()], 0));
    gateway.delete("ada", &one).await.expect(204);
    gateway.get("ada", &one).await.expect_problem(404, "resource_not_found");
    assert!(gateway.get("ada", &links()).await.expect(200).data().is_empty());
}

#[tokio::test]
async fn its_refusals_are_those_of_any_resource() {
    let gateway = gateway().await;
    gateway.post("ada", &links(), json!({"url": "https://example.com/a"})).await.expect(201);
    let again = gateway.post("ada", &links(), json!({"url": "https://example.com/a"})).await;
    again.expect_problem(409, "conflict");
    let bad = gateway.post("ada", &links(), json!({"url": "javascript:alert(1)"})).await;
    assert_eq!(bad.expect_problem(400, "validation_error").error_fields(), ["url"]);
    let missing = gateway.post("ada", &links(), json!({})).await.expect_problem(400, "validation_error");
    assert_eq!(missing.error_fields(), ["url"]);
    gateway.post("gil", &links(), json!({"url": "https://example.com/b"})).await.expect_problem(403, "forbidden");
    gateway.get("mel", &links()).await.expect_problem(403, "forbidden");
    let nowhere = links().replace(ITEM, "x");
    let answer = gateway.get("ada", &nowhere).await.expect_problem(400, "validation_error");
    assert_eq!(answer.error_fields(), ["work_item_id"]);
    let sorted =
        gateway.get("ada", &format!("{}?order_by=id&paginate=cursor&per_page=1", links())).await.expect(200);
    assert_eq!(sorted.json["has_more"], false);
}
