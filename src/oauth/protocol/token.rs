//! Requests to the token, revocation and introspection endpoints (RFC 6749, 4.1.3 and 6; RFC 7009; RFC 7662).
//!
//! May use: `error`, `form`.

use super::error::OAuthError;
use super::form::Form;
use serde::Serialize;
use std::fmt;

/// A request to the token endpoint.
#[derive(Clone, PartialEq, Eq)]
pub enum TokenRequest {
    /// Exchange of a code for tokens.
    Code {
        /// The code.
        code: String,
        /// The address that the code was sent to.
        redirect_uri: String,
        /// PKCE verifier.
        verifier: Option<String>,
    },
    /// Exchange of a refresh token for new tokens.
    Refresh {
        /// The refresh token.
        token: String,
        /// Requested scopes, if the client wants fewer.
        scope: Option<String>,
    },
}

impl fmt::Debug for TokenRequest {
    /// Shows only the kind.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Code { .. } => "Code(…)",
            Self::Refresh { .. } => "Refresh(…)",
        })
    }
}

/// Reads a token request.
pub fn parse(form: &Form) -> Result<TokenRequest, OAuthError> {
    match form.need("grant_type")? {
        "authorization_code" => Ok(TokenRequest::Code {
            code: form.need("code")?.to_owned(),
            redirect_uri: form.need("redirect_uri")?.to_owned(),
            verifier: form.get("code_verifier").map(str::to_owned),
        }),
        "refresh_token" => Ok(TokenRequest::Refresh {
            token: form.need("refresh_token")?.to_owned(),
            scope: form.get("scope").map(str::to_owned),
        }),
        _ => Err(OAuthError::new(
            "unsupported_grant_type",
            "Only authorization_code and refresh_token are granted: each token acts for a person who consented.",
        )),
    }
}

/// Answer of the token endpoint (RFC 6749, 5.1).
#[derive(Serialize)]
pub struct TokenAnswer {
    /// The token that opens operations.
    pub access_token: String,
    /// Always `Bearer`.
    pub token_type: &'static str,
    /// Seconds until the access token expires.
    pub expires_in: u64,
    /// The token that is exchanged for the next pair.
    pub refresh_token: String,
    /// Scopes that the access token opens.
    pub scope: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<TokenRequest, &'static str> {
        parse(&Form::urlencoded(text.as_bytes()).unwrap()).map_err(|error| error.error)
    }

    #[test]
    fn two_grants_are_known() {
        assert!(matches!(
            parsed("grant_type=authorization_code&code=c&redirect_uri=u"),
            Ok(TokenRequest::Code { .. })
        ));
        assert!(matches!(parsed("grant_type=refresh_token&refresh_token=r"), Ok(TokenRequest::Refresh { .. })));
        for (text, error) in [
            ("", "invalid_request"),
            ("grant_type=authorization_code&redirect_uri=u", "invalid_request"),
            ("grant_type=authorization_code&code=c", "invalid_request"),
            ("grant_type=refresh_token", "invalid_request"),
            ("grant_type=password&username=a&password=b", "unsupported_grant_type"),
            ("grant_type=client_credentials", "unsupported_grant_type"),
        ] {
            assert_eq!(parsed(text), Err(error), "{text}");
        }
    }
}
