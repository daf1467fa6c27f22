//! Finds where the body of a message ends (RFC 9112, 6): by one `Content-Length` or by chunks, never by both.
//!
//! May use: `refusal`.

use crate::refusal::Refusal;
use http::HeaderMap;
use http::header::CONTENT_LENGTH;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    None,
    Length(u64),
    /// The body ends with its last chunk.
    Chunked,
}

/// Returns the body that the header lines of an HTTP/1 request announce.
pub(super) fn announced(lines: &[httparse::Header<'_>], http_10: bool) -> Result<Body, &'static str> {
    let values = |name: &str| -> Vec<&[u8]> {
        lines.iter().filter(|line| line.name.eq_ignore_ascii_case(name)).map(|line| line.value).collect()
    };
    let (encodings, lengths) = (values("transfer-encoding"), values("content-length"));
    match (&encodings[..], &lengths[..]) {
        ([], []) => Ok(Body::None),
        ([], [length]) => match number(length) {
            None => Err(NO_NUMBER),
            Some(0) => Ok(Body::None),
            Some(length) => Ok(Body::Length(length)),
        },
        ([], _) => Err("The request has more than one Content-Length."),
        (_, [_, ..]) => Err("The request has both a Content-Length and a Transfer-Encoding."),
        (_, []) if http_10 => Err("HTTP/1.0 knows no Transfer-Encoding."),
        ([encoding], []) if encoding.trim_ascii().eq_ignore_ascii_case(b"chunked") => Ok(Body::Chunked),
        (_, []) => Err("No Transfer-Encoding but chunked alone is understood."),
    }
}

const NO_NUMBER: &str = "The Content-Length is not a number.";

/// Parses digits only: no sign, no list, and at most `i64::MAX`.
fn number(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii();
    let digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let number = std::str::from_utf8(text).ok().filter(|_| digits)?.parse().ok()?;
    (number <= i64::MAX as u64).then_some(number)
}

/// Checks `Content-Length` of an HTTP/2 request. HTTP/2 frames its bodies itself, but the header is forwarded to v1.
pub(super) fn one_number(headers: &HeaderMap) -> Result<(), Refusal> {
    let mut lengths = headers.get_all(CONTENT_LENGTH).iter();
    match (lengths.next(), lengths.next()) {
        (_, Some(_)) => Err(Refusal::invalid("The request has more than one Content-Length.")),
        (Some(length), None) if number(length.as_bytes()).is_none() => Err(Refusal::invalid(NO_NUMBER)),
        _ => Ok(()),
    }
}
