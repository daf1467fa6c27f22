//! What a path that v2 does not know was meant to be: a word of v1, a slip of the pen, or something that only v1 has.
//!
//! May use: `routes`, `tree`.

use super::routes::Routes;
use super::tree::Node;

/// What v1 and its older versions call things, and what v2 calls them.
const WORDS_OF_V1: [(&str, &str); 6] = [
    ("issues", "work-items"),
    ("issue", "work-items"),
    ("issue-types", "work-item-types"),
    ("issue-properties", "work-item-properties"),
    ("issue-comments", "comments"),
    ("project-members", "members"),
];

/// Last words of paths that v1 has and v2 has not.
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

/// How alike a word must be to the one that was meant; 1 is the same.
const ALIKE: f64 = 0.85;
/// Longest word, in bytes, for which a nearer one is looked for.
const LONGEST: usize = 64;

/// The beginnings of the two interfaces.
const V2: &str = "/api/v2/";
const V1: &str = "/api/v1/";

impl Routes {
    /// What is said of a path that leads nowhere: the one that was meant, when there is one.
    pub fn no_such_path(&self, path: &str) -> String {
        let all = "There is no such path";
        let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        let mut right = Vec::new();
        if self.root.meant(&segments, &mut right) {
            return format!("{all}; did you mean /{}/?", right.join("/"));
        }
        match path.strip_prefix(V2).filter(|_| is_only_in_v1(&segments)) {
            Some(_) => format!("{all} in v2; v1 has it, at {V1}{}/", segments[2..].join("/")),
            None => format!("{all}; {V2}docs/ shows all there are."),
        }
    }
}

/// Whether a path of v2 names what v1 alone has: a project itself or the list of them, or something with one of the
/// last words above, or one record of it.
fn is_only_in_v1(segments: &[&str]) -> bool {
    segments.get(2) == Some(&"workspaces")
        && segments.len() > 4
        && segments[4..].iter().rev().take(2).any(|word| ONLY_IN_V1.contains(word))
}

impl Node {
    /// Follows the segments as they may have been meant; `right` is the path so far.
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
        for word in self.words_meant(first) {
            if self.literal(&word).is_some_and(|node| go(node, &word, right)) {
                return true;
            }
        }
        self.variable.as_ref().is_some_and(|node| go(node, first, right))
    }

    /// Literals that `segment` may stand for, the likeliest first.
    fn words_meant(&self, segment: &str) -> Vec<String> {
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
