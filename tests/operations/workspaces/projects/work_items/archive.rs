//! Archiving, which v1 does by a PATCH, and deleting, which v1 also does to the children.

use super::{WHOLE, first, hidden, read, record, second, shown, states};
use crate::operations::scene::{ONE, P, Scene, TWO, WEB, but, card};
use crate::support::scripted::Exchange;
use serde_json::{Value, json};

fn verb(name: &str) -> String {
    format!("{WEB}/work-items/{ONE}/{name}/")
}

/// The item as v1 archives it today.
fn archived(item: &Value) -> Value {
    let today = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date().to_string();
    but(item, json!({"archived_at": today}))
}

/// v1's path of the child.
fn child() -> String {
    format!("{P}/work-items/{TWO}/")
}

fn read_child() -> Exchange {
    Exchange::get(&format!("{}?{WHOLE}", child()))
}

/// The search for children, which shows no live one.
fn no_children() -> Exchange {
    let rows = json!({"total_count": 1, "next_page_results": false, "results": [{"id": ONE, "parent": null}]});
    Exchange::get(&format!("{P}/work-items/?per_page=1000&fields=id,parent")).reply(200, rows)
}

#[tokio::test]
async fn archive_patches_a_live_item_with_a_day() {
    let mut scene = Scene::in_project().await.then(read());
    // Any body is accepted: the test may run over midnight.
    scene = scene.then(Exchange::patch(&record()).reply(200, archived(&first()))).then(hidden());
    let body = json!({"archived_at": null, "name": "ignored"});
    let before = jiff::Timestamp::now();
    let answer = scene.ask("POST", &verb("archive"), Some(body)).await.expect(200);
    // v1 stores the day; the instant is the gateway's own.
    let instant: jiff::Timestamp = answer.text("archived_at").parse().expect("an instant");
    assert!(instant.as_microsecond() >= before.as_microsecond() && instant <= jiff::Timestamp::now(), "{instant}");
    assert_eq!(answer.calls(), 4);
    assert_eq!((&answer.json["custom_fields"], answer.text("name")), (&Value::Null, "First".into()));
    let again = scene.ask("POST", &verb("archive"), None).await.expect_problem(404, "resource_not_found");
    assert_eq!(again.calls(), 1);
    scene.end();
}

#[tokio::test]
async fn unarchive_finds_what_no_read_shows_and_leaves_a_live_item_alone() {
    let mut scene = Scene::in_project()
        .await
        .then(hidden())
        .then(Exchange::patch(&record()).body(json!({"archived_at": null})).reply(200, first()))
        .then(states())
        .then(read());
    let answer = scene.ask("POST", &verb("unarchive"), None).await.expect(200);
    assert_eq!((answer.calls(), &answer.json), (5, &shown(Value::Null)));
    let again = scene.ask("POST", &verb("unarchive"), None).await.expect(200);
    assert_eq!((again.calls(), &again.json), (1, &shown(Value::Null)));
    scene.end();
}

#[tokio::test]
async fn unarchive_does_not_show_drafts_and_items_in_triage() {
    let unlisted = json!({"state": "00000000-0000-4000-d000-000000000106"});
    // v1's list lacks some states of items that it shows, so the gateway reads the item itself.
    let gone = json!({"error": "The requested resource does not exist."});
    let asked = || vec![states(), Exchange::get(&format!("{}?fields=id", record())).reply(404, gone.clone())];
    for (changes, asked) in [(json!({"is_draft": true}), Vec::new()), (unlisted, asked())] {
        let scene = Scene::in_project()
            .await
            .then(hidden())
            .then(Exchange::patch(&record()).reply(200, but(&first(), changes)));
        let mut scene = asked.into_iter().fold(scene, Scene::then);
        scene.ask("POST", &verb("unarchive"), None).await.expect_problem(404, "resource_not_found");
        scene.end();
    }
}

#[tokio::test]
async fn delete_detaches_the_children_first() {
    let rows = json!({"total_count": 2, "next_page_results": false, "results": [
        {"id": ONE, "parent": null}, {"id": TWO, "parent": ONE}]});
    let detached = but(&second(), json!({"parent": null}));
    let mut scene = Scene::in_project()
        .await
        .then(read())
        .then(Exchange::get(&format!("{P}/work-items/?per_page=1000&fields=id,parent")).reply(200, rows))
        .then(Exchange::patch(&child()).body(json!({"parent": null})).reply(200, detached))
        .then(Exchange::delete(&record()))
        .then(read_child().reply(200, second()));
    let path = format!("{WEB}/work-items/{ONE}/");
    let answer = scene.ask("DELETE", &path, None).await.expect(204);
    assert_eq!((answer.calls(), answer.bytes.len()), (6, 0));
    let left = scene.ask("GET", &format!("{WEB}/work-items/{TWO}/"), None).await.expect(200);
    assert_eq!(left.calls(), 1);
    scene.end();
}

/// v1 would delete it all the same. The list that is read for its children does not show it any more.
#[tokio::test]
async fn an_item_that_is_archived_during_its_delete_is_not_deleted() {
    let nothing = json!({"total_count": 0, "next_page_results": false, "results": []});
    let mut scene = Scene::in_project()
        .await
        .then(read())
        .then(Exchange::get(&format!("{P}/work-items/?per_page=1000&fields=id,parent")).reply(200, nothing))
        .then(read().reply(404, json!({"error": "The requested resource does not exist."})));
    let path = format!("{WEB}/work-items/{ONE}/");
    scene.ask("DELETE", &path, None).await.expect_problem(404, "resource_not_found");
    scene.end();
}

/// v1 shows an archived item as 404. Any other failure does not show that the child is live again.
#[tokio::test]
async fn a_delete_ends_when_an_archived_child_cannot_be_read() {
    let mut scene = Scene::in_project()
        .await
        .then(read_child().reply(200, second()))
        .then(Exchange::patch(&child()).reply(200, archived(&second())))
        .then(read())
        .then(no_children())
        .then(read_child().html(500, "<h1>Server Error</h1>").repeated());
    scene.ask("POST", &format!("{WEB}/work-items/{TWO}/archive/"), None).await.expect(200);
    let path = format!("{WEB}/work-items/{ONE}/");
    scene.ask("DELETE", &path, None).await.expect_problem(502, "upstream_error");
    scene.end();
}

/// A lost archive that no read confirms may have been carried out; v1 lists no archived child.
#[tokio::test]
async fn a_delete_detaches_a_child_whose_archive_is_in_doubt() {
    let gone = json!({"error": "The requested resource does not exist."});
    let detached = but(&archived(&second()), json!({"parent": null}));
    let mut scene = Scene::in_any_order()
        .await
        .then(card().repeated())
        .then(read_child().reply(200, second()))
        .then(Exchange::patch(&child()).html(502, "<h1>Bad Gateway</h1>"))
        .then(Exchange::get(&child()).html(500, "<h1>Server Error</h1>").repeated())
        .then(no_children())
        .then(read())
        .then(read_child().reply(404, gone))
        .then(Exchange::patch(&child()).body(json!({"parent": null})).reply(200, detached))
        .then(Exchange::delete(&record()));
    let doubtful = scene.ask("POST", &format!("{WEB}/work-items/{TWO}/archive/"), None).await;
    doubtful.expect_problem(502, "upstream_error");
    scene.ask("DELETE", &format!("{WEB}/work-items/{ONE}/"), None).await.expect(204);
    scene.end();
}
