//! What a client demands in `If-Match` of the version of a record (RFC 9110, 13.1.1).
//!
//! May use: `refusal`, `v2::tag`.

use super::tag::plain;
use crate::refusal::Refusal;

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

    fn read(values: &[&str]) -> Result<Option<IfMatch>, Refusal> {
        IfMatch::read(values.iter().map(|value| value.as_bytes()))
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
