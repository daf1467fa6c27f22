//! Gateway keys: narrower than the v1 key behind them.

use crate::oauth::stage::{ME, SECRET, Stage, expect_dead};
use crate::support::gateway::{Gateway, WEB};
use crate::support::scripted::{Exchange, ScriptedV1};
use causeway::oauth::{AdminError, Minting};
use serde_json::json;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn wanted(scopes: &str) -> Minting {
    Minting { title: "report".into(), scopes: scopes.into(), ..Minting::default() }
}

async fn minted(stage: &Stage, v1_key: &str, wanted: Minting) -> (uuid::Uuid, String) {
    let (row, key) = stage.gateway.mint(v1_key, wanted).await.expect("a key");
    (row.id, key)
}

fn from_now(duration: Duration) -> i64 {
    (SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + duration).as_micros() as i64
}

#[tokio::test]
async fn a_gateway_key_opens_its_scopes_and_no_more() {
    let stage = Stage::new().await;
    let (_, key) = minted(&stage, "ada", wanted("read")).await;
    let me = stage.gateway.get(&key, ME).await.expect(200);
    assert_eq!((me.text("principal_kind"), &me.json["scopes"]), ("other".into(), &json!(["read"])));
    stage.gateway.get(&key, &format!("{WEB}/states/")).await.expect(200);
    let written = stage.gateway.post(&key, &format!("{WEB}/labels/"), json!({"name": "x"})).await;
    written.expect_problem(403, "forbidden");
}

/// A v1 where one person is in two workspaces, `one` and `two`.
async fn two_workspaces() -> ScriptedV1 {
    let v1 = ScriptedV1::start().await;
    let person = json!({"id": "00000000-0000-4000-a000-000000000001", "email": "a@b", "display_name": "ada"});
    let member = json!({"id": person["id"], "first_name": "A", "last_name": "B", "email": "a@b", "avatar": "",
        "avatar_url": null, "display_name": "ada", "role": 20});
    v1.expect(Exchange::get("users/me/").reply(200, person).repeated());
    for (number, slug) in [(1, "one"), (2, "two")] {
        let project = json!({"id": format!("00000000-0000-4000-c000-00000000000{number}"),
            "workspace": format!("00000000-0000-4000-b000-00000000000{number}")});
        let page = json!({"results": [project], "total_count": 1, "total_results": 1, "total_pages": 1, "count": 1,
            "next_cursor": "1:1:0", "prev_cursor": "1:-1:1", "next_page_results": false,
            "prev_page_results": false, "extra_stats": null});
        let members = Exchange::get(&format!("workspaces/{slug}/members/")).reply(200, json!([member]));
        v1.expect(members.repeated());
        v1.expect(
            Exchange::get(&format!("workspaces/{slug}/projects/?per_page=1&fields=workspace"))
                .reply(200, page)
                .repeated(),
        );
    }
    v1
}

#[tokio::test]
async fn a_gateway_key_for_one_workspace_sees_no_other() {
    let v1 = two_workspaces().await;
    let gateway = Gateway::with(v1.base_url(), &[("secrets.key", SECRET)]).await;
    let stage = Stage::over(gateway).await;
    let (roster, other) = ("/api/v2/workspaces/one/members/", "/api/v2/workspaces/two/members/");
    let (_, everywhere) = minted(&stage, "key", wanted("read")).await;
    for path in [roster, other] {
        stage.gateway.get(&everywhere, path).await.expect(200);
    }
    let (_, key) = minted(&stage, "key", Minting { workspace: Some("one".into()), ..wanted("read") }).await;
    stage.gateway.get(&key, roster).await.expect(200);
    stage.gateway.get(&key, other).await.expect_problem(404, "resource_not_found");
    let project = "/api/v2/workspaces/two/projects/00000000-0000-4000-c000-000000000002/states/";
    stage.gateway.get(&key, project).await.expect_problem(404, "resource_not_found");
    let by_key = stage.gateway.get(&key, "/api/v2/workspaces/two/work-items/WEB-1/").await;
    by_key.expect_problem(404, "resource_not_found");
    stage.gateway.get(&key, ME).await.expect(200);
}

#[tokio::test]
async fn a_gateway_key_is_for_a_workspace_its_person_sees() {
    let stage = Stage::new().await;
    let (_, key) = minted(&stage, "ada", Minting { workspace: Some("acme".into()), ..wanted("read") }).await;
    stage.gateway.get(&key, &format!("{WEB}/states/")).await.expect(200);
    let elsewhere = Minting { workspace: Some("other".into()), ..wanted("read") };
    let refused = stage.gateway.mint("ada", elsewhere).await;
    assert!(matches!(refused, Err(AdminError::Unfit(_))));
}

/// v1 tells the id of a workspace only on projects, and a key for another id would never open the workspace.
#[tokio::test]
async fn a_gateway_key_is_not_made_for_a_workspace_whose_id_v1_does_not_tell() {
    let stage = Stage::new().await;
    let v1 = "/api/v1/workspaces/acme/projects/";
    let projects = stage.gateway.get("ada", v1).await.expect(200);
    for project in projects.json["results"].as_array().expect("projects") {
        stage.gateway.delete("ada", &format!("{v1}{}/", project["id"].as_str().expect("an id"))).await.expect(204);
    }
    let wanted = Minting { workspace: Some("acme".into()), ..wanted("read") };
    let refused = stage.gateway.mint("ada", wanted).await;
    let Err(AdminError::Unfit(reason)) = refused else { panic!("{refused:?}") };
    assert!(reason.contains("no project"), "{reason}");
}

#[tokio::test]
async fn an_expired_gateway_key_is_dead() {
    let stage = Stage::new().await;
    let soon = Minting { expires_at: Some(from_now(Duration::from_secs(4))), ..wanted("read") };
    let (_, key) = minted(&stage, "ada", soon).await;
    stage.gateway.get(&key, ME).await.expect(200);
    tokio::time::sleep(Duration::from_millis(4100)).await;
    expect_dead(stage.gateway.get(&key, ME).await);
}

#[tokio::test]
async fn a_revoked_gateway_key_is_dead_at_once() {
    let stage = Stage::new().await;
    let (id, key) = minted(&stage, "ada", wanted("read")).await;
    stage.gateway.get(&key, ME).await.expect(200);
    assert!(stage.gateway.oauth().revoke_key(id, None).await.unwrap());
    expect_dead(stage.gateway.get(&key, ME).await);
    assert!(!stage.gateway.oauth().revoke_key(id, None).await.unwrap());
}

#[tokio::test]
async fn an_unknown_gateway_key_is_dead_and_v1_is_not_asked() {
    let stage = Stage::new().await;
    stage.gateway.sandbox().clear_journal();
    expect_dead(stage.gateway.get("cwk_unknown", ME).await);
    assert!(stage.gateway.sandbox().journal().is_empty());
}

#[tokio::test]
async fn a_gateway_key_does_not_go_through_to_v1() {
    let stage = Stage::new().await;
    let (_, key) = minted(&stage, "ada", wanted("read write")).await;
    stage.gateway.sandbox().clear_journal();
    expect_dead(stage.gateway.get(&key, "/api/v1/users/me/").await);
    assert!(stage.gateway.sandbox().journal().is_empty());
}

#[tokio::test]
async fn a_gateway_key_cannot_be_made_of_what_is_no_v1_key() {
    let stage = Stage::new().await;
    let (_, key) = minted(&stage, "ada", wanted("read")).await;
    for wrong in ["nosuchkey", "expired", "", "two words", key.as_str()] {
        let refused = stage.gateway.mint(wrong, wanted("read")).await;
        assert!(matches!(refused, Err(AdminError::Key(_))), "{wrong}");
    }
}

#[tokio::test]
async fn a_gateway_key_has_known_scopes() {
    let stage = Stage::new().await;
    for wrong in ["", "admin", "read,admin"] {
        let refused = stage.gateway.mint("ada", wanted(wrong)).await;
        assert!(matches!(refused, Err(AdminError::Unfit(_))), "{wrong}");
    }
    minted(&stage, "ada", wanted("read,projects.states:write")).await;
}

#[tokio::test]
async fn a_gateway_key_never_exceeds_its_person() {
    let stage = Stage::new().await;
    let (_, key) = minted(&stage, "gil", wanted("read write")).await;
    let refused = stage.gateway.post(&key, &format!("{WEB}/labels/"), json!({"name": "x"})).await;
    refused.expect_problem(403, "forbidden");
}

#[tokio::test]
async fn gateway_keys_are_listed_by_person_without_their_secrets() {
    let stage = Stage::new().await;
    let (id, key) = minted(&stage, "ada", wanted("read")).await;
    minted(&stage, "bob", wanted("read")).await;
    let ada = "00000000-0000-4000-a000-000000000001".parse().unwrap();
    let own = stage.gateway.oauth().keys(Some(ada)).await.unwrap();
    assert_eq!(own.iter().map(|row| row.id).collect::<Vec<_>>(), [id]);
    assert_eq!(stage.gateway.oauth().keys(None).await.unwrap().len(), 2);
    assert!(!format!("{own:?}").contains(&key));
}

#[tokio::test]
async fn keys_that_have_expired_are_not_listed() {
    let stage = Stage::new().await;
    let expired = Minting { expires_at: Some(1), ..wanted("read") };
    let (expired, _) = minted(&stage, "ada", expired).await;
    let lasting = Minting { expires_at: Some(from_now(Duration::from_secs(600))), ..wanted("read") };
    let good = [minted(&stage, "ada", lasting).await.0, minted(&stage, "ada", wanted("read")).await.0];
    let listed = stage.gateway.oauth().keys(None).await.unwrap();
    assert_eq!(listed.iter().map(|row| row.id).collect::<Vec<_>>(), good);
    assert!(stage.gateway.oauth().revoke_key(expired, None).await.unwrap(), "its v1 key is wiped all the same");
}
