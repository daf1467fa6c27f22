//! Creating, editing and deleting: shapes, rules, permissions, and the stored fields.

use super::*;
use crate::support::past_gateway::{in_web, until_not_kept};

const KEYS: [&str; 11] = [
    "id",
    "work_item_id",
    "comment_html",
    "comment_stripped",
    "access",
    "actor_id",
    "external_id",
    "external_source",
    "edited_at",
    "created_at",
    "created_by_id",
];

const PAIR: [&str; 2] = ["external_id", "external_source"];

fn pair_of(comment: &Answer) -> [&Value; 2] {
    PAIR.map(|half| &comment.json[half])
}

fn keys(record: &Value) -> Vec<&str> {
    record.as_object().expect("a record").keys().map(String::as_str).collect()
}

#[tokio::test]
async fn a_comment_is_posted_read_edited_and_deleted() {
    let gateway = gateway().await;
    let posted = post(&gateway, "bob", json!({"comment_html": " <p>Hello <b>you</b></p><p>two</p> "})).await;
    assert_eq!(keys(&posted.json), KEYS);
    assert_eq!(posted.text("comment_html"), "<p>Hello <b>you</b></p><p>two</p>");
    assert_eq!(posted.text("comment_stripped"), "Hello you two");
    assert_eq!(posted.text("access"), "INTERNAL");
    assert_eq!(posted.text("work_item_id"), ITEM);
    assert_eq!(posted.text("actor_id"), "00000000-0000-4000-a000-000000000002");
    assert_eq!(posted.json["edited_at"], Value::Null);
    let one = comment(&posted.text("id"));
    assert_eq!(gateway.get("ada", &one).await.expect(200).json, posted.json);
    assert_eq!(gateway.get("ada", &comments()).await.expect(200).data()[0], posted.json);

    let edited = gateway.patch("bob", &one, json!({"comment_html": "<i>changed</i>"})).await.expect(200);
    assert_eq!(keys(&edited.json), KEYS);
    assert_eq!(edited.text("comment_stripped"), "changed");
    let stamp = edited.text("edited_at");
    assert!(stamp.len() == 27 && stamp.ends_with('Z'), "{stamp}");
    assert_eq!(gateway.get("ada", &one).await.expect(200).json, edited.json);
    assert_eq!(gateway.get("ada", &comments()).await.expect(200).data()[0], edited.json);

    gateway.delete("bob", &one).await.expect(204);
    gateway.delete("bob", &one).await.expect_problem(404, "resource_not_found");
    gateway.get("bob", &one).await.expect_problem(404, "resource_not_found");
    gateway.patch("bob", &one, json!({})).await.expect_problem(404, "resource_not_found");
    assert!(gateway.get("ada", &comments()).await.expect(200).data().is_empty());
}

/// Somebody else has deleted it on v1.
#[tokio::test]
async fn a_write_to_a_comment_that_is_gone_drops_the_list_that_shows_it() {
    let gateway = gateway().await;
    for method in ["PATCH", "DELETE"] {
        let gone = said(&gateway, "ada", "gone").await;
        let shows = async || gateway.get("ada", &comments()).await.expect(200).column("id").contains(&json!(gone));
        assert!(shows().await, "{method}");
        in_web(gateway.sandbox(), "DELETE", &format!("work-items/{ITEM}/comments/{gone}/"), &Value::Null);
        let change = (method == "PATCH").then(|| json!({"comment_html": "<p>b</p>"}));
        let refused = gateway.send_with("ada", method, &comment(&gone), change.as_ref(), &[]).await;
        refused.expect_problem(404, "resource_not_found");
        assert!(!shows().await, "{method}");
    }
}

#[tokio::test]
async fn every_patch_with_a_member_stamps_and_an_empty_one_does_not() {
    let gateway = gateway().await;
    let one = comment(&said(&gateway, "ada", "a").await);
    for nothing in [json!({}), json!({"edited_at": "2001-01-01T00:00:00Z", "unknown": 1})] {
        let same = gateway.patch("ada", &one, nothing).await.expect(200);
        assert_eq!(same.json["edited_at"], Value::Null);
    }
    let first = gateway.patch("ada", &one, json!({"access": "EXTERNAL"})).await.expect(200);
    let again = gateway.patch("ada", &one, json!({"access": "EXTERNAL"})).await.expect(200);
    assert!(first.text("edited_at") < again.text("edited_at"));
    assert_eq!(again.text("access"), "EXTERNAL");
    let refused = gateway.patch("ada", &one, json!({"access": "nobody"})).await.expect(400);
    assert_eq!(refused.error_fields(), ["access"]);
    assert_eq!(gateway.get("ada", &one).await.text("edited_at"), again.text("edited_at"));
}

#[tokio::test]
async fn bodies_are_judged_member_by_member() {
    let gateway = gateway().await;
    let html = json!("<p>a</p>");
    for (body, fields) in [
        (json!({}), &["comment_html"][..]),
        (json!({"comment_html": null}), &["comment_html"]),
        (json!({"comment_html": 5}), &["comment_html"]),
        (json!({"comment_html": " \n "}), &["comment_html"]),
        (json!({"comment_html": "<script>x</script>"}), &["comment_html"]),
        (json!({"comment_html": "a\u{0}b"}), &["comment_html"]),
        (json!({"comment_html": html, "access": "PUBLIC"}), &["access"]),
        (json!({"comment_html": html, "access": null}), &["access"]),
        (json!({"comment_html": html, "external_id": "x".repeat(256)}), &["external_id"]),
        (
            json!({"external_source": "x".repeat(256), "access": "x"}),
            &["comment_html", "access", "external_source"],
        ),
    ] {
        let answer = gateway.post("ada", &comments(), body.clone()).await.expect_problem(400, "validation_error");
        assert_eq!(answer.error_fields(), fields, "{body}");
    }
    gateway.post("ada", &comments(), json!([])).await.expect_problem(400, "validation_error");
    let one = comment(&said(&gateway, "ada", "a").await);
    for body in
        [json!({"comment_html": ""}), json!({"comment_html": null}), json!({"external_id": "x".repeat(256)})]
    {
        gateway.patch("ada", &one, body).await.expect_problem(400, "validation_error");
    }
    gateway.get("ada", &comment("not-a-uuid")).await.expect_problem(400, "validation_error");
    gateway.get("ada", &format!("{one}?expand=actor")).await.expect_problem(400, "validation_error");
    assert_eq!(gateway.get("ada", &comments()).await.data().len(), 1);
}

#[tokio::test]
async fn guests_comment_and_change_only_what_is_theirs() {
    let gateway = gateway().await;
    let theirs = said(&gateway, "gil", "from a guest").await;
    let other = said(&gateway, "bob", "from bob").await;
    let edit = json!({"comment_html": "<p>b</p>"});
    gateway.patch("gil", &comment(&theirs), edit.clone()).await.expect(200);
    gateway.patch("gil", &comment(&other), edit.clone()).await.expect_problem(403, "forbidden");
    gateway.delete("gil", &comment(&other)).await.expect_problem(403, "forbidden");
    gateway.delete("gil", &comment(&theirs)).await.expect(204);
    assert_eq!(gateway.get("gil", &comments()).await.expect(200).column("id"), [json!(other)]);
    gateway.post("gil", &format!("{WEB}/labels/"), json!({"name": "x"})).await.expect_problem(403, "forbidden");
}

#[tokio::test]
async fn outsiders_see_nothing_and_may_nothing() {
    let gateway = gateway().await;
    let one = comment(&said(&gateway, "ada", "a").await);
    gateway.get("eve", &comments()).await.expect_problem(404, "resource_not_found");
    gateway.post("eve", &comments(), json!({"comment_html": "a"})).await.expect_problem(404, "resource_not_found");
    gateway.get("mel", &one).await.expect_problem(403, "forbidden");
    gateway.patch("mel", &one, json!({"comment_html": "a"})).await.expect_problem(403, "forbidden");
    gateway.delete("mel", &one).await.expect_problem(403, "forbidden");
}

#[tokio::test]
async fn overlay_values_survive_a_restart_and_hide_no_change_made_on_v1() {
    let sandbox = causeway::sandbox::Sandbox::new(causeway::sandbox::Config {
        seed: Seed::Recorded,
        ..causeway::sandbox::Config::default()
    });
    let v1 = crate::support::gateway::serve_sandbox(&sandbox).await;
    let folder = tempfile::tempdir().expect("a folder");
    let store = format!("sqlite:{}", folder.path().join("store.db").display());
    let gateway = Gateway::with(&v1, &[("store.url", &store)]).await;
    let pair = json!({"comment_html": "<p>a</p>", "external_id": "k1", "external_source": "zd"});
    post(&gateway, "ada", pair.clone()).await;
    let twin = post(&gateway, "ada", pair).await.text("id");
    let edited = gateway.patch("ada", &comment(&twin), json!({"access": "EXTERNAL"})).await.expect(200);
    assert_eq!((edited.text("external_id"), edited.text("external_source")), ("k1".into(), "zd".into()));
    gateway.stop().await;

    let gateway = Gateway::with(&v1, &[("store.url", &store)]).await;
    let read = gateway.get("bob", &comment(&twin)).await.expect(200);
    assert_eq!(read.json, edited.json);
    let listed = gateway.get("bob", &comments()).await.expect(200);
    assert!(listed.data().contains(&edited.json));
    gateway.patch("ada", &on_v1(&comment(&twin)), json!({"external_id": "k9"})).await.expect(200);
    let read = gateway.get("bob", &comment(&twin)).await.expect(200);
    assert_eq!(read.text("external_id"), "k9");
    let edited = gateway.patch("ada", &comment(&twin), json!({"external_id": "k2"})).await.expect(200);
    assert_eq!(edited.text("external_id"), "k2");
}

#[tokio::test]
async fn a_pair_beside_v1_does_not_return_after_a_change_on_v1() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = format!("sqlite:{}", folder.path().join("store.db").display());
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &[("store.url", &store)]).await;
    let pair = json!({"comment_html": "<p>a</p>", "external_id": "k1", "external_source": "zd"});
    post(&gateway, "ada", pair.clone()).await;
    let twin = comment(&post(&gateway, "ada", pair).await.text("id"));
    assert_eq!(gateway.get("bob", &twin).await.expect(200).text("external_id"), "k1");
    gateway.age_overlay().await;
    for id in [json!("k9"), Value::Null] {
        gateway.patch("ada", &on_v1(&twin), json!({"external_id": id, "external_source": id})).await.expect(200);
        assert_eq!(pair_of(&gateway.get("bob", &twin).await.expect(200)), [&id, &id]);
        until_not_kept(&gateway, "work_item_comments", &PAIR).await;
    }
}

/// A half of the gateway beside a half of v1 would be a pair that nobody wrote.
#[tokio::test]
async fn a_pair_beside_v1_is_outdated_as_a_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = format!("sqlite:{}", folder.path().join("store.db").display());
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &[("store.url", &store)]).await;
    let taken = json!({"comment_html": "<p>a</p>", "external_id": "k1", "external_source": "zd"});
    post(&gateway, "ada", taken).await;
    for (own, sent, changed) in [
        (["k0", "gh"], json!({"external_id": "k1", "external_source": "zd"}), json!({"external_id": "k9"})),
        (["k2", "gh"], json!({"external_id": "k1", "external_source": "zd"}), json!({"external_source": "jira"})),
        (["k3", "zd"], json!({"external_id": "k1"}), json!({"external_source": "gh"})),
    ] {
        let members = json!({"comment_html": "<p>b</p>", "external_id": own[0], "external_source": own[1]});
        let one = comment(&post(&gateway, "ada", members.clone()).await.text("id"));
        assert_eq!(pair_of(&gateway.patch("ada", &one, sent).await.expect(200)), ["k1", "zd"]);
        gateway.age_overlay().await;
        let shown = gateway.patch("ada", &on_v1(&one), changed).await.expect(200);
        // The answer does not wait while the store is busy.
        let store = gateway.store().await;
        let busy = store.engine().writing().await.expect("a transaction");
        assert_eq!(pair_of(&gateway.get("bob", &one).await.expect(200)), pair_of(&shown));
        busy.rollback().await.expect("its end");
        until_not_kept(&gateway, "work_item_comments", &PAIR).await;
        gateway.patch("ada", &on_v1(&one), members).await.expect(200);
        assert_eq!(pair_of(&gateway.get("bob", &one).await.expect(200)), own);
    }
}
