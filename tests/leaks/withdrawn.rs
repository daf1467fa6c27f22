//! Rights withdrawn on v1: at once when it happens through the gateway, at the card's age when it does not.

use crate::support::gateway::{Gateway, WEB};
use crate::support::past_gateway::ask_v1;
use crate::support::proofs::{card, get_card, get_item, me};
use crate::support::scripted::{Gate, ScriptedV1};
use causeway::sandbox::Seed;
use futures_util::future::join;
use serde_json::json;
use std::time::Duration;

/// Lists of a project; the index answers the second of work items, v1 the first.
const LISTS: [&str; 7] =
    ["labels/", "states/", "cycles/", "modules/", "members/", "work-items/", "work-items/?priority=none"];
const SEC: &str = "/api/v2/workspaces/acme/projects/00000000-0000-4000-c000-000000000002";

/// The path at v1 that removes bob from `WEB`: by his membership, which v1 tells nobody, but the seed has.
fn membership() -> String {
    format!("{}/project-members/00000000-0000-4000-9000-000000000102/", WEB.replace("/v2/", "/v1/"))
}

/// The work item the seed has in a project.
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
    // Whatever the reason, the look-up by key says 404.
    let key_of_item = if project == WEB { "WEB-1" } else { "SEC-1" };
    let path = format!("/api/v2/workspaces/acme/work-items/{key_of_item}/");
    gateway.get(key, &path).await.expect_problem(404, "resource_not_found");
}

#[tokio::test]
async fn somebody_removed_through_the_gateway_is_out_at_once() {
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
async fn somebody_removed_behind_the_gateways_back_is_out_when_the_card_is_old() {
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
async fn somebody_made_a_guest_writes_no_more_and_reads_as_a_guest() {
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
    let gateway = Gateway::with(v1.base_url(), &[("cache.card", "500ms")]).await;
    let path = format!("{WEB}/{}", first_item(WEB));
    let later = async {
        tokio::time::sleep(Duration::from_millis(1300)).await;
        gate.open();
    };
    let (answer, ()) = join(gateway.get("ada", &path), later).await;
    answer.expect_problem(403, "forbidden");
    v1.finish();
}
