//! The address of v1: the configured base URL in its one normal form.
//!
//! Two settings that mean the same place must be one text, because the store records the place it
//! belongs to and derived ids contain it. May use: nothing of this crate.

use bytes::Bytes;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Uri};
use std::fmt;
use url::Url;

/// Reason why a configured base URL cannot be used, without the user name and password in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BaseUrlError(String);

/// The normalised base URL: scheme and host in lower case, no default port, no trailing slash, and
/// without a trailing `/api/v1`, which belongs to the paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl {
    text: String,
    path: String,
    /// `http` or `https`.
    pub scheme: Scheme,
    authority: Authority,
    /// `Host` header for requests to it; `None` where HTTP/2 may be used.
    pub(super) host: Option<HeaderValue>,
}

impl BaseUrl {
    /// Normalises a configured URL. A path prefix is kept; `…/api/v1` at its end is removed.
    ///
    /// # Errors
    /// [`BaseUrlError`] when the text is no absolute http or https URL, or has credentials, a query or a
    /// fragment.
    pub fn parse(given: &str) -> Result<Self, BaseUrlError> {
        let given = given.trim();
        let not_a_url = |cause: &dyn fmt::Display| {
            BaseUrlError(format!("{given:?} is not an absolute URL such as https://tracker.example: {cause}"))
        };
        let mut url = Url::parse(given).map_err(|cause| not_a_url(&cause))?;
        if let Some(reason) = unfit(&url) {
            let _ = (url.set_password(None), url.set_username(""));
            url.set_query(None);
            return Err(BaseUrlError(format!("{:?} cannot be the base URL of v1: {reason}", url.to_string())));
        }
        let path = url.path().trim_end_matches('/');
        let path = path.strip_suffix("/api/v1").unwrap_or(path).trim_end_matches('/').to_owned();
        url.set_path(&path);
        let text = url.as_str().trim_end_matches('/').to_owned();
        let parts = text.parse::<Uri>().map(Uri::into_parts).map_err(|cause| not_a_url(&cause))?;
        let (scheme, authority) = parts.scheme.zip(parts.authority).ok_or_else(|| not_a_url(&"it has no host"))?;
        // Over TLS v1 may speak HTTP/2, where the request address itself names the host.
        let host = (scheme == Scheme::HTTP).then(|| HeaderValue::from_str(authority.as_str()).ok()).flatten();
        Ok(Self { text, path, scheme, authority, host })
    }

    /// Returns the normal form, without a trailing slash.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Builds the address of a v1 path (percent-encoded, below `/api/v1/`) with a query, byte for byte. Returns `None`
    /// when v1, or a server before it, could read the path as another one, as with `..` in it, or as no address.
    pub(super) fn address(&self, path: &str, query: &str) -> Option<Uri> {
        if !is_plain_path(path) || !query.bytes().all(|byte| OF_A_QUERY[usize::from(byte)]) {
            return None;
        }
        let mark = if query.is_empty() { "" } else { "?" };
        let text = [&self.path, "/api/v1/", path, mark, query].concat();
        let path = PathAndQuery::from_maybe_shared(Bytes::from(text)).ok()?;
        let address = Uri::builder().scheme(self.scheme.clone()).authority(self.authority.clone());
        address.path_and_query(path).build().ok()
    }
}

/// Bytes allowed in a path (RFC 3986).
const OF_A_PATH: [bool; 256] = table(b"-._~!$&'()*+,;=:@%/", false);
/// Bytes allowed in a query: visible ASCII, except the bytes that end or quote an address.
const OF_A_QUERY: [bool; 256] = table(b"\"#<>", true);

/// Builds a table of letters, digits and `others`; or with `seen`, of all visible ASCII except `others`.
const fn table(others: &[u8], seen: bool) -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < table.len() {
        let one = byte as u8;
        table[byte] = if seen { one.is_ascii_graphic() } else { one.is_ascii_alphanumeric() };
        byte += 1;
    }
    let mut at = 0;
    while at < others.len() {
        table[others[at] as usize] = !seen;
        at += 1;
    }
    table
}

/// Checks that no server on the way to v1 can read the path differently: only path characters, and no segment of dots
/// in any spelling.
fn is_plain_path(path: &str) -> bool {
    // Most paths contain neither a dot nor an escape.
    let may_have_dots = memchr::memchr2(b'.', b'%', path.as_bytes()).is_some();
    path.bytes().all(|byte| OF_A_PATH[usize::from(byte)]) && !(may_have_dots && path.split('/').any(is_dots))
}

fn is_dots(segment: &str) -> bool {
    // A longer segment cannot be dots: the longest form, two escaped dots, has six bytes.
    segment.len() <= 6
        && segment.contains(['.', '%'])
        && matches!(segment.replace("%2e", ".").replace("%2E", ".").as_str(), "." | "..")
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn unfit(url: &Url) -> Option<&'static str> {
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Some("only http and https URLs with a host can be used");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Some("it contains a user name or password; v1 knows keys only");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Some("it contains a query or a fragment");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_spellings_of_one_place_are_one_text() {
        for given in [
            "https://Tracker.example",
            "HTTPS://tracker.example:443/",
            " https://tracker.example/api/v1/ ",
            "https://tracker.example/api/v1",
        ] {
            assert_eq!(BaseUrl::parse(given).unwrap().as_str(), "https://tracker.example", "{given}");
        }
        assert_eq!(BaseUrl::parse("http://h:8000/a/b/").unwrap().as_str(), "http://h:8000/a/b");
    }

    #[test]
    fn an_invalid_base_url_is_refused_without_showing_a_password() {
        for given in ["tracker.example", "ftp://h", "http://h/?a=1", "http://h/#x", "/api/v1"] {
            assert!(BaseUrl::parse(given).is_err(), "{given}");
        }
        let refused = BaseUrl::parse("http://me:secret@h/").unwrap_err().to_string();
        assert!(!refused.contains("secret"), "{refused}");
    }

    #[test]
    fn a_path_is_sent_as_it_is_or_not_at_all() {
        let base = BaseUrl::parse("http://h/prefix").unwrap();
        let address = |path: &str, query: &str| base.address(path, query).map(|address| address.to_string());
        for (path, query, sent) in [
            ("users/me/", "", "http://h/prefix/api/v1/users/me/"),
            ("a/", "x=1:0", "http://h/prefix/api/v1/a/?x=1:0"),
            ("a.b/...%20'/", "q=%C3%A4|{}", "http://h/prefix/api/v1/a.b/...%20'/?q=%C3%A4|{}"),
        ] {
            assert_eq!(address(path, query).as_deref(), Some(sent));
        }
        for path in [
            "a/../b/",
            "a/./b/",
            "a/%2e%2e/b/",
            "a/.%2E/",
            "a b/",
            "a\\b/",
            "ä/",
            "a/?x=1",
            "a/#x",
            "../../admin/",
            "a\n/",
        ] {
            assert_eq!(address(path, ""), None, "{path}");
        }
        for query in ["a=b c", "a=#x", "a=ä", "a=\r\n"] {
            assert_eq!(address("a/", query), None, "{query}");
        }
    }
}
