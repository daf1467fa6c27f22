//! Shared parts of all HTML pages: the head (`templates/page.html`), the plain style, and the headers that prevent
//! framing, injected content, leaks through the referrer, and a wrong media type.
//!
//! May use: nothing of this crate.

use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue};

/// CSP source of styles inside a page, which may be changed without a change of the policy.
pub const INLINE: &str = "'unsafe-inline'";
/// CSP source of forms for pages without forms.
pub const NOWHERE: &str = "'none'";

/// Adds the headers of every answer for people. Pages show only their own content and load nothing. They cannot be
/// framed or cached, and other sites do not learn where a visitor came from. Styles come from `style` and forms go to
/// `forms`, both CSP sources. Existing headers stay.
pub fn guard(headers: &mut HeaderMap, style: &str, forms: &str) {
    let policy = format!(
        "default-src 'none'; style-src {style}; form-action {forms}; base-uri 'none'; frame-ancestors 'none'"
    );
    // A source with characters that are not allowed in a header allows nothing.
    let policy = HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("default-src 'none'"));
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(policy);
    private(headers);
    keep(headers, X_FRAME_OPTIONS, "DENY");
}

/// Adds the headers of an answer that must not be cached or revealed by the referrer.
pub fn private(headers: &mut HeaderMap) {
    for (name, value) in
        [(CACHE_CONTROL, "no-store"), (REFERRER_POLICY, "no-referrer"), (X_CONTENT_TYPE_OPTIONS, "nosniff")]
    {
        keep(headers, name, value);
    }
}

/// Does the same as [`guard`], for an answer whose body is a page.
pub fn page(headers: &mut HeaderMap, style: &str, forms: &str) {
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    guard(headers, style, forms);
}

fn keep(headers: &mut HeaderMap, name: HeaderName, value: &'static str) {
    headers.entry(name).or_insert(HeaderValue::from_static(value));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_may_do_nothing_and_keeps_what_it_brought() {
        let mut headers = HeaderMap::new();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        page(&mut headers, INLINE, NOWHERE);
        let of = |name: HeaderName| headers[name].to_str().expect("text");
        assert_eq!(of(CACHE_CONTROL), "no-cache");
        assert_eq!(of(CONTENT_TYPE), "text/html; charset=utf-8");
        assert_eq!((of(X_FRAME_OPTIONS), of(REFERRER_POLICY)), ("DENY", "no-referrer"));
        let policy = of(CONTENT_SECURITY_POLICY);
        assert!(policy.starts_with("default-src 'none';") && policy.contains("form-action 'none';"), "{policy}");
        let mut headers = HeaderMap::new();
        guard(&mut headers, INLINE, "https://a\r\nb");
        assert_eq!(headers[CONTENT_SECURITY_POLICY], "default-src 'none'");
    }
}
