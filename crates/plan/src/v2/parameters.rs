//! The query string of a request, decoded once.
//!
//! May use: nothing of this crate.

use percent_encoding::percent_decode_str;

/// Decoded parameters in the order sent.
#[derive(Debug, Default, Clone, PartialEq, Eq, Hash)]
pub struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Decodes `query` (without `?`); `None` when it is not UTF-8 after decoding.
    pub fn parse(query: &str) -> Option<Self> {
        let pairs = query.split('&').filter(|part| !part.is_empty());
        pairs.map(decode_pair).collect::<Option<Vec<_>>>().map(Self)
    }

    /// Value of `name`; of a repeated parameter the last counts, they are not merged.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Value of `name`, an empty one counting as absent (O22).
    pub fn given(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// Bytes of all names and values.
    pub fn size(&self) -> usize {
        self.0.iter().map(|(name, value)| name.len() + value.len()).sum()
    }

    /// Names sent, repeated ones repeatedly.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

fn decode_pair(part: &str) -> Option<(String, String)> {
    let (name, value) = part.split_once('=').unwrap_or((part, ""));
    Some((decode(name)?, decode(value)?))
}

fn decode(text: &str) -> Option<String> {
    let spaced = text.replace('+', " ");
    percent_decode_str(&spaced).decode_utf8().ok().map(|text| text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_and_lets_the_last_one_count() {
        let parameters = Parameters::parse("a=1&search=two+w%C3%B6rter&a=2&empty=&flag").unwrap();
        assert_eq!(parameters.get("a"), Some("2"));
        assert_eq!(parameters.get("search"), Some("two wörter"));
        assert_eq!(parameters.given("empty"), None);
        assert_eq!(parameters.get("flag"), Some(""));
        assert_eq!(Parameters::parse("a=%FF"), None);
    }
}
