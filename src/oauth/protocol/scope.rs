//! Lists of scopes (RFC 6749, 3.3).
//!
//! May use: `plan::scopes`, `error`.

use super::error::OAuthError;
use crate::plan::scopes;
use std::collections::BTreeSet;

/// Parses a list of scopes separated by single blanks. Returns the scopes sorted, each once.
pub fn parse(text: &str, known: impl Fn(&str) -> bool) -> Result<Vec<String>, OAuthError> {
    let asked: BTreeSet<&str> = text.split(' ').filter(|scope| !scope.is_empty()).collect();
    if asked.is_empty() {
        return Err(OAuthError::invalid_scope("No scope is asked for; name each that is needed."));
    }
    match asked.iter().find(|scope| !known(scope)) {
        Some(unknown) => {
            let meant = scopes::nearest(unknown, scopes::all().filter(|scope| known(scope)));
            let meant = meant.map_or_else(String::new, |meant| format!(" Did you mean {meant}?"));
            Err(OAuthError::invalid_scope(format!("The scope {unknown} cannot be granted.{meant}")))
        }
        None => Ok(asked.into_iter().map(str::to_owned).collect()),
    }
}

/// Returns the scopes of a refresh: the granted scopes, or fewer when fewer are requested (RFC 6749, 6).
pub fn narrowed(asked: Option<&str>, granted: &[String]) -> Result<Vec<String>, OAuthError> {
    match asked {
        None => Ok(granted.to_vec()),
        Some(asked) => parse(asked, |scope| granted.iter().any(|known| known == scope)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_sets_of_known_scopes() {
        let known = |scope: &str| ["read", "write", "a:read"].contains(&scope);
        assert_eq!(parse("write read  read", known).unwrap(), ["read", "write"]);
        for wrong in ["", " ", "admin", "read admin", "read\twrite", "READ"] {
            assert_eq!(parse(wrong, known).unwrap_err().error, "invalid_scope", "{wrong:?}");
        }
    }

    #[test]
    fn a_refresh_only_narrows() {
        let granted = ["read".to_owned(), "write".to_owned()];
        assert_eq!(narrowed(None, &granted).unwrap(), granted);
        assert_eq!(narrowed(Some("read"), &granted).unwrap(), ["read"]);
        assert!(narrowed(Some("read projects:read"), &granted).is_err());
    }
}
