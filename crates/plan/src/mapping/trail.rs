//! A place in the mappings.
//!
//! A trail reads `labels.toml › labels_list › order › default`: the file first, then smaller and smaller parts. For a
//! file about several surfaces the surface comes second, unless all of them have the same fault. May use: this folder.

use super::words::Surface;
use std::fmt;

/// A place in the mappings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trail {
    file: String,
    surface: Option<Surface>,
    parts: Vec<String>,
}

impl Trail {
    /// Returns the trail of a whole file.
    pub fn file(name: &str) -> Self {
        Self { file: name.into(), surface: None, parts: Vec::new() }
    }

    /// Returns this place on one of the surfaces that the file is about.
    #[must_use]
    pub fn on(&self, surface: Option<Surface>) -> Self {
        Self { surface, ..self.clone() }
    }

    /// Returns the trail of a part of this place.
    #[must_use]
    pub fn then(&self, part: impl Into<String>) -> Self {
        let mut place = self.clone();
        place.parts.push(part.into());
        place
    }

    /// Returns the name of the file.
    pub fn file_name(&self) -> &str {
        &self.file
    }
}

impl fmt::Display for Trail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let surface = self.surface.map(Surface::as_str);
        let parts = self.parts.iter().map(String::as_str);
        let all: Vec<&str> = [self.file.as_str()].into_iter().chain(surface).chain(parts).collect();
        f.write_str(&all.join(" › "))
    }
}
