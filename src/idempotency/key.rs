//! The header `Idempotency-Key`, and the hashes that identify a request.
//!
//! May use: `access`, `refusal`.

use crate::access::Caller;
use crate::refusal::Refusal;
use http::HeaderMap;
use sha2::{Digest, Sha256};

const NAME: &str = "idempotency-key";
const LONGEST: usize = 255;

/// A key in the form that the client sent.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(Debug))]
pub struct Key(String);

impl Key {
    /// Reads the header; none when it was not sent.
    ///
    /// # Errors
    /// `validation_error` for anything but one string of structured fields (RFC 9651, 3.3.3) or one bare word, of 1 to
    /// 255 characters.
    pub fn read(headers: &HeaderMap) -> Result<Option<Self>, Refusal> {
        let mut values = headers.get_all(NAME).iter();
        let Some(first) = values.next() else { return Ok(None) };
        let text = first.to_str().ok().filter(|_| values.next().is_none());
        let key = text.and_then(|text| parse(text.trim()));
        let key = key.filter(|key| (1..=LONGEST).contains(&key.len()));
        key.map(|key| Some(Self(key))).ok_or_else(|| {
            Refusal::field(
                "Idempotency-Key",
                "must be sent once, as one word or quoted string of 1 to 255 characters",
            )
        })
    }

    /// Returns the hash that identifies a request: its person and credential, the operation with its path, and the key.
    /// All tokens of one grant are one credential, also after a refresh; so are all v1 keys of a person.
    pub fn place(&self, caller: &Caller, operation: &str, path: &str) -> String {
        let credential = caller.credential.map_or_else(|| "v1".to_owned(), |id| id.to_string());
        hash(&[
            b"request",
            caller.user.id.as_bytes(),
            credential.as_bytes(),
            operation.as_bytes(),
            path.as_bytes(),
            self.0.as_bytes(),
        ])
    }

    /// Returns a secret that only the client can produce again.
    pub(super) fn secret(&self, place: &str) -> [u8; 32] {
        digest(&[b"causeway answer", place.as_bytes(), self.0.as_bytes()])
    }
}

/// Returns the hash of a whole POST request: another request with the same key is refused.
pub fn fingerprint(path: &str, query: &str, body: &[u8]) -> String {
    hash(&[b"POST", path.as_bytes(), query.as_bytes(), body])
}

/// Hashes the parts with their lengths, so that two different lists never have the same hash.
fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

fn hash(parts: &[&[u8]]) -> String {
    hex::encode(digest(parts))
}

fn parse(text: &str) -> Option<String> {
    let Some(inside) = text.strip_prefix('"') else {
        let legal = |c: char| c.is_ascii_graphic() && c != '"';
        return text.chars().all(legal).then(|| text.to_owned());
    };
    let (mut key, mut rest) = (String::new(), inside.chars());
    loop {
        match rest.next()? {
            '"' => return rest.as_str().is_empty().then_some(key),
            '\\' => key.push(rest.next().filter(|c| matches!(c, '"' | '\\'))?),
            c @ ' '..='~' => key.push(c),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn read(values: &[&str]) -> Result<Option<Key>, Refusal> {
        let values =
            values.iter().map(|value| (http::HeaderName::from_static(NAME), HeaderValue::from_str(value).unwrap()));
        Key::read(&values.collect::<Vec<_>>().into_iter().fold(HeaderMap::new(), |mut headers, (name, value)| {
            headers.append(name, value);
            headers
        }))
    }

    #[test]
    fn keys_are_words_or_quoted_strings() {
        let key = |text: &str| read(&[text]).unwrap().unwrap().0;
        assert!(read(&[]).unwrap().is_none());
        assert_eq!(key("8e03978e-40d5-43e8-bc93-6894a57f9324"), "8e03978e-40d5-43e8-bc93-6894a57f9324");
        assert_eq!(key("\"a b\""), "a b");
        assert_eq!(key("\"a\""), key("a"));
        assert_eq!(key(r#""\"\\""#), r#""\"#);
        assert_eq!(key(&"x".repeat(255)).len(), 255);
        let long = "x".repeat(256);
        for wrong in ["", "a b", "\"a", "a\"", "\"\"", "\"a\";v=1", r#""\a""#, &long, "\"a\", \"b\""] {
            assert_eq!(read(&[wrong]).unwrap_err().code(), "validation_error", "{wrong}");
        }
        assert!(read(&["a", "a"]).is_err(), "one header, one key");
    }

    #[test]
    fn another_request_has_another_hash() {
        let one = fingerprint("/a/", "", b"{}");
        for other in [
            fingerprint("/a/", "", b"{ }"),
            fingerprint("/a/", "x", b"{}"),
            fingerprint("/b/", "", b"{}"),
            fingerprint("/a", "/", b"{}"),
        ] {
            assert_ne!(one, other);
        }
        assert_eq!(one, fingerprint("/a/", "", b"{}"));
    }
}
