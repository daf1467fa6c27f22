//! A fault of the mappings with its place, and the collector of all faults. May use: this folder.

use super::trail::Trail;
use std::fmt;

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Place of the fault.
    pub trail: Trail,
    /// Description of the fault: a sentence without a full stop.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.trail, self.message)
    }
}

/// Returns the number of the line at this byte of a text; the first line is 1.
pub(super) fn line_at(text: &str, byte: usize) -> usize {
    1 + text[..byte].matches('\n').count()
}

/// Every fault found so far, in the order they were found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// Adds a fault. The same fault on another surface is reported once, without the surface.
    pub fn add(&mut self, trail: &Trail, message: impl Into<String>) {
        let message = message.into();
        let everywhere = trail.on(None);
        let same = |known: &&mut Fault| known.message == message && known.trail.on(None) == everywhere;
        match self.0.iter_mut().find(same) {
            Some(known) if known.trail == *trail => {}
            Some(known) => known.trail = everywhere,
            None => self.0.push(Fault { trail: trail.clone(), message }),
        }
    }

    /// Adds the fault that a text is not TOML, or does not have the expected form.
    pub(super) fn add_unreadable(&mut self, trail: &Trail, text: &str, error: &toml::de::Error) {
        let line = error.span().map_or(1, |span| line_at(text, span.start));
        self.add(trail, format!("line {line}: {}", error.message().trim()));
    }

    /// Checks whether there is no fault.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of faults.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl fmt::Display for Faults {
    /// Writes the faults by file, files in alphabetical order; within a file in the order they were found.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut faults: Vec<&Fault> = self.0.iter().collect();
        faults.sort_by(|a, b| a.trail.file_name().cmp(b.trail.file_name()));
        for (index, fault) in faults.into_iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}
