//! Client authentication: HTTP Basic or parameters in the body, never both (RFC 6749, 2.3).
//!
//! May use: `error`, `form`.

use super::error::OAuthError;
use super::form::Form;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Id and secret that a client presents. Neither is proven.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(Debug))]
pub struct ClientClaim {
    /// `client_id`.
    pub id: String,
    /// The client's secret, if it sent one.
    pub secret: Option<String>,
}

/// Reads the claim of a request.
///
/// # Errors
/// `invalid_request` for two methods at once or two ids; `invalid_client` for no claim or an unreadable one.
pub fn claim(authorization: Option<&[u8]>, form: &Form) -> Result<ClientClaim, OAuthError> {
    let (id, secret) = (form.get("client_id"), form.get("client_secret"));
    let Some(header) = authorization else {
        let id = id.ok_or_else(OAuthError::invalid_client)?.to_owned();
        return Ok(ClientClaim { id, secret: secret.map(str::to_owned) });
    };
    if secret.is_some() {
        return Err(OAuthError::invalid_request("The client authenticates in two ways at once."));
    }
    let (user, password) = basic(header).ok_or_else(OAuthError::invalid_client)?;
    if id.is_some_and(|id| id != user) {
        return Err(OAuthError::invalid_request("The body names another client than the Authorization header."));
    }
    Ok(ClientClaim { id: user, secret: Some(password).filter(|password| !password.is_empty()) })
}

/// Parses name and password of a `Basic` header value. Both are form-encoded inside it (RFC 6749, 2.3.1).
fn basic(value: &[u8]) -> Option<(String, String)> {
    let (scheme, encoded) = std::str::from_utf8(value).ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (user, password) = decoded.split_once(':')?;
    let decode = |text: &str| {
        let plain = text.replace('+', " ");
        percent_encoding::percent_decode_str(&plain).decode_utf8().ok().map(String::from)
    };
    Some((decode(user)?, decode(password)?)).filter(|(user, _)| !user.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> Vec<u8> {
        format!("Basic {}", STANDARD.encode(text)).into_bytes()
    }

    #[test]
    fn both_methods_are_read() {
        let body = Form::urlencoded(b"client_id=a&client_secret=s").unwrap();
        let expected = ClientClaim { id: "a".into(), secret: Some("s".into()) };
        assert_eq!(claim(None, &body).unwrap(), expected);
        let basic = claim(Some(&header("a%3Ab:s%2Bx")), &Form::default()).unwrap();
        assert_eq!(basic, ClientClaim { id: "a:b".into(), secret: Some("s+x".into()) });
        let public = Form::urlencoded(b"client_id=a").unwrap();
        assert_eq!(claim(None, &public).unwrap().secret, None);
    }

    #[test]
    fn everything_else_is_refused() {
        let both = Form::urlencoded(b"client_id=a&client_secret=s").unwrap();
        assert_eq!(claim(Some(&header("a:s")), &both).unwrap_err().error, "invalid_request");
        let other = Form::urlencoded(b"client_id=b").unwrap();
        assert_eq!(claim(Some(&header("a:s")), &other).unwrap_err().error, "invalid_request");
        assert_eq!(claim(None, &Form::default()).unwrap_err().error, "invalid_client");
        for value in
            [b"Bearer x".to_vec(), b"Basic ???".to_vec(), header("nocolon"), header(":s"), b"Basic".to_vec()]
        {
            assert_eq!(claim(Some(&value), &Form::default()).unwrap_err().error, "invalid_client");
        }
    }
}
