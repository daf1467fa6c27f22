//! `work-items/{work_item_id}/comments/`.

use super::{hidden, read};
use crate::operations::scene::{ADA, BOB, ONE, P, Scene, THEN, TWO, WEB, but};
use crate::support::scripted::Exchange;
use serde_json::{Value, json};

fn at_v1() -> String {
    format!("{P}/work-items/{ONE}/comments/")
}

fn here() -> String {
    format!("{WEB}/work-items/{ONE}/comments/")
}

fn hello() -> Value {
    json!({"id": TWO, "issue": ONE, "comment_html": "<p>Hello <b>you</b></p>", "access": "INTERNAL", "actor": ADA,
        "external_id": null, "external_source": null, "edited_at": null, "created_at": THEN, "created_by": ADA})
}

fn shown() -> Value {
    json!({"id": TWO, "work_item_id": ONE, "comment_html": "<p>Hello <b>you</b></p>",
        "comment_stripped": "Hello you", "access": "INTERNAL", "actor_id": ADA, "external_id": null,
        "external_source": null, "edited_at": null, "created_at": THEN, "created_by_id": ADA})
}

fn one() -> Exchange {
    Exchange::get(&format!("{}{TWO}/", at_v1()))
}

/// The work item and its comments are read in parallel, in any order; so these scenes do not fix the order.
async fn scene(then: Vec<Exchange>) -> Scene {
    let mut scene = Scene::in_any_order().await;
    for exchange in then {
        scene = scene.then(exchange);
    }
    scene
}

fn all(rows: &[Value]) -> Exchange {
    let page = json!({"total_count": rows.len(), "next_page_results": false, "results": rows});
    let fields = "id,issue,comment_html,access,actor,external_id,external_source,edited_at,created_at,created_by";
    Exchange::get(&format!("{}?per_page=1000&fields={fields}", at_v1())).reply(200, page)
}

#[tokio::test]
async fn list_looks_at_the_work_item_too() {
    let mut scene = scene(vec![read().times(2), all(&[hello()])]).await;
    let answer = scene.ask("GET", &here(), None).await.expect(200);
    assert_eq!((answer.calls(), answer.data()), (4, &vec![shown()]));
    let found = scene.ask("GET", &format!("{}?search=O%20YOU", here()), None).await.expect(200);
    assert_eq!((found.calls(), found.data().len()), (1, 1), "markup does not matter; the comments are kept");
    scene.end();
}

#[tokio::test]
async fn comments_of_what_is_hidden_are_hidden() {
    let mut scene = scene(vec![hidden().times(3), all(&[hello()]), one().reply(200, hello())]).await;
    for (method, path) in [("GET", here()), ("GET", format!("{}{TWO}/", here())), ("POST", here())] {
        let body = (method == "POST").then(|| json!({"comment_html": "x"}));
        scene.ask(method, &path, body).await.expect_problem(404, "resource_not_found");
    }
    scene.end();
}

#[tokio::test]
async fn create_cleans_the_html_and_reads_back() {
    let post = Exchange::post(&at_v1()).body(json!({"comment_html": "<p>Hello <b>you</b></p>"}));
    let mut scene = scene(vec![read(), post.reply(201, hello()), one().reply(200, hello())]).await;
    let body = json!({"comment_html": " <p>Hello <b>you</b></p><script>x</script>", "actor_id": BOB});
    let answer = scene.ask("POST", &here(), Some(body)).await.expect(201);
    assert_eq!((answer.calls(), &answer.json), (5, &shown()));
    scene.end();
}

#[tokio::test]
async fn a_pair_that_is_taken_is_kept_by_the_gateway() {
    let sent = json!({"comment_html": "<p>Hello <b>you</b></p>", "external_id": "k", "external_source": "zd"});
    let taken = json!({"error": "Issue Comment with the same external id and external source already exists"});
    let plain = json!({"comment_html": "<p>Hello <b>you</b></p>"});
    let mut scene = scene(vec![
        read().times(2),
        Exchange::post(&at_v1()).body(sent.clone()).reply(409, taken),
        Exchange::post(&at_v1()).body(plain).reply(201, hello()),
        one().reply(200, hello()).times(2),
    ])
    .await;
    let answer = scene.ask("POST", &here(), Some(sent)).await.expect(201);
    let expected = but(&shown(), json!({"external_id": "k", "external_source": "zd"}));
    assert_eq!((answer.calls(), &answer.json), (6, &expected));
    let again = scene.ask("GET", &format!("{}{TWO}/", here()), None).await.expect(200);
    assert_eq!((again.calls(), &again.json), (2, &expected));
    scene.end();
}

#[tokio::test]
async fn update_sends_what_differs_and_stamps_the_edit() {
    let edited = but(&hello(), json!({"comment_html": "<p>Bye</p>"}));
    let patch = Exchange::patch(&format!("{}{TWO}/", at_v1())).body(json!({"comment_html": "<p>Bye</p>"}));
    let mut scene = scene(vec![read(), one().reply(200, hello()), patch.reply(200, edited)]).await;
    let body = json!({"comment_html": "<p>Bye</p>", "access": "INTERNAL"});
    let answer = scene.ask("PATCH", &format!("{}{TWO}/", here()), Some(body)).await.expect(200);
    assert_eq!((answer.calls(), answer.text("comment_stripped")), (5, "Bye".into()));
    assert!(answer.json["edited_at"].is_string());
    scene.end();
}

#[tokio::test]
async fn delete_is_for_the_author_and_admins() {
    let delete = Exchange::delete(&format!("{}{TWO}/", at_v1()));
    let mut scene = scene(vec![read(), one().reply(200, but(&hello(), json!({"actor": BOB}))), delete]).await;
    let answer = scene.ask("DELETE", &format!("{}{TWO}/", here()), None).await.expect(204);
    assert_eq!((answer.calls(), answer.bytes.len()), (5, 0), "ada is an admin of the project");
    scene.end();
}
