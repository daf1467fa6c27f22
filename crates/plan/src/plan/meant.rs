//! Suggestions for an unknown path of v2: it has a word of v1, has a typing error, or names something only v1 has.
//!
//! May use: `routes`, `tree`.

use super::routes::{LONGEST_SUGGESTION, Routes};
use super::tree::Node;

/// Words of v1 and its older versions, each with the word of v2.
const WORDS_OF_V1: [(&str, &str); 6] = [
    ("issues", "work-items"),
    ("issue", "work-items"),
    ("issue-types", "work-item-types"),
    ("issue-properties", "work-item-properties"),
    ("issue-comments", "comments"),
    ("project-members", "members"),
];

/// Last words of paths that exist in v1 only.
const ONLY_IN_V1: [&str; 14] = [
    "activities",
    "attachments",
    "cycle-issues",
    "estimates",
    "intake-issues",
    "invitations",
    "links",
    "module-issues",
    "pages",
    "projects",
    "relations",
    "search",
    "summary",
    "transfer-issues",
];

/// A word is suggested when its likeness is greater than this. Equal words have the likeness 1.
const ALIKE: f64 = 0.85;
/// Longest word, in bytes, for which a similar word is searched.
const LONGEST: usize = 64;

/// Path prefixes of the two APIs.
const V2: &str = "/api/v2/";
const V1: &str = "/api/v1/";

impl Routes {
    /// Returns the error text for an unknown path. It suggests the path that was probably meant, if there is one.
    pub fn no_such_path(&self, path: &str) -> String {
        let all = "There is no such path";
        match self.suggestion(path).filter(|suggestion| suggestion.len() <= LONGEST_SUGGESTION) {
            Some(suggestion) => format!("{all}{suggestion}"),
            None => format!("{all}; {V2}docs/ shows all there are."),
        }
    }

    /// Returns the end of the error text with the path that was probably meant.
    fn suggestion(&self, path: &str) -> Option<String> {
        let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        let mut right = Vec::new();
        if self.root.meant(&segments, &mut right) {
            return Some(format!("; did you mean /{}/?", right.join("/")));
        }
        let in_v1 = path.starts_with(V2) && is_only_in_v1(&segments);
        in_v1.then(|| format!(" in v2; v1 has it, at {V1}{}/", segments[2..].join("/")))
    }
}

/// Checks whether a path of v2 names something that only v1 has: a project or the list of projects, or a path that ends
/// in one of the words of `ONLY_IN_V1`, or one record below such a path.
fn is_only_in_v1(segments: &[&str]) -> bool {
    segments.get(2) == Some(&"workspaces")
        && segments.len() > 4
        && segments[4..].iter().rev().take(2).any(|word| ONLY_IN_V1.contains(word))
}

impl Node {
    /// Walks the tree along `segments`, corrected where needed. `right` is the corrected path so far.
    fn meant(&self, segments: &[&str], right: &mut Vec<String>) -> bool {
        let Some((first, rest)) = segments.split_first() else { return !self.ends.is_empty() };
        let go = |node: &Self, word: &str, right: &mut Vec<String>| {
            right.push(word.to_owned());
            let found = node.meant(rest, right);
            if !found {
                right.pop();
            }
            found
        };
        for word in self.suggestions(first) {
            if self.literal(&word).is_some_and(|node| go(node, &word, right)) {
                return true;
            }
        }
        self.variable.as_ref().is_some_and(|node| go(node, first, right))
    }

    /// Returns the literals that `segment` may stand for, the likeliest first.
    fn suggestions(&self, segment: &str) -> Vec<String> {
        if segment.len() > LONGEST {
            return Vec::new();
        }
        let plain = segment.to_ascii_lowercase().replace('_', "-");
        let of_v1 = WORDS_OF_V1.iter().find(|(v1, _)| *v1 == plain).map(|(_, v2)| (*v2).to_owned());
        let alike = self.literals.iter().map(|(word, _)| (strsim::jaro_winkler(&plain, word), word));
        let nearest = alike.filter(|(likeness, _)| *likeness > ALIKE).max_by(|a, b| a.0.total_cmp(&b.0));
        let nearest = nearest.map(|(_, word)| word.to_string());
        std::iter::once(plain).chain(of_v1).chain(nearest).collect()
    }
}
