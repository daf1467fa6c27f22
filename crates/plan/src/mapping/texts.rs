//! Sources of the texts of the mapping files: compiled in, and a directory laid over them.
//!
//! The files are embedded in debug builds too, so that a test sees what a release serves. `include_str!` per file was
//! not chosen, because it would need a list kept by hand. May use: this folder.

use super::legacy;
use super::shapes::FOLDER;
use indexmap::IndexMap;
use rust_embed::RustEmbed;
use std::path::{Path, PathBuf};

#[derive(RustEmbed)]
#[folder = "../../mappings/"]
struct Embedded;

/// Texts of mapping files by file name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Texts(IndexMap<String, String>);

/// A directory or file of mappings that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {cause}", path.display())]
pub struct Unreadable {
    /// Path that was to be read.
    pub path: PathBuf,
    /// Reason why it could not be read.
    pub cause: std::io::Error,
}

impl Texts {
    /// Returns the files compiled into the binary.
    pub fn embedded() -> Self {
        let mut texts = Self::default();
        for name in Embedded::iter().filter(|name| is_mapping(name)) {
            if let Some(file) = Embedded::get(&name) {
                texts.insert(&name, String::from_utf8_lossy(&file.data));
            }
        }
        texts
    }

    /// Lays the `*.toml`, `shapes/*.json` and `v1/*.toml` files of a directory over these files. A file with a known
    /// name replaces the known one; a file with a new name is added.
    ///
    /// # Errors
    /// The directory or one of its files cannot be read.
    pub fn overlay(mut self, directory: &Path) -> Result<Self, Unreadable> {
        self.lay(directory, "", ".toml")?;
        for (folder, ending) in [(FOLDER, ".json"), (legacy::FOLDER, ".toml")] {
            if directory.join(folder).is_dir() {
                self.lay(&directory.join(folder), folder, ending)?;
            }
        }
        Ok(self)
    }

    fn lay(&mut self, directory: &Path, prefix: &str, ending: &str) -> Result<(), Unreadable> {
        let unreadable = |path: &Path, cause| Unreadable { path: path.into(), cause };
        for entry in std::fs::read_dir(directory).map_err(|cause| unreadable(directory, cause))? {
            let path = entry.map_err(|cause| unreadable(directory, cause))?.path();
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            if name.ends_with(ending) {
                let text = std::fs::read_to_string(&path).map_err(|cause| unreadable(&path, cause))?;
                self.insert(&format!("{prefix}{name}"), text);
            }
        }
        Ok(())
    }

    /// Adds or replaces one file.
    pub fn insert(&mut self, name: &str, text: impl Into<String>) {
        self.0.insert(name.into(), text.into());
    }

    /// Returns the text of one file.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns names and texts, ordered by name.
    pub fn sorted(&self) -> Vec<(&str, &str)> {
        let mut texts: Vec<_> = self.0.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        texts.sort_unstable();
        texts
    }
}

fn is_mapping(name: &str) -> bool {
    name.ends_with(".toml") || name.starts_with(FOLDER) && name.ends_with(".json")
}
