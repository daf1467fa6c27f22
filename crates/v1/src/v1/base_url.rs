//! Where the service behind lives: the configured base URL in its one normal form.
//!
//! Two settings that mean the same place must be one text, because the store records the place it
//! belongs to and derived ids contain it. May use: nothing of this crate.

use reqwest::Url;
use std::fmt;

/// Why a configured base URL cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BaseUrlError {
    /// The text is no absolute URL.
    #[error("{given:?} is not an absolute URL such as https://tracker.example: {cause}")]
    NotAUrl {
        /// The configured text.
        given: String,
        /// What the parser says.
        cause: String,
    },
    /// The URL has a scheme or a part that a base URL must not have.
    #[error("{given:?} cannot be the base URL of v1: {reason}")]
    Unfit {
        /// The URL without user name and password.
        given: String,
        /// Which part is in the way.
        reason: &'static str,
    },
}

/// The normalised base URL: scheme and host in lower case, no default port, no trailing slash, and
/// without a trailing `/api/v1`, which belongs to the paths.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BaseUrl {
    text: String,
    path: String,
}

impl BaseUrl {
    /// Normalises a configured URL. A path prefix is kept; `…/api/v1` at its end is understood.
    ///
    /// # Errors
    /// [`BaseUrlError`] when the text is no absolute http or https URL, or has credentials, a query or a
    /// fragment.
    pub fn parse(given: &str) -> Result<Self, BaseUrlError> {
        let given = given.trim();
        let mut url = Url::parse(given)
            .map_err(|cause| BaseUrlError::NotAUrl { given: given.into(), cause: cause.to_string() })?;
        if let Some(reason) = unfit(&url) {
            let _ = (url.set_password(None), url.set_username(""));
            url.set_query(None);
            return Err(BaseUrlError::Unfit { given: url.to_string(), reason });
        }
        let path = url.path().trim_end_matches('/');
        let path = path.strip_suffix("/api/v1").unwrap_or(path).trim_end_matches('/').to_owned();
        url.set_path(&path);
        Ok(Self { text: url.as_str().trim_end_matches('/').to_owned(), path })
    }

    /// The normal form, without a trailing slash.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// URL of a v1 path (percent-encoded, below `/api/v1/`) with a query; `None` when the path cannot be
    /// sent unchanged, as with `..` in it, which any URL parser resolves away.
    pub(super) fn url(&self, path: &str, query: &str) -> Option<Url> {
        let mut text = format!("{}/api/v1/{path}", self.text);
        if !query.is_empty() {
            text.push('?');
            text.push_str(query);
        }
        let url = Url::parse(&text).ok()?;
        let unchanged = url.path() == format!("{}/api/v1/{path}", self.path) && url.fragment().is_none();
        unchanged.then_some(url)
    }
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
    fn what_is_no_place_is_refused_without_repeating_a_password() {
        for given in ["tracker.example", "ftp://h", "http://h/?a=1", "http://h/#x", "/api/v1"] {
            assert!(BaseUrl::parse(given).is_err(), "{given}");
        }
        let refused = BaseUrl::parse("http://me:secret@h/").unwrap_err().to_string();
        assert!(!refused.contains("secret"), "{refused}");
    }

    #[test]
    fn a_path_is_sent_as_it_is_or_not_at_all() {
        let base = BaseUrl::parse("http://h/prefix").unwrap();
        assert_eq!(base.url("users/me/", "").unwrap().as_str(), "http://h/prefix/api/v1/users/me/");
        assert_eq!(base.url("a/", "x=1:0").unwrap().as_str(), "http://h/prefix/api/v1/a/?x=1:0");
        for path in ["a/../b/", "a/%2e%2e/b/", "a b/", "a/?x=1", "a/#x", "../../admin/"] {
            assert_eq!(base.url(path, ""), None, "{path}");
        }
    }
}
