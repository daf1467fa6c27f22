//! Reads the credential from the headers of a request, without asking v1 or the store; and the interface of the store
//! of the gateway's own tokens and keys.
//!
//! May use: `refusal`, `v1`.

use super::PrincipalKind;
use crate::refusal::Refusal;
use crate::v1::{API_KEY, KeyId, V1Key};
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use futures_util::future::BoxFuture;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::Arc;
use uuid::Uuid;

/// Prefix of access tokens.
pub const ACCESS_TOKEN: &str = "cwa_";
/// Prefix of refresh tokens.
pub const REFRESH_TOKEN: &str = "cwr_";
/// Prefix of authorization codes.
pub const CODE: &str = "cwc_";
/// Prefix of client secrets.
pub const CLIENT_SECRET: &str = "cws_";
/// Prefix of gateway keys.
pub const GATEWAY_KEY: &str = "cwk_";

/// Longest text, in bytes, that is read as a key. The server before v1 answers a long line of a head with 400 and HTML,
/// which is no answer of v1.
pub const LONGEST_KEY: usize = 512;

/// Length of a whole secret: its prefix and 256 bits in base64.
const OWN_LENGTH: usize = 47;

/// Detail of the refusal of refresh tokens, codes and client secrets.
const TOKEN_ENDPOINT_ONLY: &str =
    "This is a refresh token, a code or a client secret; those are of use at /auth/o/token/ alone.";

const OWN: [&str; 5] = [ACCESS_TOKEN, REFRESH_TOKEN, CODE, CLIENT_SECRET, GATEWAY_KEY];

/// The credential in a request, not yet proven.
#[derive(Clone, PartialEq, Eq)]
pub enum Presented {
    /// A key of v1; v1 checks it.
    V1Key(V1Key),
    /// A bearer token.
    Bearer(String),
    /// A gateway key.
    GatewayKey(String),
}

impl fmt::Debug for Presented {
    /// Writes the kind only, never the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V1Key(_) => "V1Key(…)",
            Self::Bearer(_) => "Bearer(…)",
            Self::GatewayKey(_) => "GatewayKey(…)",
        })
    }
}

/// Data of a valid token or gateway key.
#[derive(Debug, Clone)]
pub struct CredentialData {
    /// The v1 key that acts for it.
    pub key: V1Key,
    /// Owner of that key when the credential was issued.
    pub user: Uuid,
    /// `oauth` or `other`.
    pub kind: PrincipalKind,
    /// The grant of a token, which stays when tokens are refreshed, or the key.
    pub credential: Uuid,
    /// Granted scopes.
    pub scopes: Arc<[String]>,
    /// The only workspace that the credential can access; `None` for all.
    pub workspace: Option<Uuid>,
}

/// Source of the gateway's own tokens and keys.
pub trait Credentials: Send + Sync + 'static {
    /// Returns the data of a bearer token or gateway key.
    ///
    /// [`Refusal::InvalidToken`] when it is unknown, expired or revoked; errors of the store unchanged.
    fn resolve(&self, presented: Presented) -> BoxFuture<'_, Result<CredentialData, Refusal>>;
}

/// Reads the credential of a request. When there is a bearer token, it is used (O14). v1 itself ignores
/// `Authorization` (`auth_bearer_ignored`). `id` is the [`presented_id`] of the same headers.
///
/// # Errors
/// [`Refusal::Unauthorized`] when the header cannot be a key: it is missing, empty, repeated or too long, or has blanks
/// or other characters than printable ASCII. [`Refusal::InvalidToken`] for a token in the place of a key, and for a key
/// in the place of a token. These are never sent to v1, so that no secret of the gateway reaches it.
pub fn presented(headers: &HeaderMap, id: Option<[u8; 32]>) -> Result<Presented, Refusal> {
    let values = headers.get_all(AUTHORIZATION).iter().map(|value| value.as_bytes());
    let mut bearers = values.filter(|value| is_bearer(value));
    match (bearers.next(), bearers.next()) {
        (None, _) => presented_key(headers, id),
        (Some(value), None) => presented_token(value),
        (Some(_), Some(_)) => Err(Refusal::misplaced_token("Authorization was sent twice; one token decides.")),
    }
}

fn presented_token(value: &[u8]) -> Result<Presented, Refusal> {
    let wrong = |detail: &str| Err(Refusal::misplaced_token(detail));
    let Some(token) = bearer_token(value) else {
        return wrong("The header Authorization holds no token; write it as `Bearer`, one blank and the token.");
    };
    match &token {
        _ if token.starts_with(ACCESS_TOKEN) => Ok(Presented::Bearer(token)),
        _ if token.starts_with(GATEWAY_KEY) => {
            wrong("This is a gateway key; it belongs in the header X-Api-Key, not in Authorization.")
        }
        _ if is_own(&token) => wrong(TOKEN_ENDPOINT_ONLY),
        _ => wrong("This is no access token of this gateway. A key belongs in the header X-Api-Key."),
    }
}

fn presented_key(headers: &HeaderMap, id: Option<[u8; 32]>) -> Result<Presented, Refusal> {
    let wrong = |detail: &str| Err(Refusal::Unauthorized { detail: detail.to_owned() });
    let mut keys = headers.get_all(API_KEY).iter();
    let value = match (keys.next(), keys.next()) {
        (Some(value), None) => value,
        (Some(_), Some(_)) => return wrong("X-Api-Key was sent twice; send one key."),
        (None, _) if headers.contains_key(AUTHORIZATION) => {
            return wrong("Authorization is read as `Bearer …` only. A key belongs in the header X-Api-Key.");
        }
        (None, _) => return Err(Refusal::no_credential()),
    };
    let text = value.to_str().unwrap_or("\0").trim();
    if text.is_empty() {
        return Err(Refusal::no_credential());
    }
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return wrong("X-Api-Key holds no key: a key is printable ASCII without blanks.");
    }
    if text.len() > LONGEST_KEY {
        return wrong("X-Api-Key holds no key: it is too long.");
    }
    match text {
        _ if text.starts_with(GATEWAY_KEY) => Ok(Presented::GatewayKey(text.to_owned())),
        _ if text.starts_with(ACCESS_TOKEN) => Err(Refusal::misplaced_token(
            "This is an access token; it belongs in the header Authorization as `Bearer …`, not in X-Api-Key.",
        )),
        _ if is_own(text) => Err(Refusal::misplaced_token(TOKEN_ENDPOINT_ONLY)),
        _ => Ok(Presented::V1Key(id.map_or_else(|| V1Key::new(text), |id| V1Key::known(text, KeyId(id))))),
    }
}

/// Returns the token of a `Bearer` header value (RFC 6750, 2.1: one `b64token`).
pub fn bearer_token(value: &[u8]) -> Option<String> {
    let (scheme, token) = std::str::from_utf8(value).ok()?.split_once(' ')?;
    let token = token.trim_matches(' ');
    let body = token.trim_end_matches('=');
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte);
    (scheme.eq_ignore_ascii_case("bearer") && !body.is_empty() && body.bytes().all(legal)).then(|| token.to_owned())
}

/// Checks by its prefix whether a text is a secret that this gateway issued.
pub fn is_own(text: &str) -> bool {
    OWN.iter().any(|prefix| text.starts_with(prefix))
}

/// Checks whether any header contains a secret of the gateway, which v1 cannot use. In headers for credentials the
/// prefix is enough, also as user or password of `Basic`. In other headers the secret must be complete, because other
/// texts may begin with the prefix by chance.
pub fn presents_own(headers: &HeaderMap) -> bool {
    headers.iter().any(|(name, value)| {
        let text = String::from_utf8_lossy(value.as_bytes());
        let belongs = *name == AUTHORIZATION || name == "x-api-key";
        let basic =
            text.trim().split_once(' ').filter(|_| *name == AUTHORIZATION).and_then(|(_, rest)| basic(rest));
        holds_own(&text, belongs) || basic.is_some_and(|basic| holds_own(&basic, true))
    })
}

/// Checks whether one of the words of `text` is a secret of this gateway.
fn holds_own(text: &str, beginning: bool) -> bool {
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-');
    words.any(|word| is_own(word) && (beginning || word.len() == OWN_LENGTH))
}

/// Returns user and password of a `Basic` credential, in all forms of base64 that a server may read.
fn basic(text: &str) -> Option<String> {
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &STANDARD,
        GeneralPurposeConfig::new()
            .with_decode_padding_mode(DecodePaddingMode::Indifferent)
            .with_decode_allow_trailing_bits(true),
    );
    let standard = |c| match c {
        '-' => '+',
        '_' => '/',
        c => c,
    };
    let text: String = text.split_whitespace().flat_map(str::chars).map(standard).collect();
    let bytes = LENIENT.decode(text).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the SHA-256 of the credential in the headers: a bearer token, else a key; none without a credential.
/// A client's requests are counted under this hash, whichever v1 key acts for it.
pub fn presented_id(headers: &HeaderMap) -> Option<[u8; 32]> {
    let bearer = headers.get_all(AUTHORIZATION).iter().find(|value| is_bearer(value.as_bytes()));
    let value = bearer.or_else(|| headers.get(API_KEY))?.as_bytes().trim_ascii();
    let credential = if bearer.is_some() { value.get("bearer ".len()..).unwrap_or_default() } else { value };
    Some(Sha256::digest(credential.trim_ascii()).into())
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
            let found = presented(&headers(&[(name, b"ada")]), None).unwrap();
            assert!(found == Presented::V1Key(V1Key::new("ada")), "{name}");
        }
        let basic = headers(&[("authorization", b"Basic eA=="), ("x-api-key", b"ada")]);
        assert!(presented(&basic, None).is_ok(), "only a bearer token decides");
    }

    #[test]
    fn a_credential_is_known_by_its_hash_however_it_is_written() {
        let id = |list: &[(&str, &[u8])]| presented_id(&headers(list));
        let ada: [u8; 32] = Sha256::digest(b"ada").into();
        assert_eq!(id(&[("x-api-key", b" ada ")]), Some(ada));
        assert_eq!(id(&[("authorization", b"bEARER  ada")]), Some(ada));
        assert_eq!(id(&[("authorization", b"Basic eA=="), ("x-api-key", b"ada")]), Some(ada));
        assert_ne!(id(&[("authorization", b"Bearer eve"), ("x-api-key", b"ada")]), Some(ada));
        assert_eq!(id(&[]), None);
    }

    #[test]
    fn invalid_credentials_are_401() {
        let long = [b'x'; LONGEST_KEY + 1];
        assert!(presented(&headers(&[("x-api-key", &long[1..])]), None).is_ok());
        let cases: [&[(&str, &[u8])]; 12] = [
            &[],
            &[("x-api-key", b"")],
            &[("x-api-key", b"  ")],
            &[("x-api-key", "schlüssel".as_bytes())],
            &[("x-api-key", b"a b")],
            &[("x-api-key", &long)],
            &[("x-api-key", b"ada"), ("x-api-key", b"bob")],
            &[("x-api-key", b"cwa_token-in-the-wrong-header")],
            &[("authorization", b"Bearer")],
            &[("authorization", b"Bearer a b")],
            &[("authorization", b"Bearer "), ("x-api-key", b"ada")],
            &[("authorization", b"Bearer a"), ("authorization", b"Bearer b")],
        ];
        for case in cases {
            assert_eq!(presented(&headers(case), None).unwrap_err().code(), "unauthorized", "{case:?}");
        }
    }

    #[test]
    fn a_bearer_token_decides_over_a_key() {
        let both = headers(&[("authorization", b"bearer cwa_x"), ("x-api-key", b"ada")]);
        assert!(presented(&both, None).unwrap() == Presented::Bearer("cwa_x".into()));
    }

    #[test]
    fn bearer_tokens_have_one_form() {
        for (value, token) in [
            ("Bearer abc", Some("abc")),
            ("BEARER a.b-c_d~e+f/g==", Some("a.b-c_d~e+f/g==")),
            ("Bearer  abc", Some("abc")),
            ("Bearer", None),
            ("Bearer =", None),
            ("Bearer a=b", None),
            ("Bearer a,b", None),
            ("Bearer \"a\"", None),
            ("Basic abc", None),
        ] {
            assert_eq!(bearer_token(value.as_bytes()).as_deref(), token, "{value}");
        }
        assert_eq!(bearer_token(b"Bearer \xff"), None);
    }

    #[test]
    fn own_credentials_are_known_wherever_they_stand() {
        for own in [
            headers(&[("authorization", b"Bearer cwa_x")]),
            headers(&[("authorization", b"Bearer cwk_x"), ("x-api-key", b"ada")]),
            headers(&[("x-api-key", b"ada"), ("x-api-key", b"cwk_x")]),
            headers(&[("authorization", b"cwr_x")]),
            // `x:cwk_x??` with and without padding, in the other alphabet, and with a blank inside.
            headers(&[("authorization", b"Basic eDpjd2tfeD8/")]),
            headers(&[("authorization", b"Basic eDpjd2tfeD8_")]),
            headers(&[("authorization", b"Basic eDpj d2tfeD8/")]),
            headers(&[("authorization", b"Basic eDpjd2tfeA==")]),
            headers(&[("authorization", b"Basic eDpjd2tfeA")]),
        ] {
            assert!(presents_own(&own), "{own:?}");
        }
        assert!(!presents_own(&headers(&[("x-api-key", b"plane_api_1"), ("authorization", b"Bearer x")])));
    }
}
