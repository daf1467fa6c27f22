//! Headers that cross the gateway (RFC 9110, 7.6): hop-by-hop headers are removed, headers about the client and its
//! request are written anew, and all other headers are forwarded unchanged.
//!
//! May use: `settings`, `edge::connection`, `edge::public_base`.

use super::connection::Peer;
use super::public_base::{host, scheme};
use crate::settings::PublicSettings;
use http::header::{
    CONNECTION, COOKIE, EXPECT, HOST, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING,
    UPGRADE,
};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue};

/// Headers that describe one connection only.
static HOP_BY_HOP: [HeaderName; 9] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("http2-settings"),
];

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Headers that could make a server behind assume another client, address, method, path or user than the gateway did.
/// They are never forwarded, neither from strangers nor from proxies. The gateway writes its own headers from the
/// `X-Forwarded-For`, `-Host` and `-Proto` of a trusted proxy.
const CLIENT_HEADERS: [&str; 36] = [
    "cf-connecting-ip",
    "cf-connecting-ipv6",
    "cf-pseudo-ipv4",
    "client-ip",
    "fastly-client-ip",
    "forwarded",
    "forwarded-for",
    "front-end-https",
    "http-client-ip",
    "path-info",
    "proxy",
    "proxy-client-ip",
    "remote-addr",
    "remote-user",
    "script-name",
    "true-client-ip",
    "wl-proxy-client-ip",
    "x-appengine-user-ip",
    "x-azure-clientip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-envoy-external-address",
    "x-host",
    "x-http-host-override",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-originating-ip",
    "x-override-method",
    "x-proxyuser-ip",
    "x-real-ip",
    "x-remote-addr",
    "x-remote-ip",
    "x-remote-user",
    "x-scheme",
    "x-script-name",
];

/// Prefixes of more such headers.
const CLIENT_HEADER_PREFIXES: [&str; 5] = ["x-forwarded", "x-original-", "x-rewrite-", "x-url-", "x-wsgi-"];

/// Removes headers that describe one connection, including those that `Connection` names.
pub(super) fn strip_hop_by_hop(headers: &mut HeaderMap) {
    let named = named_in_connection(headers);
    // Most messages have no such header. So this scans the headers of the message once, instead of looking up each
    // name.
    let gone = headers.keys().filter(|name| HOP_BY_HOP.contains(name) || named.contains(name));
    for name in gone.cloned().collect::<Vec<_>>() {
        headers.remove(name);
    }
}

fn named_in_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    let values = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).filter_map(|name| name.trim().parse().ok()).collect()
}

/// Returns the headers of `request` for v1: without `Host`, which follows from v1's address, and without `Expect`,
/// which this server has already handled.
pub fn request_headers(request: &Parts, settings: &PublicSettings) -> HeaderMap {
    let mut headers = request.headers.clone();
    let trailers = accepts_trailers(&headers);
    strip_hop_by_hop(&mut headers);
    // Trailers are not forwarded: the gateway has not checked their content.
    for name in [HOST, EXPECT, TRAILER] {
        headers.remove(name);
    }
    if trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
    join_cookies(&mut headers);
    add_forwarding(&mut headers, request, settings);
    headers
}

/// Joins the cookies to one header. HTTP/2 clients may send each cookie alone (RFC 9113, 8.2.3), and a server behind
/// would join them with a comma, which belongs to a cookie.
fn join_cookies(headers: &mut HeaderMap) {
    let lines: Vec<&[u8]> = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if lines.len() > 1
        && let Ok(joined) = HeaderValue::from_bytes(&lines.join(&b"; "[..]))
    {
        headers.insert(COOKIE, joined);
    }
}

fn accepts_trailers(headers: &HeaderMap) -> bool {
    let values = headers.get_all(TE).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|coding| coding.trim().eq_ignore_ascii_case("trailers"))
}

/// Adds the headers that name the client and the address that it used. Values of the client are used and extended only
/// when they come from trusted proxies.
fn add_forwarding(headers: &mut HeaderMap, request: &Parts, settings: &PublicSettings) {
    let peer = request.extensions.get::<Peer>().map(|peer| peer.0.ip().to_canonical());
    let trusted = peer.is_some_and(|peer| settings.trusts(peer));
    let before = request.headers.get_all(FORWARDED_FOR).iter().filter(|_| trusted);
    let peer = peer.map(|peer| peer.to_string());
    let chain: Vec<&str> = before.filter_map(|value| value.to_str().ok()).chain(peer.as_deref()).collect();
    for name in headers.keys().filter(|name| is_client_header(name)).cloned().collect::<Vec<_>>() {
        headers.remove(name);
    }
    set(headers, FORWARDED_FOR, &chain.join(", "));
    set(headers, FORWARDED_HOST, host(request, settings));
    set(headers, FORWARDED_PROTO, scheme(request, settings));
}

fn is_client_header(name: &HeaderName) -> bool {
    let name = name.as_str();
    CLIENT_HEADERS.contains(&name) || CLIENT_HEADER_PREFIXES.iter().any(|kind| name.starts_with(kind))
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value)
        && !value.is_empty()
    {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forwarded(headers: &[(&str, &str)], settings: &PublicSettings) -> HeaderMap {
        let mut request = http::Request::builder().uri("/api/v1/x");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (mut parts, ()) = request.body(()).unwrap().into_parts();
        parts.extensions.insert(Peer("10.0.0.1:5".parse().unwrap()));
        request_headers(&parts, settings)
    }

    #[test]
    fn hop_by_hop_headers_are_not_forwarded() {
        let headers = forwarded(
            &[
                ("connection", "close, X-Private"),
                ("x-private", "1"),
                ("keep-alive", "timeout=5"),
                ("transfer-encoding", "chunked"),
                ("upgrade", "h2c"),
                ("te", "trailers, deflate"),
                ("expect", "100-continue"),
                ("host", "gw.example"),
                ("x-odd", "a"),
                ("x-odd", "b"),
            ],
            &PublicSettings::default(),
        );
        let mut names: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["te", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-odd"]);
        assert_eq!(headers["te"], "trailers");
        assert_eq!(headers.get_all("x-odd").iter().count(), 2);
    }

    #[test]
    fn cookies_that_came_one_by_one_are_one_header() {
        let sent = [("cookie", "a=1"), ("cookie", "b=2, c"), ("cookie", "d=3")];
        let headers = forwarded(&sent, &PublicSettings::default());
        let cookies: Vec<_> = headers.get_all(COOKIE).iter().collect();
        assert_eq!(cookies, ["a=1; b=2, c; d=3"]);
    }

    #[test]
    fn claims_of_strangers_are_replaced_and_those_of_trusted_proxies_continued() {
        let claimed = [("x-forwarded-for", "1.2.3.4"), ("x-forwarded-proto", "https"), ("host", "gw.example")];
        let alone = forwarded(&claimed, &PublicSettings::default());
        assert_eq!(
            (&alone["x-forwarded-for"], &alone["x-forwarded-proto"]),
            (&"10.0.0.1".parse().unwrap(), &"http".parse().unwrap())
        );
        let behind = PublicSettings { url: None, trusted_proxies: vec!["10.0.0.1/32".parse().unwrap()] };
        let continued = forwarded(&claimed, &behind);
        assert_eq!(continued["x-forwarded-for"], "1.2.3.4, 10.0.0.1");
        assert_eq!(
            (&continued["x-forwarded-proto"], &continued["x-forwarded-host"]),
            (&"https".parse().unwrap(), &"gw.example".parse().unwrap())
        );
    }
}
