//! Comments whose external pair v1 refuses, sent again under the same key: the create posts the comment without the
//! pair and keeps the pair at its end. A create that ended before is completed, and no second comment is made.

use super::idempotency::{Stage, alike, expect_lost, post, replayed, swallow_a_read};
use crate::support::gateway::{Gateway, WEB};
use serde_json::{Value, json};

/// Settings with which v1 carries nothing out after its time.
const AT_ONCE: [(&str, &str); 1] = [("store.late_write", "0s")];

/// Path of the comments of WEB-1.
fn comments() -> String {
    comments_of("00000000-0000-4000-e000-000000000001")
}

fn comments_of(item: &str) -> String {
    format!("{WEB}/work-items/{item}/comments/")
}

async fn comments_of_new_item(gateway: &Gateway) -> String {
    let item = gateway.post("ada", &format!("{WEB}/work-items/"), json!({"name": "Other"})).await.expect(201);
    comments_of(&item.text("id"))
}

fn with_pair(text: &str) -> Value {
    json!({"comment_html": text, "external_id": "T-1", "external_source": "jira"})
}

/// Posts a comment without a pair past v2; the gateway does not remember which request made it.
async fn post_on_v1(gateway: &Gateway, who: &str, text: &str) {
    let path = comments().replacen("/v2/", "/v1/", 1);
    gateway.post(who, &path, json!({ "comment_html": text })).await.expect(201);
}

/// Returns the ids in the external pairs of the comments with this text.
async fn pairs(gateway: &Gateway, text: &str) -> Vec<Value> {
    let all = gateway.get("ada", &comments()).await.expect(200);
    let rows = all.data().iter().filter(|row| row["comment_html"] == text);
    rows.map(|row| row["external_id"].clone()).collect()
}

#[tokio::test]
async fn a_comment_without_its_refused_pair_is_completed_and_not_posted_again() {
    for (is_read_back, is_on_other_item) in [(false, false), (true, false), (false, true), (true, true)] {
        let stage = Stage::new(&AT_ONCE).await;
        let (gateway, losing, path) = (&stage.gateway, &stage.losing, comments());
        let holder = if is_on_other_item { comments_of_new_item(gateway).await } else { path.clone() };
        gateway.post("ada", &holder, with_pair("<p>first</p>")).await.expect(201);
        let body = with_pair("<p>second</p>");
        // v1 refuses the first POST; the answer to the second, or to the read of the comment, is lost.
        losing.hold("POST");
        if is_read_back {
            losing.hold("POST");
        } else {
            losing.lose("POST");
        }
        let wire = async {
            losing.held().await;
            losing.let_go();
            if is_read_back {
                losing.held().await;
                swallow_a_read(losing);
                losing.let_go();
            }
        };
        let (half, ()) = tokio::join!(post(gateway, "ada", &path, &body, "k"), wire);
        expect_lost(&half);
        assert_eq!(pairs(gateway, "<p>second</p>").await, [Value::Null], "or the scene is another one");
        let done = post(gateway, "ada", &path, &body, "k").await.expect(201);
        assert!(replayed(&done), "{}", done.json);
        assert_eq!((done.text("external_id"), done.text("external_source")), ("T-1".into(), "jira".into()));
        assert_eq!(done.json["edited_at"], Value::Null);
        let one = gateway.get("ada", &format!("{path}{}/", done.text("id"))).await.expect(200);
        assert_eq!((&one.json, &one.headers["etag"]), (&done.json, &done.headers["etag"]));
        alike(&post(gateway, "ada", &path, &body, "k").await, &done);
        assert_eq!(pairs(gateway, "<p>second</p>").await, ["T-1"]);
    }
}

#[tokio::test]
async fn a_comment_without_a_pair_of_somebody_else_or_of_another_request_is_no_answer() {
    let stage = Stage::new(&AT_ONCE).await;
    let (gateway, path, text) = (&stage.gateway, comments(), "<p>same</p>");
    stage.losing.swallow("POST");
    let lost = post(gateway, "ada", &path, &with_pair(text), "k").await;
    expect_lost(&lost);
    post_on_v1(gateway, "bob", text).await;
    gateway.post("ada", &path, json!({ "comment_html": text })).await.expect(201);
    let done = post(gateway, "ada", &path, &with_pair(text), "k").await.expect(201);
    assert!(!replayed(&done), "{}", done.json);
    let mut pairs = pairs(gateway, text).await;
    pairs.sort_by_key(Value::is_null);
    assert_eq!(pairs, [json!("T-1"), Value::Null, Value::Null]);
}

#[tokio::test]
async fn two_comments_that_lack_the_pair_prove_nothing() {
    let stage = Stage::new(&AT_ONCE).await;
    let (gateway, path, text) = (&stage.gateway, comments(), "<p>twin</p>");
    stage.losing.swallow("POST");
    let lost = post(gateway, "ada", &path, &with_pair(text), "k").await;
    expect_lost(&lost);
    post_on_v1(gateway, "ada", text).await;
    post_on_v1(gateway, "ada", text).await;
    post(gateway, "ada", &path, &with_pair(text), "k").await.expect_problem(502, "upstream_error");
    assert_eq!(pairs(gateway, text).await, [Value::Null, Value::Null]);
}

/// v1 refuses a taken pair only, and a pair that was taken later was free for the lost create, which v1 never saw.
#[tokio::test]
async fn a_comment_that_lacks_a_pair_which_no_older_comment_of_the_item_has_is_not_completed() {
    for holder in ["nobody", "older, on another item", "younger"] {
        let stage = Stage::new(&AT_ONCE).await;
        let (gateway, path, text) = (&stage.gateway, comments(), "<p>alone</p>");
        if holder == "older, on another item" {
            let path = comments_of_new_item(gateway).await;
            gateway.post("ada", &path, with_pair("<p>holder</p>")).await.expect(201);
        }
        stage.losing.swallow("POST");
        let lost = post(gateway, "ada", &path, &with_pair(text), "k").await;
        expect_lost(&lost);
        post_on_v1(gateway, "ada", text).await;
        if holder == "younger" {
            gateway.post("ada", &path, with_pair("<p>holder</p>")).await.expect(201);
        }
        for _ in 0..2 {
            post(gateway, "ada", &path, &with_pair(text), "k").await.expect_problem(502, "upstream_error");
        }
        assert_eq!(pairs(gateway, text).await, [Value::Null], "{holder}");
    }
}

/// v1 refuses no half of a pair, so a comment without it is of another request.
#[tokio::test]
async fn a_comment_that_lacks_half_a_pair_is_no_answer() {
    let stage = Stage::new(&AT_ONCE).await;
    let (gateway, path, text) = (&stage.gateway, comments(), "<p>half</p>");
    let body = |text: &str| json!({"comment_html": text, "external_id": "T-1"});
    gateway.post("ada", &path, body("<p>first</p>")).await.expect(201);
    stage.losing.swallow("POST");
    let lost = post(gateway, "ada", &path, &body(text), "k").await;
    expect_lost(&lost);
    post_on_v1(gateway, "ada", text).await;
    let done = post(gateway, "ada", &path, &body(text), "k").await.expect(201);
    assert!(!replayed(&done), "{}", done.json);
    let mut pairs = pairs(gateway, text).await;
    pairs.sort_by_key(Value::is_null);
    assert_eq!(pairs, [json!("T-1"), Value::Null]);
}

#[tokio::test]
async fn a_comment_with_its_pair_comes_before_one_that_lacks_it() {
    let stage = Stage::new(&AT_ONCE).await;
    let (gateway, path, text) = (&stage.gateway, comments(), "<p>whole</p>");
    stage.losing.lose_unfound("POST");
    let lost = post(gateway, "ada", &path, &with_pair(text), "k").await;
    expect_lost(&lost);
    post_on_v1(gateway, "ada", text).await;
    let done = post(gateway, "ada", &path, &with_pair(text), "k").await.expect(201);
    assert!(replayed(&done), "{}", done.json);
    assert_eq!((done.text("external_id"), pairs(gateway, text).await.len()), ("T-1".into(), 2));
}
