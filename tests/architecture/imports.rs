//! Reads what a source file imports.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The crate that stands alone: an embedded v1.
const SANDBOX: &str = "crates/sandbox/src";
/// Folders with the sources of each crate.
pub const CRATES: [&str; 8] = [
    "src",
    "crates/core/src",
    "crates/plan/src",
    "crates/shared/src",
    "crates/v1/src",
    "crates/store/src",
    "crates/index/src",
    SANDBOX,
];

/// The files of the gateway with their texts, from all its crates; no two crates have a folder of one name.
pub fn sources() -> Vec<(PathBuf, String)> {
    CRATES.into_iter().filter(|folder| *folder != SANDBOX).flat_map(sources_below).collect()
}

/// The files of all crates with their texts.
pub fn sources_of_all() -> Vec<(PathBuf, String)> {
    CRATES.into_iter().flat_map(sources_below).collect()
}

/// The files of a crate with their texts.
pub fn sources_below(folder: &str) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let (mut folders, mut sources) = (vec![root.clone()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("readable") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).expect("readable");
                sources.push((path.strip_prefix(&root).expect("below src").to_owned(), text));
            }
        }
    }
    sources.sort();
    sources
}

/// Returns the folder or file directly below `src/` that a file belongs to.
pub fn module_of(path: &Path) -> String {
    let first = path.iter().next().and_then(|part| part.to_str()).expect("a name");
    first.trim_end_matches(".rs").to_owned()
}

/// Returns the depth of a file's module: 1 for `src/a.rs` and `src/a/mod.rs`.
pub fn depth_of(path: &Path) -> usize {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    path.iter().count() - usize::from(stem == "mod")
}

pub fn without_comments(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// Returns every path of `text` that starts at the root of the crate, as `[module, name, …]`.
pub fn imports(text: &str, depth: usize) -> BTreeSet<Vec<String>> {
    let text = without_comments(text);
    let mut found = BTreeSet::new();
    for start in ["crate::".to_owned(), "causeway::".to_owned(), "super::".repeat(depth)] {
        for (at, _) in text.match_indices(&start) {
            let before = text[..at].chars().next_back();
            if !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':' || c == '$') {
                tree(&text[at + start.len()..], &[], &mut found);
            }
        }
    }
    found
}

/// Reads one use tree (`a::b`, `a::{b, c::d}`, `a::*`) and returns what follows it.
pub fn tree<'t>(text: &'t str, prefix: &[String], found: &mut BTreeSet<Vec<String>>) -> &'t str {
    let text = text.trim_start();
    if let Some(mut rest) = text.strip_prefix('{') {
        loop {
            rest = rest.trim_start();
            match rest.chars().next() {
                Some('}') => return &rest[1..],
                Some(',') => rest = &rest[1..],
                None => return rest,
                Some(_) => {
                    let after = tree(rest, prefix, found);
                    // ` as name`, and anything else that is no path, ends with the entry.
                    rest = &after[after.find([',', '}']).unwrap_or(after.len())..];
                }
            }
        }
    }
    let length = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '*')).unwrap_or(text.len());
    let (name, rest) = text.split_at(length);
    let path = [prefix, &[name.to_owned()]].concat();
    match rest.strip_prefix("::") {
        Some(rest) if rest.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '{' || c == '*') => {
            tree(rest, &path, found)
        }
        _ => {
            found.insert(path);
            rest
        }
    }
}
