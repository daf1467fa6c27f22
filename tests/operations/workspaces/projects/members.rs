//! `projects/{project_id}/members/`.

use crate::operations::scene::{ADA, BOB, P, Scene, WEB};
use crate::support::scripted::Exchange;
use serde_json::{Value, json};

/// A person with an older account than the others.
const EVE: &str = "00000000-0000-4000-a000-000000000003";

fn person(id: &str, name: &str, role: Option<u8>) -> Value {
    let mut person = json!({"id": id, "first_name": name, "last_name": "X", "email": format!("{name}@acme.test"),
        "avatar": "", "avatar_url": "https://acme.test/b.png", "display_name": name});
    if let Some(role) = role {
        person["role"] = role.into();
    }
    person
}

#[tokio::test]
async fn roles_come_from_the_card_and_from_the_workspace() {
    let in_project = json!([person(BOB, "bob", None), person(ADA, "ada", None)]);
    // In the workspace ada is a member; in the project she is an admin, as her card says.
    let in_workspace = json!([person(BOB, "bob", Some(15)), person(ADA, "ada", Some(15))]);
    let mut scene = Scene::in_project()
        .await
        .then(Exchange::get(&format!("{P}/members/")).reply(200, in_project))
        .then(Exchange::get("workspaces/acme/members/").reply(200, in_workspace));
    let answer = scene.ask("GET", &format!("{WEB}/members/"), None).await.expect(200);
    assert_eq!(answer.calls(), 4);
    assert_eq!(answer.column("member_id"), [json!(ADA), json!(BOB)]);
    assert_eq!(answer.column("role"), [json!("admin"), json!("contributor")]);
    let one = scene.ask("GET", &format!("{WEB}/members/?member_id={BOB}&expand=member"), None).await.expect(200);
    let member = json!({"id": BOB, "display_name": "bob", "avatar_url": "https://acme.test/b.png", "email": "bob@acme.test"});
    assert_eq!((one.calls(), one.column("member")), (0, vec![member]));
    scene.end();
}

/// v1 sorts the roster of a project by the age of the accounts (`perm_gil_reads_members`), so somebody who joins can
/// come before people whom a client has already read.
#[tokio::test]
async fn a_cursor_continues_after_the_same_person_when_an_older_account_joins() {
    let (ada, bob, eve) = (person(ADA, "ada", None), person(BOB, "bob", None), person(EVE, "eve", None));
    let rosters = [json!([bob, ada]), json!([bob, ada, eve])];
    let (mut cursor, mut read) = (String::new(), Vec::new());
    for roster in rosters {
        // A gateway that has kept nothing reads the roster of this moment.
        let mut scene = Scene::in_project()
            .await
            .then(Exchange::get(&format!("{P}/members/")).reply(200, roster))
            .then(Exchange::get("workspaces/acme/members/").reply(200, json!([person(ADA, "ada", Some(20))])));
        let path = format!("{WEB}/members/?paginate=cursor&order_by=created_at&per_page=1{cursor}");
        let page = scene.ask("GET", &path, None).await.expect(200);
        read.extend(page.column("member_id"));
        cursor = page.json["next_cursor"].as_str().map(|token| format!("&cursor={token}")).unwrap_or_default();
        scene.end();
    }
    assert_eq!(read, [json!(ADA), json!(BOB)]);
}
