//! Authentication: the API key, and OAuth 2.0 with every scope that a token may carry.
//!
//! May use: `plan::scopes`.

use crate::plan::{Operation, scopes};
use serde_json::{Map, Value, json};

/// Placeholder for the public address of the gateway until a request tells it. No other text contains it. The address
/// that replaces it has only characters that JSON strings and plain YAML scalars take unchanged.
pub(super) const STAND_IN: &str = "https://address-of-this-gateway.invalid";

/// Name of the scheme of API keys.
pub(super) const API_KEY: &str = "apiKey";
/// Name of the scheme of tokens.
const OAUTH: &str = "oauth2";

/// Returns `components.securitySchemes`.
pub(super) fn schemes() -> Value {
    let sentences: Map<String, Value> =
        scopes::all().map(|scope| (scope.to_owned(), sentence(scope).into())).collect();
    json!({
        API_KEY: {
            "type": "apiKey",
            "in": "header",
            "name": "X-Api-Key",
            "description": "A key of the v1 deployment; it acts as its owner, with all of the owner's rights.",
        },
        OAUTH: {
            "type": "oauth2",
            "description": "A token for a user who consented, sent as `Authorization: Bearer …`; limited to its scopes.",
            "flows": {
                "authorizationCode": {
                    "authorizationUrl": format!("{STAND_IN}/auth/o/authorize/"),
                    "tokenUrl": format!("{STAND_IN}/auth/o/token/"),
                    "refreshUrl": format!("{STAND_IN}/auth/o/token/"),
                    "scopes": sentences,
                },
            },
        },
    })
}

/// Returns the credentials that an operation accepts: a key, or a token with any one of its scopes.
pub(super) fn requirements(operation: &Operation) -> Value {
    let key = json!({ API_KEY: [] });
    let scopes = operation.scopes.iter().map(|scope| json!({ OAUTH: [scope] }));
    std::iter::once(key).chain(scopes).collect()
}

/// Returns a sentence that says what a scope permits.
fn sentence(scope: &str) -> String {
    let (what, verb) = match scope.split_once(':') {
        Some((family, verb)) => (spoken(family), verb),
        None => ("everything".to_owned(), scope),
    };
    let verb = if verb == "read" { "Read" } else { "Create, change and delete" };
    let dormant = !scopes::is_gating(scope);
    format!("{verb} {what}.{}", if dormant { " May be granted, but opens nothing in v2." } else { "" })
}

/// `projects.work_items.comments` becomes `comments of work items of projects`.
fn spoken(family: &str) -> String {
    let parts: Vec<String> = family.split('.').rev().map(|part| part.replace('_', " ")).collect();
    parts.join(" of ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_told_in_sentences() {
        assert_eq!(sentence("read"), "Read everything.");
        assert_eq!(
            sentence("projects.work_items.comments:write"),
            "Create, change and delete comments of work items of projects."
        );
        assert!(sentence("wiki.pages:read").ends_with("opens nothing in v2."));
    }
}
