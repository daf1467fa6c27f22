//! The authorization request: when the answer is a page, when a redirect, and no information for strangers.

use crate::oauth::stage::{
    CHALLENGE, NATIVE_REDIRECT, REDIRECT, Stage, changed, expect_page, form, led_to, register, sent_back, text,
};

/// Requests without a proven redirect address: a page, and no redirect.
macro_rules! stay_on_a_page {
    ($($name:ident: $parameter:literal = $value:expr;)*) => {$(
        #[tokio::test]
        async fn $name() {
            let stage = Stage::new().await;
            let value: Option<&str> = $value;
            let answer = stage.ask(&changed(stage.request(), $parameter, value)).await;
            let page = expect_page(answer, 400);
            assert!(!page.contains("name=\"request\""), "nothing can be allowed here");
        }
    )*};
}

stay_on_a_page! {
    a_request_without_a_client_is_a_page: "client_id" = None;
    an_unknown_client_is_a_page: "client_id" = Some("nobody");
    a_client_of_markup_is_a_page: "client_id" = Some("<script>alert(1)</script>");
    a_request_without_an_address_is_a_page: "redirect_uri" = None;
    a_foreign_address_is_a_page: "redirect_uri" = Some("https://evil.example/cb");
    an_address_with_another_path_is_a_page: "redirect_uri" = Some("https://app.example/cb/evil");
    an_address_with_a_slash_more_is_a_page: "redirect_uri" = Some("https://app.example/cb/");
    an_address_with_a_query_more_is_a_page: "redirect_uri" = Some("https://app.example/cb?next=https://evil.example");
    an_address_with_a_fragment_is_a_page: "redirect_uri" = Some("https://app.example/cb#x");
    an_address_with_a_user_is_a_page: "redirect_uri" = Some("https://app.example@evil.example/cb");
    an_address_with_a_suffix_host_is_a_page: "redirect_uri" = Some("https://app.example.evil.example/cb");
    an_address_with_another_scheme_is_a_page: "redirect_uri" = Some("http://app.example/cb");
    an_address_with_another_port_is_a_page: "redirect_uri" = Some("https://app.example:8443/cb");
    an_address_with_a_default_port_is_a_page: "redirect_uri" = Some("https://app.example:443/cb");
    an_address_in_capitals_is_a_page: "redirect_uri" = Some("https://APP.example/cb");
    an_address_with_dots_is_a_page: "redirect_uri" = Some("https://app.example/x/../cb");
    an_address_with_an_encoded_slash_is_a_page: "redirect_uri" = Some("https://app.example/%2e%2e/cb");
    an_address_of_script_is_a_page: "redirect_uri" = Some("javascript:alert(1)");
    an_address_with_a_line_break_is_a_page: "redirect_uri" = Some("https://app.example/cb\r\nset-cookie: a=b");
    an_address_of_the_gateway_itself_is_a_page: "redirect_uri" = Some("/auth/o/grants/");
}

#[tokio::test]
async fn a_client_named_twice_is_a_page() {
    let stage = Stage::new().await;
    let mut request = stage.request();
    request.push(("client_id", "other"));
    expect_page(stage.ask(&request).await, 400);
}

#[tokio::test]
async fn an_address_named_twice_is_a_page() {
    let stage = Stage::new().await;
    let mut request = stage.request();
    request.push(("redirect_uri", "https://evil.example/"));
    expect_page(stage.ask(&request).await, 400);
}

#[tokio::test]
async fn a_query_that_is_no_text_is_a_page() {
    let stage = Stage::new().await;
    expect_page(stage.get("/auth/o/authorize/?client_id=%ff", &[]).await, 400);
}

/// Wrong requests of a proven client: the error goes back to it, with its state and the issuer.
macro_rules! go_back_with {
    ($($name:ident: $parameter:literal = $value:expr => $error:literal;)*) => {$(
        #[tokio::test]
        async fn $name() {
            let stage = Stage::new().await;
            let value: Option<&str> = $value;
            let answer = stage.ask(&changed(stage.native_request(), $parameter, value)).await;
            let back = sent_back(&answer, NATIVE_REDIRECT);
            assert_eq!((back["error"].as_str(), back["state"].as_str()), ($error, "xyz"));
            assert_eq!(back["iss"], stage.gateway.base());
            assert!(!back["error_description"].is_empty() && !back.contains_key("code"));
        }
    )*};
}

go_back_with! {
    without_a_response_type_is_invalid_request: "response_type" = None => "invalid_request";
    the_implicit_grant_is_unsupported: "response_type" = Some("token") => "unsupported_response_type";
    a_hybrid_response_type_is_unsupported: "response_type" = Some("code token") => "unsupported_response_type";
    an_unknown_scope_is_invalid_scope: "scope" = Some("read admin") => "invalid_scope";
    no_scope_is_invalid_scope: "scope" = None => "invalid_scope";
    a_scope_in_capitals_is_invalid_scope: "scope" = Some("READ") => "invalid_scope";
    a_public_client_without_a_challenge_is_refused: "code_challenge" = None => "invalid_request";
    a_plain_challenge_is_refused: "code_challenge_method" = Some("plain") => "invalid_request";
    a_challenge_that_is_plain_by_default_is_refused: "code_challenge_method" = None => "invalid_request";
    a_challenge_that_is_no_hash_is_refused: "code_challenge" = Some("abc") => "invalid_request";
    another_response_mode_is_refused: "response_mode" = Some("fragment") => "invalid_request";
    a_request_object_is_not_supported: "request" = Some("x") => "request_not_supported";
    a_request_object_elsewhere_is_not_supported: "request_uri" = Some("https://evil.example/") => "request_uri_not_supported";
    consent_without_the_person_is_refused: "prompt" = Some("none") => "interaction_required";
}

#[tokio::test]
async fn a_public_client_without_pkce_at_all_is_refused() {
    let stage = Stage::new().await;
    let request = changed(stage.native_request(), "code_challenge", None);
    let back = sent_back(&stage.ask(&changed(request, "code_challenge_method", None)).await, NATIVE_REDIRECT);
    assert_eq!(back["error"], "invalid_request");
}

#[tokio::test]
async fn a_repeated_parameter_is_invalid_request() {
    let stage = Stage::new().await;
    let mut request = stage.request();
    request.push(("scope", "write"));
    assert_eq!(sent_back(&stage.ask(&request).await, REDIRECT)["error"], "invalid_request");
}

#[tokio::test]
async fn a_repeated_state_is_not_sent_back() {
    let stage = Stage::new().await;
    let mut request = stage.request();
    request.push(("state", "two"));
    let back = sent_back(&stage.ask(&request).await, REDIRECT);
    assert!(back["error"] == "invalid_request" && !back.contains_key("state"));
}

#[tokio::test]
async fn a_state_without_end_is_refused() {
    let stage = Stage::new().await;
    let long = "s".repeat(5000);
    let back = sent_back(&stage.ask(&changed(stage.request(), "state", Some(&long))).await, REDIRECT);
    assert_eq!(back["error"], "invalid_request");
}

#[tokio::test]
async fn a_scope_the_client_may_not_have_is_invalid_scope() {
    let stage = Stage::new().await;
    let narrow = register(&stage.gateway, "Narrow", REDIRECT, false, "projects.states:read").await;
    let request = changed(stage.request(), "client_id", Some(&narrow.id));
    assert_eq!(sent_back(&stage.ask(&request).await, REDIRECT)["error"], "invalid_scope");
    stage.ask(&changed(request, "scope", Some("projects.states:read"))).await.expect(200);
}

#[tokio::test]
async fn scopes_that_gate_nothing_can_be_asked_for() {
    let stage = Stage::new().await;
    stage.ask(&changed(stage.request(), "scope", Some("projects.pages:read webhooks:write"))).await.expect(200);
}

#[tokio::test]
async fn a_native_app_may_use_any_port_of_this_machine() {
    let stage = Stage::new().await;
    for port in ["", ":1", ":65535"] {
        let uri = format!("http://127.0.0.1{port}/cb");
        stage.ask(&changed(stage.native_request(), "redirect_uri", Some(&uri))).await.expect(200);
    }
}

#[tokio::test]
async fn localhost_is_not_the_registered_loopback_address() {
    let stage = Stage::new().await;
    for uri in ["http://localhost:1/cb", "http://[::1]:1/cb", "http://127.0.0.2/cb", "http://127.0.0.1:1/other"] {
        expect_page(stage.ask(&changed(stage.native_request(), "redirect_uri", Some(uri))).await, 400);
    }
}

#[tokio::test]
async fn localhost_is_fine_where_it_is_registered() {
    let stage = Stage::new().await;
    let app = register(&stage.gateway, "Local", "http://localhost/cb", true, "").await;
    let request = changed(stage.native_request(), "client_id", Some(&app.id));
    stage.ask(&changed(request, "redirect_uri", Some("http://localhost:3000/cb"))).await.expect(200);
}

#[tokio::test]
async fn an_app_with_a_scheme_of_its_own_is_answered() {
    let stage = Stage::new().await;
    let app = register(&stage.gateway, "Phone", "com.example.phone:/cb", true, "").await;
    let request = changed(stage.native_request(), "client_id", Some(&app.id));
    let request = changed(request, "redirect_uri", Some("com.example.phone:/cb"));
    let page = stage.page(&request).await;
    assert!(page.answer.headers["content-security-policy"].contains("form-action 'self' com.example.phone:;"));
    let back = led_to(&stage.decide(&page, "allow", "ada").await, "com.example.phone:/cb");
    assert!(back.contains_key("code"));
}

#[tokio::test]
async fn the_path_of_the_published_clients_shows_the_same_page() {
    let stage = Stage::new().await;
    for path in ["/auth/o/authorize-app/", "/auth/o/authorize-app", "/auth/o/authorize"] {
        let answer = stage.get(&format!("{path}?{}", form(&stage.request())), &[]).await.expect(200);
        assert!(text(&answer).contains("Planner"));
    }
}

#[tokio::test]
async fn a_confidential_client_may_leave_pkce_out() {
    let stage = Stage::new().await;
    let request = changed(stage.request(), "code_challenge", None);
    stage.ask(&changed(request, "code_challenge_method", None)).await.expect(200);
}

#[tokio::test]
async fn a_method_without_a_challenge_is_refused() {
    let stage = Stage::new().await;
    let back = sent_back(&stage.ask(&changed(stage.request(), "code_challenge", None)).await, REDIRECT);
    assert_eq!(back["error"], "invalid_request");
    assert_eq!(CHALLENGE.len(), 43);
}

#[tokio::test]
async fn a_deleted_client_is_unknown() {
    let stage = Stage::new().await;
    assert!(stage.gateway.oauth().delete_client(&stage.app.id).await.unwrap());
    expect_page(stage.ask(&stage.request()).await, 400);
}

#[tokio::test]
async fn other_methods_are_405() {
    let stage = Stage::new().await;
    for (path, allow) in [("authorize/", "GET, HEAD, POST"), ("token/", "POST"), ("revoke/", "POST")] {
        let answer = stage.send("PUT", &format!("/auth/o/{path}"), &[], String::new()).await;
        assert_eq!(answer.expect_problem(405, "method_not_allowed").headers["allow"], allow);
    }
    stage.get("/auth/o/token/", &[]).await.expect_problem(405, "method_not_allowed");
}

#[tokio::test]
async fn unknown_paths_are_404() {
    let stage = Stage::new().await;
    stage.get("/auth/o/nothing/", &[]).await.expect_problem(404, "resource_not_found");
    stage.get("/auth/o/token//", &[]).await.expect_problem(404, "resource_not_found");
}
