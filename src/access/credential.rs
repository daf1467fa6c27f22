//! From the headers of a request to the credential it presents, without asking anyone.
//!
//! May use: `refusal`, `v1`.

use crate::refusal::Refusal;
use crate::v1::{V1Key, invalid_key};
use http::HeaderMap;
use http::header::AUTHORIZATION;

/// Reads the credential. A bearer token decides when there is one (O14); in this version no bearer token
/// is known, so it is always refused. v1 itself ignores `Authorization` (`auth_bearer_ignored`).
///
/// # Errors
/// [`Refusal::Unauthorized`] for anything that cannot be a key: missing, empty or doubled header, blanks
/// or other than printable ASCII in it. v1 is not asked about those.
pub(super) fn presented(headers: &HeaderMap) -> Result<V1Key, Refusal> {
    if headers.get_all(AUTHORIZATION).iter().any(|value| is_bearer(value.as_bytes())) {
        return Err(invalid_key());
    }
    let mut keys = headers.get_all("x-api-key").iter();
    let (Some(value), None) = (keys.next(), keys.next()) else { return Err(invalid_key()) };
    let text = value.to_str().map_err(|_| invalid_key())?.trim();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(invalid_key());
    }
    Ok(V1Key::new(text))
}

fn is_bearer(value: &[u8]) -> bool {
    let scheme = value.split(|byte| *byte == b' ').next().unwrap_or_default();
    scheme.eq_ignore_ascii_case(b"bearer")
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue};

    fn headers(list: &[(&str, &[u8])]) -> HeaderMap {
        list.iter()
            .map(|(name, value)| {
                (HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_bytes(value).unwrap())
            })
            .collect()
    }

    #[test]
    fn the_key_is_found_in_any_letter_case_of_its_header() {
        for name in ["X-Api-Key", "X-API-KEY", "x-api-key"] {
            assert_eq!(presented(&headers(&[(name, b"ada")])).unwrap(), V1Key::new("ada"), "{name}");
        }
        let basic = headers(&[("authorization", b"Basic eA=="), ("x-api-key", b"ada")]);
        assert!(presented(&basic).is_ok(), "only a bearer token decides");
    }

    #[test]
    fn what_cannot_be_a_key_is_401() {
        let cases: [&[(&str, &[u8])]; 9] = [
            &[],
            &[("x-api-key", b"")],
            &[("x-api-key", b"  ")],
            &[("x-api-key", "schlüssel".as_bytes())],
            &[("x-api-key", b"a b")],
            &[("x-api-key", b"ada"), ("x-api-key", b"bob")],
            &[("authorization", b"Bearer ada")],
            &[("authorization", b"bearer x"), ("x-api-key", b"ada")],
            &[("authorization", b"Bearer"), ("x-api-key", b"ada")],
        ];
        for case in cases {
            assert_eq!(presented(&headers(case)).unwrap_err().code(), "unauthorized", "{case:?}");
        }
    }
}
