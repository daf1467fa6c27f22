//! A successful answer of a v2 operation, before it becomes HTTP. May use: nothing of this crate.

use bytes::Bytes;

/// Media type of nearly every success.
const JSON: &str = "application/json";

/// Status and body of a success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// HTTP status: 2xx, or 304 when the client already has the content.
    pub status: u16,
    /// Body; `None` for 204 and 304.
    pub body: Option<Bytes>,
    /// Media type of the body.
    pub media: &'static str,
    /// Validator of content that the client may cache and revalidate; `None` for content that must not be cached.
    pub tag: Option<String>,
    /// Version of the record that is shown, as a strong entity tag; `None` when there is no single record, or its
    /// version is not known. An answer with a version must still not be cached.
    pub version: Option<String>,
    /// Whether the body also shows data of other records, so that it may change while the version stays the same.
    pub shows_others: bool,
    /// Whether the bytes are the same for all users until the tag changes.
    pub fixed: bool,
}

impl Reply {
    /// Creates a reply with a JSON body.
    pub fn json(status: u16, body: impl Into<Bytes>) -> Self {
        Self { body: Some(body.into()), ..Self::bare(status) }
    }

    /// Creates a 204 without a body.
    pub fn no_content() -> Self {
        Self::bare(204)
    }

    /// Creates a document that the client may cache, if it revalidates it with `tag`.
    pub fn document(body: impl Into<Bytes>, media: &'static str, tag: String) -> Self {
        Self { body: Some(body.into()), media, tag: Some(tag), fixed: true, ..Self::bare(200) }
    }

    /// Creates a 304: the client already has the document.
    pub fn not_modified(tag: String) -> Self {
        Self { tag: Some(tag), ..Self::bare(304) }
    }

    fn bare(status: u16) -> Self {
        Self { status, body: None, media: JSON, tag: None, version: None, shows_others: false, fixed: false }
    }

    /// Sets the version of the record that is shown.
    #[must_use]
    pub fn of_version(self, version: Option<String>) -> Self {
        Self { version, ..self }
    }

    /// Sets whether the body also shows data of other records.
    #[must_use]
    pub fn showing_others(self, shows_others: bool) -> Self {
        Self { shows_others, ..self }
    }
}
