//! A v1 that lacks a call: Plane 1.0.0 has work items below `issues/` only, and its router says so in v1's own
//! words.

use super::{ITEMS, Scene};
use crate::support::gateway::WEB;
use serde_json::json;

const ITEM: &str = "00000000-0000-4000-e000-000000000001";

#[tokio::test]
async fn a_path_that_v1_lacks_is_not_reported_as_a_missing_record() {
    let scene = Scene::without("/work-items/").await;
    let (gateway, one) = (&scene.gateway, format!("{ITEMS}{ITEM}/"));
    let by_key = "/api/v2/workspaces/acme/work-items/WEB-1/";
    let pair = format!("{ITEMS}?external_id=e1&external_source=gh");
    let filtered = format!("{ITEMS}?priority=high");
    for path in [ITEMS, &one, by_key, &pair, &filtered, &format!("{one}comments/")] {
        let refused = gateway.get("ada", path).await.expect_problem(502, "upstream_error");
        assert!(refused.text("detail").contains("does not have"), "{path}: {}", refused.json);
    }
    let new = json!({"name": "n"});
    gateway.post("ada", ITEMS, new.clone()).await.expect_problem(502, "upstream_error");
    gateway.patch("ada", &one, new).await.expect_problem(502, "upstream_error");
    gateway.delete("ada", &one).await.expect_problem(502, "upstream_error");
    let comment = json!({"comment_html": "<p>c</p>"});
    gateway.post("ada", &format!("{one}comments/"), comment).await.expect_problem(502, "upstream_error");
    // The rest still works.
    gateway.get("ada", &format!("{WEB}/states/")).await.expect(200);
}

#[tokio::test]
async fn a_v1_without_member_lists_makes_no_caller_a_guest() {
    let scene = Scene::without("/members/").await;
    for path in ["/api/v2/workspaces/acme/members/", "/api/v2/workspaces/acme/features/"] {
        scene.gateway.get("ada", path).await.expect_problem(502, "upstream_error");
    }
    scene.gateway.get("ada", &format!("{WEB}/members/")).await.expect_problem(502, "upstream_error");
}

#[tokio::test]
async fn filters_by_cycle_and_module_need_the_lists_of_both() {
    for (part, filter) in [
        ("/archived-cycles/", "cycle_id__isnull=true"),
        ("/archived-modules/", "module_id__isnull=true"),
        ("/cycle-issues/", "cycle_id=00000000-0000-4000-9000-000000000001"),
        ("/module-issues/", "module_id=00000000-0000-4000-9000-000000000001"),
    ] {
        let scene = Scene::without(part).await;
        let refused = scene.gateway.get("ada", &format!("{ITEMS}?{filter}")).await;
        assert_eq!((refused.status, refused.code()), (502, "upstream_error"), "{part}: {}", refused.json);
    }
    let scene = Scene::without("/archived-modules/").await;
    let unknown = "00000000-0000-4000-9000-000000000099";
    scene.gateway.get("ada", &format!("{WEB}/modules/{unknown}/")).await.expect_problem(502, "upstream_error");
}
