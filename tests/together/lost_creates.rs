//! Which record is the result of a create whose answer was lost, when the create is repeated under its key: one that
//! shows everything that was sent, and that no other request is known to have made.

use super::idempotency::{Stage, post, replayed};
use crate::support::gateway::WEB;
use crate::support::past_gateway::V1_WEB;
use serde_json::json;

fn items() -> String {
    format!("{WEB}/work-items/")
}

/// v2 shows the ids of what a work item names, so names are resolved before they are compared.
#[tokio::test]
async fn a_work_item_that_lacks_what_was_sent_by_name_is_no_answer() {
    let stage = Stage::new(&[("store.late_write", "1h")]).await;
    let (gateway, path) = (&stage.gateway, items());
    gateway.post("ada", &format!("{WEB}/labels/"), json!({"name": "Bug"})).await.expect(201);
    for (name, sent) in [
        ("state", json!("done")),
        ("parent", json!("web-1")),
        ("assignees", json!(["bob@acme.test"])),
        ("labels", json!(["bug"])),
    ] {
        let body = json!({"name": name, name: sent});
        stage.losing.swallow("POST");
        let lost = post(gateway, "ada", &path, &body, name).await;
        assert!([502, 504].contains(&lost.status), "{}", lost.json);
        gateway.post("ada", &path.replacen("/v2/", "/v1/", 1), json!({ "name": name })).await.expect(201);
        post(gateway, "ada", &path, &body, name).await.expect_problem(502, "upstream_error");
    }
    let all = json!({"name": "all", "state": "done", "parent": "web-1", "assignees": ["bob@acme.test"],
        "labels": ["bug"]});
    stage.losing.lose("POST");
    let lost = post(gateway, "ada", &path, &all, "all").await;
    assert!([502, 504].contains(&lost.status), "{}", lost.json);
    assert!(replayed(&post(gateway, "ada", &path, &all, "all").await.expect(201)));
}

/// v1 gives an item for nobody to the default assignee, and the create ended before it could take the person off.
#[tokio::test]
async fn an_item_of_the_default_assignee_is_no_answer_to_a_create_for_nobody() {
    let stage = Stage::new(&[]).await;
    let (gateway, path) = (&stage.gateway, items());
    let default = json!({"default_assignee": "00000000-0000-4000-a000-000000000002"});
    gateway.patch("ada", V1_WEB, default).await.expect(200);
    for member in ["assignees", "assignee_ids"] {
        let body = json!({"name": member, member: []});
        stage.losing.lose("POST");
        let lost = post(gateway, "ada", &path, &body, member).await;
        assert!([502, 504].contains(&lost.status), "{}", lost.json);
        post(gateway, "ada", &path, &body, member).await.expect_problem(502, "upstream_error");
    }
}
