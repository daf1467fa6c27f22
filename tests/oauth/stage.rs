//! An app, a browser and a person, in front of a gateway with a sandbox behind.

use crate::support::gateway::{Answer, Gateway};
use bytes::Bytes;
use causeway::oauth::protocol::registration::Registrable;
use causeway::sandbox::Seed;
use http::Request;
use http_body_util::Full;
use serde_json::Value;
use std::collections::BTreeMap;

/// The example of RFC 7636.
pub const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
pub const REDIRECT: &str = "https://app.example/cb";
pub const NATIVE_REDIRECT: &str = "http://127.0.0.1:49152/cb";
/// A secret of 32 bytes.
pub const SECRET: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
pub const ME: &str = "/api/v2/users/me/";

/// A registered app.
#[derive(Clone)]
pub struct App {
    pub id: String,
    pub secret: Option<String>,
}

/// The stage: a confidential and a public app are registered.
pub struct Stage {
    pub gateway: Gateway,
    pub app: App,
    pub native: App,
}

/// A consent page as the browser received it.
pub struct Page {
    pub answer: Answer,
    pub request: String,
    pub cookie: String,
}

/// The tokens of an app.
#[derive(Clone, Debug)]
pub struct Tokens {
    pub access: String,
    pub refresh: String,
}

impl Tokens {
    #[track_caller]
    pub fn of(answer: &Answer) -> Self {
        Self { access: answer.text("access_token"), refresh: answer.text("refresh_token") }
    }
}

pub type Pairs<'a> = Vec<(&'a str, &'a str)>;

/// Encodes pairs as a form.
pub fn form(pairs: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// Returns `pairs` with `value` for `name`, or without `name`.
pub fn changed<'a>(mut pairs: Pairs<'a>, name: &'a str, value: Option<&'a str>) -> Pairs<'a> {
    pairs.retain(|(known, _)| *known != name);
    pairs.extend(value.map(|value| (name, value)));
    pairs
}

/// Returns the parameters of the address to which the answer to a form redirects.
#[track_caller]
pub fn led_to(answer: &Answer, start: &str) -> BTreeMap<String, String> {
    led(answer, 303, start)
}

/// Returns the parameters of the address to which an authorization request redirects without a page.
#[track_caller]
pub fn sent_back(answer: &Answer, start: &str) -> BTreeMap<String, String> {
    led(answer, 302, start)
}

#[track_caller]
fn led(answer: &Answer, status: u16, start: &str) -> BTreeMap<String, String> {
    assert_eq!(answer.status, status, "{}", String::from_utf8_lossy(&answer.bytes));
    let location = answer.headers["location"].strip_prefix(start).expect("the app's own address");
    form_urlencoded::parse(location.trim_start_matches(['?', '&']).as_bytes()).into_owned().collect()
}

impl Stage {
    pub async fn new() -> Self {
        Self::with(&[]).await
    }

    pub async fn with(settings: &[(&str, &str)]) -> Self {
        let mut all = vec![("secrets.key", SECRET)];
        all.extend_from_slice(settings);
        Self::over(Gateway::sandboxed_with(Seed::Recorded, &all).await).await
    }

    pub async fn over(gateway: Gateway) -> Self {
        let app = register(&gateway, "Planner", REDIRECT, false, "").await;
        let native = register(&gateway, "Desk tool", "http://127.0.0.1/cb", true, "").await;
        Self { gateway, app, native }
    }

    /// A valid authorization request of the confidential app.
    pub fn request(&self) -> Pairs<'_> {
        vec![
            ("response_type", "code"),
            ("client_id", &self.app.id),
            ("redirect_uri", REDIRECT),
            ("scope", "read projects.states:read"),
            ("state", "xyz"),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
        ]
    }

    /// A valid authorization request of the public app.
    pub fn native_request(&self) -> Pairs<'_> {
        let request = changed(self.request(), "client_id", Some(&self.native.id));
        changed(request, "redirect_uri", Some(NATIVE_REDIRECT))
    }

    pub async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.send("GET", path, headers, String::new()).await
    }

    pub async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: String) -> Answer {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.gateway.base()));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.gateway.request(request.body(Full::new(Bytes::from(body))).expect("a request")).await
    }

    /// Opens the consent page.
    pub async fn ask(&self, request: &[(&str, &str)]) -> Answer {
        self.get(&format!("/auth/o/authorize/?{}", form(request)), &[]).await
    }

    pub async fn page(&self, request: &[(&str, &str)]) -> Page {
        Page::of(self.ask(request).await.expect(200))
    }

    /// Sends the form of a consent page.
    pub async fn decide(&self, page: &Page, decision: &str, key: &str) -> Answer {
        let content = [("request", page.request.as_str()), ("decision", decision), ("api_key", key)];
        self.post_form("/auth/o/authorize/", &[("cookie", &page.cookie)], &content).await
    }

    pub async fn post_form(&self, path: &str, headers: &[(&str, &str)], content: &[(&str, &str)]) -> Answer {
        let mut all = vec![("content-type", "application/x-www-form-urlencoded")];
        all.extend_from_slice(headers);
        self.send("POST", path, &all, form(content)).await
    }

    /// Returns a code that the owner of `key` allowed.
    pub async fn code(&self, request: &[(&str, &str)], key: &str) -> String {
        let page = self.page(request).await;
        let redirect = request.iter().find(|(name, _)| *name == "redirect_uri").expect("an address").1;
        let answer = self.decide(&page, "allow", key).await;
        led_to(&answer, redirect)["code"].clone()
    }

    /// A valid token request of the confidential app.
    pub fn exchange<'a>(&'a self, code: &'a str) -> Pairs<'a> {
        vec![
            ("grant_type", "authorization_code"),
            ("client_id", &self.app.id),
            ("client_secret", self.app.secret.as_deref().expect("a secret")),
            ("code", code),
            ("redirect_uri", REDIRECT),
            ("code_verifier", VERIFIER),
        ]
    }

    /// A valid token request of the public app.
    pub fn native_exchange<'a>(&'a self, code: &'a str) -> Pairs<'a> {
        let request = changed(self.exchange(code), "client_id", Some(&self.native.id));
        changed(changed(request, "client_secret", None), "redirect_uri", Some(NATIVE_REDIRECT))
    }

    pub async fn token(&self, content: &[(&str, &str)]) -> Answer {
        self.post_form("/auth/o/token/", &[], content).await
    }

    /// Tokens of the confidential app for ada, with these scopes.
    pub async fn tokens(&self, scope: &str) -> Tokens {
        self.tokens_of(scope, "ada").await
    }

    pub async fn tokens_of(&self, scope: &str, key: &str) -> Tokens {
        let code = self.code(&changed(self.request(), "scope", Some(scope)), key).await;
        Tokens::of(&self.token(&self.exchange(&code)).await.expect(200))
    }

    /// A valid refresh request of the confidential app.
    pub fn refreshing<'a>(&'a self, token: &'a str) -> Pairs<'a> {
        vec![
            ("grant_type", "refresh_token"),
            ("client_id", &self.app.id),
            ("client_secret", self.app.secret.as_deref().expect("a secret")),
            ("refresh_token", token),
        ]
    }

    /// Makes an API call with a bearer token.
    pub async fn call(&self, token: &str, path: &str) -> Answer {
        self.get(path, &[("authorization", &format!("Bearer {token}"))]).await
    }

    /// Sends a token to the introspection or revocation endpoint, as the confidential app.
    pub async fn about(&self, endpoint: &str, token: &str) -> Answer {
        let (id, secret) = (self.app.id.as_str(), self.app.secret.as_deref().expect("a secret"));
        let content = [("token", token), ("client_id", id), ("client_secret", secret)];
        self.post_form(endpoint, &[], &content).await
    }
}

impl Page {
    #[track_caller]
    pub fn of(answer: Answer) -> Self {
        let request = hidden(&answer, "request");
        let cookie = cookie(&answer);
        Self { answer, request, cookie }
    }
}

/// Value of a hidden input.
#[track_caller]
pub fn hidden(answer: &Answer, name: &str) -> String {
    let text = text(answer);
    let start = format!("name=\"{name}\" value=\"");
    let from = text.find(&start).unwrap_or_else(|| panic!("no {name} in {text}")) + start.len();
    text[from..].split('"').next().expect("an end").to_owned()
}

/// Returns the cookie of an answer in the form of a request header.
#[track_caller]
pub fn cookie(answer: &Answer) -> String {
    answer.headers["set-cookie"].split(';').next().expect("a pair").to_owned()
}

pub fn text(answer: &Answer) -> String {
    String::from_utf8_lossy(&answer.bytes).into_owned()
}

/// All values of a header.
pub fn values(answer: &Answer, name: &str) -> Vec<String> {
    answer.all_headers.get_all(name).iter().map(|value| value.to_str().expect("text").to_owned()).collect()
}

/// Asserts an error in the form of RFC 6749, 5.2.
#[track_caller]
pub fn expect_error(answer: Answer, status: u16, error: &str) -> Answer {
    let answer = answer.expect(status);
    assert_eq!(answer.json["error"], error, "{}", answer.json);
    assert!(answer.json["error_description"].as_str().is_some_and(|text| !text.is_empty()));
    assert_eq!(answer.headers["content-type"], "application/json");
    assert_eq!(answer.headers["cache-control"], "no-store");
    answer
}

/// Asserts the 401 of RFC 6750 for an invalid token.
#[track_caller]
pub fn expect_dead(answer: Answer) {
    let answer = answer.expect_problem(401, "unauthorized");
    let challenges = values(&answer, "www-authenticate");
    assert!(challenges.iter().any(|challenge| challenge.contains("error=\"invalid_token\"")), "{challenges:?}");
}

/// Asserts a page for people that leads nowhere.
#[track_caller]
pub fn expect_page(answer: Answer, status: u16) -> String {
    let answer = answer.expect(status);
    assert_eq!(answer.headers["content-type"], "text/html; charset=utf-8");
    assert!(!answer.headers.contains_key("location"));
    text(&answer)
}

pub async fn register(gateway: &Gateway, name: &str, redirect: &str, public: bool, scopes: &str) -> App {
    let wanted = Registrable {
        name: name.to_owned(),
        redirect_uris: vec![redirect.to_owned()],
        scopes: scopes.split_whitespace().map(str::to_owned).collect(),
        public,
    };
    let (client, secret) = gateway.oauth().register(wanted, false).await.expect("registered");
    App { id: client.id, secret }
}

/// The same content as JSON.
pub fn as_json(pairs: &[(&str, &str)]) -> String {
    let members = pairs.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value)));
    Value::Object(members.collect()).to_string()
}
