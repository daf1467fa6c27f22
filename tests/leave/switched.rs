//! The other v2 answers a workspace only after it has been left.

use super::filled::fill;
use super::two::{ACME, KEY, Two};
use causeway::leave::{Outcome, RunMode};
use serde_json::json;

#[tokio::test]
async fn a_workspace_can_be_native_only_after_it_was_carried_over() {
    let two = Two::upgraded().await;
    fill(&two).await;
    let serve = "[{ operations = [\"all\"], mode = \"native\", workspaces = [\"acme\"] }]";
    let switch = [("native.base_url", two.there.base()), ("native.serve", serve)];
    let early = two.here.reload(&switch).await.expect_err("nothing was carried over").to_string();
    assert!(early.contains("causeway leave --to") && early.contains("acme"), "{early}");

    let report = two.run(RunMode::Carry).await.expect("a run");
    assert_eq!(report.workspaces[0].outcome, Outcome::Alike, "{report:?}");
    let changed = two.here.reload(&switch).await.expect("a reload");
    assert_eq!(changed, ["native.base_url", "native.serve"]);

    // Types have other ids there, so the answers tell which side gave them.
    let types = format!("{ACME}/work-item-types/");
    let (through, direct) =
        (two.here.get(KEY, &types).await.expect(200), two.there.get(KEY, &types).await.expect(200));
    assert_eq!(through.json, direct.json);
    assert_eq!(through.calls(), 0);
    assert!(through.headers["server-timing"].contains("native"), "{:?}", through.headers);
    let made = two.here.post(KEY, &types, json!({"name": "Made afterwards"})).await.expect(201);
    let found = two.there.get(KEY, &format!("{types}{}/", made.text("id"))).await.expect(200);
    assert_eq!(found.text("name"), "Made afterwards");

    // Back again, this gateway answers from its own store.
    two.here.reload(&[]).await.expect("a reload");
    let back = two.here.get(KEY, &types).await.expect(200);
    assert_ne!(back.json, direct.json);
    assert!(!back.column("name").contains(&json!("Made afterwards")), "{}", back.json);
}
