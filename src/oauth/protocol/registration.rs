//! Client metadata, sent by the client itself (RFC 7591) or by the operator.
//!
//! May use: `error`, `redirect`, `scope`.

use super::error::OAuthError;
use super::{redirect, scope};
use serde::Deserialize;

/// Largest number of addresses of a client.
const MOST_ADDRESSES: usize = 20;
/// Largest number of bytes of all addresses of a client together.
const MOST_BYTES: usize = 4096;
/// Longest name, in characters.
const LONGEST_NAME: usize = 100;

/// Client metadata as sent. Unknown members are ignored, as the RFC asks.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Metadata {
    /// Addresses to which answers may be sent.
    #[serde(default)]
    pub redirect_uris: Vec<String>,
    /// Name of the client for people.
    pub client_name: Option<String>,
    /// `none`, `client_secret_basic` or `client_secret_post`.
    pub token_endpoint_auth_method: Option<String>,
    /// Grants that the client wants to use.
    pub grant_types: Option<Vec<String>>,
    /// Responses that the client wants to use.
    pub response_types: Option<Vec<String>>,
    /// Scopes that the client wants to request, separated by blanks.
    pub scope: Option<String>,
}

/// Metadata that can be registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registrable {
    /// Name of the client for people.
    pub name: String,
    /// Addresses to which answers may be sent.
    pub redirect_uris: Vec<String>,
    /// Scopes that the client may request; empty means all scopes.
    pub scopes: Vec<String>,
    /// Whether the client has no secret.
    pub public: bool,
}

/// Reads client metadata.
pub fn parse(bytes: &[u8]) -> Result<Metadata, OAuthError> {
    serde_json::from_slice(bytes).map_err(|_| unfit("The body is not client metadata as JSON."))
}

/// Validates client metadata.
pub fn judge(metadata: Metadata, known: impl Fn(&str) -> bool) -> Result<Registrable, OAuthError> {
    let uris = metadata.redirect_uris;
    if uris.is_empty() || uris.len() > MOST_ADDRESSES {
        return Err(OAuthError::new("invalid_redirect_uri", "A client has 1 to 20 redirect_uris."));
    }
    if uris.iter().map(String::len).sum::<usize>() > MOST_BYTES {
        let long = "The redirect_uris of a client have at most 4096 bytes together.";
        return Err(OAuthError::new("invalid_redirect_uri", long));
    }
    for uri in &uris {
        if let Some(objection) = redirect::objection(uri) {
            return Err(OAuthError::new("invalid_redirect_uri", format!("{uri}: {objection}.")));
        }
    }
    let public = match metadata.token_endpoint_auth_method.as_deref() {
        Some("none") => true,
        None | Some("client_secret_basic" | "client_secret_post") => false,
        Some(_) => return Err(unfit("token_endpoint_auth_method is not supported.")),
    };
    let only = |named: Option<Vec<String>>, supported: &[&str]| {
        named.unwrap_or_default().iter().all(|name| supported.contains(&name.as_str()))
    };
    if !only(metadata.grant_types, &["authorization_code", "refresh_token"]) {
        return Err(unfit("grant_types is not supported."));
    }
    if !only(metadata.response_types, &["code"]) {
        return Err(unfit("response_types is not supported."));
    }
    let name = metadata.client_name.unwrap_or_default().trim().to_owned();
    let is_readable = name.chars().any(char::is_alphanumeric) && !name.chars().any(is_hidden);
    if !is_readable || name.chars().count() > LONGEST_NAME {
        return Err(unfit("client_name has 1 to 100 visible characters, among them a letter or digit."));
    }
    let scopes = match metadata.scope.as_deref().filter(|scope| !scope.trim().is_empty()) {
        None => Vec::new(),
        Some(text) => scope::parse(text, known).map_err(|error| unfit(&error.description))?,
    };
    Ok(Registrable { name, redirect_uris: uris, scopes, public })
}

/// Checks for control characters, characters that change the text direction, and characters without a shape: those that
/// Unicode lets programs ignore (`Default_Ignorable_Code_Point`, but not the selectors that emoji have) and blanks that
/// count as letters or symbols. They can disguise a name.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

fn unfit(description: &str) -> OAuthError {
    OAuthError::new("invalid_client_metadata", description)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(text: &str) -> Result<Registrable, &'static str> {
        parse(text.as_bytes())
            .and_then(|metadata| judge(metadata, |scope| scope == "read"))
            .map_err(|error| error.error)
    }

    #[test]
    fn metadata_is_judged() {
        let fine =
            judged(r#"{"redirect_uris":["https://a.example/cb"],"client_name":" App ","scope":"read","x":1}"#);
        let fine = fine.unwrap();
        assert_eq!((fine.name.as_str(), fine.public, fine.scopes), ("App", false, vec!["read".to_owned()]));
        for (text, error) in [
            ("[]x", "invalid_client_metadata"),
            (r#"{"client_name":"A"}"#, "invalid_redirect_uri"),
            (r#"{"client_name":"A","redirect_uris":["http://a.example/cb"]}"#, "invalid_redirect_uri"),
            (r#"{"redirect_uris":["https://a.example/cb"]}"#, "invalid_client_metadata"),
            (r#"{"client_name":"A\u202eB","redirect_uris":["https://a.example/cb"]}"#, "invalid_client_metadata"),
            (r#"{"client_name":"A\u061cB","redirect_uris":["https://a.example/cb"]}"#, "invalid_client_metadata"),
            (r#"{"client_name":"\u3164","redirect_uris":["https://a.example/cb"]}"#, "invalid_client_metadata"),
            (r#"{"client_name":"\ufe0f","redirect_uris":["https://a.example/cb"]}"#, "invalid_client_metadata"),
            (
                r#"{"client_name":"A","redirect_uris":["https://a.example/cb"],"scope":"x"}"#,
                "invalid_client_metadata",
            ),
            (
                r#"{"client_name":"A","redirect_uris":["https://a.example/cb"],"grant_types":["implicit"]}"#,
                "invalid_client_metadata",
            ),
            (
                r#"{"client_name":"A","redirect_uris":["https://a.example/cb"],"response_types":["token"]}"#,
                "invalid_client_metadata",
            ),
            (
                r#"{"client_name":"A","redirect_uris":["https://a.example/cb"],"token_endpoint_auth_method":"private_key_jwt"}"#,
                "invalid_client_metadata",
            ),
        ] {
            assert_eq!(judged(text), Err(error), "{text}");
        }
    }
}
