//! `projects/{project_id}/states/`.

use crate::operations::scene::{ADA, ONE, P, Scene, THEN, TWO, WEB, but, list};
use crate::support::scripted::Exchange;
use serde_json::{Value, json};

const FIELDS: &str =
    "id,name,description,color,group,sequence,default,is_triage,external_id,external_source,created_at,created_by";

fn todo() -> Value {
    json!({"id": ONE, "name": "Todo", "description": "", "color": "#60646C", "group": "unstarted", "sequence": 25000.0,
        "default": true, "is_triage": false, "external_id": null, "external_source": null,
        "created_at": "2026-11-21T16:06:12.630235+05:30", "created_by": null})
}

fn done() -> Value {
    but(
        &todo(),
        json!({"id": TWO, "name": "Done", "group": "completed", "sequence": 45000.0, "default": false,
        "created_by": ADA, "created_at": THEN}),
    )
}

fn shown() -> Value {
    json!({"id": ONE, "name": "Todo", "description": "", "color": "#60646C", "group": "unstarted", "sequence": 25000.0,
        "is_default": true, "is_triage": false, "external_id": null, "external_source": null, "created_at": THEN,
        "created_by_id": "00000000-0000-0000-0000-000000000000"})
}

#[tokio::test]
async fn list_and_retrieve_share_one_read() {
    let mut scene = Scene::in_project().await.then(list("states", FIELDS, &[&done(), &todo()]));
    let answer = scene.ask("GET", &format!("{WEB}/states/?order_by=sequence"), None).await.expect(200);
    assert_eq!((answer.calls(), &answer.data()[0]), (3, &shown()));
    let one = scene.ask("GET", &format!("{WEB}/states/{ONE}/"), None).await.expect(200);
    assert_eq!((one.calls(), one.json), (0, shown()));
    let some = scene.ask("GET", &format!("{WEB}/states/?group=completed"), None).await.expect(200);
    assert_eq!((some.calls(), some.column("id")), (0, vec![json!(TWO)]));
    scene.end();
}

#[tokio::test]
async fn create_never_sends_the_default_flag_and_patches_the_sequence() {
    let made = but(&done(), json!({"name": "Review", "group": "backlog"}));
    let mut scene = Scene::in_project()
        .await
        .then(
            Exchange::post(&format!("{P}/states/"))
                .body(json!({"name": "Review", "color": "#1", "group": "backlog"}))
                .reply(200, but(&made, json!({"color": "#1"}))),
        )
        .then(
            Exchange::patch(&format!("{P}/states/{TWO}/"))
                .body(json!({"sequence": 7.5}))
                .reply(200, but(&made, json!({"color": "#1", "sequence": 7.5}))),
        );
    let body = json!({"name": " Review ", "color": "#1", "sequence": 7.5, "is_default": false});
    let answer = scene.ask("POST", &format!("{WEB}/states/"), Some(body)).await.expect(201);
    assert_eq!(
        (answer.calls(), &answer.json["sequence"], &answer.json["is_default"]),
        (4, &json!(7.5), &json!(false))
    );
    scene.end();
}

#[tokio::test]
async fn a_new_default_is_set_before_the_old_one_is_cleared() {
    let promoted = but(&done(), json!({"default": true}));
    let mut scene = Scene::in_project()
        .await
        .then(list("states", FIELDS, &[&todo(), &done()]))
        .then(list("states", FIELDS, &[&todo(), &done()]))
        .then(
            Exchange::patch(&format!("{P}/states/{TWO}/"))
                .body(json!({"color": "#2", "default": true}))
                .reply(200, but(&promoted, json!({"color": "#2"}))),
        )
        .then(
            Exchange::patch(&format!("{P}/states/{ONE}/"))
                .body(json!({"default": false}))
                .reply(200, but(&todo(), json!({"default": false}))),
        );
    scene.ask("GET", &format!("{WEB}/states/"), None).await.expect(200);
    let body = json!({"color": "#2", "is_default": true});
    let answer = scene.ask("PATCH", &format!("{WEB}/states/{TWO}/"), Some(body)).await.expect(200);
    assert_eq!((answer.calls(), &answer.json["is_default"]), (3, &json!(true)));
    let flags = scene.ask("GET", &format!("{WEB}/states/?is_default=true"), None).await.expect(200);
    assert_eq!((flags.calls(), flags.column("id")), (0, vec![json!(TWO)]));
    scene.end();
}

/// v1 may have cleared the flag, although its answer is lost and it does not show so yet.
#[tokio::test]
async fn an_old_default_that_is_perhaps_cleared_is_told_so() {
    let refused = json!({"default": ["This field may not be null."]});
    let patch = || Exchange::patch(&format!("{P}/states/{ONE}/")).body(json!({"default": false}));
    for (answer, words) in [
        (patch().html(502, "<h1>Bad Gateway</h1>"), "another one may still have is_default:"),
        (patch().reply(400, refused), "another one still has is_default:"),
    ] {
        let mut scene = Scene::in_any_order()
            .await
            .then(list("states", FIELDS, &[&todo(), &done()]).repeated())
            .then(Exchange::patch(&format!("{P}/states/{TWO}/")).reply(200, but(&done(), json!({"default": true}))))
            .then(answer)
            .then(Exchange::get(&format!("{P}/states/{ONE}/")).reply(200, todo()).repeated());
        let body = json!({"is_default": true});
        let answer = scene.ask("PATCH", &format!("{WEB}/states/{TWO}/"), Some(body)).await;
        let told = answer.expect_problem(502, "upstream_error").text("detail");
        assert!(told.starts_with("The record was updated, but") && told.contains(words), "{told}");
        scene.end();
    }
}

#[tokio::test]
async fn an_update_that_v1_did_not_carry_out_is_told() {
    let mut scene = Scene::in_project()
        .await
        .then(list("states", FIELDS, &[&done()]))
        .then(
            Exchange::patch(&format!("{P}/states/{TWO}/"))
                .body(json!({"name": "Finished", "description": "d"}))
                .reply(200, but(&done(), json!({"description": "d"}))),
        )
        .then(Exchange::get(&format!("{P}/states/{TWO}/")).reply(200, but(&done(), json!({"description": "d"}))))
        .then(list("states", FIELDS, &[&but(&done(), json!({"description": "d"}))]));
    let body = json!({"name": "Finished", "description": "d"});
    let answer = scene.ask("PATCH", &format!("{WEB}/states/{TWO}/"), Some(body)).await;
    let detail = answer.expect_problem(502, "upstream_error").text("detail");
    assert!(detail.contains("name") && detail.contains("description"), "{detail}");
    let now = scene.ask("GET", &format!("{WEB}/states/{TWO}/"), None).await.expect(200);
    assert_eq!((now.text("description"), now.calls()), ("d".into(), 1), "what was kept is dropped");
    scene.end();
}

#[tokio::test]
async fn delete_is_one_call_and_v1s_word_is_final() {
    let refused = json!({"error": "The state is not empty, only empty states can be deleted"});
    let path = format!("{P}/states/{TWO}/");
    let mut scene = Scene::in_project()
        .await
        .then(list("states", FIELDS, &[&todo(), &done()]))
        .then(Exchange::delete(&path).reply(400, refused))
        .then(Exchange::delete(&path));
    scene.ask("GET", &format!("{WEB}/states/"), None).await.expect(200);
    let one = format!("{WEB}/states/{TWO}/");
    scene.ask("DELETE", &one, None).await.expect_problem(409, "conflict");
    assert_eq!(scene.ask("GET", &one, None).await.expect(200).calls(), 0);
    assert_eq!(scene.ask("DELETE", &one, None).await.expect(204).calls(), 1);
    let left = scene.ask("GET", &format!("{WEB}/states/"), None).await.expect(200);
    assert_eq!((left.calls(), left.column("id")), (0, vec![json!(ONE)]));
    scene.end();
}

#[tokio::test]
async fn one_answer_tells_all_faults_of_a_body_those_that_only_v1_has_among_them() {
    let mut scene = Scene::in_project().await;
    let body = json!({"name": "c".repeat(101), "color": 7, "group": "triage"});
    let answer = scene.ask("POST", &format!("{WEB}/states/"), Some(body)).await;
    assert_eq!(answer.expect_problem(400, "validation_error").error_fields(), ["name", "color", "group"]);
    scene.end();
}

#[tokio::test]
async fn a_query_that_cannot_be_read_is_told_after_what_is_not_there() {
    let mut scene = Scene::in_project().await.then(list("states", FIELDS, &[&todo()]).times(2));
    let many = vec!["a=1"; 501].join("&");
    for query in ["x=%FF", many.as_str()] {
        let absent = scene.ask("GET", &format!("{WEB}/states/{TWO}/?{query}"), None).await;
        absent.expect_problem(404, "resource_not_found");
        let there = scene.ask("GET", &format!("{WEB}/states/{ONE}/?{query}"), None).await;
        there.expect_problem(400, "validation_error");
        let listed = scene.ask("GET", &format!("{WEB}/states/?{query}"), None).await;
        listed.expect_problem(400, "validation_error");
    }
    scene.end();
}
