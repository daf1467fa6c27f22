//! Paths of v1 that prove access: the owner of a key, and the cards.
//!
//! They are requested before an operation is carried out, so no mapping declares them. May use: `refusal`.

use crate::refusal::Refusal;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use uuid::Uuid;

/// The owner of a key.
pub const IDENTITY: &str = "users/me/";
/// The roster of a workspace, which contains the caller's role.
pub const ROSTER: &str = "workspaces/{slug}/members/";
/// The projects that the caller sees. Only they contain the id of a workspace.
pub const PROJECTS: &str = "workspaces/{slug}/projects/";
/// One project, with the caller's role in it.
pub const PROJECT: &str = "workspaces/{slug}/projects/{project_id}/";

/// All characters but the unreserved ones of RFC 3986.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Length of the longest slug. v1 has none that is longer, and the server before v1 answers a path of thousands of
/// characters with 414 and HTML.
pub const LONGEST_SLUG: usize = 255;

/// Checks whether v1 can have a workspace with this slug.
///
/// # Errors
/// [`Refusal::NotFound`] for a slug that is too long or cannot be one segment of a path. A request for it would reach
/// another route (`..`, `/`) or cause an HTML 500 (control characters, compare `errors_null_byte_in_query`).
pub(super) fn check(slug: &str) -> Result<(), Refusal> {
    let is_segment =
        !matches!(slug, "" | "." | "..") && !slug.contains(['/', '\\']) && !slug.chars().any(char::is_control);
    if is_segment && slug.chars().count() <= LONGEST_SLUG { Ok(()) } else { Err(Refusal::not_found()) }
}

/// Returns one of these paths with the slug percent-encoded, in the given letter case: v1's slugs are case-sensitive
/// (`perm_workspace_slug_other_case`).
pub(super) fn workspace(slug: &str, path: &str) -> Result<String, Refusal> {
    check(slug)?;
    Ok(path.replace("{slug}", &utf8_percent_encode(slug, SEGMENT).to_string()))
}

/// Returns [`PROJECT`], with the id in lower case with dashes (trap 12).
pub(super) fn project(slug: &str, project: Uuid) -> Result<String, Refusal> {
    Ok(workspace(slug, PROJECT)?.replace("{project_id}", &project.as_hyphenated().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_is_one_segment_or_nothing() {
        assert_eq!(workspace("Acme", ROSTER).unwrap(), "workspaces/Acme/members/");
        assert_eq!(workspace("a?b#c%2e é", PROJECTS).unwrap(), "workspaces/a%3Fb%23c%252e%20%C3%A9/projects/");
        for slug in ["", ".", "..", "a/b", "a\\b", "a\0", "a\nb"] {
            assert_eq!(workspace(slug, ROSTER).unwrap_err().code(), "resource_not_found", "{slug:?}");
        }
        assert!(check(&"é".repeat(LONGEST_SLUG)).is_ok() && check(&"a".repeat(LONGEST_SLUG + 1)).is_err());
    }
}
