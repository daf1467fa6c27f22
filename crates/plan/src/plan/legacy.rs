//! The public operations of v1: how a call is recognized, and which v2 operations replace it. May use: `mapping`, this
//! folder.

mod guess;
mod operation;

pub use operation::{Extent, Fill, V1Operation};

use crate::mapping::V1Table;
use crate::plan::PathTemplate;
use crate::plan::tree::Node;
use indexmap::IndexMap;
use percent_encoding::percent_decode_str;
use std::borrow::Cow;
use std::collections::HashSet;

/// Beginning of all paths of v1.
const BASE: &str = "/api/v1/";

/// The result of looking up a call of v1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum V1RouteMatch {
    /// An operation.
    Operation {
        /// Index of the operation.
        operation: usize,
        /// Whether the path lacks its slash at the end, which v1 answers with a redirect.
        missing_slash: bool,
    },
    /// A path of v1, but v1 does not have this method on it.
    NoMethod,
    /// No known path of v1.
    Unknown,
}

/// All public operations of v1.
#[derive(Debug, Default)]
pub struct V1Operations {
    rows: Vec<V1Operation>,
    root: Node,
    words: HashSet<String>,
    hidden: IndexMap<String, Vec<String>>,
    inputs: IndexMap<String, IndexMap<String, String>>,
    lost: IndexMap<String, IndexMap<String, String>>,
}

impl V1Operations {
    /// Creates the set from `rows`, and from the other parts of `table`: its spellings, words, records, inputs and lost
    /// members.
    pub(super) fn new(rows: Vec<V1Operation>, table: &V1Table) -> Self {
        let mut root = Node::default();
        for (index, row) in rows.iter().enumerate() {
            for path in spelled(row.path.as_str(), &table.spellings) {
                if let Ok(path) = PathTemplate::parse(&path) {
                    root.insert(&path, row.method, index);
                }
            }
        }
        let words = table.words.iter().cloned().collect();
        let (hidden, inputs, lost) = (table.records.clone(), table.inputs.clone(), table.lost.clone());
        Self { rows, root, words, hidden, inputs, lost }
    }

    /// Returns all operations.
    pub fn all(&self) -> &[V1Operation] {
        &self.rows
    }

    /// Returns the operation with the id `id`.
    pub fn by_id(&self, id: &str) -> Option<&V1Operation> {
        self.rows.iter().find(|row| row.id == id)
    }

    /// Returns the fields of v1's records of `resource` that v2 does not show.
    pub fn hidden(&self, resource: &str) -> &[String] {
        self.hidden.get(resource).map_or(&[], Vec::as_slice)
    }

    /// Returns v2's name for a member of v1's bodies, when the name does not follow from the fields.
    pub fn input(&self, resource: &str, member: &str) -> Option<&str> {
        Some(self.inputs.get(resource)?.get(member)?.as_str())
    }

    /// Returns why a member of v1's bodies has no counterpart in v2, although v2 has a similar member.
    pub fn lost(&self, resource: &str, member: &str) -> Option<&str> {
        Some(self.lost.get(resource)?.get(member)?.as_str())
    }

    /// Looks up the operation of `method` on `path` (raw, from `/api/v1/` on, without the query).
    pub fn find(&self, method: &str, path: &str) -> V1RouteMatch {
        self.walk(path, None).map_or(V1RouteMatch::Unknown, |(node, missing_slash)| {
            let found = node.find(method).map(|operation| V1RouteMatch::Operation { operation, missing_slash });
            found.unwrap_or(V1RouteMatch::NoMethod)
        })
    }

    /// Returns the methods that v1 has at `path`.
    pub fn methods(&self, path: &str) -> Vec<&'static str> {
        let node = self.walk(path, None);
        node.map_or_else(Vec::new, |(node, _)| node.ends.iter().map(|(method, _)| method.as_str()).collect())
    }

    /// Returns the values of the variables of an operation's path, by name.
    pub fn variables(&self, operation: usize, path: &str) -> Vec<(String, String)> {
        let mut values = Vec::new();
        let _ = self.walk(path, Some(&mut values));
        let row = &self.rows[operation];
        row.path.variables().map(str::to_owned).zip(values).collect()
    }

    /// Finds the node at which a path ends, and whether the path lacks its slash. Appends the variables' values in
    /// order. Every call of v1 runs this, so without `values` nothing is copied.
    fn walk(&self, path: &str, values: Option<&mut Vec<String>>) -> Option<(&Node, bool)> {
        let inner = path.strip_prefix(BASE)?;
        let (inner, missing_slash) = match inner.strip_suffix('/') {
            Some(inner) => (inner, false),
            None => (inner, true),
        };
        let decoded = match inner.contains('%') {
            true => percent_decode_str(inner).decode_utf8_lossy(),
            false => Cow::Borrowed(inner),
        };
        let Some(values) = values else { return Some((self.root.descend(Some(&decoded), None)?, missing_slash)) };
        let mut found = Vec::new();
        let node = self.root.descend(Some(&decoded), Some(&mut found))?;
        values.extend(found.into_iter().map(str::to_owned));
        Some((node, missing_slash))
    }
}

/// Returns a path in all its spellings.
fn spelled(path: &str, spellings: &[[String; 2]]) -> Vec<String> {
    let mut paths = vec![path.to_owned()];
    for [first, second] in spellings {
        let more: Vec<String> =
            paths.iter().filter(|path| path.contains(first)).map(|path| path.replace(first, second)).collect();
        paths.extend(more);
    }
    paths
}
