//! The route table: finds the operation of a method and a path, or the reason why there is none.
//!
//! A trie over decoded segments. A ready-made trie such as `matchit` would find the template too, but most of this file
//! would still be needed around it: decoding before matching, methods and `Allow`, telling a missing slash from an
//! unknown path, and refusing segments that must never reach v1's paths. The depth of the templates bounds the cost;
//! only variables are copied.
//!
//! A literal has priority over a variable. The method plays no part in finding the template of a path: PATCH on
//! `work-item-types/enable/` is a wrong method, never a type called `enable`. May use: `mapping`, this folder.

use super::Plan;
use super::tree::Node;
use crate::mapping::Method;
use percent_encoding::percent_decode_str;
use std::borrow::Cow;

/// Longest text, in bytes, with which a refusal suggests another path.
pub const LONGEST_SUGGESTION: usize = 1_000;

/// The result of looking up a method and a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RouteMatch {
    /// An operation.
    Operation {
        /// Index in the plan.
        operation: usize,
        /// Values of the path's variables, percent-decoded, in the order of the path.
        variables: Vec<(String, String)>,
    },
    /// The path exists with a slash at its end. Without the slash it is another URL (O1).
    MissingSlash {
        /// The path with its slash.
        right: String,
    },
    /// The path exists, but not with this method (O7).
    WrongMethod {
        /// Methods of the path, for the `Allow` header.
        allow: Vec<&'static str>,
    },
    /// No path of v2.
    Unknown,
}

/// Routes of all operations.
#[derive(Debug)]
pub struct Routes {
    pub(super) root: Node,
    /// Names of the variables of each operation's path.
    names: Vec<Vec<String>>,
}

impl Routes {
    /// Builds the route table of a plan.
    pub fn new(plan: &Plan) -> Self {
        let mut root = Node::default();
        for (index, operation) in plan.operations.iter().enumerate() {
            root.insert(&operation.path, operation.method, index);
        }
        let names = plan.operations.iter().map(|o| o.path.variables().map(str::to_owned).collect()).collect();
        Self { root, names }
    }

    /// Looks up `method` on `path` (raw, as sent, without the query).
    pub fn find(&self, method: &str, path: &str) -> RouteMatch {
        let inner = path.strip_suffix('/').unwrap_or(path);
        let Some(parts) = inner.strip_prefix('/').and_then(decoded) else { return RouteMatch::Unknown };
        let mut values = Vec::new();
        let Some(node) = self.root.descend(Some(&parts), Some(&mut values)) else { return RouteMatch::Unknown };
        if !path.ends_with('/') {
            return RouteMatch::MissingSlash { right: format!("{path}/") };
        }
        match node.find(if method == "HEAD" { "GET" } else { method }) {
            Some(operation) => {
                let values = values.into_iter().map(str::to_owned);
                RouteMatch::Operation {
                    operation,
                    variables: self.names[operation].iter().cloned().zip(values).collect(),
                }
            }
            None => RouteMatch::WrongMethod { allow: allow(node) },
        }
    }
}

fn allow(node: &Node) -> Vec<&'static str> {
    let mut allow = Vec::new();
    for (method, _) in &node.ends {
        allow.push(method.as_str());
        if *method == Method::Get {
            allow.push("HEAD");
        }
    }
    allow
}

/// Decodes the percent-encoding of a path. Returns `None` when a part is badly encoded, hides a slash, or is a dot
/// segment, which would climb out of v1's path. Control characters are left to the checks of slugs, ids and keys: a
/// path with a malformed id is known all the same (O3).
fn decoded(path: &str) -> Option<Cow<'_, str>> {
    let bytes = path.as_bytes();
    // Nearly all paths return here; none of the checks below can fail for them.
    if bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'/')) {
        return Some(Cow::Borrowed(path));
    }
    let escaped = |at: usize| bytes.get(at + 1..at + 3).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit));
    if (0..bytes.len()).any(|at| bytes[at] == b'%' && !escaped(at)) {
        return None;
    }
    let text = percent_decode_str(path).decode_utf8().ok()?;
    let hides_a_slash = text.matches('/').count() != path.matches('/').count();
    let climbs = |part: &str| part == "." || part == "..";
    (!hides_a_slash && !text.split('/').any(climbs)).then_some(text)
}
