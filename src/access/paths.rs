//! Paths of v1 that lead to cards.
//!
//! May use: `refusal`.

use crate::refusal::Refusal;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use uuid::Uuid;

/// Everything but the unreserved characters of RFC 3986.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// `workspaces/{slug}/…` with the slug percent-encoded, in the letter case given: v1's slugs are
/// case-sensitive (`perm_workspace_slug_other_case`).
///
/// # Errors
/// [`Refusal::NotFound`] for a slug that cannot be one segment of a path: v1 cannot have such a
/// workspace, and asking would lead to another route (`..`, `/`) or to an HTML 500 (control characters,
/// compare `errors_null_byte_in_query`).
pub(super) fn workspace(slug: &str, rest: &str) -> Result<String, Refusal> {
    let is_segment =
        !matches!(slug, "" | "." | "..") && !slug.contains(['/', '\\']) && !slug.chars().any(char::is_control);
    if !is_segment {
        return Err(Refusal::not_found());
    }
    Ok(format!("workspaces/{}/{rest}", utf8_percent_encode(slug, SEGMENT)))
}

/// `workspaces/{slug}/projects/{id}/`, the id in lower case with dashes (trap 12).
///
/// # Errors
/// As [`workspace`].
pub(super) fn project(slug: &str, project: Uuid) -> Result<String, Refusal> {
    workspace(slug, &format!("projects/{}/", project.as_hyphenated()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_is_one_segment_or_nothing() {
        assert_eq!(workspace("Acme", "members/").unwrap(), "workspaces/Acme/members/");
        assert_eq!(workspace("a?b#c%2e é", "").unwrap(), "workspaces/a%3Fb%23c%252e%20%C3%A9/");
        for slug in ["", ".", "..", "a/b", "a\\b", "a\0", "a\nb"] {
            assert_eq!(workspace(slug, "members/").unwrap_err().code(), "resource_not_found", "{slug:?}");
        }
    }
}
