//! Files that are removed unless they are complete. May use: nothing of this crate.

use std::path::{Path, PathBuf};

/// Ends of the names of files that SQLite and this program put beside the file of a store.
const BESIDE_A_STORE: [&str; 4] = ["-journal", "-wal", "-shm", ".lock"];

/// A new file that is being written. It is removed when this value is dropped before the file is complete, also when
/// the work is interrupted, so that nobody takes it for a complete one.
#[must_use = "the file is removed when this is dropped"]
#[derive(Debug)]
pub struct Unfinished {
    file: Option<PathBuf>,
    beside: &'static [&'static str],
}

impl Unfinished {
    /// Watches over a copy or an export.
    pub fn copy(file: &Path) -> Self {
        Self { file: Some(file.to_owned()), beside: &BESIDE_A_STORE[..1] }
    }

    /// Watches over the file of a store, and the files beside it.
    pub fn store(file: &Path) -> Self {
        Self { file: Some(file.to_owned()), beside: &BESIDE_A_STORE }
    }

    /// Leaves the file, because it is complete.
    pub fn complete(mut self) {
        self.file = None;
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let Some(file) = &self.file else { return };
        let _ = std::fs::remove_file(file);
        for ending in self.beside {
            let _ = std::fs::remove_file(with_ending(file, ending));
        }
    }
}

/// Returns the name of `file` followed by `ending`.
pub fn with_ending(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_stays_only_when_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["a", "a-journal", "a-wal", "b", "b-journal", "b-wal", "c"] {
            std::fs::write(at(name), "").unwrap();
        }
        drop(Unfinished::copy(&at("a")));
        drop(Unfinished::store(&at("b")));
        Unfinished::copy(&at("c")).complete();
        let mut left: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["a-wal", "c"]);
    }
}
