//! A tree of path templates.
//!
//! A part of a path is one of a few words, or a value. Comparing lengths finds the word faster than hashing the part. A
//! word has priority over a value. May use: `mapping`, `path`.

use super::path::{PathTemplate, Segment};
use crate::mapping::Method;

/// A node of the tree, with the parts that may follow.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub literals: Vec<(Box<str>, Node)>,
    pub variable: Option<Box<Node>>,
    /// Methods and numbers of the operations whose path ends here.
    pub ends: Vec<(Method, usize)>,
}

impl Node {
    /// Adds a path. Of two operations with the same path and method, the first stays.
    pub fn insert(&mut self, path: &PathTemplate, method: Method, number: usize) {
        let mut node = self;
        for segment in path.segments() {
            node = match segment {
                Segment::Literal(word) => node.literal_or_new(word),
                Segment::Variable(_) => node.variable.get_or_insert_default(),
            };
        }
        if node.find(method.as_str()).is_none() {
            node.ends.push((method, number));
            node.ends.sort_unstable();
        }
    }

    fn literal_or_new(&mut self, word: &str) -> &mut Self {
        let at = self.literals.iter().position(|(known, _)| **known == *word).unwrap_or_else(|| {
            self.literals.push((word.into(), Self::default()));
            self.literals.len() - 1
        });
        &mut self.literals[at].1
    }

    /// Returns the node that follows after a word.
    pub fn literal(&self, word: &str) -> Option<&Self> {
        self.literals.iter().find(|(known, _)| **known == *word).map(|(_, next)| next)
    }

    /// Returns the number of the operation with this method whose path ends here.
    pub fn find(&self, method: &str) -> Option<usize> {
        self.ends.iter().find(|(known, _)| known.as_str() == method).map(|(_, number)| *number)
    }

    /// Walks along the decoded parts and appends the values of variables. Goes back to the variable when a literal
    /// leads nowhere. An empty part is not a value.
    pub fn descend<'p>(&self, rest: Option<&'p str>, mut values: Option<&mut Vec<&'p str>>) -> Option<&Self> {
        let Some(rest) = rest else { return (!self.ends.is_empty()).then_some(self) };
        // Not `split_once`: it takes five times as long, and every call of v1 runs this.
        let (first, rest) = match rest.bytes().position(|byte| byte == b'/') {
            Some(slash) => (&rest[..slash], Some(&rest[slash + 1..])),
            None => (rest, None),
        };
        if let Some(found) = self.literal(first).and_then(|node| node.descend(rest, values.as_deref_mut())) {
            return Some(found);
        }
        let next = self.variable.as_ref().filter(|_| !first.is_empty())?;
        let known = values.as_ref().map_or(0, |values| values.len());
        if let Some(values) = values.as_deref_mut() {
            values.push(first);
        }
        let found = next.descend(rest, values.as_deref_mut());
        if let (None, Some(values)) = (found, values) {
            values.truncate(known);
        }
        found
    }
}
