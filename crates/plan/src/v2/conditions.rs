//! Conditions on the version of a record: `If-Match` and `If-None-Match` (RFC 9110, 13.1.1 and 13.1.2).
//!
//! May use: `refusal`, `v2::tag`.

use super::tag::plain;
use crate::refusal::Refusal;

/// The versions that a header names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamedVersions {
    /// `*`: any version.
    Any,
    /// The versions with these tags, quotes included.
    OneOf(Vec<String>),
}

impl NamedVersions {
    /// Reads all values of `If-Match`, without weak tags, because they never match; `None` when it was not sent.
    ///
    /// # Errors
    /// `validation_error` for anything but `*` or a list of entity tags.
    pub fn if_match<'v>(values: impl Iterator<Item = &'v [u8]>) -> Result<Option<Self>, Refusal> {
        read("If-Match", values, |tag| !tag.weak)
    }

    /// Reads all values of `If-None-Match`, with weak tags: they compare like strong ones.
    fn if_none_match<'v>(values: impl Iterator<Item = &'v [u8]>) -> Result<Option<Self>, Refusal> {
        read("If-None-Match", values, |_| true)
    }

    /// Reads the versions in `If-None-Match` that the client of a read has. A read with an invalid header is answered
    /// in full.
    pub fn of_read<'v>(values: impl Iterator<Item = &'v [u8]>) -> Option<Self> {
        Self::if_none_match(values).ok().flatten()
    }

    /// Checks whether it names this version. A client that sends the tag of a compressed form has read the record too.
    pub fn has(&self, version: &str) -> bool {
        match self {
            Self::Any => true,
            Self::OneOf(tags) => tags.iter().any(|tag| plain(tag) == version),
        }
    }
}

/// The conditions of a write on the version of the record that it changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Demand {
    is: Option<NamedVersions>,
    is_not: Option<NamedVersions>,
}

impl Demand {
    /// Reads all values of `If-Match` and of `If-None-Match`; `None` when neither was sent.
    ///
    /// # Errors
    /// As [`NamedVersions::if_match`].
    pub fn read<'v>(
        is: impl Iterator<Item = &'v [u8]>,
        is_not: impl Iterator<Item = &'v [u8]>,
    ) -> Result<Option<Self>, Refusal> {
        let demand = Self { is: NamedVersions::if_match(is)?, is_not: NamedVersions::if_none_match(is_not)? };
        Ok(Some(demand).filter(|demand| demand.is.is_some() || demand.is_not.is_some()))
    }

    /// Returns the header whose condition a record of this version does not meet. An unknown version meets only
    /// `If-Match: *`.
    pub fn unmet(&self, version: Option<&str>) -> Option<&'static str> {
        let holds = |is: &NamedVersions| version.map_or(*is == NamedVersions::Any, |version| is.has(version));
        if self.is.as_ref().is_some_and(|is| !holds(is)) {
            return Some("If-Match");
        }
        let has = |is_not: &NamedVersions| version.is_none_or(|version| is_not.has(version));
        self.is_not.as_ref().is_some_and(has).then_some("If-None-Match")
    }
}

/// An entity tag, quotes included.
struct Tag {
    weak: bool,
    text: String,
}

/// Reads the values of the header `name`; `None` when it was not sent. Only tags for which `counts` holds are kept.
fn read<'v>(
    name: &str,
    values: impl Iterator<Item = &'v [u8]>,
    counts: fn(&Tag) -> bool,
) -> Result<Option<NamedVersions>, Refusal> {
    let lines: Vec<&[u8]> = values.collect();
    if lines.is_empty() {
        return Ok(None);
    }
    let text = lines.join(&b", "[..]);
    if text.trim_ascii() == b"*" {
        return Ok(Some(NamedVersions::Any));
    }
    match tags(&text) {
        Some(tags) => Ok(Some(NamedVersions::OneOf(tags.into_iter().filter(counts).map(|tag| tag.text).collect()))),
        None => Err(Refusal::field(name, "is neither * nor a list of entity tags such as \"abc\"")),
    }
}

/// Reads the tags of a list; `None` when the text is no list, or the list is empty.
fn tags(mut text: &[u8]) -> Option<Vec<Tag>> {
    let mut tags = Vec::new();
    loop {
        text = text.trim_ascii_start();
        // A list may have empty elements (RFC 9110, 5.6.1).
        if let Some(rest) = text.strip_prefix(b",") {
            text = rest;
            continue;
        }
        if text.is_empty() {
            return Some(tags).filter(|tags| !tags.is_empty());
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
        tags.push(Tag { weak: weak.is_some(), text: format!("\"{}\"", String::from_utf8_lossy(tag)) });
        text = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[&str]) -> Result<Option<NamedVersions>, Refusal> {
        NamedVersions::if_match(values.iter().map(|value| value.as_bytes()))
    }

    fn meets(value: &str, version: Option<&str>) -> bool {
        let demand = Demand::read([value.as_bytes()].into_iter(), std::iter::empty());
        demand.unwrap().expect("a demand").unmet(version).is_none()
    }

    #[test]
    fn demands_are_read_as_the_standard_has_them() {
        assert_eq!(read(&[]).unwrap(), None);
        assert_eq!(read(&[" * "]).unwrap(), Some(NamedVersions::Any));
        let tags = |values: &[&str]| match read(values).unwrap().unwrap() {
            NamedVersions::OneOf(tags) => tags,
            NamedVersions::Any => panic!("not any"),
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
    fn a_client_has_the_versions_that_it_names() {
        let has = |value: &str, version: &str| {
            NamedVersions::if_none_match([value.as_bytes()].into_iter()).unwrap().unwrap().has(version)
        };
        assert!(has("\"a\", W/\"b\"", "\"b\"") && has("*", "\"b\"") && has("\"b\"", "\"b\""));
        assert!(!has("\"a\"", "\"b\"") && !has("\"a,*,b\"", "\"b\""), "a star inside a tag is none");
        assert!(has("\"b\", \"a.zstd\"", "\"a\"") && has("W/\"a.gzip\"", "\"a\""));
        assert!(!has("\"a.br\"", "\"a\"") && !has("\"b.gzip\"", "\"a\""));
        assert_eq!(NamedVersions::if_none_match(std::iter::empty()).unwrap(), None);
        for wrong in ["", "a", "*, \"a\"", "\"a\" \"b\""] {
            assert!(NamedVersions::if_none_match([wrong.as_bytes()].into_iter()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_demand_tells_what_of_it_is_not_met() {
        let unmet = |is: &[&str], is_not: &[&str], version| {
            let (is, is_not) = (is.iter().map(|one| one.as_bytes()), is_not.iter().map(|one| one.as_bytes()));
            Demand::read(is, is_not).unwrap().expect("a demand").unmet(version)
        };
        assert_eq!(Demand::read(std::iter::empty(), std::iter::empty()).unwrap(), None);
        assert_eq!(unmet(&["\"a\""], &["\"b\""], Some("\"a\"")), None);
        assert_eq!(unmet(&["\"a\""], &[], Some("\"b\"")), Some("If-Match"));
        for is_not in ["*", "\"a\"", "W/\"a\"", "\"a.gzip\""] {
            assert_eq!(unmet(&[], &[is_not], Some("\"a\"")), Some("If-None-Match"), "{is_not}");
        }
        assert_eq!(unmet(&["*"], &[], None), None);
        assert_eq!(unmet(&["*"], &["\"b\""], None), Some("If-None-Match"), "it may be that one");
    }

    #[test]
    fn the_tag_of_a_coded_form_stands_for_the_record_too() {
        assert!(meets("\"a.gzip\"", Some("\"a\"")));
        assert!(!meets("\"a.gzip\"", Some("\"b\"")));
    }

    #[test]
    fn a_version_that_is_not_known_matches_nothing_but_the_star() {
        let one = |version| meets("\"a\"", version);
        assert!(one(Some("\"a\"")) && !one(Some("\"b\"")) && !one(None));
        assert!(meets("*", None));
        assert!(!meets("W/\"a\"", Some("\"a\"")));
    }
}
