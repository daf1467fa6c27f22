//! The requests sent to v1, byte for byte where it matters, and the number of calls.

use super::*;
use crate::support::proofs::{card, get_card};
use crate::support::scripted::{Exchange, Gate, ScriptedV1};
use causeway::translate::work_items;

const P: &str = "workspaces/acme/projects/00000000-0000-4000-c000-000000000001";
const ADA: &str = "00000000-0000-4000-a000-000000000001";
const BOB: &str = "00000000-0000-4000-a000-000000000002";
const ID: &str = "3f7fdd5c-f4d4-4cf6-ade2-7af502316d7c";
const FIELDS: &str =
    "fields=id,issue,comment_html,access,actor,external_id,external_source,edited_at,created_at,created_by";

/// A v1 that answers any number of proofs of access for ada, a member of the project.
async fn v1() -> (ScriptedV1, Gateway) {
    let v1 = ScriptedV1::start().await;
    v1.expect(Exchange::get("users/me/").recorded("users", "users_me_admin").repeated());
    v1.expect(get_card().reply(200, card(Some(15))).repeated());
    let gateway = Gateway::before(v1.base_url()).await;
    (v1, gateway)
}

fn item() -> Exchange {
    let item = json!({"id": ITEM, "name": "First", "sequence_id": 1, "priority": "none", "state": NOWHERE,
        "parent": null, "assignees": [], "labels": [], "start_date": null, "target_date": null, "is_draft": false,
        "archived_at": null, "created_at": "2026-11-21T10:36:58Z", "updated_at": "2026-11-21T10:36:58Z",
        "created_by": ADA, "sort_order": 65535.0, "external_id": null, "external_source": null});
    Exchange::get(&format!("{P}/work-items/{ITEM}/?{}", work_items::WHOLE)).reply(200, item)
}

fn record(actor: &str, changes: Value) -> Value {
    let mut record = json!({"id": ID, "created_at": "2026-11-21T16:06:58.537053+05:30", "comment_html": "<p>a</p>",
        "access": "INTERNAL", "external_source": null, "external_id": null, "edited_at": null,
        "created_by": null, "issue": ITEM, "actor": actor});
    record.as_object_mut().expect("members").extend(changes.as_object().expect("changes").clone());
    record
}

fn at(id: &str) -> String {
    format!("{P}/work-items/{ITEM}/comments/{id}")
}

fn one() -> String {
    at(&format!("{ID}/"))
}

fn taken() -> Value {
    json!({"error": "Work item comment with the same external id and external source already exists", "id": ID})
}

#[tokio::test]
async fn a_list_reads_the_item_and_the_collection_side_by_side_then_the_item_alone() {
    let (v1, gateway) = v1().await;
    let page = json!({"results": [record(ADA, json!({}))], "count": 1, "total_results": 1, "total_count": 1,
        "total_pages": 1, "next_page_results": false, "prev_page_results": false, "next_cursor": "1000:1:0",
        "prev_cursor": "1000:-1:1"});
    v1.expect(Exchange::get(&at(&format!("?per_page=1000&{FIELDS}"))).reply(200, page));
    v1.expect(item().times(2));
    let first = gateway.get("ada", &comments()).await.expect(200);
    assert_eq!(first.data()[0]["created_by_id"], json!("00000000-0000-0000-0000-000000000000"));
    assert_eq!(first.data()[0]["created_at"], json!("2026-11-21T10:36:58.537053Z"));
    assert_eq!(gateway.get("ada", &comments()).await.expect(200).calls(), 1);
    v1.finish();
}

#[tokio::test]
async fn a_create_sends_known_keys_and_reads_back() {
    let (v1, gateway) = v1().await;
    v1.expect(item());
    let sent = json!({"comment_html": "<p>a</p>", "access": "EXTERNAL"});
    v1.expect(Exchange::post(&at("")).body(sent).reply(201, record(ADA, json!({"access": "EXTERNAL"}))));
    v1.expect(Exchange::get(&one()).reply(200, record(ADA, json!({"access": "EXTERNAL"}))));
    let body = json!({"comment_html": "<p>a</p>", "access": "EXTERNAL", "actor": BOB, "created_by": BOB, "x": 1});
    gateway.post("ada", &comments(), body).await.expect(201);
    v1.finish();
}

#[tokio::test]
async fn a_taken_pair_costs_one_more_post_and_is_kept_here() {
    let (v1, gateway) = v1().await;
    v1.expect(item().times(2));
    let pair = json!({"comment_html": "<p>a</p>", "external_id": "k1", "external_source": "zd"});
    v1.expect(Exchange::post(&at("")).body(pair.clone()).reply(409, taken()));
    v1.expect(Exchange::post(&at("")).body(json!({"comment_html": "<p>a</p>"})).reply(201, record(ADA, json!({}))));
    v1.expect(Exchange::get(&one()).reply(200, record(ADA, json!({}))).times(2));
    let posted = gateway.post("ada", &comments(), pair).await.expect(201);
    assert_eq!(posted.text("external_id"), "k1");
    let read = gateway.get("ada", &comment(ID)).await.expect(200);
    assert_eq!((read.calls(), &read.json), (2, &posted.json));
    v1.finish();
}

#[tokio::test]
async fn an_update_sends_only_what_changes() {
    let (v1, gateway) = v1().await;
    v1.expect(item().times(3));
    v1.expect(Exchange::get(&one()).reply(200, record(ADA, json!({}))).times(3));
    let sent = json!({"comment_html": "<p>b</p>"});
    let patched = record(ADA, json!({"comment_html": "<p>b</p>"}));
    v1.expect(Exchange::patch(&one()).body(sent).reply(200, patched));
    let body = json!({"comment_html": "<p>b</p>", "access": "INTERNAL", "external_id": null});
    let edited = gateway.patch("ada", &comment(ID), body).await.expect(200);
    assert!(edited.json["edited_at"].is_string());
    // Nothing differs from the stored record: the change is stamped, and nothing is sent.
    let same = gateway.patch("ada", &comment(ID), json!({"access": "INTERNAL"})).await.expect(200);
    assert_eq!(same.calls(), 2);
    assert_eq!(gateway.patch("ada", &comment(ID), json!({})).await.expect(200).calls(), 2);
    v1.finish();
}

#[tokio::test]
async fn a_pair_refused_on_update_goes_to_the_overlay_and_the_rest_is_sent_again() {
    let (v1, gateway) = v1().await;
    v1.expect(item());
    v1.expect(Exchange::get(&one()).reply(200, record(ADA, json!({"external_source": "zd"}))));
    let both = json!({"external_id": "k1", "access": "EXTERNAL"});
    // v1 gets the other half of the pair too.
    let sent = json!({"external_id": "k1", "external_source": "zd", "access": "EXTERNAL"});
    v1.expect(Exchange::patch(&one()).body(sent).reply(409, taken()));
    let rest = record(ADA, json!({"external_source": "zd", "access": "EXTERNAL"}));
    v1.expect(Exchange::patch(&one()).body(json!({"access": "EXTERNAL"})).reply(200, rest));
    let edited = gateway.patch("ada", &comment(ID), both).await.expect(200);
    assert_eq!((edited.text("external_id"), edited.text("access")), ("k1".into(), "EXTERNAL".into()));
    v1.finish();
}

#[tokio::test]
async fn another_persons_comment_can_be_read_but_not_written() {
    let (v1, gateway) = v1().await;
    v1.expect(item().times(2));
    v1.expect(Exchange::get(&one()).reply(200, record(BOB, json!({}))).times(2));
    // An admin of the workspace could delete it; ada is not an admin of this workspace.
    let member = json!({"id": ADA, "first_name": "Ada", "last_name": "X", "email": "ada@acme.test", "avatar": "",
        "avatar_url": "", "display_name": "ada", "role": 15});
    v1.expect(Exchange::get("workspaces/acme/members/").reply(200, json!([member])));
    gateway.patch("ada", &comment(ID), json!({"access": "x"})).await.expect_problem(403, "forbidden");
    gateway.delete("ada", &comment(ID)).await.expect_problem(403, "forbidden");
    v1.finish();
}

#[tokio::test]
async fn a_delete_reads_then_deletes() {
    let (v1, gateway) = v1().await;
    v1.expect(item());
    v1.expect(Exchange::get(&one()).reply(200, record(ADA, json!({}))));
    v1.expect(Exchange::delete(&one()));
    gateway.delete("ada", &comment(ID)).await.expect(204);
    v1.finish();
}

/// v1's own app sets `edited_at`, and v1 shows it in each reader's own zone (trap 42, `tz_list_kim`).
#[tokio::test]
async fn trap_42_an_edit_keeps_its_stamp_for_readers_in_other_zones() {
    let (v1, gateway) = v1().await;
    v1.expect(item().times(3));
    let (here, there) = ("2026-11-21T16:06:58.537053+05:30", "2026-11-21T10:36:58.537053Z");
    v1.expect(Exchange::get(&one()).reply(200, record(ADA, json!({"edited_at": here}))));
    let sent = json!({"comment_html": "<p>b</p>"});
    let patched = record(ADA, json!({"comment_html": "<p>b</p>", "edited_at": here}));
    v1.expect(Exchange::patch(&one()).body(sent.clone()).reply(200, patched));
    let edited = gateway.patch("ada", &comment(ID), sent).await.expect(200);
    assert_ne!(edited.json["edited_at"], json!(there));
    let read = record(ADA, json!({"comment_html": "<p>b</p>", "edited_at": there}));
    v1.expect(Exchange::get(&one()).reply(200, read));
    assert_eq!(gateway.get("ada", &comment(ID)).await.expect(200).text("edited_at"), edited.text("edited_at"));
    // Another edit in v1's own app counts.
    let later = json!({"comment_html": "<p>c</p>", "edited_at": "2026-11-21T10:40:00Z"});
    v1.expect(Exchange::get(&one()).reply(200, record(ADA, later)));
    let read = gateway.get("ada", &comment(ID)).await.expect(200);
    assert_eq!(read.text("edited_at"), "2026-11-21T10:40:00.000000Z");
    v1.finish();
}

#[tokio::test]
async fn trouble_behind_is_no_answer_about_the_comment() {
    let (v1, gateway) = v1().await;
    v1.expect(item().times(2));
    v1.expect(Exchange::get(&one()).reply(200, json!({"id": ID})));
    v1.expect(Exchange::get(&one()).reply(418, json!({})));
    for _ in 0..2 {
        gateway.get("ada", &comment(ID)).await.expect_problem(502, "upstream_error");
    }
    v1.finish();
}

#[tokio::test]
async fn item_and_comment_are_asked_for_at_the_same_time() {
    let (v1, gateway) = v1().await;
    let gate = Gate::default();
    v1.expect(item().held(&gate));
    v1.expect(Exchange::get(&one()).reply(200, record(ADA, json!({}))).held(&gate));
    let both = async {
        // Identity, card, then the two reads.
        v1.until_called(4).await;
        gate.open();
    };
    let path = comment(ID);
    let (read, ()) = tokio::join!(gateway.get("ada", &path), both);
    assert_eq!(read.expect(200).calls(), 4);
    v1.finish();
}
