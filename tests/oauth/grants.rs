//! The page where people see their grants and revoke them.

use crate::oauth::stage::{ME, Stage, cookie, expect_dead, expect_page, hidden, text};
use crate::support::gateway::Answer;
use causeway::oauth::Minting;

const GRANTS: &str = "/auth/o/grants/";

async fn shown(stage: &Stage, key: &str) -> (Answer, String) {
    let asking = stage.get(GRANTS, &[]).await.expect(200);
    let (form, cookie) = (hidden(&asking, "form"), cookie(&asking));
    let content = [("form", form.as_str()), ("api_key", key)];
    (stage.post_form(GRANTS, &[("cookie", &cookie)], &content).await, cookie)
}

/// Returns the value of the first button with this name.
fn button(page: &str, name: &str) -> String {
    let start = format!("name=\"{name}\" value=\"");
    let from = page.find(&start).expect("a button") + start.len();
    page[from..].split('"').next().expect("an end").to_owned()
}

#[tokio::test]
async fn people_see_what_they_allowed_after_showing_a_key() {
    let stage = Stage::new().await;
    stage.tokens("projects.states:read").await;
    let (page, _) = shown(&stage, "ada").await;
    let page = expect_page(page, 200);
    assert!(page.contains("Planner") && page.contains("See the states of your projects."), "{page}");
    let (others, _) = shown(&stage, "bob").await;
    assert!(!text(&others).contains("Planner"));
}

#[tokio::test]
async fn without_a_key_nothing_is_shown() {
    let stage = Stage::new().await;
    stage.tokens("read").await;
    assert!(!text(&stage.get(GRANTS, &[]).await).contains("Planner"));
    let (refused, _) = shown(&stage, "nosuchkey").await;
    assert!(!expect_page(refused, 403).contains("Planner"));
}

#[tokio::test]
async fn a_revoked_grant_ends_at_once() {
    let stage = Stage::new().await;
    let tokens = stage.tokens("read").await;
    stage.call(&tokens.access, ME).await.expect(200);
    let (page, cookie) = shown(&stage, "ada").await;
    let (proof, grant) = (hidden(&page, "proof"), button(&text(&page), "grant"));
    let content = [("proof", proof.as_str()), ("grant", grant.as_str())];
    let after = stage.post_form(GRANTS, &[("cookie", &cookie)], &content).await;
    let after = expect_page(after, 200);
    assert!(after.contains("can no longer act for you") && !after.contains("Planner"), "{after}");
    expect_dead(stage.call(&tokens.access, ME).await);
}

#[tokio::test]
async fn a_person_cannot_revoke_the_grants_of_others() {
    let stage = Stage::new().await;
    let tokens = stage.tokens("read").await;
    let (page, _) = shown(&stage, "ada").await;
    let grant = button(&text(&page), "grant");
    stage.tokens_of("read", "bob").await;
    let (bobs, cookie) = shown(&stage, "bob").await;
    let proof = hidden(&bobs, "proof");
    let content = [("proof", proof.as_str()), ("grant", grant.as_str())];
    let after = stage.post_form(GRANTS, &[("cookie", &cookie)], &content).await;
    assert!(expect_page(after, 200).contains("nothing to take back"));
    stage.call(&tokens.access, ME).await.expect(200);
}

#[tokio::test]
async fn a_proof_works_only_in_its_browser() {
    let stage = Stage::new().await;
    let tokens = stage.tokens("read").await;
    let (page, _) = shown(&stage, "ada").await;
    let (proof, grant) = (hidden(&page, "proof"), button(&text(&page), "grant"));
    let other = cookie(&stage.get(GRANTS, &[]).await);
    let content = [("proof", proof.as_str()), ("grant", grant.as_str())];
    expect_page(stage.post_form(GRANTS, &[("cookie", &other)], &content).await, 403);
    expect_page(stage.post_form(GRANTS, &[], &content).await, 403);
    stage.call(&tokens.access, ME).await.expect(200);
}

#[tokio::test]
async fn the_form_for_a_key_is_bound_to_its_browser() {
    let stage = Stage::new().await;
    let form = hidden(&stage.get(GRANTS, &[]).await, "form");
    let content = [("form", form.as_str()), ("api_key", "ada")];
    expect_page(stage.post_form(GRANTS, &[], &content).await, 403);
    expect_page(stage.post_form(GRANTS, &[], &[("api_key", "ada")]).await, 403);
}

#[tokio::test]
async fn people_revoke_their_gateway_keys_here_too() {
    let stage = Stage::new().await;
    let wanted = Minting { title: "nightly report".into(), scopes: "read".into(), ..Minting::default() };
    let (_, key) = stage.gateway.mint("ada", wanted).await.unwrap();
    stage.gateway.get(&key, ME).await.expect(200);
    let (page, cookie) = shown(&stage, "ada").await;
    assert!(text(&page).contains("nightly report"));
    let (proof, id) = (hidden(&page, "proof"), button(&text(&page), "key"));
    stage.post_form(GRANTS, &[("cookie", &cookie)], &[("proof", &proof), ("key", &id)]).await.expect(200);
    expect_dead(stage.gateway.get(&key, ME).await);
}
