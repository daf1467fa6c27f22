//! Which record is the result of a create whose answer was lost, when the create is repeated under its key: one that
//! shows everything that was sent, and that no other request is known to have made. One that lacks only the later
//! steps of a create of several calls is completed first.

use super::idempotency::{Stage, alike, expect_lost, leave_during, post, replayed, rows, swallow_a_read};
use crate::support::gateway::{Answer, Gateway, WEB};
use crate::support::past_gateway::V1_WEB;
use crate::support::switch::until;
use serde_json::{Value, json};
use std::time::Duration;

fn items() -> String {
    format!("{WEB}/work-items/")
}

/// Sends a create that v1 carries out and answers, and whose record cannot be read back.
async fn unread(stage: &Stage, sending: impl Future<Output = Answer>) {
    stage.losing.hold("POST");
    let wire = async {
        stage.losing.held().await;
        swallow_a_read(&stage.losing);
        stage.losing.let_go();
    };
    let (half, ()) = tokio::join!(sending, wire);
    expect_lost(&half);
}

/// v2 shows the ids of what a work item names, so names are resolved before they are compared.
#[tokio::test]
async fn a_work_item_that_lacks_what_was_sent_by_name_is_no_answer() {
    let stage = Stage::new(&[("store.late_write", "1h")]).await;
    let (gateway, path) = (&stage.gateway, items());
    gateway.post("ada", &format!("{WEB}/labels/"), json!({"name": "Bug"})).await.expect(201);
    for (name, sent) in [
        ("state", json!("done")),
        ("parent", json!("web-1")),
        ("assignees", json!(["bob@acme.test"])),
        ("labels", json!(["bug"])),
    ] {
        let body = json!({"name": name, name: sent});
        stage.losing.swallow("POST");
        let lost = post(gateway, "ada", &path, &body, name).await;
        expect_lost(&lost);
        gateway.post("ada", &path.replacen("/v2/", "/v1/", 1), json!({ "name": name })).await.expect(201);
        post(gateway, "ada", &path, &body, name).await.expect_problem(502, "upstream_error");
    }
    let all = json!({"name": "all", "state": "done", "parent": "web-1", "assignees": ["bob@acme.test"],
        "labels": ["bug"]});
    stage.losing.lose("POST");
    let lost = post(gateway, "ada", &path, &all, "all").await;
    expect_lost(&lost);
    assert!(replayed(&post(gateway, "ada", &path, &all, "all").await.expect(201)));
}

/// v1 gives an item for nobody to the default assignee, and the create ended before it could take the person off.
#[tokio::test]
async fn an_item_of_the_default_assignee_is_no_answer_to_a_create_for_nobody() {
    let stage = Stage::new(&[]).await;
    let (gateway, path) = (&stage.gateway, items());
    let default = json!({"default_assignee": "00000000-0000-4000-a000-000000000002"});
    gateway.patch("ada", V1_WEB, default).await.expect(200);
    for member in ["assignees", "assignee_ids"] {
        let body = json!({"name": member, member: []});
        stage.losing.lose("POST");
        let lost = post(gateway, "ada", &path, &body, member).await;
        expect_lost(&lost);
        post(gateway, "ada", &path, &body, member).await.expect_problem(502, "upstream_error");
    }
}

/// v1 carries the create out after the gateway has given it up, so lists that were read in between lack the record.
#[tokio::test]
async fn a_record_that_is_found_is_in_the_next_list() {
    let settings = [("store.late_write", "1h"), ("limits.deadline", "8s"), ("index.freshness", "10m")];
    let stage = Stage::new(&settings).await;
    let (gateway, path, body) = (&stage.gateway, items(), json!({"name": "late"}));
    let lists = async |path: &str, rows: &str| {
        let page = gateway.get("ada", path).await.expect(200);
        page.json[rows].as_array().expect("rows").iter().any(|row| row["name"] == "late")
    };
    let (list, at_v1) = (format!("{path}?order_by=priority&per_page=100"), path.replacen("/v2/", "/v1/", 1));
    stage.losing.detain("POST");
    let lost = post(gateway, "ada", &path, &body, "k").await;
    expect_lost(&lost);
    let is_over = async || post(gateway, "ada", &path, &body, "k").await.status == 502;
    until("the first attempt has ended", is_over).await;
    assert!(!lists(&list, "data").await);
    stage.losing.let_go();
    until("v1 has the item", async || lists(&at_v1, "results").await).await;
    assert!(!lists(&list, "data").await, "or the scene is another one");
    assert!(replayed(&post(gateway, "ada", &path, &body, "k").await.expect(201)));
    assert!(lists(&list, "data").await);
}

/// Deletes all modules, so that the next one is the first; returns the path of the modules.
async fn without_modules(gateway: &Gateway) -> String {
    let path = format!("{WEB}/modules/");
    for module in gateway.get("ada", &path).await.expect(200).data() {
        let one = format!("{path}{}/", module["id"].as_str().expect("an id"));
        gateway.delete("ada", &one).await.expect(204);
    }
    path
}

/// The gateway keeps the place of the first record at the end of the create. Places of later records are v1's.
#[tokio::test]
async fn the_place_of_the_first_module_is_kept_by_the_repetition() {
    let stage = Stage::new(&[]).await;
    let gateway = &stage.gateway;
    let path = without_modules(gateway).await;
    let (first, second) = (json!({"name": "first", "sort_order": 5}), json!({"name": "second", "sort_order": 7}));
    unread(&stage, post(gateway, "ada", &path, &first, "first")).await;
    unread(&stage, post(gateway, "ada", &path, &second, "second")).await;
    let found = post(gateway, "ada", &path, &second, "second").await.expect(201);
    assert!(replayed(&found) && found.json["sort_order"] != 7, "{}", found.json);
    // It was the first one when it was made.
    completed(gateway, &path, &first, "first").await;
}

/// Sends the create again, and expects the one record with everything that was sent.
async fn completed(gateway: &Gateway, path: &str, body: &Value, key: &str) {
    let done = post(gateway, "ada", path, body, key).await.expect(201);
    assert!(replayed(&done), "{}", done.json);
    // Instants are shown with microseconds.
    let as_sent = |shown: &Value| match shown.as_str() {
        Some(text) => json!(text.replace(".000000Z", "Z")),
        None => shown.clone(),
    };
    for (name, sent) in body.as_object().expect("members") {
        let shown = as_sent(&done.json[name]);
        let same = if sent.is_number() { shown.as_f64() == sent.as_f64() } else { shown == *sent };
        assert!(same, "{name} of {}", done.json);
    }
    assert_eq!(rows(gateway, path, body["name"].as_str().expect("a name")).await, 1, "{path}");
    let one = gateway.get("ada", &format!("{path}{}/", done.text("id"))).await.expect(200);
    assert_eq!((&one.json, &one.headers["etag"]), (&done.json, &done.headers["etag"]));
    alike(&post(gateway, "ada", path, body, key).await, &done);
}

/// Paths and bodies of creates that send something after the POST.
fn creates_of_several_calls() -> [(String, Value); 4] {
    let dates = json!({"name": "half", "start_date": "2030-01-01T08:00:00Z", "end_date": "2030-01-09T08:00:00Z",
        "sort_order": 3, "logo_props": {"in_use": "icon"}});
    let state = json!({"name": "half", "color": "#112233", "sequence": 7});
    let default = json!({"name": "half-default", "color": "#112233", "sequence": 8, "is_default": true});
    let states = format!("{WEB}/states/");
    [
        (format!("{WEB}/cycles/"), dates),
        (format!("{WEB}/labels/"), json!({"name": "half", "color": "#112233", "sort_order": 123})),
        (states.clone(), state),
        (states, default),
    ]
}

/// A killed process has not told which record v1 made, one that lost an answer has.
#[tokio::test]
async fn what_a_create_sends_after_its_post_is_sent_by_the_repetition() {
    for was_killed in [false, true] {
        let stage = Stage::new(&[]).await;
        let gateway = &stage.gateway;
        for (path, body) in creates_of_several_calls() {
            let key = body["name"].as_str().expect("a name");
            stage.losing.swallow("PATCH");
            let half = post(gateway, "ada", &path, &body, key).await;
            expect_lost(&half);
            if was_killed {
                stage
                    .execute(
                        "UPDATE repeatable_request SET state = 'running', ends_at = began_at + 1, record_id = NULL \
                         WHERE state = 'unknown'",
                    )
                    .await;
            }
            completed(gateway, &path, &body, key).await;
        }
        let defaults = gateway.get("ada", &format!("{WEB}/states/?is_default=true")).await.expect(200);
        assert_eq!(defaults.data().len(), 1, "{}", defaults.json);
    }
}

/// Sends a create whose first PATCH is carried out, and whose second is lost.
async fn half_dated(stage: &Stage, path: &str, body: &Value, key: &str) {
    stage.losing.hold("PATCH");
    stage.losing.swallow("PATCH");
    let wire = async {
        stage.losing.held().await;
        stage.losing.let_go();
    };
    let (half, ()) = tokio::join!(post(&stage.gateway, "ada", path, body, key), wire);
    expect_lost(&half);
}

#[tokio::test]
async fn a_cycle_with_one_of_its_dates_gets_the_other() {
    let stage = Stage::new(&[]).await;
    let [(path, body), ..] = creates_of_several_calls();
    half_dated(&stage, &path, &body, "k").await;
    completed(&stage.gateway, &path, &body, "k").await;
}

/// All steps of the create were carried out at v1, and the values of the own store are missing.
#[tokio::test]
async fn a_cycle_that_could_not_be_read_back_gets_the_values_of_the_own_store() {
    let stage = Stage::new(&[]).await;
    let (gateway, path) = (&stage.gateway, format!("{WEB}/cycles/"));
    let body = json!({"name": "unread", "sort_order": 3, "logo_props": {"in_use": "icon"}});
    unread(&stage, post(gateway, "ada", &path, &body, "k")).await;
    completed(gateway, &path, &body, "k").await;
}

/// The record may be of another request, or somebody works with it as it is; the answer names it.
#[tokio::test]
async fn a_half_made_record_that_somebody_has_changed_is_left_alone() {
    let [(cycles, dated), (labels, label), ..] = creates_of_several_calls();
    for (path, body, who, change) in [
        (&labels, &label, "ada", json!({"sort_order": 9})),
        (&labels, &label, "bob", json!({"description": "mine"})),
        (&labels, &label, "ada", json!({"color": "#445566"})),
        (&cycles, &dated, "ada", json!({"description": "mine"})),
        (&cycles, &dated, "ada", json!({"start_date": "2030-01-02T08:00:00Z"})),
        (&cycles, &dated, "bob", json!({"start_date": "2030-01-01T08:00:00Z"})),
    ] {
        let stage = Stage::new(&[]).await;
        let gateway = &stage.gateway;
        stage.losing.swallow("PATCH");
        expect_lost(&post(gateway, "ada", path, body, "k").await);
        let half = gateway.get("ada", &format!("{path}?per_page=100")).await.expect(200);
        let half = half.data().iter().find(|row| row["name"] == "half").expect("a record").clone();
        let one = format!("{path}{}/", half["id"].as_str().expect("an id"));
        gateway.patch(who, &one.replacen("/v2/", "/v1/", 1), change.clone()).await.expect(200);
        let told = post(gateway, "ada", path, body, "k").await.expect_problem(502, "upstream_error");
        assert!(told.text("detail").contains(half["id"].as_str().expect("an id")), "{}", told.json);
        let v1 = gateway.get("ada", &one.replacen("/v2/", "/v1/", 1)).await.expect(200);
        assert!(v1.json["end_date"].is_null() && v1.json["sort_order"] != 123.0, "{change}: {}", v1.json);
        assert_eq!(rows(gateway, path, "half").await, 1, "{change}");
    }
}

/// v1 does not know of this change.
#[tokio::test]
async fn a_half_made_record_whose_place_somebody_has_changed_in_the_own_store_is_left_alone() {
    let stage = Stage::new(&[]).await;
    let gateway = &stage.gateway;
    let path = without_modules(gateway).await;
    let body = json!({"name": "first", "sort_order": 5});
    unread(&stage, post(gateway, "ada", &path, &body, "k")).await;
    let half = gateway.get("ada", &path).await.expect(200).data()[0].clone();
    let one = format!("{path}{}/", half["id"].as_str().expect("an id"));
    gateway.patch("ada", &one, json!({"sort_order": 9})).await.expect(200);
    post(gateway, "ada", &path, &body, "k").await.expect_problem(502, "upstream_error");
    assert_eq!(gateway.get("ada", &one).await.expect(200).json["sort_order"], 9.0);
}

/// The first attempt may have been carried out, so the answer at the deadline of the second one must say so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repetition_that_is_still_looking_at_its_deadline_says_that_the_write_may_be_done() {
    let stage = Stage::new(&[("limits.deadline", "3s")]).await;
    let (gateway, path, body) = (&stage.gateway, format!("{WEB}/labels/"), json!({"name": "swallowed"}));
    stage.losing.swallow("POST");
    let lost = post(gateway, "ada", &path, &body, "k").await;
    expect_lost(&lost);
    // The read of the list.
    stage.losing.detain("GET");
    let told = post(gateway, "ada", &path, &body, "k").await;
    expect_lost(&told);
    assert!(told.text("detail").contains("may have been carried out"), "{}", told.json);
    stage.losing.let_go();
}

/// A failed look-up alone would be 503 with a time to come again, as if it were certain that nothing was done.
#[tokio::test]
async fn a_repetition_whose_look_up_fails_does_not_say_that_nothing_was_done() {
    let stage = Stage::new(&[("store.late_write", "0s")]).await;
    let (gateway, path, body) = (&stage.gateway, format!("{WEB}/labels/"), json!({"name": "lost"}));
    stage.losing.swallow("POST");
    expect_lost(&post(gateway, "ada", &path, &body, "k").await);
    swallow_a_read(&stage.losing);
    let told = post(gateway, "ada", &path, &body, "k").await.expect_problem(502, "upstream_error");
    assert!(told.text("detail").contains("could not be looked up"), "{}", told.json);
    assert!(!told.headers.contains_key("retry-after"));
    assert!(!replayed(&post(gateway, "ada", &path, &body, "k").await.expect(201)));
}

/// v1 told the id of the first item, so the repetition of the second, which v1 never saw, creates another one.
#[tokio::test]
async fn a_record_that_v1_told_to_a_request_which_failed_is_no_answer_to_another() {
    let stage = Stage::new(&[("store.late_write", "0s")]).await;
    let (gateway, path) = (&stage.gateway, items());
    for (name, key) in [("without", None), ("with", Some("one"))] {
        let first = json!({"name": name, "start_date": "2030-01-01"});
        // Requests that are equal in everything prove nothing while the outcome of both is open.
        let second = if key.is_some() { json!({ "name": name }) } else { first.clone() };
        match key {
            Some(key) => unread(&stage, post(gateway, "ada", &path, &first, key)).await,
            None => unread(&stage, gateway.post("ada", &path, first.clone())).await,
        }
        stage.losing.swallow("POST");
        let lost = post(gateway, "ada", &path, &second, name).await;
        expect_lost(&lost);
        let made = post(gateway, "ada", &path, &second, name).await.expect(201);
        assert!(!replayed(&made), "{name}: {}", made.json);
        if let Some(key) = key {
            let found = post(gateway, "ada", &path, &first, key).await.expect(201);
            assert!(replayed(&found) && found.text("id") != made.text("id"), "{}", found.json);
        }
    }
}

/// A write without a key goes on when its client hangs up, and makes its record for nobody else.
#[tokio::test]
async fn a_record_of_a_client_that_hung_up_is_no_answer_to_another_request() {
    let stage = Stage::new(&[("store.late_write", "1h")]).await;
    let (gateway, path, body) = (&stage.gateway, items(), json!({"name": "hung up"}));
    leave_during(&stage, &path, &body, "").await;
    stage.losing.let_go();
    // Time to end the write.
    tokio::time::sleep(Duration::from_millis(500)).await;
    stage.losing.swallow("POST");
    let lost = post(gateway, "ada", &path, &body, "k").await;
    expect_lost(&lost);
    post(gateway, "ada", &path, &body, "k").await.expect_problem(502, "upstream_error");
}

/// Two items could be the result, and v1 has told which of them is.
#[tokio::test]
async fn the_record_that_v1_told_is_the_answer() {
    let stage = Stage::new(&[]).await;
    let (gateway, path, body) = (&stage.gateway, items(), json!({"name": "told"}));
    unread(&stage, post(gateway, "ada", &path, &body, "k")).await;
    let twin = gateway.post("ada", &path.replacen("/v2/", "/v1/", 1), body.clone()).await.expect(201);
    let found = post(gateway, "ada", &path, &body, "k").await.expect(201);
    assert!(replayed(&found) && found.text("id") != twin.text("id"), "{}", found.json);
}
