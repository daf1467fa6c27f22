//! Checks the host of a request: one name or address, given once, or twice with the same value.
//!
//! May use: `refusal`.

use crate::refusal::Refusal;
use http::Version;
use http::header::HOST;
use http::request::Parts;
use http::uri::Uri;
use std::net::Ipv6Addr;

/// Longest name, in bytes (RFC 1035).
const LONGEST_NAME: usize = 253;

/// Refuses a request without a host, with two hosts, with an invalid one, or with a different one in its address.
pub(super) fn check(request: &Parts) -> Result<(), Refusal> {
    judged(request).map_err(Refusal::invalid)
}

fn judged(request: &Parts) -> Result<(), &'static str> {
    let mut headers = request.headers.get_all(HOST).iter();
    let (header, second) = (headers.next(), headers.next());
    if second.is_some() {
        return Err("The request has more than one Host.");
    }
    let (version, uri) = (request.version, &request.uri);
    let needed = version == Version::HTTP_11 || version > Version::HTTP_11 && uri.authority().is_none();
    let named = |text: &str| HostAndPort::parse(text).ok_or("The host of the request is malformed.");
    let header = header.map(|value| named(value.to_str().unwrap_or_default())).transpose()?;
    let address = uri.authority().map(|authority| named(authority.as_str())).transpose()?;
    match (header, address) {
        (None, _) if needed => Err("The request has no Host."),
        (Some(header), Some(address)) if !header.is(&address, uri) => {
            Err("Host and the address of the request name different hosts.")
        }
        _ => Ok(()),
    }
}

struct HostAndPort {
    host: String,
    port: Option<u16>,
}

impl HostAndPort {
    fn parse(text: &str) -> Option<Self> {
        let end = match text.strip_prefix('[') {
            Some(rest) => rest.find(']')? + 2,
            None => text.find(':').unwrap_or(text.len()),
        };
        let (host, port) = text.split_at(end);
        let known = match host.strip_prefix('[') {
            Some(address) => address.trim_end_matches(']').parse::<Ipv6Addr>().is_ok(),
            None => is_name(host),
        };
        let port = if port.is_empty() { None } else { Some(number(port.strip_prefix(':')?)?) };
        known.then(|| Self { host: host.to_ascii_lowercase(), port })
    }

    /// Checks whether both are the same under the scheme of `uri`; the usual port of the scheme may be left out.
    fn is(&self, other: &Self, uri: &Uri) -> bool {
        let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
        self.host == other.host && self.port.unwrap_or(usual) == other.port.unwrap_or(usual)
    }
}

/// Checks for a name of labels, with an optional dot at the end. Underscores are allowed: DNS has none, but names of
/// containers have.
fn is_name(text: &str) -> bool {
    let sane = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let name = text.strip_suffix('.').unwrap_or(text);
    text.len() <= LONGEST_NAME && name.split('.').all(|label| !label.is_empty() && label.bytes().all(sane))
}

fn number(digits: &str) -> Option<u16> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}
