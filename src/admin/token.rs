//! The operators' token: its source, and the check of requests.
//!
//! May use: `settings`.

use crate::settings::{AdminSettings, TOKEN_FORM, is_token};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("admin.token_file {path} cannot be read: {cause}; correct the path, or make the file readable")]
    Unreadable { path: String, cause: String },
    #[error("admin.token_file {path} holds no token; write {TOKEN_FORM}")]
    Malformed { path: String },
}

/// Checks whether `settings` name a token.
pub fn has_token(settings: &AdminSettings) -> Result<bool, TokenError> {
    Ok(Token::open(settings)?.is_some())
}

/// A token, stored as its digest, so that comparing does not reveal its length either.
#[derive(Clone)]
pub struct Token([u8; 32]);

impl Token {
    /// Reads the token that `settings` name; none when they name none.
    pub fn open(settings: &AdminSettings) -> Result<Option<Self>, TokenError> {
        if let Some(token) = &settings.token {
            return Ok(Some(Self::of(token.expose().as_bytes())));
        }
        let Some(file) = &settings.token_file else { return Ok(None) };
        let path = file.display().to_string();
        match std::fs::read_to_string(file) {
            Err(error) => Err(TokenError::Unreadable { path, cause: error.to_string() }),
            Ok(text) if is_token(text.trim()) => Ok(Some(Self::of(text.trim().as_bytes()))),
            Ok(_) => Err(TokenError::Malformed { path }),
        }
    }

    fn of(text: &[u8]) -> Self {
        Self(Sha256::digest(text).into())
    }

    /// Checks whether a request contains the token: as a bearer token, or as the password of a browser with any user
    /// name.
    pub(super) fn is_shown(&self, headers: &HeaderMap) -> bool {
        let mut shown = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (shown.next(), shown.next()) else { return false };
        let presented = value.to_str().ok().and_then(presented);
        presented.is_some_and(|presented| Self::of(&presented).0.ct_eq(&self.0).into())
    }
}

fn presented(value: &str) -> Option<Vec<u8>> {
    let (scheme, rest) = value.trim().split_once(' ')?;
    let rest = rest.trim();
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(rest.as_bytes().to_vec());
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let pair = STANDARD.decode(rest).ok()?;
    let colon = pair.iter().position(|byte| *byte == b':')?;
    Some(pair[colon + 1..].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shows(values: &[&str]) -> bool {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, value.parse().unwrap());
        }
        Token::of(b"0123456789abcdef").is_shown(&headers)
    }

    #[test]
    fn a_token_is_shown_in_two_ways() {
        let basic = |pair: &str| format!("Basic {}", STANDARD.encode(pair));
        assert!(shows(&["Bearer 0123456789abcdef"]) && shows(&["bearer  0123456789abcdef"]));
        assert!(shows(&[&basic("operator:0123456789abcdef")]) && shows(&[&basic(":0123456789abcdef")]));
        for wrong in ["0123456789abcdef", "Bearer 0123456789abcde", "Bearer", "Basic 0123456789abcdef", "Bearer "] {
            assert!(!shows(&[wrong]), "{wrong}");
        }
        assert!(!shows(&[]) && !shows(&[&basic("0123456789abcdef")]));
        assert!(!shows(&["Bearer 0123456789abcdef", "Bearer 0123456789abcdef"]), "said twice");
    }
}
