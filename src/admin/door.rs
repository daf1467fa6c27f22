//! Access rules of the operators' listener.
//!
//! A browser must not act for a foreign page. A foreign page can make it send a request under a name that resolves to
//! this address, so only known names are accepted. It can make the browser send a form with a remembered password, so a
//! change must come from a page of this listener. And no answer allows a foreign page to read it.
//!
//! May use: `settings`, `admin::page`, `admin::token`.

use super::page::text;
use super::token::Token;
use crate::settings::AdminSettings;
use bytes::Bytes;
use http::header::{ALLOW, HOST, ORIGIN, WWW_AUTHENTICATE};
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use std::net::IpAddr;

/// The rules for admitting a request.
pub(super) struct Door {
    hosts: Vec<String>,
    token: Option<Token>,
    /// Whether only this machine can reach the listener, so that every other address in `Host` is wrong.
    local: bool,
}

impl Door {
    /// Creates the rules of `settings`. `local`: only this machine can reach the listener.
    pub(super) fn new(settings: &AdminSettings, token: Option<Token>, local: bool) -> Self {
        let hosts = settings.hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        Self { hosts, token, local }
    }

    /// Returns nothing when the request is admitted, else its answer.
    pub(super) fn refusal(&self, head: &Parts) -> Option<Response<Bytes>> {
        let Some(host) = host(head) else {
            return Some(text(StatusCode::BAD_REQUEST, "The request must name one host.\n"));
        };
        if !self.knows(host.host()) {
            return Some(text(
                StatusCode::MISDIRECTED_REQUEST,
                "This listener is not asked by this name. Names are allowed by the setting admin.hosts.\n",
            ));
        }
        let change = head.method == Method::POST;
        if !change && head.method != Method::GET && head.method != Method::HEAD {
            let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "Only GET, HEAD and POST are known here.\n");
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD, POST"));
            return Some(response);
        }
        match &self.token {
            Some(token) if !token.is_shown(&head.headers) => return Some(challenge()),
            None if change => {
                return Some(text(
                    StatusCode::FORBIDDEN,
                    "Changes need a token, and none is set: set admin.token_file or CAUSEWAY_ADMIN__TOKEN.\n",
                ));
            }
            _ => {}
        }
        if change && comes_from_elsewhere(&head.headers, &host) {
            return Some(text(StatusCode::FORBIDDEN, "Changes are made from pages of this listener only.\n"));
        }
        None
    }

    fn knows(&self, host: &str) -> bool {
        let name = host.trim_end_matches('.').to_ascii_lowercase();
        let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        let plain = match address {
            // A page can lead a browser here by a name, but not by the address of another machine.
            Ok(address) => !self.local || address.to_canonical().is_loopback(),
            Err(_) => name == "localhost",
        };
        plain || self.hosts.contains(&name)
    }
}

/// Returns the one host that a request names. The host in its target has priority over the header.
fn host(head: &Parts) -> Option<Authority> {
    if let Some(authority) = head.uri.authority() {
        return Some(authority.clone());
    }
    let mut named = head.headers.get_all(HOST).iter();
    let (value, None) = (named.next()?, named.next()) else { return None };
    let authority: Authority = value.to_str().ok()?.parse().ok()?;
    (!authority.as_str().contains('@')).then_some(authority)
}

/// Checks whether a form comes from another site. Browsers name the site; a client that names none is no browser.
fn comes_from_elsewhere(headers: &HeaderMap, host: &Authority) -> bool {
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    let foreign_site = site.is_some_and(|site| site != b"same-origin" && site != b"none");
    let own = |origin: &HeaderValue| {
        let origin = origin.to_str().unwrap_or_default();
        ["http://", "https://"].iter().any(|scheme| {
            origin.strip_prefix(scheme).is_some_and(|origin| origin.eq_ignore_ascii_case(host.as_str()))
        })
    };
    foreign_site || headers.get_all(ORIGIN).iter().any(|origin| !own(origin))
}

fn challenge() -> Response<Bytes> {
    let mut response = text(StatusCode::UNAUTHORIZED, "This listener is for operators: show the token.\n");
    for challenge in
        ["Bearer realm=\"causeway operators\"", "Basic realm=\"causeway operators\", charset=\"UTF-8\""]
    {
        response.headers_mut().append(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    fn door(local: bool, token: bool) -> Door {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        std::fs::write(&file, "0123456789abcdef\n").unwrap();
        let token_file = token.then_some(file);
        let settings = AdminSettings { hosts: vec!["Ops.example".into()], token_file, ..AdminSettings::default() };
        Door::new(&settings, Token::open(&settings).unwrap(), local)
    }

    fn status(door: &Door, method: &str, headers: &[(&str, &str)]) -> u16 {
        let mut request = Request::builder().method(method).uri("/");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        door.refusal(&head).map_or(200, |response| response.status().as_u16())
    }

    #[test]
    fn only_known_hosts_are_answered() {
        let local = door(true, false);
        for good in ["localhost", "LOCALHOST:1", "localhost.:1", "127.0.0.1:8081", "[::1]:8081", "ops.example"] {
            assert_eq!(status(&local, "GET", &[("host", good)]), 200, "{good}");
        }
        for foreign in ["evil.example", "127.0.0.1.evil.example", "10.0.0.1", "localhost.evil.example", "0.0.0.0"] {
            assert_eq!(status(&local, "GET", &[("host", foreign)]), 421, "{foreign}");
        }
        for none in [&[][..], &[("host", "localhost"), ("host", "localhost")], &[("host", "a@localhost")]] {
            assert_eq!(status(&local, "GET", none), 400, "{none:?}");
        }
        let open = door(false, true);
        let bearer = ("authorization", "Bearer 0123456789abcdef");
        assert_eq!(status(&open, "GET", &[("host", "10.0.0.1:8081"), bearer]), 200);
        assert_eq!(status(&open, "GET", &[("host", "evil.example"), bearer]), 421);
    }

    #[test]
    fn with_a_token_all_need_it_and_changes_always_do() {
        let host = ("host", "localhost");
        let bearer = ("authorization", "Bearer 0123456789abcdef");
        let (without, with) = (door(true, false), door(true, true));
        assert_eq!(status(&without, "GET", &[host]), 200);
        assert_eq!(status(&without, "POST", &[host, bearer]), 403);
        assert_eq!(status(&with, "GET", &[host]), 401);
        assert_eq!(status(&with, "GET", &[host, ("authorization", "Bearer 0123456789abcdeg")]), 401);
        assert_eq!(status(&with, "POST", &[host]), 401);
        assert_eq!(status(&with, "POST", &[host, bearer]), 200);
        assert_eq!(status(&with, "DELETE", &[host, bearer]), 405);
        assert_eq!(status(&with, "OPTIONS", &[host, ("origin", "https://evil.example")]), 405);
    }

    #[test]
    fn changes_come_from_pages_of_this_listener() {
        let base = [("host", "localhost:8081"), ("authorization", "Bearer 0123456789abcdef")];
        let door = door(true, true);
        let with = |more: &[(&'static str, &'static str)]| status(&door, "POST", &[&base[..], more].concat());
        assert_eq!(with(&[("origin", "http://localhost:8081"), ("sec-fetch-site", "same-origin")]), 200);
        for foreign in [
            ("origin", "http://evil.example"),
            ("origin", "null"),
            ("origin", "http://localhost:8082"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
        ] {
            assert_eq!(with(&[foreign]), 403, "{foreign:?}");
        }
        // Browsers themselves forbid reading across sites, because no answer allows it.
        assert_eq!(status(&door, "GET", &[&base[..], &[("origin", "http://evil.example")]].concat()), 200);
    }
}
