//! `workspaces/{slug}/members/`.

use crate::operations::scene::{ACME, ADA, BOB, Scene, me};
use crate::support::gateway::Gateway;
use crate::support::scripted::Exchange;
use causeway::sandbox::Seed;
use serde_json::json;

fn roster() -> Exchange {
    let person = |id: &str, name: &str, role: u8| {
        json!({"id": id, "first_name": name, "last_name": "X", "email": format!("{name}@acme.test"), "avatar": "",
            "avatar_url": "", "display_name": name, "role": role})
    };
    // Newest first.
    Exchange::get("workspaces/acme/members/").reply(200, json!([person(BOB, "bob", 15), person(ADA, "ada", 20)]))
}

#[tokio::test]
async fn the_roster_is_the_card_and_ids_come_from_the_workspace() {
    let projects = json!({"results": [{"workspace": "00000000-0000-4000-b000-000000000001"}]});
    let projects = Exchange::get("workspaces/acme/projects/?per_page=1&fields=workspace").reply(200, projects);
    let mut scene = Scene::new().await.then(me()).then(roster()).then(projects);
    let answer = scene.ask("GET", "/api/v2/workspaces/acme/members/?expand=member", None).await.expect(200);
    assert_eq!(answer.calls(), 3);
    assert_eq!(answer.column("member_id"), [json!(ADA), json!(BOB)], "oldest first");
    assert_eq!(answer.column("role"), [json!("admin"), json!("member")]);
    let member = json!({"id": BOB, "display_name": "bob", "avatar_url": null, "email": "bob@acme.test"});
    assert_eq!(answer.data()[1]["member"], member);
    let again = scene.ask("GET", "/api/v2/workspaces/acme/members/?role=member", None).await.expect(200);
    assert_eq!((again.calls(), again.column("member_id")), (0, vec![json!(BOB)]));
    scene.end();
}

#[tokio::test]
async fn a_guest_gets_403_for_the_members_whatever_the_query() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    for query in ["", "?per_page=x", "?role=nobody", "?expand=nothing"] {
        gateway.get("gil", &format!("{ACME}/members/{query}")).await.expect_problem(403, "forbidden");
    }
}
