//! The query string of a request, decoded once.
//!
//! May use: `refusal`.

use crate::refusal::Refusal;
use percent_encoding::percent_decode_str;

/// Maximum number of parameters in a query string. Each is compared with all parameters that an operation knows.
const MOST: usize = 500;

/// Decoded parameters in the order sent.
#[derive(Debug, Default, Clone, PartialEq, Eq, Hash)]
pub struct Parameters {
    pairs: Vec<(String, String)>,
    fault: Option<Fault>,
}

/// A fault of the query string as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Fault {
    NotUtf8,
    TooMany,
}

impl Parameters {
    /// Decodes `query` (without `?`). Of an unusable query only the fault is kept. The code that reads the parameters
    /// reports it, because the addressed record is checked first (O2).
    pub fn parse(query: &str) -> Self {
        let parts = || query.split('&').filter(|part| !part.is_empty());
        if parts().nth(MOST).is_some() {
            return Self { fault: Some(Fault::TooMany), ..Self::default() };
        }
        match parts().map(decode_pair).collect() {
            Some(pairs) => Self { pairs, fault: None },
            None => Self { fault: Some(Fault::NotUtf8), ..Self::default() },
        }
    }

    /// Refuses a query string that is unusable as a whole.
    ///
    /// # Errors
    /// `validation_error` when it is not UTF-8 after decoding, or has too many parameters.
    pub fn judge(&self) -> Result<(), Refusal> {
        match self.fault {
            None => Ok(()),
            Some(Fault::NotUtf8) => Err(Refusal::invalid("The query string is not valid UTF-8.")),
            Some(Fault::TooMany) => {
                Err(Refusal::invalid(format!("The query string has more than {MOST} parameters.")))
            }
        }
    }

    /// Returns the value of `name`. Of a repeated parameter the last value counts; the values are not merged.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns the value of `name`; an empty value counts as absent (O22).
    pub fn given(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// Bytes of all names and values.
    pub fn size(&self) -> usize {
        self.pairs.iter().map(|(name, value)| name.len() + value.len()).sum()
    }

    /// Returns the names sent; a repeated name occurs repeatedly.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.pairs.iter().map(|(name, _)| name.as_str())
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
        let parameters = Parameters::parse("a=1&search=two+w%C3%B6rter&a=2&empty=&flag");
        assert_eq!(parameters.get("a"), Some("2"));
        assert_eq!(parameters.get("search"), Some("two wörter"));
        assert_eq!(parameters.given("empty"), None);
        assert_eq!(parameters.get("flag"), Some(""));
        assert!(parameters.judge().is_ok());
    }

    #[test]
    fn an_unreadable_query_is_refused_only_when_it_is_judged() {
        let many = |count: usize| vec!["a=1"; count].join("&");
        for query in ["a=%FF", "%FF", &many(MOST + 1)] {
            let parameters = Parameters::parse(query);
            assert_eq!(parameters.judge().unwrap_err().status(), 400, "{query}");
            assert_eq!(parameters.get("a"), None);
        }
        assert!(Parameters::parse(&many(MOST)).judge().is_ok());
    }
}
