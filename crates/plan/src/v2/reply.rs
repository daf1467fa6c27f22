//! A successful answer of a v2 operation, before it becomes HTTP. May use: nothing of this crate.

use bytes::Bytes;

/// Media type of nearly every success.
const JSON: &str = "application/json";

/// Status and body of a success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// HTTP status: 2xx, or 304 for what the client has already.
    pub status: u16,
    /// Body; `None` for 204 and 304.
    pub body: Option<Bytes>,
    /// Media type of the body.
    pub media: &'static str,
    /// Validator of what the client may keep and ask for again; `None` for what must not be kept.
    pub tag: Option<String>,
    /// Version of the record that is shown, as a strong entity tag; `None` when there is no single record, or its
    /// version is not known. The answer must not be kept for all that.
    pub version: Option<String>,
    /// Whether the body shows what other records say too, so that it may change while the version stays.
    pub shows_others: bool,
    /// Whether these bytes are for everybody until the tag changes.
    pub fixed: bool,
}

impl Reply {
    /// A JSON body with `status`.
    pub fn json(status: u16, body: impl Into<Bytes>) -> Self {
        Self { body: Some(body.into()), ..Self::bare(status) }
    }

    /// 204 without a body.
    pub fn no_content() -> Self {
        Self::bare(204)
    }

    /// A document the client may keep, as long as it asks whether `tag` is still right.
    pub fn document(body: impl Into<Bytes>, media: &'static str, tag: String) -> Self {
        Self { body: Some(body.into()), media, tag: Some(tag), fixed: true, ..Self::bare(200) }
    }

    /// The client has the document already.
    pub fn not_modified(tag: String) -> Self {
        Self { tag: Some(tag), ..Self::bare(304) }
    }

    fn bare(status: u16) -> Self {
        Self { status, body: None, media: JSON, tag: None, version: None, shows_others: false, fixed: false }
    }

    /// The same, showing a record of this version.
    #[must_use]
    pub fn of_version(self, version: Option<String>) -> Self {
        Self { version, ..self }
    }

    /// The same, saying whether the body shows what other records say too.
    #[must_use]
    pub fn showing_others(self, shows_others: bool) -> Self {
        Self { shows_others, ..self }
    }
}
