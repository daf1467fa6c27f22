//! Versions of records as strong entity tags, and what a client demands of them in `If-Match` (RFC 9110, 8.8.3
//! and 13.1.1).
//!
//! A tag is made of everything that is known of a record, what v2 does not show included, and of nothing that
//! belongs to other records: expansions and the query do not change it.
//!
//! May use: `refusal`.

use crate::refusal::Refusal;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use std::borrow::Cow;

/// Bytes of the hash that are shown: enough that no two versions of a record ever share a tag.
const SHOWN: usize = 16;

/// The strong tag of a record that is `text`, in whatever form, as long as it is the same for the same version.
pub fn of(text: &[u8]) -> String {
    let mut tag = String::with_capacity(SHOWN * 4 / 3 + 3);
    tag.push('"');
    URL_SAFE_NO_PAD.encode_string(&Sha256::digest(text)[..SHOWN], &mut tag);
    tag.push('"');
    tag
}

/// Names of the codings whose forms have tags of their own.
const CODINGS: [&str; 2] = ["gzip", "zstd"];

/// How the tag of a form in `coding` ends. Tags of plain forms never do: they have no point.
pub fn ending(coding: &str) -> String {
    format!(".{coding}\"")
}

/// The tag of the form in `coding` of what has this tag.
pub fn coded(tag: &str, coding: &str) -> String {
    format!("{}{}", tag.strip_suffix('"').unwrap_or(tag), ending(coding))
}

/// The tag of the plain form of what has this tag.
fn plain(tag: &str) -> Cow<'_, str> {
    let plain = CODINGS.iter().find_map(|coding| tag.strip_suffix('"')?.strip_suffix(coding)?.strip_suffix('.'));
    plain.map_or(Cow::Borrowed(tag), |plain| Cow::Owned(format!("{plain}\"")))
}

/// Whether a value of `If-None-Match` has this tag, or that of a coded form; weak ones compare equal (RFC 9110,
/// 13.1.2).
pub fn is_among(tag: &str, known: &str) -> bool {
    known.split(',').map(str::trim).any(|one| one == "*" || plain(one.trim_start_matches("W/")) == tag)
}

/// What `If-Match` demands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IfMatch {
    /// `*`: that there is a record at all.
    Any,
    /// That it has one of these tags, quotes included. Weak ones are left out, for they never match.
    OneOf(Vec<String>),
}

impl IfMatch {
    /// Reads all values of the header; none when it was not sent.
    ///
    /// # Errors
    /// `validation_error` for anything but `*` or a list of entity tags.
    pub fn read<'v>(values: impl Iterator<Item = &'v [u8]>) -> Result<Option<Self>, Refusal> {
        let lines: Vec<&[u8]> = values.collect();
        if lines.is_empty() {
            return Ok(None);
        }
        let text = lines.join(&b", "[..]);
        if text.trim_ascii() == b"*" {
            return Ok(Some(Self::Any));
        }
        match tags(&text) {
            Some(tags) => Ok(Some(Self::OneOf(tags))),
            None => Err(Refusal::field("If-Match", "is neither * nor a list of entity tags such as \"abc\"")),
        }
    }

    /// Whether a record of this version is what was demanded; one whose version is not known never is, but for `*`.
    pub fn holds(&self, version: Option<&str>) -> bool {
        match self {
            Self::Any => true,
            // A client that has read a coded form has read the record.
            Self::OneOf(tags) => version.is_some_and(|version| tags.iter().any(|tag| plain(tag) == version)),
        }
    }
}

/// The strong tags of a list; `None` when it is none, or empty.
fn tags(mut text: &[u8]) -> Option<Vec<String>> {
    let (mut tags, mut some) = (Vec::new(), false);
    loop {
        text = text.trim_ascii_start();
        // A list may have empty elements (RFC 9110, 5.6.1).
        if let Some(rest) = text.strip_prefix(b",") {
            text = rest;
            continue;
        }
        if text.is_empty() {
            return some.then_some(tags);
        }
        let weak = text.strip_prefix(b"W/");
        let inside = weak.unwrap_or(text).strip_prefix(b"\"")?;
        let end = inside.iter().position(|byte| *byte == b'"')?;
        let (tag, rest) = (&inside[..end], inside[end + 1..].trim_ascii_start());
        if !tag.iter().all(|byte| *byte == 0x21 || (0x23..=0x7e).contains(byte) || *byte >= 0x80) {
            return None;
        }
        if !rest.is_empty() && !rest.starts_with(b",") {
            return None;
        }
        if weak.is_none() {
            tags.push(format!("\"{}\"", String::from_utf8_lossy(tag)));
        }
        (text, some) = (rest, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_has_is_compared_as_a_list() {
        let is_among = |known: &str| is_among("\"b\"", known);
        assert!(is_among("\"a\", W/\"b\"") && is_among("*") && is_among("\"b\"") && !is_among("\"a\""));
    }

    fn read(values: &[&str]) -> Result<Option<IfMatch>, Refusal> {
        IfMatch::read(values.iter().map(|value| value.as_bytes()))
    }

    #[test]
    fn a_tag_is_strong_and_another_for_another_text() {
        let tag = of(b"one");
        assert!(tag.starts_with('"') && tag.ends_with('"') && tag.len() == 24, "{tag}");
        assert_eq!(tag, of(b"one"));
        assert_ne!(tag, of(b"two"));
        assert!(read(&[&tag]).unwrap().unwrap().holds(Some(&tag)));
    }

    #[test]
    fn demands_are_read_as_the_standard_has_them() {
        assert_eq!(read(&[]).unwrap(), None);
        assert_eq!(read(&[" * "]).unwrap(), Some(IfMatch::Any));
        let tags = |values: &[&str]| match read(values).unwrap().unwrap() {
            IfMatch::OneOf(tags) => tags,
            IfMatch::Any => panic!("not any"),
        };
        assert_eq!(tags(&["\"a\""]), ["\"a\""]);
        assert_eq!(tags(&["\"a\" ,, \"b,c\"", "\"\""]), ["\"a\"", "\"b,c\"", "\"\""]);
        assert_eq!(tags(&["W/\"a\", \"b\""]), ["\"b\""], "a weak tag never matches");
        assert!(tags(&["W/\"a\""]).is_empty());
        for wrong in
            ["", " ", ",", "a", "\"a", "a\"", "*, \"a\"", "\"a\" \"b\"", "w/\"a\"", "\"a b\"", "\"a\"x", "**"]
        {
            assert_eq!(read(&[wrong]).unwrap_err().code(), "validation_error", "{wrong}");
        }
    }

    #[test]
    fn the_tag_of_a_coded_form_stands_for_the_record_too() {
        assert_eq!(coded("\"a\"", "gzip"), "\"a.gzip\"");
        assert!(is_among("\"a\"", "\"b\", \"a.zstd\"") && is_among("\"a\"", "W/\"a.gzip\""));
        assert!(!is_among("\"a\"", "\"a.br\"") && !is_among("\"a\"", "\"b.gzip\""));
        assert!(read(&["\"a.gzip\""]).unwrap().unwrap().holds(Some("\"a\"")));
        assert!(!read(&["\"a.gzip\""]).unwrap().unwrap().holds(Some("\"b\"")));
    }

    #[test]
    fn a_version_that_is_not_known_matches_nothing_but_the_star() {
        let one = read(&["\"a\""]).unwrap().unwrap();
        assert!(one.holds(Some("\"a\"")) && !one.holds(Some("\"b\"")) && !one.holds(None));
        assert!(IfMatch::Any.holds(None));
        assert!(!read(&["W/\"a\""]).unwrap().unwrap().holds(Some("\"a\"")));
    }
}
