//! Who may import whom, that every file says what it is for, and that none outgrows its purpose.
//!
//! Imports are read from the sources: every path that starts at the root of the crate, in `use` lines
//! and elsewhere, groups and `super` chains included. A folder not in the table fails, so that a new one
//! is placed on purpose.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Everything but these.
enum Rule {
    /// Only these.
    Only(&'static [&'static str]),
    /// All but these.
    AllBut(&'static [&'static str]),
}

use Rule::{AllBut, Only};

/// What each folder or file below `src/` may import from the others.
const RULES: [(&str, Rule); 31] = [
    // Words everybody shares.
    ("refusal", Only(&[])),
    ("context", Only(&[])),
    ("settings", Only(&[])),
    ("coalesce", Only(&["refusal"])),
    ("heavy", Only(&["context", "refusal"])),
    ("telemetry", Only(&["settings"])),
    ("limits", Only(&["context", "refusal", "settings"])),
    ("load", Only(&["refusal"])),
    // What exists.
    ("mapping", Only(&[])),
    ("plan", Only(&["mapping"])),
    ("describe", Only(&["plan", "settings"])),
    ("catalogue", Only(&["plan", "refusal", "v2"])),
    // The two sides, which never know each other, and what lies between.
    ("v1", Only(&["context", "refusal", "coalesce", "load", "settings"])),
    ("v2", Only(&["plan", "refusal"])),
    ("store", Only(&["catalogue", "refusal", "v1", "v2"])),
    ("translate", Only(&["plan", "refusal", "store", "v1", "v2"])),
    ("index", Only(&["coalesce", "context", "refusal", "translate", "v1", "v2"])),
    // What serves requests.
    ("access", Only(&["coalesce", "context", "plan", "refusal", "settings", "v1"])),
    ("run", AllBut(&["app", "cli", "edge", "limits", "mapping", "oauth", "request", "sandbox"])),
    ("edge", AllBut(&["access", "app", "cli", "mapping", "oauth", "run", "sandbox", "store", "translate", "v1"])),
    ("docs", Only(&["context", "describe", "edge", "refusal"])),
    ("oauth", Only(&["access", "context", "edge", "plan", "refusal", "settings", "store", "v1"])),
    ("idempotency", Only(&["access", "context", "oauth", "refusal", "run", "settings", "store", "v2"])),
    // What tells about it and what proves it.
    ("explain", Only(&["access", "index", "plan", "refusal", "run", "v2"])),
    ("verify", Only(&["plan"])),
    // A separate world.
    ("sandbox", Only(&[])),
    // Composition.
    ("request", AllBut(&["app", "cli", "mapping", "sandbox"])),
    ("app", AllBut(&["cli", "sandbox"])),
    ("cli", AllBut(&[])),
    ("main", AllBut(&[])),
    ("lib", AllBut(&[])),
];

/// Where a folder may be used, but only these names of it.
const NAMES: [(&str, &str, &[&str]); 9] = [
    // Messages are values; the client is not.
    ("translate", "v1", &["Method", "V1Request", "V1Response"]),
    ("translate", "store", &["OverlayValue", "overlay_wins"]),
    // The typed item; the index translates nothing.
    ("index", "translate", &["work_items"]),
    // Tokens lead to v1 keys; v1 itself is asked by `access` alone.
    ("oauth", "v1", &["V1Key"]),
    ("oauth", "plan", &["scopes"]),
    // What would happen is read off the same checks, and nothing is carried out.
    ("explain", "access", &["gate"]),
    ("explain", "index", &["SetNeeds"]),
    ("explain", "run", &["outlook"]),
    // The store records which deployment it belongs to.
    ("store", "v1", &["BaseUrl", "BaseUrlError"]),
];

/// No file is longer, and there are no exceptions.
const LONGEST: usize = 500;

fn sources() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
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

/// The folder or file directly below `src/` a file belongs to.
fn module_of(path: &Path) -> String {
    let first = path.iter().next().and_then(|part| part.to_str()).expect("a name");
    first.trim_end_matches(".rs").to_owned()
}

/// How many modules deep a file is: 1 for `src/a.rs` and `src/a/mod.rs`.
fn depth_of(path: &Path) -> usize {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    path.iter().count() - usize::from(stem == "mod")
}

fn without_comments(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// Every path of `text` that starts at the root of the crate, as `[module, name, …]`.
fn imports(text: &str, depth: usize) -> BTreeSet<Vec<String>> {
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
fn tree<'t>(text: &'t str, prefix: &[String], found: &mut BTreeSet<Vec<String>>) -> &'t str {
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
                    // ` as name` and whatever else is no path ends with the entry.
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

/// Imports between folders: from, to, name, and the file.
fn edges() -> Vec<(String, Vec<String>, PathBuf)> {
    let sources = sources();
    let modules: BTreeSet<String> = sources.iter().map(|(path, _)| module_of(path)).collect();
    let mut edges = Vec::new();
    for (path, text) in &sources {
        let from = module_of(path);
        for import in imports(text, depth_of(path)) {
            if modules.contains(&import[0]) && import[0] != from {
                edges.push((from.clone(), import, path.clone()));
            }
        }
    }
    edges
}

#[test]
fn every_folder_imports_only_what_it_may() {
    let rules: BTreeMap<&str, &Rule> = RULES.iter().map(|(name, rule)| (*name, rule)).collect();
    let mut faults = BTreeSet::new();
    for (path, _) in sources() {
        if !rules.contains_key(module_of(&path).as_str()) {
            faults.insert(format!("{}: no rule for this folder", module_of(&path)));
        }
    }
    for (from, import, path) in edges() {
        let to = import[0].as_str();
        let allowed = match rules.get(from.as_str()) {
            Some(Only(these)) => these.contains(&to),
            Some(AllBut(these)) => !these.contains(&to),
            None => true,
        };
        if !allowed {
            faults.insert(format!("src/{}: `{from}` may not use `{to}`", path.display()));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.into_iter().collect::<Vec<_>>().join("\n"));
}

#[test]
fn of_some_folders_only_values_may_be_used() {
    let mut faults = BTreeSet::new();
    for (from, import, path) in edges() {
        let Some((_, to, names)) = NAMES.iter().find(|(f, to, _)| *f == from && *to == import[0]) else { continue };
        let name = import.get(1).map_or("", String::as_str);
        if !names.contains(&name) {
            faults.insert(format!("src/{}: `{from}` may not use `{to}::{name}`", path.display()));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.into_iter().collect::<Vec<_>>().join("\n"));
}

#[test]
fn every_file_says_what_it_is_for() {
    let silent: Vec<_> = sources()
        .into_iter()
        .filter(|(_, text)| text.lines().count() > 1 && !text.starts_with("//!"))
        .map(|(path, _)| path)
        .collect();
    assert!(silent.is_empty(), "without a //! header: {silent:?}");
}

#[test]
fn no_file_outgrows_its_purpose() {
    let long: Vec<_> =
        sources().into_iter().filter(|(_, text)| text.lines().count() > LONGEST).map(|(p, _)| p).collect();
    assert!(long.is_empty(), "above {LONGEST} lines: {long:?}");
}

#[test]
fn the_reader_of_imports_sees_every_form() {
    let text = "
use crate::plan::{Plan, routes::{Found, Routes as Table}, *};
use crate::{v1::V1Response, store};
use super::super::v2::Reply; // crate::run::Hidden
fn f() { $crate::edge::no(); crate::refusal::Refusal::not_found(); }
";
    let found: Vec<String> = imports(text, 2).into_iter().map(|path| path.join("::")).collect();
    let expected = [
        "plan::*",
        "plan::Plan",
        "plan::routes::Found",
        "plan::routes::Routes",
        "refusal::Refusal::not_found",
        "store",
        "v1::V1Response",
        "v2::Reply",
    ];
    assert_eq!(found, expected);
}
