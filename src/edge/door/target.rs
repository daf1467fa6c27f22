//! For what a request is: its host, one name or address, said once, or twice in the same way; and its path, where every
//! one is refused that a server behind could resolve to another one than was judged here. Everything else goes on byte
//! for byte.
//!
//! May use: `refusal`, `edge::pools`.

use crate::edge::pools::is_v2;
use crate::refusal::Refusal;
use http::header::HOST;
use http::request::Parts;
use http::{Method, Uri, Version};
use percent_encoding::percent_decode_str;
use std::net::Ipv6Addr;

/// The target of a request as it stands in its first line.
pub(super) fn read(text: &str) -> Result<Uri, Refusal> {
    if text.contains('#') {
        return Err(Refusal::invalid("The address of a request has no fragment."));
    }
    text.parse().map_err(|_| Refusal::invalid("The address of the request is malformed."))
}

/// Refuses every other form of a target than a path (or the address of one), and paths with dot segments, encoded
/// slashes, backslashes or control characters. They are decoded once, as v1's server does.
pub(super) fn check(method: &Method, uri: &Uri) -> Result<(), Refusal> {
    if uri.path() == "*" && *method == Method::OPTIONS {
        return Ok(());
    }
    if !uri.path().starts_with('/') || uri.authority().is_some() && uri.scheme().is_none() {
        return Err(Refusal::invalid("The target of the request is not a path."));
    }
    if !matches!(uri.scheme_str(), None | Some("http" | "https")) {
        return Err(Refusal::invalid("The address of the request is of another scheme than http."));
    }
    path(uri.path()).map_err(Refusal::invalid)?;
    // A NUL in a query of v2 is judged by its parameters.
    match uri.query() {
        Some(query) if !is_v2(uri.path()) && percent_decode_str(query).any(|byte| byte == 0) => {
            Err(Refusal::invalid("The query has a NUL character."))
        }
        _ => Ok(()),
    }
}

fn path(path: &str) -> Result<(), &'static str> {
    // Nearly all paths; nothing below can be wrong with them.
    if path.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_')) {
        return Ok(());
    }
    if !whole_escapes(path) {
        return Err("The path has a percent sign without two hexadecimal digits.");
    }
    // Overlong forms of dots and slashes are no UTF-8.
    let decoded = percent_decode_str(path).decode_utf8().map_err(|_| "The path is not UTF-8.")?;
    // Below v2 they are judged where a name or id is read: a malformed key is as unknown as any other.
    if decoded.contains('\0') || !is_v2(path) && decoded.chars().any(char::is_control) {
        return Err("The path has a control character.");
    }
    if decoded.contains('\\') {
        return Err("The path has a backslash.");
    }
    if decoded.matches('/').count() != path.matches('/').count() {
        return Err("The path has an encoded slash.");
    }
    // Some servers drop what follows a semicolon before they resolve dots.
    let dots = |segment: &str| matches!(segment.split(';').next(), Some("." | ".."));
    if decoded.split('/').any(dots) { Err("The path has a dot segment.") } else { Ok(()) }
}

fn whole_escapes(path: &str) -> bool {
    let digits =
        |rest: &str| matches!(rest.as_bytes(), [a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit());
    path.split('%').skip(1).all(digits)
}

/// Longest name, in bytes (RFC 1035).
const LONGEST_NAME: usize = 253;

/// Refuses a request without a host, with two, with one that is none, or with another in its address.
pub(super) fn check_host(request: &Parts) -> Result<(), Refusal> {
    host_of(request).map_err(Refusal::invalid)
}

fn host_of(request: &Parts) -> Result<(), &'static str> {
    let mut headers = request.headers.get_all(HOST).iter();
    let (header, second) = (headers.next(), headers.next());
    if second.is_some() {
        return Err("The request has more than one Host.");
    }
    let (version, uri) = (request.version, &request.uri);
    let needed = version == Version::HTTP_11 || version > Version::HTTP_11 && uri.authority().is_none();
    let named = |text: &str| Named::parse(text).ok_or("The host of the request is malformed.");
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

struct Named {
    host: String,
    port: Option<u16>,
}

impl Named {
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

    /// Whether both are the same under the scheme of `uri`, whose port need not be said.
    fn is(&self, other: &Self, uri: &Uri) -> bool {
        let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
        self.host == other.host && self.port.unwrap_or(usual) == other.port.unwrap_or(usual)
    }
}

/// A name of labels, of which the last may be followed by a dot; underscores are no names of the DNS but of
/// containers.
fn is_name(text: &str) -> bool {
    let sane = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let name = text.strip_suffix('.').unwrap_or(text);
    text.len() <= LONGEST_NAME && name.split('.').all(|label| !label.is_empty() && label.bytes().all(sane))
}

fn number(digits: &str) -> Option<u16> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}
