//! A fault of the mappings with its place, and the collector that keeps going.
//!
//! A trail reads `labels.toml › labels_list › order › default`: the file first, then ever smaller parts.

use std::fmt;

/// A place in the mappings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trail(Vec<String>);

impl Trail {
    /// The whole of a file.
    pub fn file(name: &str) -> Self {
        Self(vec![name.into()])
    }

    /// A part of this place.
    #[must_use]
    pub fn then(&self, part: impl Into<String>) -> Self {
        let mut parts = self.0.clone();
        parts.push(part.into());
        Self(parts)
    }

    /// Name of the file.
    pub fn file_name(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }
}

impl fmt::Display for Trail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" › "))
    }
}

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub trail: Trail,
    /// What is wrong, in a sentence without a full stop.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.trail, self.message)
    }
}

/// Every fault found so far, in the order they were found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// Keeps a fault.
    pub fn add(&mut self, trail: &Trail, message: impl Into<String>) {
        let fault = Fault { trail: trail.clone(), message: message.into() };
        if !self.0.contains(&fault) {
            self.0.push(fault);
        }
    }

    /// The faults, file by file (files in alphabetical order), within a file as they were found.
    pub fn by_file(&self) -> Vec<&Fault> {
        let mut faults: Vec<&Fault> = self.0.iter().collect();
        faults.sort_by(|a, b| a.trail.file_name().cmp(b.trail.file_name()));
        faults
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.by_file().into_iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}
