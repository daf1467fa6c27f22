//! Proof Key for Code Exchange, S256 only (RFC 7636).
//!
//! May use: `error`.

use super::error::OAuthError;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Validates the challenge of an authorization request. `required` for public clients.
///
/// # Errors
/// `invalid_request` for the method `plain`, named or by default, for a challenge that is no SHA-256, for a
/// method without a challenge, and for a missing challenge where one is required.
pub fn challenge(
    challenge: Option<&str>,
    method: Option<&str>,
    required: bool,
) -> Result<Option<String>, OAuthError> {
    let no = |text: &str| Err(OAuthError::invalid_request(text));
    match (challenge, method) {
        (None, None) if required => no("code_challenge is missing: public clients use PKCE with S256."),
        (None, None) => Ok(None),
        (None, Some(_)) => no("code_challenge_method without code_challenge."),
        (Some(challenge), Some("S256")) => match URL_SAFE_NO_PAD.decode(challenge) {
            Ok(bytes) if bytes.len() == 32 => Ok(Some(challenge.to_owned())),
            _ => no("code_challenge is not the base64url form of a SHA-256."),
        },
        (Some(_), _) => no("code_challenge_method must be S256."),
    }
}

/// Checks whether the challenge of the request was made from `verifier`. A verifier without a challenge is a
/// sign that an attacker removed the challenge (RFC 9700, 4.8.2).
pub fn verified(challenge: Option<&str>, verifier: Option<&str>) -> bool {
    match (challenge, verifier) {
        (None, None) => true,
        (Some(challenge), Some(verifier)) if well_formed(verifier) => {
            let made = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
            made.as_bytes().ct_eq(challenge.as_bytes()).into()
        }
        _ => false,
    }
}

fn well_formed(verifier: &str) -> bool {
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    (43..=128).contains(&verifier.len()) && verifier.bytes().all(unreserved)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Appendix B of the RFC.
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    #[test]
    fn the_example_of_the_rfc_holds() {
        assert_eq!(challenge(Some(CHALLENGE), Some("S256"), true).unwrap().as_deref(), Some(CHALLENGE));
        assert!(verified(Some(CHALLENGE), Some(VERIFIER)));
    }

    #[test]
    fn everything_else_fails() {
        for (code, method, required) in [
            (None, None, true),
            (None, Some("S256"), false),
            (Some(CHALLENGE), None, false),
            (Some(CHALLENGE), Some("plain"), false),
            (Some(CHALLENGE), Some("s256"), false),
            (Some("short"), Some("S256"), false),
            (Some(&CHALLENGE[1..]), Some("S256"), false),
        ] {
            assert_eq!(
                challenge(code, method, required).unwrap_err().error,
                "invalid_request",
                "{code:?} {method:?}"
            );
        }
        for (code, verifier) in [
            (None, Some(VERIFIER)),
            (Some(CHALLENGE), None),
            (Some(CHALLENGE), Some(CHALLENGE)),
            (Some(CHALLENGE), Some("")),
        ] {
            assert!(!verified(code, verifier), "{code:?} {verifier:?}");
        }
        assert!(!well_formed(&VERIFIER[..42]) && !well_formed(&"a".repeat(129)) && !well_formed(&"ä".repeat(43)));
    }
}
