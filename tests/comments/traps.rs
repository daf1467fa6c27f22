//! Traps of v1 that comments step into, numbered as in `docs/v1-traps.md`.

use super::*;

const ADA: &str = "00000000-0000-4000-a000-000000000001";
const BOB: &str = "00000000-0000-4000-a000-000000000002";
const KIM: &str = "00000000-0000-4000-a000-000000000005";

#[tokio::test]
async fn trap_17_nobody_posts_for_someone_else_or_back_in_time() {
    let gateway = gateway().await;
    let posted = post(
        &gateway,
        "ada",
        json!({"comment_html": "a", "created_by": BOB, "created_by_id": BOB, "actor": BOB, "actor_id": BOB,
            "created_at": "2001-01-01T00:00:00Z"}),
    )
    .await;
    assert_ne!(posted.text("created_by_id"), BOB);
    assert_ne!(posted.text("actor_id"), BOB);
    assert!(!posted.text("created_at").starts_with("2001"));
    gateway.post("ada", &comments(), json!({"comment_html": "b", "created_at": "never"})).await.expect(201);
    assert_eq!(gateway.get("ada", &comments()).await.data().len(), 2, "and no ghosts");
}

#[tokio::test]
async fn trap_20_what_a_create_answers_is_what_later_reads_show() {
    let gateway = gateway().await;
    let posted = post(&gateway, "ada", json!({"comment_html": "<p>a</p>"})).await;
    assert_eq!(gateway.get("ada", &comment(&posted.text("id"))).await.expect(200).json, posted.json);
}

#[tokio::test]
async fn trap_32_scripts_never_reach_v1() {
    let gateway = gateway().await;
    let hostile = "<p onclick=\"x()\">a</p><script>alert(1)</script><a href=\"javascript:x()\">b</a>";
    let harmless = "<p>a</p><a rel=\"noopener noreferrer\">b</a>";
    let posted = post(&gateway, "ada", json!({"comment_html": hostile})).await;
    assert_eq!(posted.text("comment_html"), harmless);
    let one = comment(&posted.text("id"));
    assert_eq!(gateway.get("ada", &on_v1(&one)).await.expect(200).text("comment_html"), harmless);
    gateway.patch("ada", &one, json!({"comment_html": format!("{hostile}c")})).await.expect(200);
    let stored = gateway.get("ada", &on_v1(&one)).await.expect(200);
    assert_eq!(stored.text("comment_html"), format!("{harmless}c"));
}

#[tokio::test]
async fn trap_33_edits_are_stamped_and_plain_text_is_derived() {
    let gateway = gateway().await;
    let one = comment(&said(&gateway, "ada", "a &amp; b").await);
    let edited = gateway.patch("ada", &one, json!({"comment_html": "<p>c &lt; d</p>"})).await.expect(200);
    assert_eq!(edited.text("comment_stripped"), "c < d");
    assert!(edited.json["edited_at"].is_string());
    assert_eq!(gateway.get("ada", &on_v1(&one)).await.expect(200).json["edited_at"], Value::Null);
    gateway.patch("bob", &on_v1(&one), json!({"comment_html": "<p>by v1</p>"})).await.expect(200);
    let read = gateway.get("ada", &one).await.expect(200);
    assert_eq!(read.text("comment_stripped"), "by v1");
    assert_eq!(read.text("edited_at"), edited.text("edited_at"));
}

#[tokio::test]
async fn trap_34_external_pairs_may_repeat() {
    let gateway = gateway().await;
    let pair = json!({"comment_html": "a", "external_id": "k1", "external_source": "zd"});
    post(&gateway, "ada", pair.clone()).await;
    let twin = post(&gateway, "ada", pair).await;
    assert_eq!((twin.text("external_id"), twin.text("external_source")), ("k1".into(), "zd".into()));
    let third = said(&gateway, "ada", "c").await;
    let change = json!({"external_id": "k1", "external_source": "zd", "access": "EXTERNAL"});
    let changed = gateway.patch("ada", &comment(&third), change).await.expect(200);
    assert_eq!((changed.text("external_id"), changed.text("access")), ("k1".into(), "EXTERNAL".into()));
    let padded = json!({"comment_html": "d", "external_id": " k1 ", "external_source": "zd\t"});
    let padded = post(&gateway, "ada", padded).await;
    assert_eq!((padded.text("external_id"), padded.text("external_source")), ("k1".into(), "zd".into()));
    let found = gateway.get("ada", &format!("{}?external_id=k1&external_source=zd", comments())).await.expect(200);
    assert_eq!(found.data().len(), 4);
    let cleared = json!({"external_id": null, "external_source": null});
    let cleared = gateway.patch("ada", &comment(&third), cleared).await.expect(200);
    assert_eq!(cleared.json["external_id"], Value::Null);
    assert_eq!(gateway.get("ada", &comment(&third)).await.expect(200).json["external_id"], Value::Null);
}

#[tokio::test]
async fn trap_35_trap_40_only_authors_and_admins_change_a_comment() {
    let gateway = gateway().await;
    let id = said(&gateway, "bob", "mine").await;
    let one = comment(&id);
    for other in ["kim", "gil"] {
        let edit = json!({"comment_html": "<p>not mine</p>"});
        gateway.patch(other, &one, edit).await.expect_problem(403, "forbidden");
        gateway.patch(other, &one, json!({})).await.expect_problem(403, "forbidden");
        gateway.delete(other, &one).await.expect_problem(403, "forbidden");
    }
    assert_eq!(gateway.get("kim", &one).await.expect(200).text("comment_stripped"), "mine");
    let by_admin = gateway.patch("ada", &one, json!({"comment_html": "<p>moderated</p>"})).await.expect(200);
    assert_eq!(by_admin.text("actor_id"), BOB, "the author stays");
    gateway.delete("ada", &one).await.expect(204);
}

/// An admin of the workspace has the rights of an admin of the project, even as a plain member of it (O13, O43).
#[tokio::test]
async fn trap_35_trap_40_an_admin_of_the_workspace_moderates_as_well() {
    let gateway = gateway().await;
    let send = async |who: &str, path: &str, body: Value| {
        gateway.post(who, &format!("/api/{path}"), body).await.expect(201).text("id")
    };
    let project = send("bob", "v1/workspaces/acme/projects/", json!({"name": "Bob", "identifier": "BOB"})).await;
    let place = format!("workspaces/acme/projects/{project}");
    send("bob", &format!("v1/{place}/members/"), json!({"member": ADA, "role": 15})).await;
    send("bob", &format!("v1/{place}/members/"), json!({"member": KIM, "role": 15})).await;
    let item = send("bob", &format!("v2/{place}/work-items/"), json!({"name": "talk"})).await;
    let comments = format!("v2/{place}/work-items/{item}/comments/");
    let id = send("bob", &comments, json!({"comment_html": "<p>mine</p>"})).await;
    let (one, edit) = (format!("/api/{comments}{id}/"), json!({"comment_html": "<p>moderated</p>"}));
    gateway.patch("kim", &one, edit.clone()).await.expect_problem(403, "forbidden");
    // A caller without the right to write does not learn that the version differs.
    for demanded in ["\"other\"", "malformed"] {
        let demanding = gateway.send_with("kim", "PATCH", &one, Some(&edit), &[("if-match", demanded)]).await;
        demanding.expect_problem(403, "forbidden");
    }
    gateway.patch("ada", &one, edit.clone()).await.expect(200);
    let other = gateway.send_with("ada", "PATCH", &one, Some(&edit), &[("if-match", "\"other\"")]).await;
    other.expect_problem(412, "precondition_failed");
    let malformed = gateway.send_with("ada", "PATCH", &one, Some(&edit), &[("if-match", "malformed")]).await;
    malformed.expect_problem(400, "validation_error");
    gateway.delete("ada", &one).await.expect(204);
}

#[tokio::test]
async fn trap_36_the_work_item_is_looked_at_first() {
    let gateway = gateway().await;
    let own = said(&gateway, "ada", "a").await;
    let body = json!({"comment_html": "a"});
    let foreign = format!("{WEB}/work-items/00000000-0000-4000-e000-000000000005/comments/");
    // Archived, draft, in triage, deleted; unknown; of another workspace.
    let paths = [12, 13, 14, 16].map(archive_case).into_iter().chain([comments_of(NOWHERE), foreign]);
    for path in paths {
        let one = format!("{path}{own}/");
        gateway.get("ada", &path).await.expect_problem(404, "resource_not_found");
        gateway.get("ada", &format!("{path}?access=bad")).await.expect_problem(404, "resource_not_found");
        gateway.post("ada", &path, body.clone()).await.expect_problem(404, "resource_not_found");
        gateway.post("ada", &path, json!({})).await.expect_problem(404, "resource_not_found");
        gateway.get("ada", &one).await.expect_problem(404, "resource_not_found");
        gateway.patch("ada", &one, body.clone()).await.expect_problem(404, "resource_not_found");
        gateway.delete("ada", &one).await.expect_problem(404, "resource_not_found");
    }
    let live = archive_case(11);
    gateway.post("ada", &live, body).await.expect(201);
    let crossed = format!("{live}{own}/");
    gateway.get("ada", &crossed).await.expect_problem(404, "resource_not_found");
    gateway.delete("ada", &crossed).await.expect_problem(404, "resource_not_found");
    assert_eq!(gateway.get("ada", &comments()).await.expect(200).column("id"), [json!(own)]);
}

#[tokio::test]
async fn trap_42_instants_are_utc_whoever_reads() {
    let gateway = gateway().await;
    let id = said(&gateway, "kim", "from Kolkata").await;
    let seen = gateway.patch("kim", &comment(&id), json!({"access": "EXTERNAL"})).await.expect(200);
    assert!(seen.text("created_at").ends_with('Z') && seen.text("edited_at").ends_with('Z'));
    for key in ["kim", "ada"] {
        assert_eq!(gateway.get(key, &comment(&id)).await.expect(200).json, seen.json);
        assert_eq!(gateway.get(key, &comments()).await.expect(200).data()[0], seen.json);
    }
}
