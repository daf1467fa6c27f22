//! Properties that must hold for every input: one function a target, called by the fuzzer with generated inputs and by
//! `tests/oauth/corpora.rs` with the corpora. A property that does not hold panics.
//!
//! May use: the pure functions of `causeway::oauth::protocol` and `causeway::access::credential`.

use causeway::access::Presented;
use causeway::access::credential::{bearer_token, presented};
use causeway::oauth::protocol::form::Form;
use causeway::oauth::protocol::token::{self, TokenRequest};
use causeway::oauth::protocol::{authorize, redirect};
use http::{HeaderMap, HeaderValue};

/// Addresses that the client of these properties has registered.
const REGISTERED: [&str; 4] =
    ["https://app.example/cb", "https://app.example/cb?a=1", "http://127.0.0.1/cb", "com.example.app:/cb"];

/// The query of an authorization request: no answer ever goes to an unregistered address, and each answer contains
/// exactly the intended values.
pub fn authorize_query(data: &[u8]) {
    let Ok(query) = std::str::from_utf8(data) else { return };
    let Some(form) = Form::urlencoded(query.as_bytes()) else { return };
    let registered = REGISTERED.map(str::to_owned);
    let judged = authorize::judge(&form, true, |scope| scope == "read" || scope == "projects.states:read");
    if let Ok(wanted) = &judged {
        assert!(!wanted.scopes.is_empty() && wanted.scopes.windows(2).all(|pair| pair[0] < pair[1]), "{wanted:?}");
        assert!(wanted.scopes.iter().all(|scope| ["read", "projects.states:read"].contains(&scope.as_str())));
        assert!(wanted.challenge.is_some(), "a public client proves itself by PKCE");
        assert!(form.repeated().is_empty());
    }
    let Ok(target) = authorize::target(&form) else { return };
    if !authorize::is_registered(&registered, &target.redirect_uri) {
        return;
    }
    let known = REGISTERED.iter().find(|known| redirect::matches(known, &target.redirect_uri)).expect("a match");
    assert_eq!(without_port(known), without_port(&target.redirect_uri));
    let Ok(state) = authorize::state(&form) else { return };
    let mut ways = vec![authorize::code_redirect(&target.redirect_uri, "cwc_x", state.as_deref(), "https://gw")];
    if let Err(error) = &judged {
        ways.push(authorize::error_redirect(&target.redirect_uri, error, state.as_deref(), "https://gw"));
    }
    for way in ways {
        let rest = way.strip_prefix(target.redirect_uri.as_str()).expect("the registered address");
        assert!(rest.starts_with(['?', '&']) && way.bytes().all(|byte| byte.is_ascii_graphic()), "{way}");
        let pairs: Vec<_> = form_urlencoded::parse(&rest.as_bytes()[1..]).collect();
        let value = |name: &str| pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_ref());
        assert_eq!((value("state"), value("iss")), (state.as_deref(), Some("https://gw")), "{way}");
        assert_ne!(value("code").is_some(), value("error").is_some(), "{way}");
    }
}

/// The body of a token request: its values are read correctly in either notation.
pub fn token_form(data: &[u8]) {
    const FORM: &str = "application/x-www-form-urlencoded";
    const JSON: &str = "application/json";
    for kind in [FORM, JSON] {
        let Ok(form) = Form::body(Some(kind), data) else { continue };
        let Ok(request) = token::parse(&form) else { continue };
        let pairs = match &request {
            TokenRequest::Code { code, redirect_uri, verifier } => {
                let mut pairs = vec![("grant_type", "authorization_code"), ("code", code)];
                pairs.push(("redirect_uri", redirect_uri));
                pairs.extend(verifier.as_deref().map(|verifier| ("code_verifier", verifier)));
                pairs
            }
            TokenRequest::Refresh { token, scope } => {
                let mut pairs = vec![("grant_type", "refresh_token"), ("refresh_token", token)];
                pairs.extend(scope.as_deref().map(|scope| ("scope", scope)));
                pairs
            }
        };
        assert!(pairs.iter().all(|(_, value)| !value.is_empty()), "{request:?}");
        let members = pairs.iter().map(|(name, value)| ((*name).to_owned(), serde_json::Value::from(*value)));
        let json = serde_json::Value::Object(members.collect()).to_string();
        assert!(reads_as(JSON, json.as_bytes(), &request));
        // In a form, bytes that are not UTF-8 arrive as the replacement character, which is refused.
        if !pairs.iter().any(|(_, value)| value.contains('\u{fffd}')) {
            let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(&pairs).finish();
            assert!(reads_as(FORM, form.as_bytes(), &request));
        }
        assert!(["Code(…)", "Refresh(…)"].contains(&format!("{request:?}").as_str()), "values are not shown");
    }
}

fn reads_as(kind: &str, body: &[u8], expected: &TokenRequest) -> bool {
    Form::body(Some(kind), body).is_ok_and(|form| token::parse(&form).is_ok_and(|again| again == *expected))
}

/// A registered and a presented address, one a line: they match only when they are the same except for the port of
/// this machine, and every address that may be registered matches itself.
pub fn redirect_matching(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (registered, presented) = text.split_once('\n').unwrap_or((text, text));
    assert!(redirect::matches(registered, registered));
    assert_eq!(redirect::matches(registered, presented), redirect::matches(presented, registered));
    if redirect::objection(registered).is_some() {
        return;
    }
    let known = url::Url::parse(registered).expect("what may be registered is an address");
    assert!(known.username().is_empty() && known.password().is_none() && known.fragment().is_none());
    assert!(known.scheme() == "https" || known.scheme() == "http" || known.scheme().contains('.'));
    if registered != presented && redirect::matches(registered, presented) {
        let url = url::Url::parse(presented).expect("what matches is an address");
        assert_eq!((url.scheme(), url.host(), url.path()), ("http", known.host(), known.path()));
        assert_eq!((url.query(), url.fragment()), (known.query(), None));
        assert!(url.username().is_empty() && url.password().is_none());
        assert_eq!(without_port(registered), without_port(presented));
    }
    let source = redirect::policy_source(registered);
    assert!(!source.contains([' ', ';', ',', '\'', '"']), "a policy of one source: {source}");
}

/// The value of an `Authorization` header: a token is accepted unchanged, or not at all, and no key of the
/// gateway ever becomes a key for v1.
pub fn bearer_parsing(data: &[u8]) {
    if let Some(token) = bearer_token(data) {
        let text = std::str::from_utf8(data).expect("a token is text");
        assert!(text.trim_end_matches(' ').ends_with(&token) && text.len() > token.len());
        assert!(token.bytes().all(|byte| byte.is_ascii_graphic() && !b",;\"".contains(&byte)), "{token}");
        assert_eq!(bearer_token(format!("Bearer {token}").as_bytes()), Some(token));
    }
    let Ok(value) = HeaderValue::from_bytes(data) else { return };
    let bearer = HeaderMap::from_iter([(http::header::AUTHORIZATION, value.clone())]);
    match presented(&bearer, None) {
        Ok(Presented::Bearer(token)) => assert_eq!(bearer_token(data), Some(token)),
        Ok(other) => panic!("{other:?} of a bearer token"),
        Err(refusal) => assert_eq!(refusal.status(), 401),
    }
    let key = HeaderMap::from_iter([(http::HeaderName::from_static("x-api-key"), value)]);
    match presented(&key, None) {
        Ok(Presented::V1Key(key)) => assert!(!key.expose().starts_with("cw") || !is_own(key.expose())),
        Ok(Presented::GatewayKey(key)) => assert!(is_own(&key)),
        Ok(Presented::Bearer(_)) => panic!("a key is no bearer token"),
        Err(refusal) => assert_eq!(refusal.status(), 401),
    }
}

fn is_own(text: &str) -> bool {
    ["cwa_", "cwr_", "cwc_", "cws_", "cwk_"].iter().any(|prefix| text.starts_with(prefix))
}

/// Returns an address of this machine without its port; any other unchanged.
fn without_port(uri: &str) -> String {
    for host in ["http://127.0.0.1", "http://[::1]", "http://localhost"] {
        if let Some(rest) = uri.strip_prefix(host) {
            let path = rest.find(['/', '?']).map_or("", |at| &rest[at..]);
            return format!("{host}{path}");
        }
    }
    uri.to_owned()
}
