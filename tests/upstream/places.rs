//! Workspace cards and workspace ids.

use crate::support::proofs::{card, get_card};
use crate::support::recorded::recorded;
use crate::support::scripted::{Exchange, ScriptedV1};
use crate::upstream::{access_to, caller, context, project_id, workspace_id};
use causeway::access::WorkspaceRole;
use serde_json::{Value, json};
use std::time::Duration;
use uuid::Uuid;

const MEMBERS: &str = "workspaces/acme/members/";
const PROJECTS: &str = "workspaces/acme/projects/?per_page=1&fields=workspace";

fn members(name: &str) -> Exchange {
    Exchange::get(MEMBERS).recorded("members", name)
}

fn projects(rows: Value) -> Exchange {
    Exchange::get(PROJECTS).reply(200, json!({"total_count": 3, "results": rows}))
}

fn one_project() -> Exchange {
    projects(json!([{"workspace": workspace_id()}]))
}

#[tokio::test]
async fn the_own_row_of_the_roster_is_the_role() {
    for (key, number, name, role) in [
        ("ada", 1, "members_workspace_admin", WorkspaceRole::Admin),
        ("bob", 2, "members_workspace_member", WorkspaceRole::Member),
    ] {
        let v1 = ScriptedV1::start().await;
        v1.expect(members(name).key(key));
        let (access, _) = access_to(&v1);
        let card = access.workspace(&caller(key, number), "acme", &context()).await.unwrap();
        assert_eq!(card.role, role);
        let roster = card.roster.as_ref().and_then(|roster| roster.bytes());
        let roster: Value = serde_json::from_slice(&roster.unwrap()).unwrap();
        assert_eq!(roster, recorded("members", name).body);
        v1.finish();
    }
}

#[tokio::test]
async fn a_guest_is_known_by_seeing_projects_but_no_roster() {
    let v1 = ScriptedV1::start().await;
    v1.expect(members("members_workspace_guest")).expect(one_project());
    let (access, _) = access_to(&v1);
    let gil = caller("gil", 4);
    let card = access.workspace(&gil, "acme", &context()).await.unwrap();
    assert_eq!((card.role, card.roster.is_none()), (WorkspaceRole::Guest, true));
    assert_eq!(access.workspace_id(&gil, "acme", &context()).await.unwrap(), workspace_id(), "learned by the way");
    v1.finish();
}

#[tokio::test]
async fn outsiders_removed_people_and_unknown_workspaces_are_404() {
    for (name, list) in [
        ("members_workspace_outsider", "projects_list_outsider"),
        ("members_workspace_inactive_member", "projects_list_outsider"),
        ("members_workspace_unknown", "projects_list_outsider"),
    ] {
        let v1 = ScriptedV1::start().await;
        v1.expect(members(name)).expect(Exchange::get(PROJECTS).recorded("projects", list));
        let (access, _) = access_to(&v1);
        for _ in 0..2 {
            let refused = access.workspace(&caller("eve", 3), "acme", &context()).await.unwrap_err();
            assert_eq!(refused.code(), "resource_not_found");
        }
        v1.finish();
    }
    let v1 = ScriptedV1::start().await;
    v1.expect(members("members_workspace_admin"));
    let stranger = access_to(&v1).0.workspace(&caller("x", 99), "acme", &context()).await;
    assert_eq!(stranger.unwrap_err().code(), "resource_not_found", "not on the roster");
    v1.finish();
}

#[tokio::test]
async fn a_workspace_card_is_kept_half_a_minute_and_can_be_asked_for_fresher() {
    let v1 = ScriptedV1::start().await;
    v1.expect(members("members_workspace_admin").times(4));
    let (access, clock) = access_to(&v1);
    let (ada, ctx) = (caller("ada", 1), context());
    let first = access.workspace(&ada, "acme", &ctx).await.unwrap();
    clock.advance(Duration::from_secs(6));
    assert_eq!(access.workspace(&ada, "acme", &ctx).await.unwrap().read_at, first.read_at);
    let fresh = access.workspace_within(&ada, "acme", Duration::from_secs(5), &ctx).await.unwrap();
    assert!(fresh.read_at > first.read_at);
    assert_eq!(v1.calls(), 2);
    access.workspace_within(&ada, "acme", Duration::ZERO, &ctx).await.unwrap();
    assert_eq!(v1.calls(), 3);
    clock.advance(Duration::from_secs(30));
    access.workspace_within(&ada, "acme", Duration::from_secs(3600), &ctx).await.unwrap();
    v1.finish();
}

/// The member list of a large workspace is long, and all callers that got the same list share it.
#[tokio::test]
async fn a_roster_is_kept_once_for_all_who_were_given_it() {
    let v1 = ScriptedV1::start().await;
    let row = |n: u128| json!({"id": caller("x", n).user.id, "role": 15});
    for (key, roster) in [("ada", [1, 2].map(row)), ("bob", [1, 2].map(row)), ("cid", [1, 3].map(row))] {
        v1.expect(Exchange::get(MEMBERS).key(key).reply(200, json!(roster)));
    }
    let (access, _) = access_to(&v1);
    let mut places = Vec::new();
    for (key, number) in [("ada", 1), ("bob", 2), ("cid", 3)] {
        let age = Duration::from_secs(30);
        let (_, roster) = access.roster_within(&caller(key, number), "acme", age, &context()).await.unwrap();
        places.push(roster.unwrap().as_ptr());
    }
    assert!(places[0] == places[1] && places[1] != places[2]);
    v1.finish();
}

#[tokio::test]
async fn a_roster_is_never_given_to_another_key() {
    let v1 = ScriptedV1::start().await;
    v1.expect(members("members_workspace_admin").key("ada"))
        .expect(members("members_workspace_guest").key("gil"))
        .expect(one_project().key("gil"));
    let (access, _) = access_to(&v1);
    assert!(access.workspace(&caller("ada", 1), "acme", &context()).await.unwrap().roster.is_some());
    assert!(access.workspace(&caller("gil", 4), "acme", &context()).await.unwrap().roster.is_none());
    v1.finish();
}

#[tokio::test]
async fn the_id_of_a_workspace_is_learned_from_project_cards() {
    let v1 = ScriptedV1::start().await;
    v1.expect(get_card().reply(200, card(Some(15))));
    let (access, _) = access_to(&v1);
    let (bob, ctx) = (caller("bob", 2), context());
    access.project(&bob, "acme", project_id(), &ctx).await.unwrap();
    assert_eq!(access.workspace_id(&bob, "acme", &ctx).await.unwrap(), workspace_id());
    v1.finish();
}

#[tokio::test]
async fn the_id_of_a_workspace_is_asked_for_once_in_ten_minutes_and_per_key() {
    let v1 = ScriptedV1::start().await;
    v1.expect(one_project().key("ada").times(2))
        .expect(Exchange::get(PROJECTS).key("eve").recorded("projects", "projects_list_outsider"));
    let (access, clock) = access_to(&v1);
    let (ada, ctx) = (caller("ada", 1), context());
    for _ in 0..2 {
        assert_eq!(access.workspace_id(&ada, "acme", &ctx).await.unwrap(), workspace_id());
        clock.advance(Duration::from_secs(300));
    }
    let outsider = access.workspace_id(&caller("eve", 3), "acme", &ctx).await.unwrap_err();
    assert_eq!(outsider.code(), "resource_not_found");
    assert_eq!(access.workspace_id(&ada, "acme", &ctx).await.unwrap(), workspace_id());
    v1.finish();
}

#[tokio::test]
async fn a_workspace_without_visible_projects_has_a_stand_in_id_until_one_is_seen() {
    let v1 = ScriptedV1::start().await.in_order();
    v1.expect(projects(json!([]))).expect(projects(json!([]))).expect(one_project());
    let (access, clock) = access_to(&v1);
    let (ada, ctx) = (caller("ada", 1), context());
    let id = access.workspace_id(&ada, "acme", &ctx).await.unwrap();
    let name = format!("{}/workspaces/acme", v1.base_url());
    assert_eq!(id, Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes()));
    clock.advance(Duration::from_secs(31));
    assert_eq!(access.workspace_id(&ada, "acme", &ctx).await.unwrap(), id);
    assert_eq!(access.workspace_id(&ada, "acme", &ctx).await.unwrap(), id);
    clock.advance(Duration::from_secs(31));
    assert_eq!(access.workspace_id(&ada, "acme", &ctx).await.unwrap(), workspace_id());
    v1.finish();
}

#[tokio::test]
async fn a_write_asks_again_where_the_id_remembered_is_a_stand_in() {
    let v1 = ScriptedV1::start().await.in_order();
    v1.expect(projects(json!([]))).expect(one_project()).expect(projects(json!([])).key("bob"));
    let (access, _) = access_to(&v1);
    let (ada, ctx) = (caller("ada", 1), context());
    let stand_in = access.workspace_id(&ada, "acme", &ctx).await.unwrap();
    assert_eq!(access.workspace_id(&ada, "acme", &ctx).await.unwrap(), stand_in);
    for _ in 0..2 {
        assert_eq!(access.workspace_id_to_write(&ada, "acme", &ctx).await.unwrap(), workspace_id());
    }
    // A read within this call is not repeated.
    let id = access.workspace_id_to_write(&caller("bob", 2), "acme", &ctx).await.unwrap();
    assert_eq!(id, stand_in);
    v1.finish();
}

#[tokio::test]
async fn a_slug_that_cannot_be_a_path_segment_is_404_without_a_call() {
    let v1 = ScriptedV1::start().await;
    let (access, _) = access_to(&v1);
    let (ada, ctx) = (caller("ada", 1), context());
    assert_eq!(access.workspace(&ada, "..", &ctx).await.unwrap_err().code(), "resource_not_found");
    assert_eq!(access.workspace_id(&ada, "a/b", &ctx).await.unwrap_err().code(), "resource_not_found");
    v1.finish();
}
