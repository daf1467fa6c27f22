//! Human keys of work items, such as `WEB-7`.
//!
//! v1's lookup is case-sensitive, does not check the number strictly, and fails when it is no number (trap 54,
//! `items_key_lower_case`, `items_key_zero_padded`, `items_key_not_a_number`). So the form is checked first.
//!
//! May use: this folder.

use super::known::is_in_key;
use std::fmt;

/// Longest project part of a key, in characters. v1's identifiers have up to 12 (`projects_create_long_identifier`),
/// and a server before v1 may refuse a path with a long one.
const LONGEST: usize = 64;

/// A key of the right form. An item with this key need not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HumanKey {
    /// Identifier of the project, in upper case.
    pub project: String,
    /// Number within the project.
    pub number: i32,
}

impl HumanKey {
    /// Reads `letters-digits`. The project part begins with a letter and is upper-cased. Besides letters and digits it
    /// may have the characters that v1 allows in identifiers (`projects_create_identifier_with_space`), so that the
    /// keys that reads show find their items. Signs, leading zeros and digits of other scripts are rejected.
    pub fn parse(text: &str) -> Option<Self> {
        Self::of_form(text, char::is_alphabetic, is_in_key)
    }

    /// Reads a key in a body, where the project part may begin with any of its characters: v1 allows identifiers that
    /// begin with a digit, and finds items by them. The part may also have slashes.
    pub fn in_body(text: &str) -> Option<Self> {
        Self::of_form(text, |first| !first.is_whitespace(), |c| c == '/' || is_in_key(c))
    }

    /// Checks whether v1 can look the key up: it has no path for an identifier with a slash.
    pub fn has_path(&self) -> bool {
        !self.project.contains('/')
    }

    fn of_form(text: &str, may_begin: impl Fn(char) -> bool, may_have: impl Fn(char) -> bool) -> Option<Self> {
        let (project, number) = text.rsplit_once('-')?;
        let begins = project.chars().next().is_some_and(may_begin);
        let digits = number.bytes().all(|b| b.is_ascii_digit()) && !number.starts_with('0');
        if !begins || !digits || !project.chars().all(may_have) || project.chars().count() > LONGEST {
            return None;
        }
        // v1 numbers items with 32 bits, so no item has a larger number (`items_key_huge_number`).
        Some(Self { project: project.to_uppercase(), number: number.parse().ok()? })
    }
}

impl fmt::Display for HumanKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.project, self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_letters_a_hyphen_and_a_number() {
        assert_eq!(HumanKey::parse("web-7").unwrap().to_string(), "WEB-7");
        assert_eq!(HumanKey::parse("A1-120").unwrap().to_string(), "A1-120");
        assert_eq!(HumanKey::parse("a b-7").unwrap().to_string(), "A B-7");
        assert_eq!(HumanKey::parse("a[\"~_b-7").unwrap().to_string(), "A[\"~_B-7");
        let longest = "A".repeat(64);
        assert!(HumanKey::parse(&format!("{longest}-7")).is_some());
        assert_eq!(HumanKey::parse(&format!("{longest}A-7")), None);
        for malformed in [
            "ACME_7",
            "7",
            "-7",
            "WEB-",
            "WEB-007",
            "WEB-0",
            "WEB-+1",
            "WEB--1",
            "WEB-1.0",
            "WEB-abc",
            "WEB-١",
            "1A-3",
            "A-B-1",
            " A-1",
            "A.B-1",
            "A/B-1",
            "A\tB-1",
            "WEB-99999999999",
            "",
            "-",
            "WEB",
        ] {
            assert_eq!(HumanKey::parse(malformed), None, "{malformed}");
        }
    }

    #[test]
    fn in_a_body_a_key_may_begin_with_a_digit_and_have_slashes() {
        for key in ["1A-3", "2020-7", "~A-1", "WEB-7", "A/B-1"] {
            assert_eq!(HumanKey::in_body(key).unwrap().to_string(), key);
        }
        let id = "3f2504e0-4f89-41d3-9a0c-030500000001";
        for malformed in [id, "2020-07-01", " A-1", "-7", "1A-03", "7", "1A-", "A.B-1"] {
            assert_eq!(HumanKey::in_body(malformed), None, "{malformed}");
        }
    }
}
