//! Address under which the client of a request reached the gateway.
//!
//! May use: `settings`, `edge::connection`.

use super::connection::Peer;
use crate::settings::PublicSettings;
use http::header::HOST;
use http::request::Parts;
use http::uri::Authority;
use std::fmt;
use std::sync::Arc;

/// The public address without a trailing slash; in the extensions of every request inside the stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicBase(Arc<str>);

impl PublicBase {
    /// Returns the address as text, without a trailing slash.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Creates it from a known address, without a trailing slash.
    pub fn new(address: &str) -> Self {
        Self(address.into())
    }

    /// Returns the address of a request: the configured one, else from `Host` (or from the headers of a trusted proxy).
    pub(super) fn of(request: &Parts, settings: &PublicSettings) -> Self {
        match &settings.url {
            Some(fixed) => Self::new(fixed.as_str()),
            None => Self::new(&[scheme(request, settings), "://", host(request, settings)].concat()),
        }
    }
}

impl fmt::Display for PublicBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Marks requests whose connection to the gateway itself has TLS; in their extensions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Encrypted;

/// Returns the scheme that the client used: from a trusted proxy, else `https` when the connection has TLS.
pub(super) fn scheme(request: &Parts, settings: &PublicSettings) -> &'static str {
    match forwarded(request, settings, "x-forwarded-proto") {
        Some(proto) if proto.eq_ignore_ascii_case("https") => "https",
        None if request.extensions.get::<Encrypted>().is_some() => "https",
        _ => "http",
    }
}

/// Returns the host that the client used, with its port when it named one.
pub(super) fn host<'r>(request: &'r Parts, settings: &PublicSettings) -> &'r str {
    let forwarded = forwarded(request, settings, "x-forwarded-host");
    let header = || request.headers.get(HOST)?.to_str().ok();
    let uri = || request.uri.authority().map(Authority::as_str);
    let named = forwarded.or_else(uri).or_else(header).and_then(valid_host);
    named.unwrap_or("localhost")
}

/// Returns `text` when it is only a host and a port; nothing else may become part of the address.
fn valid_host(text: &str) -> Option<&str> {
    let authority: Authority = text.parse().ok()?;
    (!authority.host().is_empty() && !text.contains('@')).then_some(text)
}

/// Returns the first value of a forwarding header, when the peer is trusted.
fn forwarded<'a>(request: &'a Parts, settings: &PublicSettings, name: &str) -> Option<&'a str> {
    request.extensions.get::<Peer>().filter(|peer| settings.trusts(peer.0.ip()))?;
    request.headers.get(name)?.to_str().ok()?.split(',').next().map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::HttpAddress;

    fn base(headers: &[(&str, &str)], peer: &str, settings: &PublicSettings) -> String {
        let mut request = http::Request::builder().uri("/x");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (mut parts, ()) = request.body(()).unwrap().into_parts();
        parts.extensions.insert(Peer(peer.parse().unwrap()));
        PublicBase::of(&parts, settings).to_string()
    }

    #[test]
    fn the_address_comes_from_settings_else_from_the_request() {
        let open = PublicSettings::default();
        let host = [("host", "gw.example:8080")];
        assert_eq!(base(&host, "9.9.9.9:1", &open), "http://gw.example:8080");
        let fixed = PublicSettings { url: HttpAddress::parse("https://v2.example.com/"), ..open };
        assert_eq!(base(&host, "9.9.9.9:1", &fixed), "https://v2.example.com");
    }

    #[test]
    fn forwarding_headers_count_only_from_trusted_proxies() {
        let behind = PublicSettings { url: None, trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()] };
        let said = [("host", "in"), ("x-forwarded-proto", "https"), ("x-forwarded-host", "out.example, in")];
        assert_eq!(base(&said, "10.0.0.1:1", &behind), "https://out.example");
        assert_eq!(base(&said, "11.0.0.1:1", &behind), "http://in");
    }

    #[test]
    fn a_host_that_is_none_does_not_get_in() {
        let open = PublicSettings::default();
        assert_eq!(base(&[("host", "a@b")], "9.9.9.9:1", &open), "http://localhost");
        assert_eq!(base(&[("host", "a/b\"")], "9.9.9.9:1", &open), "http://localhost");
        assert_eq!(base(&[], "9.9.9.9:1", &open), "http://localhost");
    }
}
