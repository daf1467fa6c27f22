//! The route table: from method and path to the operation, or to the reason why there is none.
//!
//! A trie over decoded segments. A ready-made one such as `matchit` would find the template too, but the code that had
//! to be written around it is most of this file: decoding before matching, methods and `Allow`, a missing slash told
//! from an unknown path, segments refused that must never reach v1's paths. The cost is bound by the depth of the
//! templates; only variables are copied.
//!
//! A literal goes before a variable. The template of a path is found without looking at the method: PATCH on
//! `work-item-types/enable/` is a wrong method, never a type called `enable`. May use: `mapping`, this folder.

use super::words::Words;
use super::{Operation, Plan, Segment};
use crate::mapping::Method;
use percent_encoding::percent_decode_str;
use std::borrow::Cow;

/// Segments of a path that have room at once.
const USUAL_DEPTH: usize = 12;

/// What a method and a path lead to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// An operation.
    Operation {
        /// Index in the plan.
        operation: usize,
        /// Values of the path's variables, percent-decoded, in the order of the path.
        variables: Vec<(String, String)>,
    },
    /// With a slash at the end it would be a path; without, it is another URL (O1).
    MissingSlash {
        /// The path with its slash.
        right: String,
    },
    /// A path, but not with this method (O7).
    WrongMethod {
        /// Methods the path knows, for the `Allow` header.
        allow: Vec<&'static str>,
    },
    /// No path of v2.
    Unknown,
}

/// Routes of all operations.
#[derive(Debug)]
pub struct Routes {
    root: Node,
    /// Names of the variables of each operation's path.
    names: Vec<Vec<String>>,
}

/// What may follow a part of a path.
#[derive(Debug, Default)]
pub(super) struct Node {
    literals: Words<Node>,
    variable: Option<Box<Node>>,
    /// Operations whose path ends here.
    operations: Vec<(Method, usize)>,
}

impl Routes {
    /// Makes the table of a plan.
    pub fn new(plan: &Plan) -> Self {
        let mut root = Node::default();
        for (index, operation) in plan.operations.iter().enumerate() {
            root.insert(index, operation);
        }
        let names = plan.operations.iter().map(|o| o.path.variables().map(str::to_owned).collect()).collect();
        Self { root, names }
    }

    /// Where every path begins.
    pub(super) fn root(&self) -> &Node {
        &self.root
    }

    /// Finds what `method` on `path` (raw, as sent, without the query) leads to.
    pub fn find(&self, method: &str, path: &str) -> Found {
        let Some(inner) = path.strip_suffix('/') else {
            return match self.node(path) {
                Some(_) => Found::MissingSlash { right: format!("{path}/") },
                None => Found::Unknown,
            };
        };
        match self.node(inner) {
            Some((node, values)) => self.choose(node, method, values),
            None => Found::Unknown,
        }
    }

    /// The node a path without its last slash ends at, with the values of variables on the way.
    fn node(&self, path: &str) -> Option<(&Node, Vec<String>)> {
        let (mut rest, mut segments) = (path.strip_prefix('/')?, Vec::with_capacity(USUAL_DEPTH));
        while let Some(slash) = memchr::memchr(b'/', rest.as_bytes()) {
            segments.push(decoded(&rest[..slash])?);
            rest = &rest[slash + 1..];
        }
        segments.push(decoded(rest)?);
        let mut values = Vec::new();
        let node = self.root.descend(&segments, &mut values)?;
        Some((node, values))
    }

    fn choose(&self, node: &Node, method: &str, values: Vec<String>) -> Found {
        let method = if method == "HEAD" { "GET" } else { method };
        match node.operations.iter().find(|(known, _)| known.as_str() == method) {
            Some(&(_, operation)) => {
                let variables = self.names[operation].iter().cloned().zip(values).collect();
                Found::Operation { operation, variables }
            }
            None => Found::WrongMethod { allow: node.allow() },
        }
    }
}

impl Node {
    /// The words that may follow.
    pub(super) fn literals(&self) -> impl Iterator<Item = &str> {
        self.literals.all()
    }

    /// What follows after a word.
    pub(super) fn literal(&self, word: &str) -> Option<&Self> {
        self.literals.get(word)
    }

    /// What follows after a value.
    pub(super) fn variable(&self) -> Option<&Self> {
        self.variable.as_deref()
    }

    /// Whether a path ends here.
    pub(super) fn is_an_end(&self) -> bool {
        !self.operations.is_empty()
    }

    fn insert(&mut self, index: usize, operation: &Operation) {
        let mut node = self;
        for segment in operation.path.segments() {
            node = match segment {
                Segment::Literal(text) => node.literals.entry(text),
                Segment::Variable(_) => node.variable.get_or_insert_default(),
            };
        }
        node.operations.push((operation.method, index));
        node.operations.sort_unstable();
    }

    /// Follows the segments, literals first; steps back to the variable when a literal leads nowhere.
    fn descend(&self, segments: &[Cow<str>], values: &mut Vec<String>) -> Option<&Self> {
        let Some((first, rest)) = segments.split_first() else {
            return (!self.operations.is_empty()).then_some(self);
        };
        if let Some(found) = self.literals.get(first.as_ref()).and_then(|node| node.descend(rest, values)) {
            return Some(found);
        }
        let next = self.variable.as_ref()?;
        let known = values.len();
        values.push(first.clone().into_owned());
        let found = next.descend(rest, values);
        if found.is_none() {
            values.truncate(known);
        }
        found
    }

    fn allow(&self) -> Vec<&'static str> {
        let mut allow = Vec::new();
        for (method, _) in &self.operations {
            allow.push(method.as_str());
            if *method == Method::Get {
                allow.push("HEAD");
            }
        }
        allow
    }
}

/// A segment without its percent-encoding. None when it is empty or badly encoded, hides a slash or a
/// control character, or is a dot segment, which would climb out of v1's path.
fn decoded(segment: &str) -> Option<Cow<'_, str>> {
    let bytes = segment.as_bytes();
    // Nearly all segments; nothing below can be wrong with them.
    if !bytes.is_empty() && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')) {
        return Some(Cow::Borrowed(segment));
    }
    let escaped = |at: usize| bytes.get(at + 1..at + 3).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit));
    if (0..bytes.len()).any(|at| bytes[at] == b'%' && !escaped(at)) {
        return None;
    }
    let text = percent_decode_str(segment).decode_utf8().ok()?;
    let refused =
        text.is_empty() || text == "." || text == ".." || text.contains('/') || text.contains(char::is_control);
    (!refused).then_some(text)
}
