//! The slug that v1 makes of a name.
//!
//! May use: nothing of this crate.

use unicode_normalization::UnicodeNormalization;

/// Length of the slug v1 derives: compatibility-decomposed, ASCII letters, digits, `_` and `-` kept, runs of
/// blanks and hyphens one hyphen, hyphens and underscores trimmed (`states_create_name_255_cyrillic`).
pub(super) fn slug_length(name: &str) -> usize {
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
