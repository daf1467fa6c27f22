//! The consent page: the view of the person, the proof of their identity, and no decision without them.

use crate::oauth::stage::{Page, REDIRECT, SECRET, Stage, changed, expect_page, led_to, register, text};
use crate::store::place::{execute, number};
use crate::support::gateway::Gateway;
use crate::support::scripted::nobody;
use causeway::sandbox::Seed;

#[tokio::test]
async fn the_page_names_the_app_and_explains_each_scope() {
    let stage = Stage::new().await;
    let page = text(&stage.page(&stage.request()).await.answer);
    for part in ["Planner", "See everything you can see", "See the states of your projects.", "https://app.example"]
    {
        assert!(page.contains(part), "{part} is missing in {page}");
    }
    assert!(!page.contains("registered itself"));
}

#[tokio::test]
async fn the_page_is_for_people_on_phones_and_with_readers() {
    let stage = Stage::new().await;
    let page = text(&stage.page(&stage.request()).await.answer);
    for part in [
        "<html lang=\"en\">",
        "name=\"viewport\"",
        "prefers-color-scheme: dark",
        "<label for=\"api_key\">",
        "id=\"api_key\"",
        "type=\"password\"",
        ">Allow</button>",
        ">Deny</button>",
    ] {
        assert!(page.contains(part), "{part} is missing in {page}");
    }
    assert!(!page.contains("<script"), "works without scripts");
}

#[tokio::test]
async fn the_page_says_where_one_is_and_leads_on() {
    let plain = Stage::new().await;
    let page = text(&plain.page(&plain.request()).await.answer);
    assert!(page.contains("every workspace your key opens") && !page.contains("Where do I get a key?"), "{page}");
    assert!(page.contains("/auth/o/grants/\" target=\"_blank\" rel=\"noopener noreferrer\">"), "{page}");
    let named = [
        ("secrets.key", SECRET),
        ("oauth.site_name", "Acme & Sons"),
        ("oauth.keys_url", "https://v1.example.com/profile/api-tokens"),
    ];
    let stage = Stage::over(Gateway::sandboxed_with(Seed::Recorded, &named).await).await;
    let page = text(&stage.page(&stage.request()).await.answer);
    assert!(page.contains("Acme &#38; Sons</p>"), "{page}");
    let link = "<a href=\"https://v1.example.com/profile/api-tokens\" target=\"_blank\" rel=\"noopener noreferrer\">Where do";
    assert!(page.contains(link), "{page}");
}

#[tokio::test]
async fn names_cannot_bring_markup() {
    let stage = Stage::new().await;
    let app = register(&stage.gateway, "<img src=x onerror=alert(1)>\"'&", REDIRECT, false, "").await;
    let page = text(&stage.page(&changed(stage.request(), "client_id", Some(&app.id))).await.answer);
    assert!(!page.contains("<img") && page.contains("&#60;img"), "{page}");
}

#[tokio::test]
async fn pages_cannot_be_framed_kept_or_leaked() {
    let stage = Stage::new().await;
    for answer in [stage.ask(&stage.request()).await, stage.ask(&[]).await, stage.get("/auth/o/grants/", &[]).await]
    {
        let header = |name: &str| answer.headers[name].clone();
        let policy = header("content-security-policy");
        assert!(policy.contains("frame-ancestors 'none'") && policy.contains("default-src 'none'"), "{policy}");
        assert!(policy.contains("base-uri 'none'") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(header("x-frame-options"), "DENY");
        assert_eq!(header("referrer-policy"), "no-referrer");
        assert_eq!(header("cache-control"), "no-store");
        assert_eq!(header("x-content-type-options"), "nosniff");
    }
}

#[tokio::test]
async fn the_form_may_lead_to_the_app_and_nowhere_else() {
    let stage = Stage::new().await;
    let policy = stage.ask(&stage.request()).await.headers["content-security-policy"].clone();
    assert!(policy.contains("form-action 'self' https://app.example;"), "{policy}");
}

#[tokio::test]
async fn the_cookie_is_for_our_own_pages_alone() {
    let stage = Stage::new().await;
    let cookie = stage.ask(&stage.request()).await.headers["set-cookie"].clone();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age="] {
        assert!(cookie.contains(part), "{cookie}");
    }
}

#[tokio::test]
async fn with_tls_no_other_host_can_set_the_cookie() {
    let stage = Stage::with(&[("public_url", "https://gw.example")]).await;
    let cookie = stage.ask(&stage.request()).await.headers["set-cookie"].clone();
    assert!(cookie.starts_with("__Host-causeway_form=") && cookie.contains("; Secure"), "{cookie}");
}

#[tokio::test]
async fn allowing_leads_back_with_a_code() {
    let stage = Stage::new().await;
    let page = stage.page(&stage.request()).await;
    let answer = stage.decide(&page, "allow", "ada").await;
    let back = led_to(&answer, REDIRECT);
    assert!(back["code"].starts_with("cwc_") && back["code"].len() == 47);
    assert_eq!((back["state"].as_str(), back["iss"].as_str()), ("xyz", stage.gateway.base()));
    assert_eq!(answer.headers["referrer-policy"], "no-referrer");
    assert_eq!(answer.headers["cache-control"], "no-store");
}

#[tokio::test]
async fn a_request_without_state_gets_none_back() {
    let stage = Stage::new().await;
    let page = stage.page(&changed(stage.request(), "state", None)).await;
    assert!(!led_to(&stage.decide(&page, "allow", "ada").await, REDIRECT).contains_key("state"));
}

#[tokio::test]
async fn state_comes_back_byte_for_byte() {
    let stage = Stage::new().await;
    let state = "a b&c=d%20\u{e4}#\"<>";
    let page = stage.page(&changed(stage.request(), "state", Some(state))).await;
    assert_eq!(led_to(&stage.decide(&page, "deny", "").await, REDIRECT)["state"], state);
}

#[tokio::test]
async fn denying_leads_back_with_access_denied() {
    let stage = Stage::new().await;
    let page = stage.page(&stage.request()).await;
    let back = led_to(&stage.decide(&page, "deny", "").await, REDIRECT);
    assert_eq!((back["error"].as_str(), back["state"].as_str()), ("access_denied", "xyz"));
    assert!(back["iss"] == stage.gateway.base() && !back.contains_key("code"));
}

#[tokio::test]
async fn a_wrong_key_shows_the_page_again() {
    let stage = Stage::new().await;
    let page = stage.page(&stage.request()).await;
    for wrong in ["nosuchkey", "expired", "inactive", "", "  ", "schl\u{fc}ssel", "two words"] {
        let again = stage.decide(&page, "allow", wrong).await;
        let shown = expect_page(again, 403);
        assert!(shown.contains("This key is not accepted") && shown.contains("role=\"alert\""), "{wrong}");
        assert!(wrong.trim().is_empty() || !shown.contains(wrong), "the key is not shown");
    }
}

#[tokio::test]
async fn after_a_wrong_key_the_right_one_works() {
    let stage = Stage::new().await;
    let page = stage.page(&stage.request()).await;
    let again = stage.decide(&page, "allow", "nosuchkey").await;
    let again = Page { cookie: page.cookie.clone(), ..Page::of(again) };
    assert!(led_to(&stage.decide(&again, "allow", " ada ").await, REDIRECT).contains_key("code"));
}

#[tokio::test]
async fn own_secrets_are_no_keys_and_never_reach_v1() {
    let stage = Stage::new().await;
    let tokens = stage.tokens("read").await;
    let page = stage.page(&stage.request()).await;
    stage.gateway.sandbox().clear_journal();
    for own in [&tokens.access, &tokens.refresh, stage.app.secret.as_ref().unwrap()] {
        expect_page(stage.decide(&page, "allow", own).await, 403);
    }
    assert!(stage.gateway.sandbox().journal().is_empty());
}

#[tokio::test]
async fn wrong_keys_are_limited_by_address() {
    let stage = Stage::with(&[("oauth.attempts", "3")]).await;
    let page = stage.page(&stage.request()).await;
    for number in 0..3 {
        expect_page(stage.decide(&page, "allow", &format!("wrong-{number}")).await, 403);
    }
    let answer = stage.decide(&page, "allow", "ada").await;
    assert_eq!(answer.headers["retry-after"], "60");
    assert!(expect_page(answer, 429).contains("Too many wrong keys"));
}

#[tokio::test]
async fn right_keys_are_not_limited() {
    let stage = Stage::with(&[("oauth.attempts", "2")]).await;
    let page = stage.page(&stage.request()).await;
    for _ in 0..5 {
        led_to(&stage.decide(&page, "allow", "ada").await, REDIRECT);
    }
}

/// Each consent is an entry in audit logs for ever, and a form can be sent again and again.
#[tokio::test]
async fn consents_are_limited_by_person() {
    let stage = Stage::with(&[("limits.rate.oauth", "3")]).await;
    let page = stage.page(&stage.request()).await;
    for _ in 0..3 {
        led_to(&stage.decide(&page, "allow", "ada").await, REDIRECT);
    }
    let answer = stage.decide(&page, "allow", "ada").await;
    let wait: u64 = answer.headers["retry-after"].parse().expect("whole seconds");
    assert!((1..=20).contains(&wait), "{wait}");
    assert!(expect_page(answer, 429).contains("You have allowed too many apps"));
    led_to(&stage.decide(&page, "allow", "bob").await, REDIRECT);
}

#[tokio::test]
async fn the_address_that_is_limited_is_the_one_a_trusted_proxy_names() {
    let stage = Stage::with(&[("oauth.attempts", "1"), ("trusted_proxies", "127.0.0.1")]).await;
    let page = stage.page(&stage.request()).await;
    let content = [("request", page.request.as_str()), ("decision", "allow"), ("api_key", "wrong")];
    for (address, status) in [("9.9.9.1", 403), ("9.9.9.1", 429), ("9.9.9.2", 403)] {
        let headers = [("cookie", page.cookie.as_str()), ("x-forwarded-for", address)];
        stage.post_form("/auth/o/authorize/", &headers, &content).await.expect(status);
    }
}

#[tokio::test]
async fn an_unreachable_v1_is_said_and_nothing_is_allowed() {
    let away = nobody().await;
    let stage = Stage::over(Gateway::with(&away, &[("secrets.key", SECRET)]).await).await;
    let page = stage.page(&stage.request()).await;
    assert!(expect_page(stage.decide(&page, "allow", "ada").await, 503).contains("could not be checked"));
}

/// Forms that our page did not make for this browser have no effect.
async fn refused(stage: &Stage, page: &Page, headers: &[(&str, &str)], request: &str) {
    let content = [("request", request), ("decision", "allow"), ("api_key", "ada")];
    expect_page(stage.post_form("/auth/o/authorize/", headers, &content).await, 403);
    let grants = stage.gateway.oauth().grants("00000000-0000-4000-a000-000000000001".parse().unwrap()).await;
    assert!(grants.unwrap().is_empty(), "{}", page.request);
}

#[tokio::test]
async fn a_form_without_its_cookie_is_refused() {
    let stage = Stage::new().await;
    let page = stage.page(&stage.request()).await;
    refused(&stage, &page, &[], &page.request).await;
}

#[tokio::test]
async fn a_form_with_the_cookie_of_another_browser_is_refused() {
    let stage = Stage::new().await;
    let (page, other) = (stage.page(&stage.request()).await, stage.page(&stage.request()).await);
    assert_ne!(page.cookie, other.cookie);
    refused(&stage, &page, &[("cookie", &other.cookie)], &page.request).await;
}

#[tokio::test]
async fn a_form_that_was_changed_is_refused() {
    let stage = Stage::new().await;
    let page = stage.page(&stage.request()).await;
    let (with, sealed) = page.request.split_once('.').unwrap();
    let turned = if sealed.ends_with('A') { "B" } else { "A" };
    let changed = format!("{with}.{}{turned}", &sealed[..sealed.len() - 1]);
    let cut = format!("{with}.{}", &sealed[..sealed.len() - 4]);
    for wrong in [changed.as_str(), cut.as_str(), "", ".", sealed, "x.y"] {
        refused(&stage, &page, &[("cookie", &page.cookie)], wrong).await;
    }
}

#[tokio::test]
async fn a_form_for_another_purpose_is_refused() {
    let stage = Stage::new().await;
    let asking = stage.get("/auth/o/grants/", &[]).await;
    let page = stage.page(&stage.request()).await;
    let form = crate::oauth::stage::hidden(&asking, "form");
    refused(&stage, &page, &[("cookie", &crate::oauth::stage::cookie(&asking))], &form).await;
}

#[tokio::test]
async fn a_form_from_another_site_is_refused() {
    let stage = Stage::new().await;
    let page = stage.page(&stage.request()).await;
    for site in ["cross-site", "same-site"] {
        refused(&stage, &page, &[("cookie", &page.cookie), ("sec-fetch-site", site)], &page.request).await;
    }
}

#[tokio::test]
async fn a_form_in_another_encoding_is_refused() {
    let stage = Stage::new().await;
    let page = stage.page(&stage.request()).await;
    let content =
        crate::oauth::stage::form(&[("request", &page.request), ("decision", "allow"), ("api_key", "ada")]);
    for kind in ["text/plain", "multipart/form-data; boundary=x", "application/json"] {
        let headers = [("cookie", page.cookie.as_str()), ("content-type", kind)];
        expect_page(stage.send("POST", "/auth/o/authorize/", &headers, content.clone()).await, 403);
    }
}

#[tokio::test]
async fn parameters_beside_the_form_change_nothing() {
    let stage = Stage::new().await;
    let page = stage.page(&changed(stage.request(), "scope", Some("projects.states:read"))).await;
    let content = [
        ("request", page.request.as_str()),
        ("decision", "allow"),
        ("api_key", "ada"),
        ("scope", "write"),
        ("redirect_uri", "https://evil.example/"),
    ];
    let path = "/auth/o/authorize/?scope=write&redirect_uri=https://evil.example/";
    let answer = stage.post_form(path, &[("cookie", &page.cookie)], &content).await;
    let code = led_to(&answer, REDIRECT)["code"].clone();
    let tokens = stage.token(&stage.exchange(&code)).await.expect(200);
    assert_eq!(tokens.text("scope"), "projects.states:read");
}

#[tokio::test]
async fn a_form_that_decides_nothing_allows_nothing() {
    let stage = Stage::new().await;
    let page = stage.page(&stage.request()).await;
    expect_page(stage.decide(&page, "", "ada").await, 400);
    expect_page(stage.decide(&page, "perhaps", "ada").await, 400);
}

#[tokio::test]
async fn an_address_taken_away_meanwhile_is_not_answered() {
    let stage = Stage::new().await;
    let page = stage.page(&stage.request()).await;
    assert!(stage.gateway.oauth().delete_client(&stage.app.id).await.unwrap());
    expect_page(stage.decide(&page, "allow", "ada").await, 400);
}

#[tokio::test]
async fn two_pages_of_one_browser_both_work() {
    let stage = Stage::new().await;
    let first = stage.page(&stage.request()).await;
    let query = crate::oauth::stage::form(&stage.request());
    let second = stage.get(&format!("/auth/o/authorize/?{query}"), &[("cookie", &first.cookie)]).await;
    let second = Page::of(second.expect(200));
    assert_eq!(first.cookie, second.cookie);
    for page in [first, second] {
        led_to(&stage.decide(&page, "allow", "ada").await, REDIRECT);
    }
}

#[tokio::test]
async fn allowing_an_app_does_not_wait_for_the_sweep_of_old_tokens() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("sqlite:{}", folder.path().join("store.db").display());
    let stage = Stage::with(&[("store.url", &url)]).await;
    stage.tokens("read").await;
    let store = stage.gateway.store().await;
    execute(&store, "UPDATE oauth_token SET expires_at = 1").await;
    stage.tokens("read").await;
    assert_eq!(number(&store, "SELECT COUNT(*) FROM oauth_token WHERE expires_at = 1").await, 2);
}
