//! Project cards: what they prove, for which caller, and for how long.

use crate::support::proofs::{card, card_target, get_card};
use crate::support::scripted::{Exchange, Gate, ScriptedV1};
use crate::upstream::{access_to, caller, context, project_id, workspace_id};
use causeway::access::{Access, Caller, OwnerAge, ProjectCard, Role};
use causeway::fresh::Changed;
use causeway::refusal::Refusal;
use causeway::task::spawn;
use http::{HeaderMap, HeaderValue};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

async fn project(access: &Access, caller: &Caller) -> Result<Arc<ProjectCard>, Refusal> {
    access.project(caller, "acme", project_id(), &context()).await
}

async fn code(access: &Access, caller: &Caller) -> Option<&'static str> {
    project(access, caller).await.err().map(|refusal| refusal.code())
}

#[tokio::test]
async fn a_card_tells_role_and_switches() {
    let v1 = ScriptedV1::start().await;
    let mut answer = card(Some(20));
    answer["default_assignee"] = json!(crate::upstream::person(2));
    answer["module_view"] = json!(false);
    answer["timezone"] = json!("Asia/Kolkata");
    v1.expect(get_card().key("ada").reply(200, answer));
    let card = project(&access_to(&v1).0, &caller("ada", 1)).await.unwrap();
    let expected = ProjectCard {
        id: project_id(),
        workspace_id: workspace_id(),
        is_member: true,
        role: Some(Role::ADMIN),
        identifier: "WEB".into(),
        timezone: "Asia/Kolkata".into(),
        default_assignee: Some(crate::upstream::person(2)),
        estimate: None,
        cycle_view: true,
        module_view: false,
    };
    assert_eq!(*card, expected);
    v1.finish();
}

#[tokio::test]
async fn a_project_that_v1_does_not_show_is_not_found() {
    for (file, name) in [
        ("projects", "projects_get_private_by_non_member"),
        ("projects", "projects_get_outsider"),
        ("permissions", "perm_dan_reads_project"),
        ("auth", "auth_valid_key_unknown_workspace"),
    ] {
        let v1 = ScriptedV1::start().await;
        v1.expect(get_card().recorded(file, name));
        assert_eq!(code(&access_to(&v1).0, &caller("x", 9)).await, Some("resource_not_found"), "{name}");
        v1.finish();
    }
}

#[tokio::test]
async fn a_public_project_not_joined_is_visible_and_forbidden() {
    let v1 = ScriptedV1::start().await;
    v1.expect(get_card().reply(200, card(None)));
    let card = project(&access_to(&v1).0, &caller("mel", 6)).await.unwrap();
    assert!(!card.is_member);
    assert_eq!(card.require_member().unwrap_err().code(), "forbidden");
    v1.finish();
}

#[tokio::test]
async fn an_answer_that_is_no_card_grants_nothing() {
    for answer in [
        get_card().reply(200, json!({})),
        get_card().reply(200, json!([])),
        get_card().recorded("projects", "projects_get_public_by_non_member"),
        get_card().reply(400, json!({"detail": "x"})),
    ] {
        let v1 = ScriptedV1::start().await;
        v1.expect(answer);
        assert_eq!(code(&access_to(&v1).0, &caller("ada", 1)).await, Some("upstream_error"));
        v1.finish();
    }
}

#[tokio::test]
async fn a_card_is_never_given_to_another_key() {
    let v1 = ScriptedV1::start().await;
    v1.expect(get_card().key("ada").reply(200, card(Some(20))))
        .expect(get_card().key("gil").reply(200, card(Some(5))))
        .expect(get_card().key("eve").recorded("projects", "projects_get_outsider"));
    let (access, _) = access_to(&v1);
    for _ in 0..3 {
        assert_eq!(project(&access, &caller("ada", 1)).await.unwrap().role, Some(Role::ADMIN));
        assert_eq!(project(&access, &caller("gil", 4)).await.unwrap().role, Some(Role::GUEST));
        assert_eq!(code(&access, &caller("eve", 3)).await, Some("resource_not_found"));
    }
    assert_eq!(v1.calls(), 3);
    v1.finish();
}

#[tokio::test]
async fn the_same_person_with_another_key_is_another_caller() {
    let v1 = ScriptedV1::start().await;
    v1.expect(get_card().key("ada").reply(200, card(Some(20))))
        .expect(get_card().key("ada2").recorded("auth", "auth_expired_key"));
    let (access, _) = access_to(&v1);
    assert_eq!(code(&access, &caller("ada", 1)).await, None);
    assert_eq!(code(&access, &caller("ada2", 1)).await, Some("unauthorized"));
    v1.finish();
}

#[tokio::test]
async fn access_withdrawn_on_v1_ends_with_the_age_of_the_card() {
    let v1 = ScriptedV1::start().await.in_order();
    v1.expect(get_card().reply(200, card(Some(15))))
        .expect(get_card().recorded("permissions", "perm_dan_reads_project"));
    let (access, clock) = access_to(&v1);
    let bob = caller("bob", 2);
    assert_eq!(code(&access, &bob).await, None);
    clock.advance(Duration::from_secs(29));
    assert_eq!(code(&access, &bob).await, None);
    assert_eq!(v1.calls(), 1);
    clock.advance(Duration::from_secs(1));
    assert_eq!(code(&access, &bob).await, Some("resource_not_found"));
    v1.finish();
}

#[tokio::test]
async fn not_visible_is_remembered_for_five_seconds_only() {
    let v1 = ScriptedV1::start().await.in_order();
    v1.expect(get_card().recorded("projects", "projects_get_outsider"))
        .expect(get_card().reply(200, card(Some(15))));
    let (access, clock) = access_to(&v1);
    let kim = caller("kim", 5);
    assert_eq!(code(&access, &kim).await, Some("resource_not_found"));
    assert_eq!(code(&access, &kim).await, Some("resource_not_found"));
    assert_eq!(v1.calls(), 1);
    clock.advance(Duration::from_secs(5));
    assert_eq!(code(&access, &kim).await, None);
    v1.finish();
}

#[tokio::test]
async fn faults_are_not_remembered_and_an_old_card_does_not_bridge_them() {
    let v1 = ScriptedV1::start().await.in_order();
    v1.expect(get_card().reply(200, card(Some(15))))
        .expect(get_card().recorded("throttle", "throttle_limited"))
        .expect(get_card().reply(200, card(Some(15))));
    let (access, clock) = access_to(&v1);
    let bob = caller("bob", 2);
    assert_eq!(code(&access, &bob).await, None);
    clock.advance(Duration::from_secs(30));
    assert_eq!(code(&access, &bob).await, Some("rate_limited"));
    assert_eq!(code(&access, &bob).await, None);
    v1.finish();
}

#[tokio::test]
async fn forgetting_asks_v1_again() {
    let v1 = ScriptedV1::start().await;
    v1.expect(get_card().key("ada").reply(200, card(Some(20))).times(4));
    v1.expect(get_card().key("bob").reply(200, card(Some(15))).times(3));
    let (access, _) = access_to(&v1);
    let (ada, bob) = (caller("ada", 1), caller("bob", 2));
    let both = async || (code(&access, &ada).await, code(&access, &bob).await);
    assert_eq!(both().await, (None, None));
    access.changes().tell(Changed::ProjectAccess(project_id()));
    assert_eq!(both().await, (None, None));
    access.changes().tell(Changed::WorkspaceAccess("acme".into()));
    assert_eq!(both().await, (None, None));
    access.changes().tell(Changed::KeyAccess(ada.key.id().0));
    assert_eq!(both().await, (None, None));
    access.changes().tell(Changed::WorkspaceAccess("other".into()));
    assert_eq!(both().await, (None, None));
    v1.finish();
}

#[tokio::test]
async fn a_card_on_its_way_when_something_changed_is_not_used_afterwards() {
    let (v1, gate) = (ScriptedV1::start().await.in_order(), Gate::default());
    v1.expect(get_card().reply(200, card(Some(20))).held(&gate)).expect(get_card().reply(200, card(Some(5))));
    let (access, _) = access_to(&v1);
    let early = spawn({
        let access = access.clone();
        async move { project(&access, &caller("ada", 1)).await }
    });
    v1.until_called(1).await;
    access.changes().tell(Changed::ProjectAccess(project_id()));
    let late = spawn({
        let access = access.clone();
        async move { project(&access, &caller("ada", 1)).await }
    });
    tokio::task::yield_now().await;
    gate.open();
    assert_eq!(late.await.unwrap().unwrap().role, Some(Role::GUEST), "asked after the change");
    assert!(early.await.unwrap().is_ok());
    assert_eq!(project(&access, &caller("ada", 1)).await.unwrap().role, Some(Role::GUEST));
    v1.finish();
}

#[tokio::test]
async fn a_key_lost_between_two_requests_is_401_and_forgotten() {
    let person = |name| Exchange::get("users/me/").recorded("users", name);
    let v1 = ScriptedV1::start().await.in_order();
    v1.expect(person("users_me_admin"))
        .expect(get_card().recorded("auth", "auth_deactivated_key"))
        .expect(Exchange::get("users/me/").recorded("auth", "auth_deactivated_key"));
    let (access, _) = access_to(&v1);
    let headers: HeaderMap =
        [("x-api-key".parse().unwrap(), HeaderValue::from_static("ada"))].into_iter().collect();
    let ada = access.identify(&headers, None, OwnerAge::Recent, &context()).await.unwrap();
    assert_eq!(code(&access, &ada).await, Some("unauthorized"));
    let again = access.identify(&headers, None, OwnerAge::Recent, &context()).await.unwrap_err();
    assert_eq!(again.code(), "unauthorized");
    v1.finish();
}

#[tokio::test]
async fn slugs_are_case_sensitive_and_must_be_one_segment() {
    let v1 = ScriptedV1::start().await;
    v1.expect(get_card().reply(200, card(Some(20))))
        .expect(Exchange::get(&card_target("ACME")).recorded("permissions", "perm_workspace_slug_other_case"))
        .expect(Exchange::get(&card_target("a%3Fb%25")).recorded("auth", "auth_valid_key_unknown_workspace"));
    let (access, _) = access_to(&v1);
    let (ada, ctx) = (caller("ada", 1), context());
    assert_eq!(code(&access, &ada).await, None);
    for slug in ["ACME", "a?b%", "", ".", "..", "a/b", "../admin", "a\0b"] {
        let refused = access.project(&ada, slug, project_id(), &ctx).await.unwrap_err();
        assert_eq!(refused.code(), "resource_not_found", "{slug:?}");
    }
    assert_eq!(v1.calls(), 3);
    v1.finish();
}
