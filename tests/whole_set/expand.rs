//! `expand`: `member` on both lists of members, five relations of work items, refused everywhere else.

use super::operations::{lists, working};
use super::world::World;
use crate::support::schema::SENT;
use serde_json::json;

#[tokio::test]
async fn undeclared_values_are_refused_wherever_there_is_a_body_to_answer() {
    let world = World::new().await;
    for operation in working().filter(|operation| operation.0["empty_body"] != true) {
        let path = world.path(operation);
        let known = operation.0["expand"].as_array().expect("values");
        // A value that is sent again is refused once (O26).
        let one = ["cycle", "lead", "member.avatar", "State", "state.group", "cycle,cycle,,cycle"];
        for (value, refused) in one.map(|value| (value, 1)).into_iter().chain([("owned_by,module", 2)]) {
            let answer = world.ask(Some("ada"), operation, &format!("{path}?expand={value}")).await;
            if operation.resource() == "users" {
                answer.expect(200);
                continue;
            }
            let answer = world.refused(answer, &vec!["expand"; refused]);
            let message = answer.json["errors"][0]["message"].as_str().expect("a message").to_owned();
            // The archive verbs accept the values of a retrieve, although the table declares none (O25).
            let archives = operation.id().ends_with("archive");
            let first = known.first().and_then(serde_json::Value::as_str).unwrap_or("state");
            let lists_known = archives || !known.is_empty();
            assert_eq!(message.contains(&format!("known: {first}")), lists_known, "{message}");
        }
        for nothing in ["", ",", "%20,,"] {
            let answer = world.ask(Some("ada"), operation, &format!("{path}?expand={nothing}")).await;
            answer.expect(operation.status());
            if operation.id() == "work_items_archive" {
                let back = path.replace("/archive/", "/unarchive/");
                world.gateway.send(Some("ada"), "POST", &back, None).await.expect(200);
            }
        }
    }
    assert!(world.v1_writes() > 0, "the empty values let writes through");
}

#[tokio::test]
async fn a_refused_expand_writes_nothing() {
    let world = World::new().await;
    world.gateway.sandbox().clear_journal();
    for operation in working().filter(|operation| operation.writes() && operation.0["empty_body"] != true) {
        let answer = world.ask(Some("ada"), operation, &format!("{}?expand=nothing", world.path(operation))).await;
        world.refused(answer, &["expand"]);
    }
    assert_eq!(world.v1_writes(), 0);
}

#[tokio::test]
async fn member_is_added_beside_the_id_on_both_rosters() {
    let world = World::new().await;
    let mut rosters = 0;
    for operation in lists().filter(|operation| operation.text("response") == "Member") {
        rosters += 1;
        assert_eq!(operation.0["expand"], json!(["member"]));
        let path = world.path(operation);
        let plain = world.gateway.get("ada", &path).await.expect(200);
        for value in ["member", "member,member", ",member,"] {
            let expanded = world.gateway.get("ada", &format!("{path}?expand={value}")).await.expect(200);
            assert_eq!(expanded.data().len(), plain.data().len());
            for (with, without) in expanded.data().iter().zip(plain.data()) {
                let mut row = with.clone();
                let member = row.as_object_mut().expect("a row").remove("member").expect("a member");
                assert_eq!(&row, without);
                assert_eq!(member["id"], without["member_id"]);
                SENT.assert("Member", with);
            }
        }
        assert!(plain.data().iter().all(|row| row.get("member").is_none()));
    }
    assert_eq!(rosters, 2);
}
