//! Apps that register themselves (RFC 7591), when that is allowed.

use crate::oauth::stage::{self, CHALLENGE, REDIRECT, Stage, changed, expect_error, expect_page, led_to};
use crate::support::gateway::Answer;
use serde_json::{Value, json};

const REGISTER: &str = "/auth/o/register/";
const HERE: &str = "https://self.example/cb";

async fn open() -> Stage {
    Stage::with(&[("oauth.registration", "true")]).await
}

async fn register(stage: &Stage, metadata: &Value) -> Answer {
    stage.send("POST", REGISTER, &[("content-type", "application/json")], metadata.to_string()).await
}

fn metadata() -> Value {
    json!({"client_name": "Newcomer", "redirect_uris": [HERE], "token_endpoint_auth_method": "none"})
}

async fn request_of(stage: &Stage, id: &str) -> Vec<(String, String)> {
    let request = changed(changed(stage.request(), "client_id", None), "redirect_uri", Some(HERE));
    let mut owned: Vec<_> = request.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    owned.push(("client_id".into(), id.to_owned()));
    assert_eq!(CHALLENGE.len(), 43);
    owned
}

fn borrowed(request: &[(String, String)]) -> Vec<(&str, &str)> {
    request.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

#[tokio::test]
async fn registration_is_off_by_default() {
    let stage = Stage::new().await;
    register(&stage, &metadata()).await.expect_problem(404, "resource_not_found");
}

#[tokio::test]
async fn an_app_registers_itself_and_its_consent_page_says_so() {
    let stage = open().await;
    let answer = register(&stage, &metadata()).await.expect(201);
    assert_eq!(
        (answer.text("client_name"), answer.text("token_endpoint_auth_method")),
        ("Newcomer".into(), "none".into())
    );
    assert!(answer.json.get("client_secret").is_none());
    let request = request_of(&stage, &answer.text("client_id")).await;
    let page = stage.page(&borrowed(&request)).await;
    assert!(String::from_utf8_lossy(&page.answer.bytes).contains("This app registered itself"));
    assert!(led_to(&stage.decide(&page, "allow", "ada").await, HERE).contains_key("code"));
}

#[tokio::test]
async fn a_confidential_app_gets_its_secret_once() {
    let stage = open().await;
    let answer = register(&stage, &json!({"client_name": "Server", "redirect_uris": [HERE]})).await.expect(201);
    assert!(answer.text("client_secret").starts_with("cws_"));
    assert_eq!(answer.json["client_secret_expires_at"], 0);
    assert_eq!(answer.headers["cache-control"], "no-store");
    let listed = stage.gateway.oauth().clients().await.unwrap();
    assert!(!format!("{listed:?}").contains(&answer.text("client_secret")));
}

#[tokio::test]
async fn an_app_that_registered_itself_is_no_open_redirect() {
    let stage = open().await;
    let answer = register(&stage, &metadata()).await.expect(201);
    let mut request = request_of(&stage, &answer.text("client_id")).await;
    request.retain(|(name, _)| name != "scope");
    expect_page(stage.ask(&borrowed(&request)).await, 400);
}

#[tokio::test]
async fn unfit_metadata_is_refused() {
    let stage = open().await;
    for (member, value, error) in [
        ("redirect_uris", json!(["http://self.example/cb"]), "invalid_redirect_uri"),
        ("redirect_uris", json!(["javascript:alert(1)"]), "invalid_redirect_uri"),
        ("redirect_uris", json!([]), "invalid_redirect_uri"),
        ("redirect_uris", json!(vec![format!("{HERE}/{}", "x".repeat(1400)); 3]), "invalid_redirect_uri"),
        ("redirect_uris", json!(["https://*.example/cb"]), "invalid_redirect_uri"),
        ("client_name", json!(""), "invalid_client_metadata"),
        ("client_name", json!(7), "invalid_client_metadata"),
        ("grant_types", json!(["password"]), "invalid_client_metadata"),
        ("scope", json!("admin"), "invalid_client_metadata"),
    ] {
        let mut unfit = metadata();
        unfit[member] = value;
        expect_error(register(&stage, &unfit).await, 400, error);
    }
}

#[tokio::test]
async fn registrations_are_limited_by_address() {
    let stage = Stage::with(&[("oauth.registration", "true"), ("oauth.attempts", "2")]).await;
    for _ in 0..2 {
        register(&stage, &metadata()).await.expect(201);
    }
    let refused = register(&stage, &metadata()).await.expect(429);
    assert_eq!(refused.headers["retry-after"], "60");
}

#[tokio::test]
async fn registrations_and_wrong_keys_of_an_address_are_counted_apart() {
    let stage = Stage::with(&[("oauth.registration", "true"), ("oauth.attempts", "2")]).await;
    while register(&stage, &metadata()).await.status == 201 {}
    let page = stage.page(&stage.request()).await;
    led_to(&stage.decide(&page, "allow", "ada").await, REDIRECT);
    let stage = Stage::with(&[("oauth.registration", "true"), ("oauth.attempts", "1")]).await;
    let page = stage.page(&stage.request()).await;
    for status in [403, 429] {
        expect_page(stage.decide(&page, "allow", "wrong").await, status);
    }
    register(&stage, &metadata()).await.expect(201);
}

#[tokio::test]
async fn the_metadata_names_the_endpoint_when_it_is_on() {
    let stage = open().await;
    let document = stage.get("/.well-known/oauth-authorization-server", &[]).await.expect(200);
    assert_eq!(document.text("registration_endpoint"), format!("{}{REGISTER}", stage.gateway.base()));
}

#[tokio::test]
async fn the_documentation_page_knows_the_app_that_an_operator_has_registered_for_it() {
    let stage = Stage::with(&[("oauth.registration", "true"), ("public_url", "https://v2.example")]).await;
    let told = async || stage.get("/api/v2/docs/login.json", &[]).await.expect(200).json;
    let redirect = "https://v2.example/api/v2/docs/oauth2-redirect.html";
    let nobody = json!({"set_up": true, "client_id": null, "redirect_uri": redirect, "scopes": []});
    assert_eq!(told().await, nobody);
    let stranger =
        json!({"client_name": "Newcomer", "redirect_uris": [redirect], "token_endpoint_auth_method": "none"});
    self::register(&stage, &stranger).await.expect(201);
    stage::register(&stage.gateway, "With a secret", redirect, false, "").await;
    assert_eq!(told().await, nobody, "neither who registered itself nor who keeps a secret");
    let page = stage::register(&stage.gateway, "Documentation", redirect, true, "read").await;
    assert_eq!(told().await["client_id"], page.id);
    assert_eq!(told().await["scopes"], json!(["read"]));
}
