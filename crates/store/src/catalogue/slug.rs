//! Names of properties: slugs of their labels (O64). May use: nothing of this crate.

use std::collections::HashSet;

/// The slug of `label` that is none of `taken`.
pub fn slug(label: &str, taken: &HashSet<&str>) -> String {
    let mut stem = String::with_capacity(label.len());
    for c in label.chars().map(|c| c.to_ascii_lowercase()) {
        if c.is_ascii_alphanumeric() {
            stem.push(c);
        } else if !stem.is_empty() && !stem.ends_with('_') {
            stem.push('_');
        }
    }
    let stem = match stem.trim_end_matches('_') {
        "" => "property",
        stem => stem,
    };
    if !taken.contains(stem) {
        return stem.to_owned();
    }
    (2_u64..).map(|n| format!("{stem}_{n}")).find(|name| !taken.contains(name.as_str())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_is_the_label_in_lower_case_with_runs_of_other_characters_as_one_underscore() {
        let none = HashSet::new();
        for (label, name) in [
            ("Story points", "story_points"),
            ("  Due -- (by)  ", "due_by"),
            ("R2D2", "r2d2"),
            ("Größe", "gr_e"),
            ("___", "property"),
            ("名前", "property"),
        ] {
            assert_eq!(slug(label, &none), name, "{label}");
        }
    }

    #[test]
    fn a_clashing_slug_counts_up_from_two() {
        let taken = HashSet::from(["risk", "risk_2", "property"]);
        assert_eq!(slug("Risk!", &taken), "risk_3");
        assert_eq!(slug("?", &taken), "property_2");
        assert_eq!(slug("risk 2", &taken), "risk_2_2");
    }
}
