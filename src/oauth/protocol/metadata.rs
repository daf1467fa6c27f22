//! Metadata documents of the authorization server (RFC 8414) and of the protected resource (RFC 9728).
//!
//! May use: nothing.

use serde_json::{Value, json};

/// Path of the authorization server's document.
pub const AUTHORIZATION_SERVER: &str = "/.well-known/oauth-authorization-server";
/// Path of the protected resource's document.
pub const PROTECTED_RESOURCE: &str = "/.well-known/oauth-protected-resource";

/// Describes the authorization server at `issuer`.
pub fn authorization_server(issuer: &str, scopes: &[&str], registration: bool) -> Value {
    let mut document = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/auth/o/authorize/"),
        "token_endpoint": format!("{issuer}/auth/o/token/"),
        "revocation_endpoint": format!("{issuer}/auth/o/revoke/"),
        "introspection_endpoint": format!("{issuer}/auth/o/introspect/"),
        "scopes_supported": scopes,
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "none"],
        "revocation_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "none"],
        "introspection_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": true,
    });
    if registration {
        document["registration_endpoint"] = format!("{issuer}/auth/o/register/").into();
    }
    document
}

/// Describes the API at `base`, and names the server that issues its tokens, if there is one.
pub fn protected_resource(base: &str, scopes: &[&str], authorized: bool) -> Value {
    let mut document = json!({"resource": base, "resource_name": "Causeway, REST API v2"});
    if authorized {
        document["authorization_servers"] = json!([base]);
        document["scopes_supported"] = json!(scopes);
        document["bearer_methods_supported"] = json!(["header"]);
    }
    document
}

/// Checks whether `path` is the path of the document `well_known` for an issuer with the path `prefix`. The prefix
/// stands after the well-known part (RFC 8414, 3.1).
pub fn is_document(path: &str, well_known: &str, prefix: &str) -> bool {
    let rest = path.strip_prefix(well_known).map(|rest| rest.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest == prefix.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_stand_where_issuers_with_a_path_are_looked_for() {
        assert!(is_document(AUTHORIZATION_SERVER, AUTHORIZATION_SERVER, ""));
        assert!(is_document("/.well-known/oauth-authorization-server/gw", AUTHORIZATION_SERVER, "/gw"));
        assert!(!is_document("/.well-known/oauth-authorization-server/other", AUTHORIZATION_SERVER, "/gw"));
        assert!(!is_document("/.well-known/oauth-authorization-serverx", AUTHORIZATION_SERVER, ""));
    }

    #[test]
    fn registration_is_named_only_when_it_is_on() {
        assert!(authorization_server("i", &[], false).get("registration_endpoint").is_none());
        assert_eq!(authorization_server("i", &[], true)["registration_endpoint"], "i/auth/o/register/");
        assert!(protected_resource("i", &[], false).get("authorization_servers").is_none());
    }
}
