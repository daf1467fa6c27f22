//! One item, by id and by key.

use super::{BUG, UNSTARTED, WHOLE, first, hidden, labels, page, read, shown, states};
use crate::operations::scene::{P, Scene, WEB, but, me};
use crate::support::scripted::Exchange;
use serde_json::{Value, json};

#[tokio::test]
async fn retrieve_reads_the_item_as_it_is_now() {
    let mut scene = Scene::in_project().await.then(read()).then(hidden());
    let path = format!("{WEB}/work-items/{}/", crate::operations::scene::ONE);
    let answer = scene.ask("GET", &path, None).await.expect(200);
    assert_eq!((answer.calls(), &answer.json), (3, &shown(json!({}))));
    let gone = scene.ask("GET", &path, None).await.expect_problem(404, "resource_not_found");
    assert_eq!(gone.calls(), 1, "v1 hides archived items, drafts and those in triage");
    let key = scene.ask("GET", &format!("{WEB}/work-items/WEB-7/"), None).await;
    assert_eq!(key.expect_problem(404, "resource_not_found").calls(), 0);
    scene.end();
}

#[tokio::test]
async fn expansions_come_from_the_kept_collections() {
    let mut scene = Scene::in_project().await.then(read()).then(states()).then(labels()).then(read());
    let path = format!("{WEB}/work-items/{}/?expand=state,labels,type,parent", crate::operations::scene::ONE);
    let answer = scene.ask("GET", &path, None).await.expect(200);
    assert_eq!(answer.json["state"], json!({"id": UNSTARTED, "name": "Todo", "color": "#1", "group": "unstarted"}));
    assert_eq!(answer.json["labels"], json!([{"id": BUG, "name": "bug", "color": "#e5484d"}]));
    assert_eq!((&answer.json["type"], &answer.json["parent"]), (&Value::Null, &Value::Null));
    assert_eq!((&answer.json["state_id"], answer.calls()), (&json!(UNSTARTED), 5));
    assert_eq!(scene.ask("GET", &path, None).await.expect(200).calls(), 1);
    scene.end();
}

#[tokio::test]
async fn a_label_that_v1_has_yet_to_take_away_is_not_shown() {
    let mut scene = Scene::in_project()
        .await
        .then(labels())
        .then(Exchange::delete(&format!("{P}/labels/{BUG}/")))
        .then(read())
        .then(page("per_page=51&order_by=-created_at", &[&first()]));
    scene.ask("DELETE", &format!("{WEB}/labels/{BUG}/"), None).await.expect(204);
    let path = format!("{WEB}/work-items/{}/?expand=labels", crate::operations::scene::ONE);
    let read = scene.ask("GET", &path, None).await.expect(200);
    assert_eq!((&read.json["label_ids"], &read.json["labels"], read.calls()), (&json!([]), &json!([]), 1));
    let list = scene.ask("GET", &format!("{WEB}/work-items/"), None).await.expect(200);
    assert_eq!(list.column("label_ids"), [json!([])]);
    scene.end();
}

#[tokio::test]
async fn a_key_is_looked_up_and_its_project_proven() {
    let found = but(&first(), json!({"project": &P[P.len() - 36..]}));
    let look = |key: &str| Exchange::get(&format!("workspaces/acme/work-items/{key}/?{WHOLE},project"));
    let refused = json!({"detail": "You do not have permission to perform this action."});
    let mut scene = Scene::new()
        .await
        .then(me())
        .then(look("WEB-7").reply(200, found.clone()))
        .then(crate::operations::scene::card())
        .then(look("WEB-7").reply(200, found))
        .then(look("SEC-1").reply(403, refused));
    let path = |key: &str| format!("/api/v2/workspaces/acme/work-items/{key}/");
    let answer = scene.ask("GET", &path("web-7"), None).await.expect(200);
    assert_eq!((answer.calls(), &answer.json), (3, &shown(json!({}))));
    assert_eq!(scene.ask("GET", &path("WEB-7"), None).await.expect(200).calls(), 1);
    let private = scene.ask("GET", &path("SEC-1"), None).await.expect_problem(404, "resource_not_found");
    let malformed = scene.ask("GET", &path("WEB_7"), None).await.expect_problem(404, "resource_not_found");
    assert_eq!((malformed.calls(), &malformed.json), (0, &private.json), "one and the same answer");
    scene.end();
}
