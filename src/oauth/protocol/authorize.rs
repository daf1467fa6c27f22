//! The authorization request (RFC 6749, 4.1.1): the first check is whether the answer may be sent to the address at
//! all, the second whether the request is valid.
//!
//! May use: `error`, `form`, `pkce`, `redirect`, `scope`.

use super::error::OAuthError;
use super::form::Form;
use super::{pkce, redirect, scope};
use serde::{Deserialize, Serialize};

/// Longest `state` that is sent back.
const LONGEST_STATE: usize = 4096;

/// The client and the redirect address that a request names. Neither is proven.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// `client_id`.
    pub client_id: String,
    /// `redirect_uri`.
    pub redirect_uri: String,
}

/// A valid request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Authorization {
    /// Requested scopes, sorted.
    pub scopes: Vec<String>,
    /// PKCE challenge, if there is one.
    pub challenge: Option<String>,
}

/// Returns the target of the answer. A request that fails here gets a page and no redirect, because its address is not
/// verified (RFC 9700, 4.11).
pub fn target(form: &Form) -> Result<Target, &'static str> {
    if form.repeated().iter().any(|name| matches!(name.as_str(), "client_id" | "redirect_uri")) {
        return Err("The app named itself or its address twice.");
    }
    let client_id = form.get("client_id").ok_or("The app did not say who it is (client_id is missing).")?;
    let redirect_uri =
        form.get("redirect_uri").ok_or("The app did not say where to go afterwards (redirect_uri is missing).")?;
    Ok(Target { client_id: client_id.to_owned(), redirect_uri: redirect_uri.to_owned() })
}

/// Checks whether `presented` matches a registered address.
pub fn is_registered(registered: &[String], presented: &str) -> bool {
    registered.iter().any(|known| redirect::matches(known, presented))
}

/// Returns the `state` that is sent back to the client.
pub fn state(form: &Form) -> Result<Option<String>, OAuthError> {
    match form.get("state") {
        _ if form.repeated().contains("state") => Err(OAuthError::invalid_request("state is repeated.")),
        Some(state) if state.len() > LONGEST_STATE => Err(OAuthError::invalid_request("state is too long.")),
        state => Ok(state.map(str::to_owned)),
    }
}

/// Validates a request. `public` means the client has no secret; `known` tells which scopes it may have.
pub fn judge(form: &Form, public: bool, known: impl Fn(&str) -> bool) -> Result<Authorization, OAuthError> {
    if let Some(name) = form.repeated().first() {
        return Err(OAuthError::invalid_request(format!("{name} is repeated.")));
    }
    match form.get("response_type") {
        Some("code") => {}
        Some(_) => {
            return Err(OAuthError::new("unsupported_response_type", "response_type must be code."));
        }
        None => return Err(OAuthError::invalid_request("response_type is missing.")),
    }
    if form.get("response_mode").is_some_and(|mode| mode != "query") {
        return Err(OAuthError::invalid_request("response_mode must be query."));
    }
    for (parameter, error) in [("request", "request_not_supported"), ("request_uri", "request_uri_not_supported")] {
        if form.get(parameter).is_some() {
            return Err(OAuthError::new(error, "Request objects are not supported."));
        }
    }
    if form.get("prompt").is_some_and(|prompt| prompt.split(' ').any(|word| word == "none")) {
        return Err(OAuthError::new("interaction_required", "There is no consent without the person."));
    }
    let challenge = pkce::challenge(form.get("code_challenge"), form.get("code_challenge_method"), public)?;
    let scopes = scope::parse(form.get("scope").unwrap_or_default(), known)?;
    Ok(Authorization { scopes, challenge })
}

/// Builds the redirect address with an error (RFC 6749, 4.1.2.1; RFC 9207).
pub fn error_redirect(uri: &str, error: &OAuthError, state: Option<&str>, issuer: &str) -> String {
    answer(uri, &[("error", error.error), ("error_description", &error.description)], state, issuer)
}

/// Builds the redirect address with a code (RFC 6749, 4.1.2; RFC 9207).
pub fn code_redirect(uri: &str, code: &str, state: Option<&str>, issuer: &str) -> String {
    answer(uri, &[("code", code)], state, issuer)
}

fn answer(uri: &str, content: &[(&str, &str)], state: Option<&str>, issuer: &str) -> String {
    let mut parameters = content.to_vec();
    parameters.extend(state.map(|state| ("state", state)));
    parameters.push(("iss", issuer));
    redirect::with_parameters(uri, &parameters)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "response_type=code&client_id=c&redirect_uri=https://a.example/cb&scope=read\
                        &code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256";

    fn judged(query: &str) -> Result<Authorization, &'static str> {
        judge(&Form::urlencoded(query.as_bytes()).unwrap(), true, |scope| scope == "read")
            .map_err(|error| error.error)
    }

    #[test]
    fn a_good_request_is_taken() {
        assert_eq!(judged(GOOD).unwrap().scopes, ["read"]);
    }

    #[test]
    fn each_fault_has_its_code() {
        for (change, error) in [
            (GOOD.replace("response_type=code&", ""), "invalid_request"),
            (GOOD.replace("=code&", "=token&"), "unsupported_response_type"),
            (GOOD.replace("=code&", "=code+id_token&"), "unsupported_response_type"),
            (format!("{GOOD}&response_mode=fragment"), "invalid_request"),
            (format!("{GOOD}&request=x"), "request_not_supported"),
            (format!("{GOOD}&request_uri=x"), "request_uri_not_supported"),
            (format!("{GOOD}&prompt=none"), "interaction_required"),
            (GOOD.replace("S256", "plain"), "invalid_request"),
            (GOOD.replace("scope=read", "scope=admin"), "invalid_scope"),
            (GOOD.replace("scope=read", "scope="), "invalid_scope"),
            (format!("{GOOD}&scope=read"), "invalid_request"),
        ] {
            assert_eq!(judged(&change), Err(error), "{change}");
        }
    }

    #[test]
    fn without_a_proven_target_there_is_no_way_back() {
        for query in ["", "client_id=c", "redirect_uri=x", "client_id=c&client_id=d&redirect_uri=x"] {
            assert!(target(&Form::urlencoded(query.as_bytes()).unwrap()).is_err(), "{query}");
        }
    }

    #[test]
    fn state_comes_back_as_it_was() {
        let way = code_redirect("https://a/cb", "c", Some("a b&iss=x"), "https://gw");
        assert_eq!(way, "https://a/cb?code=c&state=a+b%26iss%3Dx&iss=https%3A%2F%2Fgw");
        let long = format!("state={}", "x".repeat(4097));
        assert!(state(&Form::urlencoded(long.as_bytes()).unwrap()).is_err());
    }
}
