//! Workflow rules of the settings.

use crate::support::gateway::Gateway;
use crate::work_items::world::{ITEMS, id, one, steps};
use causeway::sandbox::Seed;
use serde_json::json;

async fn ruled() -> Gateway {
    let rules = format!(
        "[{{ project = \"{}\", initial = [\"backlog\", \"{}\"], moves = [{{ from = \"Backlog\", to = \"todo\" }}, \
         {{ from = \"Todo\", to = \"In Progress\" }}] }}]",
        id('c', 1),
        id('d', 102)
    );
    Gateway::sandboxed_with(Seed::Recorded, &[("workflow", &rules)]).await
}

#[tokio::test]
async fn items_begin_where_the_rules_allow() {
    let gateway = ruled().await;
    for body in [
        json!({"name": "n"}),
        json!({"name": "n", "state": "Todo"}),
        json!({"name": "n", "state_id": id('d', 101)}),
    ] {
        gateway.post("ada", ITEMS, body).await.expect(201);
    }
    gateway.sandbox().clear_journal();
    let denied = gateway.post("ada", ITEMS, json!({"name": "n", "state": "Done"})).await;
    denied.expect_problem(403, "workflow_transition_denied");
    gateway.post("ada", ITEMS, json!({"name": "", "state": "Done"})).await.expect_problem(400, "validation_error");
    assert!(steps(&gateway).iter().all(|step| step.starts_with("GET")), "{:?}", steps(&gateway));
}

#[tokio::test]
async fn only_listed_moves_are_possible_and_staying_is_no_move() {
    let gateway = ruled().await;
    let item = one(&id('e', 1));
    let denied = gateway.patch("ada", &item, json!({"name": "x", "state": "Done"})).await;
    denied.expect_problem(403, "workflow_transition_denied");
    assert_eq!(gateway.get("ada", &item).await.text("name"), "First");
    gateway.patch("ada", &item, json!({"state": "Backlog", "name": "x"})).await.expect(200);
    gateway.patch("ada", &item, json!({"state": "Todo"})).await.expect(200);
    gateway.patch("ada", &item, json!({"state_id": id('d', 103)})).await.expect(200);
    let back = gateway.patch("ada", &item, json!({"state": "Todo"})).await;
    back.expect_problem(403, "workflow_transition_denied");
}

#[tokio::test]
async fn other_projects_are_free() {
    let gateway = ruled().await;
    let body = json!({"name": "n", "state": "Done"});
    gateway.post("ada", crate::work_items::world::ARCHIVED, body).await.expect(201);
}
