//! Path templates such as `workspaces/{slug}/projects/{project_id}/labels/`. May use: nothing of this crate.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::fmt;

/// Characters encoded in a path segment: all but the unreserved characters of RFC 3986.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// One segment between slashes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Segment {
    /// Fixed text, which must match exactly.
    Literal(String),
    /// A variable of this name, which takes any value.
    Variable(String),
}

/// A path with variables; always ends with a slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathTemplate {
    text: String,
    segments: Vec<Segment>,
}

impl PathTemplate {
    /// Parses a template.
    ///
    /// # Errors
    /// Returns a sentence that says what is wrong with the template.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some(inner) = text.strip_suffix('/') else { return Err("must end with a slash".into()) };
        let mut segments = Vec::new();
        for part in inner.trim_start_matches('/').split('/') {
            segments.push(Self::segment(part)?);
        }
        let mut names: Vec<&str> = segments.iter().filter_map(Segment::name).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(format!("names the variable {{{}}} twice", pair[0])),
            None => Ok(Self { text: text.into(), segments }),
        }
    }

    fn segment(part: &str) -> Result<Segment, String> {
        if part.is_empty() {
            return Err("has an empty segment".into());
        }
        match part.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            Some(name) if !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_') => {
                Ok(Segment::Variable(name.into()))
            }
            Some(name) => Err(format!("has a variable with a bad name: {{{name}}}")),
            None if part.contains(['{', '}']) => Err(format!("has stray braces in {part}")),
            None => Ok(Segment::Literal(part.into())),
        }
    }

    /// Returns the template as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the segments.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Returns the path without the names of its variables. Two templates with the same shape match the same requests.
    pub fn shape(&self) -> String {
        self.fill_known(|_| Some(""))
    }

    /// Returns the names of the variables, in order.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.segments.iter().filter_map(Segment::name)
    }

    /// Returns the path with its variables filled in and percent-encoded; `None` when a value is missing.
    pub fn fill<'v>(&self, value_of: impl Fn(&str) -> Option<&'v str>) -> Option<String> {
        self.variables().all(|name| value_of(name).is_some()).then(|| self.fill_known(value_of))
    }

    /// Returns the path with the known variables filled in. Unknown variables stay as written.
    pub fn fill_known<'v>(&self, value_of: impl Fn(&str) -> Option<&'v str>) -> String {
        let mut path = String::with_capacity(self.text.len() + 64);
        for segment in &self.segments {
            match segment {
                Segment::Literal(text) => path.push_str(text),
                Segment::Variable(name) => match value_of(name) {
                    Some(value) => path.extend(utf8_percent_encode(value, SEGMENT)),
                    None => path.extend(["{", name, "}"]),
                },
            }
            path.push('/');
        }
        path
    }
}

impl Segment {
    fn name(&self) -> Option<&str> {
        match self {
            Self::Variable(name) => Some(name),
            Self::Literal(_) => None,
        }
    }
}

impl fmt::Display for PathTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
