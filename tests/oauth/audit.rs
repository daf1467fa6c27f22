//! Entries in a workspace's audit log about grants, keys and credentials that are no longer valid.

use crate::oauth::stage::{ME, Stage, Tokens, changed, expect_dead, form};
use crate::support::gateway::WEB;
use causeway::oauth::Minting;
use serde_json::Value;
use uuid::Uuid;

const LOG: &str = "/api/v2/workspaces/acme/audit-logs/?per_page=100&order_by=created_at";
const ADA: &str = "00000000-0000-4000-a000-000000000001";

/// A stage where ada has used `acme`.
async fn seen(settings: &[(&str, &str)]) -> Stage {
    let stage = Stage::with(settings).await;
    stage.gateway.get("ada", &format!("{WEB}/states/")).await.expect(200);
    stage
}

async fn logged(stage: &Stage) -> Vec<Value> {
    stage.gateway.get("ada", LOG).await.expect(200).data().clone()
}

fn names(rows: &[Value]) -> Vec<&str> {
    rows.iter().map(|row| row["event_name"].as_str().expect("a name")).collect()
}

async fn minted(stage: &Stage, workspace: Option<&str>, expires_at: Option<i64>) -> (Uuid, String) {
    let wanted = Minting {
        title: "report".into(),
        scopes: "read".into(),
        workspace: workspace.map(str::to_owned),
        expires_at,
    };
    let (row, key) = stage.gateway.mint("ada", wanted).await.expect("a key");
    (row.id, key)
}

#[tokio::test]
async fn a_grant_is_told_where_its_person_was_seen() {
    let stage = seen(&[]).await;
    let tokens = stage.tokens("read").await;
    stage.about("/auth/o/revoke/", &tokens.access).await.expect(200);
    let user = ADA.parse().unwrap();
    let grant = stage.gateway.oauth().grants(user).await.unwrap()[0].id;
    assert!(stage.gateway.oauth().revoke_grant(user, grant).await.unwrap());
    let rows = logged(&stage).await;
    assert_eq!(names(&rows), ["oauth_grant.created", "oauth_grant.token_revoked", "oauth_grant.revoked"]);
    for row in &rows {
        assert_eq!((&row["category"], &row["target_type"]), (&"auth".into(), &"oauth_grant".into()), "{row}");
        assert_eq!(row["target_id"], grant.to_string());
        let text = row.to_string();
        assert!(!text.contains(&tokens.access) && text.contains("Planner"), "{text}");
    }
}

#[tokio::test]
async fn an_entry_tells_whose_act_it_was_and_where_it_came_from() {
    let stage = seen(&[("oauth.refresh_retry", "0s")]).await;
    let tokens = stage.tokens("read").await;
    stage.token(&stage.refreshing(&tokens.refresh)).await.expect(200);
    stage.token(&stage.refreshing(&tokens.refresh)).await.expect(400);
    let page = stage.page(&stage.request()).await;
    let allowed = form(&[("request", &page.request), ("decision", "allow"), ("api_key", "ada")]);
    let headers = [
        ("content-type", "application/x-www-form-urlencoded"),
        ("cookie", &*page.cookie),
        ("user-agent", "Browser/1"),
    ];
    stage.send("POST", "/auth/o/authorize/", &headers, allowed).await.expect(303);
    let tokens = stage.tokens("read").await;
    stage.about("/auth/o/revoke/", &tokens.access).await.expect(200);
    let code = stage.code(&stage.request(), "ada").await;
    stage.token(&changed(stage.exchange(&code), "code_verifier", Some(&"x".repeat(43)))).await.expect(400);
    minted(&stage, Some("acme"), None).await;
    let rows = logged(&stage).await;
    for row in &rows {
        let name = row["event_name"].as_str().expect("a name");
        let by_nobody = ["oauth_grant.refresh_token_reused", "oauth_grant.code_misused"].contains(&name);
        let (id, person, email) =
            if by_nobody { (Value::Null, "", "") } else { (ADA.into(), "ada", "ada@acme.test") };
        assert_eq!((&row["actor_id"], row["actor_type"] == "anonymous"), (&id, by_nobody), "{row}");
        assert_eq!((&row["actor_display_name"], &row["actor_email"]), (&person.into(), &email.into()), "{row}");
        assert_eq!(row["metadata"]["user_id"], ADA, "{row}");
        // On the command line there is no request.
        let by_request = name != "gateway_key.created";
        let (source, address) = if by_request { ("auth", "127.0.0.1".into()) } else { ("system", Value::Null) };
        assert_eq!((&row["source"], &row["ip_address"]), (&source.into(), &address), "{row}");
    }
    assert_eq!(rows.iter().filter(|row| row["user_agent"] == "Browser/1").count(), 1, "{rows:#?}");
    for filter in [&*format!("actor_id={ADA}"), "search=ada"] {
        let found = stage.gateway.get("ada", &format!("{LOG}&{filter}")).await.expect(200);
        assert_eq!(found.data().len(), rows.len() - 2, "{filter}");
    }
}

/// An app can revoke an access token with each refresh, but end its grant only once.
#[tokio::test]
async fn sixty_revoked_access_tokens_are_told_a_minute_and_the_end_of_a_grant_each_time() {
    let stage = seen(&[]).await;
    let mut tokens = stage.tokens("read").await;
    for _ in 0..62 {
        stage.about("/auth/o/revoke/", &tokens.access).await.expect(200);
        let refreshed = stage.token(&stage.refreshing(&tokens.refresh)).await.expect(200);
        tokens = Tokens::of(&refreshed);
    }
    stage.about("/auth/o/revoke/", &tokens.refresh).await.expect(200);
    let log = stage.gateway.get("ada", &format!("{LOG}&event_name=oauth_grant.token_revoked")).await.expect(200);
    assert_eq!(log.data().len(), 61, "60 access tokens and the grant");
}

#[tokio::test]
async fn nothing_is_told_where_a_person_was_not_seen() {
    let stage = Stage::new().await;
    stage.tokens("read").await;
    assert!(logged(&stage).await.is_empty());
}

#[tokio::test]
async fn reuse_is_a_matter_of_security() {
    let stage = seen(&[("oauth.refresh_retry", "0s")]).await;
    let tokens = stage.tokens("read").await;
    stage.token(&stage.refreshing(&tokens.refresh)).await.expect(200);
    stage.token(&stage.refreshing(&tokens.refresh)).await.expect(400);
    let code = stage.code(&stage.request(), "ada").await;
    stage.token(&stage.exchange(&code)).await.expect(200);
    stage.token(&stage.exchange(&code)).await.expect(400);
    let rows = logged(&stage).await;
    let (reused, misused) = ("oauth_grant.refresh_token_reused", "oauth_grant.code_misused");
    assert_eq!(names(&rows), ["oauth_grant.created", reused, "oauth_grant.created", misused]);
    for row in [&rows[1], &rows[3]] {
        assert_eq!((&row["category"], &row["outcome"]), (&"security".into(), &"failure".into()), "{row}");
    }
}

#[tokio::test]
async fn a_key_for_one_workspace_is_told_there_although_nobody_was_seen() {
    let stage = Stage::new().await;
    let (id, key) = minted(&stage, Some("acme"), None).await;
    assert!(stage.gateway.oauth().revoke_key(id, None).await.unwrap());
    let rows = logged(&stage).await;
    assert_eq!(names(&rows), ["gateway_key.created", "gateway_key.revoked"]);
    for row in &rows {
        assert_eq!((&row["category"], &row["target_type"]), (&"security".into(), &"gateway_key".into()), "{row}");
        assert!(row["target_id"] == id.to_string() && !row.to_string().contains(&key), "{row}");
    }
}

#[tokio::test]
async fn an_ended_credential_is_told_to_the_workspace_it_was_presented_for_once_a_minute() {
    let stage = seen(&[]).await;
    let tokens = stage.tokens("read").await;
    stage.about("/auth/o/revoke/", &tokens.access).await.expect(200);
    let (_, expired) = minted(&stage, Some("acme"), Some(1)).await;
    for _ in 0..3 {
        expect_dead(stage.call(&tokens.access, &format!("{WEB}/states/")).await);
        expect_dead(stage.gateway.get(&expired, &format!("{WEB}/labels/")).await);
        expect_dead(stage.gateway.get(&expired, "/api/v2/workspaces/other/members/").await);
        expect_dead(stage.call(&tokens.access, ME).await);
        expect_dead(stage.call("cwa_unknown", &format!("{WEB}/states/")).await);
    }
    let rows = logged(&stage).await;
    let failed: Vec<&Value> = rows.iter().filter(|row| row["event_name"] == "auth.api_authentication").collect();
    assert_eq!(failed.len(), 2, "{rows:#?}");
    for row in failed {
        assert_eq!((&row["category"], &row["outcome"]), (&"auth".into(), &"failure".into()), "{row}");
        assert_eq!(row["reason"], "invalid_credentials");
        let text = row.to_string();
        assert!(!text.contains(&tokens.access) && !text.contains(&expired), "{text}");
    }
}
