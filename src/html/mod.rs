//! What all pages in HTML share: the head (`templates/page.html`), the plain style, and the headers that keep a page
//! from being framed, led astray, leaked or taken for something else.
//!
//! May use: nothing of this crate.

use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue};

/// The source of styles that stand in a page and may be changed without anybody's leave.
pub const INLINE: &str = "'unsafe-inline'";
/// The source of forms for pages without any.
pub const NOWHERE: &str = "'none'";

/// What goes with every answer for people: pages show what stands in them and load nothing, nobody frames them, keeps
/// them or hears where somebody came from. Styles come from `style` and forms go to `forms`, both sources of a policy.
/// Headers that are there already stay.
pub fn guard(headers: &mut HeaderMap, style: &str, forms: &str) {
    let policy = format!(
        "default-src 'none'; style-src {style}; form-action {forms}; base-uri 'none'; frame-ancestors 'none'"
    );
    // Sources with characters that no header takes are those of nobody.
    let policy = HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("default-src 'none'"));
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(policy);
    private(headers);
    keep(headers, X_FRAME_OPTIONS, "DENY");
}

/// What goes with an answer that nobody keeps and nobody hears of.
pub fn private(headers: &mut HeaderMap) {
    for (name, value) in
        [(CACHE_CONTROL, "no-store"), (REFERRER_POLICY, "no-referrer"), (X_CONTENT_TYPE_OPTIONS, "nosniff")]
    {
        keep(headers, name, value);
    }
}

/// The same as [`guard`], for an answer whose body is a page.
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
