//! The gateway's metadata, and its absence when OAuth is not set up.

use crate::oauth::stage::{ME, REDIRECT, Stage, changed, expect_error, expect_page};
use crate::support::gateway::Gateway;
use causeway::plan::scopes;
use causeway::sandbox::Seed;

const SERVER: &str = "/.well-known/oauth-authorization-server";
const RESOURCE: &str = "/.well-known/oauth-protected-resource";

#[tokio::test]
async fn the_authorization_server_describes_itself() {
    let stage = Stage::new().await;
    let base = stage.gateway.base();
    let document = stage.get(SERVER, &[]).await.expect(200);
    assert_eq!(document.text("issuer"), base);
    for (name, path) in [
        ("authorization_endpoint", "authorize"),
        ("token_endpoint", "token"),
        ("revocation_endpoint", "revoke"),
        ("introspection_endpoint", "introspect"),
    ] {
        assert_eq!(document.text(name), format!("{base}/auth/o/{path}/"));
    }
    assert_eq!(document.json["code_challenge_methods_supported"], serde_json::json!(["S256"]));
    assert_eq!(document.json["response_types_supported"], serde_json::json!(["code"]));
    assert_eq!(document.json["authorization_response_iss_parameter_supported"], true);
    assert!(document.json.get("registration_endpoint").is_none());
    assert_eq!(document.json["scopes_supported"].as_array().unwrap().len(), scopes::all().count());
}

#[tokio::test]
async fn endpoints_named_in_the_metadata_exist() {
    let stage = Stage::new().await;
    let document = stage.get(SERVER, &[]).await.expect(200);
    for (name, value) in document.json.as_object().unwrap() {
        let Some(path) = value.as_str().and_then(|value| value.strip_prefix(stage.gateway.base())) else {
            continue;
        };
        if name.ends_with("_endpoint") {
            let answer = stage.send("DELETE", path, &[], String::new()).await;
            answer.expect_problem(405, "method_not_allowed");
        }
    }
}

#[tokio::test]
async fn the_protected_resource_names_its_authorization_server() {
    let stage = Stage::new().await;
    let document = stage.get(RESOURCE, &[]).await.expect(200);
    assert_eq!(document.text("resource"), stage.gateway.base());
    assert_eq!(document.json["authorization_servers"], serde_json::json!([stage.gateway.base()]));
    assert_eq!(document.json["bearer_methods_supported"], serde_json::json!(["header"]));
}

#[tokio::test]
async fn the_issuer_is_the_public_address() {
    let stage = Stage::with(&[("public_url", "https://gw.example/v2")]).await;
    for path in [SERVER.to_owned(), format!("{SERVER}/v2"), format!("{SERVER}/")] {
        assert_eq!(stage.get(&path, &[]).await.expect(200).text("issuer"), "https://gw.example/v2");
    }
    stage.get(&format!("{SERVER}/other"), &[]).await.expect(404);
    let page = expect_page(stage.ask(&stage.request()).await, 200);
    assert!(page.contains("action=\"/v2/auth/o/authorize/\""), "{page}");
}

#[tokio::test]
async fn documents_are_read_only() {
    let stage = Stage::new().await;
    stage.send("POST", SERVER, &[], String::new()).await.expect_problem(405, "method_not_allowed");
    stage.send("POST", RESOURCE, &[], String::new()).await.expect_problem(405, "method_not_allowed");
}

#[tokio::test]
async fn without_a_secret_there_is_no_oauth_and_that_is_said() {
    let stage = Stage::over(Gateway::sandboxed(Seed::Recorded).await).await;
    assert!(expect_page(stage.ask(&stage.request()).await, 503).contains("secrets.key_file"));
    assert!(expect_page(stage.get("/auth/o/grants/", &[]).await, 503).contains("causeway secrets new"));
    let answer = expect_error(stage.token(&stage.exchange("x")).await, 503, "temporarily_unavailable");
    assert!(answer.text("error_description").contains("secrets.key_file"));
    stage.get(SERVER, &[]).await.expect(404);
    assert!(stage.get(RESOURCE, &[]).await.expect(200).json.get("authorization_servers").is_none());
    stage.gateway.get("ada", ME).await.expect(200);
}

#[tokio::test]
async fn every_answer_of_an_app_names_its_issuer() {
    let stage = Stage::with(&[("public_url", "https://gw.example")]).await;
    let page = stage.page(&stage.request()).await;
    for decision in ["allow", "deny"] {
        let back = crate::oauth::stage::led_to(&stage.decide(&page, decision, "ada").await, REDIRECT);
        assert_eq!(back["iss"], "https://gw.example");
    }
    let wrong = changed(stage.request(), "response_type", Some("token"));
    assert_eq!(crate::oauth::stage::sent_back(&stage.ask(&wrong).await, REDIRECT)["iss"], "https://gw.example");
}
