//! Paths: refuses every path that a server behind could resolve to another path than the one checked here. All other
//! paths are forwarded byte for byte.
//!
//! May use: `refusal`, `edge::pools`.

use crate::edge::pools::is_v2;
use crate::refusal::Refusal;
use http::{Method, Uri};
use percent_encoding::percent_decode_str;

/// Parses the target of a request from its first line. hyper parses it in the same way and refuses the same targets,
/// for example one with a raw `"`, `<` or `>` in its query.
pub(super) fn read(text: &str) -> Result<Uri, Refusal> {
    if text.contains('#') {
        return Err(Refusal::invalid("The address of a request has no fragment."));
    }
    text.parse().map_err(|_| Refusal::invalid("The address of the request is malformed."))
}

/// Refuses every target that is not a path (or the address of one), and paths with dot segments, encoded slashes,
/// backslashes or control characters. Paths are decoded once, as v1's server does.
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
    // A NUL in a query of v2 is checked by the parameters of the operation.
    match uri.query() {
        Some(query) if !is_v2(uri.path()) && percent_decode_str(query).any(|byte| byte == 0) => {
            Err(Refusal::invalid("The query has a NUL character."))
        }
        _ => Ok(()),
    }
}

fn path(path: &str) -> Result<(), &'static str> {
    // Nearly all paths; the checks below cannot fail for them.
    if path.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_')) {
        return Ok(());
    }
    if !whole_escapes(path) {
        return Err("The path has a percent sign without two hexadecimal digits.");
    }
    // Overlong encodings of dots and slashes are not valid UTF-8.
    let decoded = percent_decode_str(path).decode_utf8().map_err(|_| "The path is not UTF-8.")?;
    // Below v2 they are checked where a name or id is read: a malformed key is unknown like any other.
    if decoded.contains('\0') || !is_v2(path) && decoded.chars().any(char::is_control) {
        return Err("The path has a control character.");
    }
    if decoded.contains('\\') {
        return Err("The path has a backslash.");
    }
    if decoded.matches('/').count() != path.matches('/').count() {
        return Err("The path has an encoded slash.");
    }
    // Some servers drop the text after a semicolon before they resolve dots.
    let dots = |segment: &str| matches!(segment.split(';').next(), Some("." | ".."));
    if decoded.split('/').any(dots) { Err("The path has a dot segment.") } else { Ok(()) }
}

fn whole_escapes(path: &str) -> bool {
    let digits =
        |rest: &str| matches!(rest.as_bytes(), [a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit());
    path.split('%').skip(1).all(digits)
}
