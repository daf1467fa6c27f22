//! Exact calls to a scripted v1, and what happens when it fails half-way.

use crate::support::exchange::Exchange;
use crate::support::gateway::Gateway;
use crate::support::proofs::{V1, card, get_card};
use crate::support::scripted::ScriptedV1;
use crate::work_items::world::{ITEMS, id, one};
use serde_json::{Value, json};

const FIELDS: &str = "fields=id,name,sequence_id,priority,state,parent,assignees,labels,start_date,target_date,\
                      is_draft,archived_at,created_at,updated_at,created_by,sort_order,external_id,external_source,\
                      description_html,estimate_point,point";

/// A v1 that proves bob's access and expects `exchanges` in order.
async fn v1(exchanges: Vec<Exchange>) -> (ScriptedV1, Gateway) {
    let v1 = ScriptedV1::start().await;
    let me = json!({"id": id('a', 2), "email": "bob@acme.test", "display_name": "bob"});
    v1.expect(Exchange::get("users/me/").reply(200, me).repeated());
    v1.expect(get_card().reply(200, card(Some(15))).repeated());
    for exchange in exchanges {
        v1.expect(exchange);
    }
    let gateway = Gateway::before(v1.base_url()).await;
    (v1, gateway)
}

fn item(changes: Value) -> Value {
    let mut item = json!({"id": id('e', 7), "name": "n", "sequence_id": 7, "priority": "none", "state": id('d', 101),
        "parent": null, "assignees": [], "labels": [], "start_date": null, "target_date": null, "is_draft": false,
        "archived_at": null, "created_at": "2026-11-21T16:06:23.792659+05:30", "updated_at": "2026-11-21T10:36:23Z",
        "created_by": id('a', 2), "sort_order": 65535.0, "external_id": null, "external_source": null});
    for (key, value) in changes.as_object().expect("members") {
        item[key] = value.clone();
    }
    item
}

fn record() -> String {
    format!("{V1}work-items/{}/", id('e', 7))
}

fn read(answer: Value) -> Exchange {
    Exchange::get(&format!("{}?{FIELDS}", record())).reply(200, answer)
}

fn post() -> Exchange {
    Exchange::post(&format!("{V1}work-items/"))
}

fn patch() -> Exchange {
    Exchange::patch(&record())
}

#[tokio::test]
async fn a_create_is_one_post_and_one_read() {
    let body = json!({"name": "n", "priority": "none"});
    let answer = item(json!({"created_at": "2026-11-21T10:36:23.000000Z"}));
    let (v1, gateway) = v1(vec![post().body(body).reply(201, answer), read(item(json!({})))]).await;
    let made = gateway.post("bob", ITEMS, json!({"name": "n", "type_id": null})).await.expect(201);
    assert_eq!(made.text("created_at"), "2026-11-21T10:36:23.792659Z");
    v1.finish();
}

/// v1 accepts the points of all estimates of the project, and shows the estimate of a point where it expands the point.
#[tokio::test]
async fn a_point_of_another_estimate_takes_the_item_back() {
    let (point, active, other) = (id('6', 12), id('6', 11), id('6', 1));
    let made = |estimate: &str| {
        let point = json!({"id": point, "value": "1", "estimate": estimate});
        item(json!({"created_at": jiff::Timestamp::now().to_string(), "estimate_point": point}))
    };
    let card = |estimate: &str| {
        let mut card = card(Some(15));
        card["estimate"] = json!(estimate);
        get_card().reply(200, card)
    };
    for (shown, now, status) in [(&active, None, 201), (&other, Some(&active), 400), (&other, Some(&other), 201)] {
        let v1 = ScriptedV1::start().await;
        let me = json!({"id": id('a', 2), "email": "bob@acme.test", "display_name": "bob"});
        v1.expect(Exchange::get("users/me/").reply(200, me).repeated());
        v1.expect(card(&active));
        v1.expect(
            post().body(json!({"name": "n", "priority": "none", "estimate_point": point})).reply(201, made(shown)),
        );
        let read = format!("{}?{FIELDS}&expand=estimate_point", record());
        v1.expect(Exchange::get(&read).reply(200, made(shown)));
        // The active estimate may have changed since the card was read.
        if let Some(now) = now {
            v1.expect(card(now));
        }
        if status == 400 {
            v1.expect(Exchange::delete(&record()));
        }
        let gateway = Gateway::before(v1.base_url()).await;
        let answer = gateway.post("bob", ITEMS, json!({"name": "n", "estimate_point_id": point})).await;
        assert_eq!(answer.status, status, "{}", answer.json);
        if status == 400 {
            assert_eq!(answer.error_fields(), ["estimate_point_id"]);
        }
        v1.finish();
    }
}

#[tokio::test]
async fn an_update_is_one_read_and_one_patch_with_the_changed_keys_alone() {
    let sent = json!({"priority": "high", "description_html": "<p>x</p>"});
    let (v1, gateway) =
        v1(vec![read(item(json!({}))), patch().body(sent).reply(200, item(json!({"priority": "high"})))]).await;
    let body = json!({"name": "n", "priority": "high", "description_html": "<p>x</p>"});
    let changed = gateway.patch("bob", &one(&id('e', 7)), body).await.expect(200);
    assert_eq!(changed.text("priority"), "high");
    v1.finish();
}

#[tokio::test]
async fn archive_and_unarchive_are_two_calls_and_the_states_once() {
    let today = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date().to_string();
    let archived = item(json!({"archived_at": today}));
    let unseen = Exchange::get(&format!("{}?{FIELDS}", record()));
    let gone = unseen.reply(404, json!({"error": "The requested resource does not exist."}));
    let states = format!(
        "{V1}states/?per_page=1000&fields=id,name,description,color,group,sequence,default,is_triage,external_id,external_source,created_at,created_by"
    );
    let state = json!({"id": id('d', 101), "name": "Backlog", "description": "", "color": "#1", "group": "backlog",
        "sequence": 1.0, "is_triage": false, "default": true, "external_id": null, "external_source": null,
        "created_at": "2026-11-21T10:36:23Z", "created_by": null});
    let page = json!({"total_count": 1, "next_page_results": false, "results": [state]});
    let (v1, gateway) = v1(vec![
        read(item(json!({}))),
        patch().body(json!({"archived_at": today})).reply(200, archived),
        gone,
        patch().body(json!({"archived_at": null})).reply(200, item(json!({}))),
        Exchange::get(&states).reply(200, page),
    ])
    .await;
    let path = one(&id('e', 7));
    gateway.post("bob", &format!("{path}archive/"), json!({})).await.expect(200);
    gateway.post("bob", &format!("{path}unarchive/"), json!({})).await.expect(200);
    v1.finish();
}

#[tokio::test]
async fn a_dropped_label_takes_the_item_back_and_a_failed_delete_is_said() {
    let labels = json!({"total_count": 1, "next_page_results": false, "results": [{"id": id('7', 9), "name": "a",
        "description": "", "color": "", "sort_order": 1.0, "parent": null, "external_id": null,
        "external_source": null, "created_at": "2026-11-21T10:36:23Z", "created_by": null}]});
    let made = || item(json!({"created_at": jiff::Timestamp::now().to_string()}));
    for (deleted, status, code) in [(204, 400, "validation_error"), (500, 502, "upstream_error")] {
        let (v1, gateway) = v1(vec![
            post().reply(201, made()),
            read(made()),
            if deleted == 204 {
                Exchange::delete(&record())
            } else {
                Exchange::delete(&record()).reply(500, json!({}))
            },
        ])
        .await;
        if deleted == 500 {
            v1.expect(Exchange::get(&record()).reply(200, made()));
        }
        let list =
            "fields=id,name,description,color,sort_order,parent,external_id,external_source,created_at,created_by";
        v1.expect(Exchange::get(&format!("{V1}labels/?per_page=1000&{list}")).reply(200, labels.clone()));
        let body = json!({"name": "n", "label_ids": [id('7', 9)]});
        let answer = gateway.post("bob", ITEMS, body).await.expect_problem(status, code);
        assert_eq!(answer.error_fields().is_empty(), status != 400);
        assert_eq!(answer.text("detail").contains(&id('e', 7)), status == 502);
        v1.finish();
    }
}

#[tokio::test]
async fn an_update_that_cannot_be_undone_is_said() {
    let bob = json!({"assignees": [id('a', 2)]});
    let people = [2, 5].map(|number| {
        json!({"id": id('a', number), "first_name": "", "last_name": "", "email": format!("{number}@acme.test"),
            "avatar_url": null, "display_name": ""})
    });
    let (v1, gateway) = v1(vec![
        read(item(bob.clone())),
        Exchange::get(&format!("{V1}members/")).reply(200, json!(people)),
        Exchange::get("workspaces/acme/members/").recorded("members", "members_workspace_guest"),
        Exchange::get("workspaces/acme/projects/?per_page=1&fields=workspace").reply(200, json!({"results": []})),
        patch().body(json!({"assignees": [id('a', 5)]})).reply(200, item(json!({}))),
        patch().body(bob).reply(200, item(json!({}))),
    ])
    .await;
    let body = json!({"assignee_ids": [id('a', 5)]});
    let changed = gateway.patch("bob", &one(&id('e', 7)), body).await.expect_problem(502, "upstream_error");
    assert!(changed.text("detail").contains("undone") && changed.text("detail").contains(&id('a', 5)));
    v1.finish();
}

#[tokio::test]
async fn other_differences_are_never_a_success() {
    let lost = item(json!({"priority": "low"}));
    let (v1, gateway) = v1(vec![post().reply(201, item(json!({}))), read(lost.clone())]).await;
    let made = gateway.post("bob", ITEMS, json!({"name": "n", "priority": "high"})).await;
    let made = made.expect_problem(502, "upstream_error");
    assert!(made.text("detail").contains("priority") && made.text("detail").contains(&id('e', 7)));
    v1.finish();
    let again = Exchange::get(&record()).reply(200, lost.clone());
    let (v1, gateway) = self::v1(vec![read(item(json!({}))), patch().reply(200, lost), again]).await;
    let changed = gateway.patch("bob", &one(&id('e', 7)), json!({"priority": "high"})).await;
    assert!(changed.expect_problem(502, "upstream_error").text("detail").contains("priority"));
    v1.finish();
}

#[tokio::test]
async fn a_create_that_may_have_happened_is_never_repeated() {
    let (v1, gateway) = v1(vec![post().drop_after_reading()]).await;
    let answer = gateway.post("bob", ITEMS, json!({"name": "n"})).await;
    assert!(answer.expect_problem(504, "upstream_timeout").text("detail").contains("Look the record up"));
    v1.finish();
}

#[tokio::test]
async fn refusals_of_v1_speak_of_the_members_that_were_sent() {
    let (v1, gateway) = v1(vec![
        post().recorded("work_items", "items_create_start_after_target"),
        post().recorded("work_items", "items_create_many_errors"),
        post().reply(403, json!({"error": "State transition is not allowed"})),
    ])
    .await;
    let body = || json!({"name": "n"});
    let dates = gateway.post("bob", ITEMS, body()).await.expect_problem(400, "validation_error");
    assert_eq!(dates.error_fields(), ["target_date"]);
    let many = gateway.post("bob", ITEMS, body()).await.expect_problem(400, "validation_error");
    let mut fields = many.error_fields();
    fields.sort_unstable();
    assert_eq!(fields, ["assignee_ids", "label_ids.0", "name", "parent_id", "priority", "start_date", "state_id"]);
    gateway.post("bob", ITEMS, body()).await.expect_problem(403, "workflow_transition_denied");
    v1.finish();
}

#[tokio::test]
async fn a_delete_that_ends_early_has_lost_no_child() {
    let list = |rows: Value| json!({"total_count": 2, "next_page_results": false, "results": rows});
    let rows = json!([{"id": id('e', 7), "parent": null}, {"id": id('e', 8), "parent": id('e', 7)}]);
    let child = format!("{V1}work-items/{}/", id('e', 8));
    let (v1, gateway) = v1(vec![
        Exchange::get(&format!("{V1}work-items/?per_page=1000&fields=id,parent")).reply(200, list(rows)),
        read(item(json!({}))),
        Exchange::patch(&child).body(json!({"parent": null})).reply(500, json!({"error": "x"})),
        Exchange::get(&child).reply(200, item(json!({"id": id('e', 8), "parent": id('e', 7)}))),
    ])
    .await;
    gateway.delete("bob", &one(&id('e', 7))).await.expect_problem(502, "upstream_error");
    v1.finish();
}
