//! Rights withdrawn on v1: effective at once when it happens through the gateway, else when the card expires.

use crate::support::gateway::{Gateway, WEB};
use crate::support::past_gateway::ask_v1;
use crate::support::proofs::{V1, card, get_card, get_item, me};
use crate::support::scripted::{Exchange, Gate, ScriptedV1};
use causeway::sandbox::Seed;
use futures_util::future::join;
use serde_json::json;
use std::time::Duration;

/// Lists of a project; of the two of work items, v1 answers the first and the index the second.
const LISTS: [&str; 7] =
    ["labels/", "states/", "cycles/", "modules/", "members/", "work-items/", "work-items/?priority=none"];
const SEC: &str = "/api/v2/workspaces/acme/projects/00000000-0000-4000-c000-000000000002";

/// The path at v1 that removes bob from `WEB`: by his membership id, which v1 never shows but the seed has.
fn membership() -> String {
    format!("{}/project-members/00000000-0000-4000-9000-000000000102/", WEB.replace("/v2/", "/v1/"))
}

/// The work item of the seed in a project.
fn first_item(project: &str) -> String {
    let number = if project == WEB { 1 } else { 2 };
    format!("work-items/00000000-0000-4000-e000-{number:012}/")
}

fn comments(project: &str) -> String {
    format!("{}comments/", first_item(project))
}

async fn warm(gateway: &Gateway, key: &str, project: &str) {
    for list in LISTS.into_iter().chain([&*first_item(project), &*comments(project)]) {
        gateway.get(key, &format!("{project}/{list}")).await.expect(200);
    }
}

async fn refused(gateway: &Gateway, key: &str, project: &str, status: u16) {
    for list in LISTS.into_iter().chain([&*first_item(project), &*comments(project)]) {
        let answer = gateway.get(key, &format!("{project}/{list}")).await;
        assert_eq!(answer.status, status, "{list}: {}", answer.json);
    }
    // For every reason, the look-up by key answers 404.
    let key_of_item = if project == WEB { "WEB-1" } else { "SEC-1" };
    let path = format!("/api/v2/workspaces/acme/work-items/{key_of_item}/");
    gateway.get(key, &path).await.expect_problem(404, "resource_not_found");
}

#[tokio::test]
async fn a_member_removed_through_the_gateway_loses_access_at_once() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    for key in ["bob", "ada"] {
        warm(&gateway, key, WEB).await;
    }
    let path = membership();
    gateway.delete("ada", &path).await.expect(204);
    // The project is public, so it stays visible.
    refused(&gateway, "bob", WEB, 403).await;
    warm(&gateway, "ada", WEB).await;
}

#[tokio::test]
async fn a_member_removed_past_the_gateway_loses_access_when_the_card_expires() {
    let gateway =
        Gateway::sandboxed_with(Seed::Recorded, &[("cache.card", "100ms"), ("cache.collection", "10m")]).await;
    for key in ["bob", "ada"] {
        warm(&gateway, key, WEB).await;
    }
    assert_eq!(ask_v1(gateway.sandbox(), "ada", "DELETE", &membership(), &json!({})).0, 204);
    tokio::time::sleep(Duration::from_millis(150)).await;
    refused(&gateway, "bob", WEB, 403).await;
    warm(&gateway, "ada", WEB).await;
    refused(&gateway, "bob", WEB, 403).await;
}

#[tokio::test]
async fn a_member_made_a_guest_cannot_write_and_reads_as_a_guest() {
    let gateway =
        Gateway::sandboxed_with(Seed::Recorded, &[("cache.card", "100ms"), ("cache.collection", "10m")]).await;
    for key in ["bob", "ada"] {
        warm(&gateway, key, WEB).await;
    }
    assert_eq!(ask_v1(gateway.sandbox(), "ada", "PATCH", &membership(), &json!({"role": 5})).0, 200);
    tokio::time::sleep(Duration::from_millis(150)).await;
    let label = json!({"name": "mine"});
    gateway.post("bob", &format!("{WEB}/labels/"), label).await.expect_problem(403, "forbidden");
    let shown = gateway.get("bob", &format!("{WEB}/states/")).await.expect(200);
    assert!(shown.calls() >= 1, "what members share is not for guests");
    let item = json!({"name": "mine"});
    gateway.post("bob", &format!("{WEB}/work-items/"), item).await.expect_problem(403, "forbidden");
    let shown = gateway.get("bob", &format!("{WEB}/work-items/?priority=none")).await.expect(200);
    assert!(shown.calls() >= 1, "neither is their index");
    let comment = json!({"comment_html": "as a guest"});
    gateway.post("bob", &format!("{WEB}/{}", comments(WEB)), comment).await.expect(201);
}

#[tokio::test]
async fn a_project_that_is_archived_is_gone_for_everybody() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    warm(&gateway, "bob", SEC).await;
    gateway.send(Some("bob"), "POST", &format!("{}/archive/", SEC.replace("/v2/", "/v1/")), None).await.expect(204);
    refused(&gateway, "bob", SEC, 404).await;
}

#[tokio::test]
async fn a_read_that_takes_long_is_proven_again_when_its_card_has_grown_old() {
    let (v1, gate) = (ScriptedV1::start().await, Gate::default());
    let read = get_item("00000000-0000-4000-e000-000000000001", "one").held(&gate);
    v1.expect(me().repeated()).expect(read);
    v1.expect(get_card().reply(200, card(Some(15)))).expect(get_card().reply(200, card(None)));
    let gateway = Gateway::with(v1.base_url(), &[("cache.card", "2s")]).await;
    let path = format!("{WEB}/{}", first_item(WEB));
    let later = async {
        // The user, the card, and the item; a read of more than a second counts as long.
        v1.until_called(3).await;
        tokio::time::sleep(Duration::from_millis(2200)).await;
        gate.open();
    };
    let (answer, ()) = join(gateway.get("ada", &path), later).await;
    answer.expect_problem(403, "forbidden");
    v1.finish();
}

const LABELS: &str = "labels/?per_page=1000&fields=id,name,description,color,sort_order,parent,external_id,\
                      external_source,created_at,created_by";

/// The read of the labels with `key`; it finds labels with these names.
fn labels(key: &str, names: &[&str]) -> Exchange {
    let label = |name: &&str| {
        json!({"id": "00000000-0000-4000-8000-00000000000a", "name": name, "description": "", "color": "#111111",
            "sort_order": 65535.0, "parent": null, "external_id": null, "external_source": null,
            "created_at": "2026-11-21T10:03:39.642885Z", "created_by": "00000000-0000-4000-a000-000000000001"})
    };
    let rows: Vec<_> = names.iter().map(label).collect();
    let page = json!({"total_count": rows.len(), "next_page_results": false, "results": rows});
    Exchange::get(&format!("{V1}{LABELS}")).key(key).reply(200, page)
}

/// A caller who is not affected by the loss of another caller's key or membership is still shown the list.
async fn one_is_refused_in_the_middle_of_a_list_for_two(refused: Exchange, card_then: Option<i64>, status: u16) {
    let (v1, gate) = (ScriptedV1::start().await, Gate::default());
    let bob =
        json!({"id": "00000000-0000-4000-a000-000000000002", "email": "bob@acme.test", "display_name": "bob"});
    v1.expect(me().key("ada").repeated()).expect(me().key("bob").reply(200, bob).repeated());
    v1.expect(get_card().key("ada").reply(200, card(Some(15))))
        .expect(get_card().key("bob").reply(200, card(Some(15))));
    v1.expect(get_card().key("ada").reply(200, card(card_then)).repeated());
    v1.expect(get_card().key("bob").reply(200, card(Some(15))).repeated());
    v1.expect(refused.held(&gate)).expect(labels("bob", &["bug"]));
    let gateway = Gateway::before(v1.base_url()).await;
    let path = format!("{WEB}/labels/");
    let later = async {
        // Her identity, her card and the list; then his identity and his card.
        v1.until_called(3).await;
        let opening = async {
            v1.until_called(5).await;
            tokio::time::sleep(Duration::from_millis(300)).await;
            gate.open();
        };
        join(gateway.get("bob", &path), opening).await.0
    };
    let (ada, bob) = join(gateway.get("ada", &path), later).await;
    assert_eq!((ada.status, bob.status), (status, 200), "{} {}", ada.json, bob.json);
    assert_eq!(bob.column("name"), ["bug"]);
}

#[tokio::test]
async fn a_key_that_v1_refuses_in_the_middle_of_a_list_ends_nobody_elses() {
    let dead = labels("ada", &[]).reply(403, json!({"detail": "Given API token is not valid"}));
    one_is_refused_in_the_middle_of_a_list_for_two(dead, Some(15), 401).await;
}

#[tokio::test]
async fn removing_a_member_during_a_list_does_not_end_the_list_of_others() {
    let out =
        labels("ada", &[]).reply(403, json!({"detail": "You do not have permission to perform this action."}));
    one_is_refused_in_the_middle_of_a_list_for_two(out, None, 403).await;
}

#[tokio::test]
async fn a_member_who_is_made_a_guest_during_a_long_read_is_shown_what_guests_see() {
    let (v1, gate) = (ScriptedV1::start().await, Gate::default());
    v1.expect(me().repeated());
    v1.expect(get_card().reply(200, card(Some(15)))).expect(get_card().reply(200, card(Some(5))).repeated());
    v1.expect(labels("ada", &["for members"]).held(&gate)).expect(labels("ada", &["for guests"]));
    let gateway = Gateway::with(v1.base_url(), &[("cache.card", "2s")]).await;
    let path = format!("{WEB}/labels/");
    let later = async {
        v1.until_called(3).await;
        tokio::time::sleep(Duration::from_millis(2300)).await;
        gate.open();
    };
    let (answer, ()) = join(gateway.get("ada", &path), later).await;
    assert_eq!(answer.expect(200).column("name"), ["for guests"]);
}
