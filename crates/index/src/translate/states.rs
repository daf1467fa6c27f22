//! Oddities of states.
//!
//! May use: `refusal`, `v2` bodies.

use crate::refusal::Refusal;
use crate::v2::body::Given;
use serde_json::{Map, Value};
use unicode_normalization::UnicodeNormalization;

/// Longest slug v1 can store.
const MAX_SLUG: usize = 100;

/// Refuses what v1 can never hold, before anything is sent.
///
/// A name whose derived slug is longer than 100 characters is a 500 at v1 (trap 7,
/// `states_create_name_101_letters`); the group `triage` belongs to v1 itself (trap 37,
/// `states_patch_group_triage`).
///
/// # Errors
/// `validation_error` naming the field.
pub fn check_known_gaps(given: &Given) -> Result<(), Refusal> {
    if given.get("name").and_then(Value::as_str).is_some_and(|name| slug_length(name) > MAX_SLUG) {
        let message =
            format!("is too long for the backend: it stores at most {MAX_SLUG} letters and digits of a name");
        return Err(Refusal::field("name", message));
    }
    if given.get("group").and_then(Value::as_str) == Some("triage") {
        return Err(Refusal::field("group", "`triage` is managed by the backend and cannot be given to a state"));
    }
    Ok(())
}

/// Length of the slug v1 derives: compatibility-decomposed, ASCII letters, digits, `_` and `-` kept, runs of
/// blanks and hyphens one hyphen, hyphens and underscores trimmed (`states_create_name_255_cyrillic`).
fn slug_length(name: &str) -> usize {
    let mut slug = String::with_capacity(name.len());
    for c in name.nfkd().filter(char::is_ascii).map(|c| c.to_ascii_lowercase()) {
        let gap = c.is_ascii_whitespace() || c == '-';
        if gap && !slug.ends_with('-') {
            slug.push('-');
        } else if c.is_ascii_alphanumeric() || c == '_' {
            slug.push(c);
        }
    }
    slug.trim_matches(['-', '_']).len()
}

/// Whether v1's record of a state is the default one.
pub fn is_default(v1: &Map<String, Value>) -> bool {
    v1.get("default").and_then(Value::as_bool).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_letters_that_reach_the_slug_count() {
        assert_eq!(slug_length(&"c".repeat(101)), 101);
        assert_eq!(slug_length(&"ж".repeat(255)), 0);
        assert_eq!(slug_length("  In -- Review!  "), "in-review".len());
        assert_eq!(slug_length("Über_"), "uber".len());
    }
}
