//! The allowed imports of each folder; no files import each other in a circle; every file states its purpose; and no
//! file is too long.
//!
//! Imports are read from the sources: every path that starts at the root of the crate, in `use` lines
//! and elsewhere, groups and `super` chains included. A folder not in the table fails, so that a new one
//! is placed on purpose.

mod circles;
mod comments;
mod imports;
mod names;

use imports::{depth_of, imports, module_of, sources, sources_of_all};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Imports that a folder may have.
enum Rule {
    /// These folders only.
    Only(&'static [&'static str]),
    /// All folders but these.
    AllBut(&'static [&'static str]),
}

use Rule::{AllBut, Only};

/// The folders that each folder or file below `src/` may import.
const RULES: [(&str, Rule); 59] = [
    // Terms that all parts share.
    ("amount", Only(&[])),
    ("aside", Only(&[])),
    ("boxed", Only(&[])),
    ("printable", Only(&[])),
    ("json", Only(&[])),
    ("network", Only(&[])),
    ("units", Only(&[])),
    ("cache", Only(&[])),
    ("refusal", Only(&[])),
    ("trace", Only(&[])),
    ("context", Only(&["trace"])),
    ("settings", Only(&[])),
    ("fresh", Only(&["context", "refusal", "task"])),
    ("heavy", Only(&["context", "refusal"])),
    ("tally", Only(&[])),
    ("task", Only(&[])),
    ("worker", Only(&[])),
    ("hop", Only(&["worker"])),
    ("html", Only(&[])),
    ("telemetry", Only(&["settings"])),
    ("shared", Only(&[])),
    ("limits", Only(&["cache", "context", "network", "refusal", "settings", "shared", "tally", "task", "units"])),
    ("load", Only(&["network", "refusal"])),
    // The declared resources and operations.
    ("mapping", Only(&[])),
    ("plan", Only(&["mapping"])),
    ("describe", Only(&["plan"])),
    ("catalogue", Only(&["plan", "refusal", "v2"])),
    // The two sides, which never import each other, and the parts between them.
    (
        "v1",
        Only(&[
            "boxed", "context", "hop", "json", "load", "refusal", "settings", "shared", "tally", "task", "trace",
            "units",
        ]),
    ),
    ("v2", Only(&["json", "plan", "refusal"])),
    (
        "store",
        Only(&["cache", "catalogue", "fresh", "json", "refusal", "tally", "task", "trace", "units", "v1", "v2"]),
    ),
    ("translate", Only(&["json", "plan", "refusal", "store", "v1", "v2"])),
    (
        "index",
        Only(&["context", "fresh", "plan", "refusal", "store", "tally", "task", "translate", "units", "v1", "v2"]),
    ),
    // The parts that serve requests.
    ("access", Only(&["cache", "context", "fresh", "plan", "refusal", "settings", "v1"])),
    ("run", AllBut(&["app", "cli", "edge", "limits", "mapping", "oauth", "request", "sandbox"])),
    ("edge", AllBut(&["access", "app", "cli", "mapping", "oauth", "run", "sandbox", "store", "translate", "v1"])),
    ("admin", Only(&["html", "settings", "task", "telemetry"])),
    ("docs", Only(&["context", "describe", "edge", "oauth", "refusal"])),
    (
        "oauth",
        Only(&[
            "access", "aside", "cache", "context", "edge", "fresh", "html", "limits", "network", "plan", "refusal",
            "settings", "store", "trace", "units", "v1",
        ]),
    ),
    ("hints", Only(&["context", "edge", "refusal", "tally"])),
    ("outgoing", Only(&["json"])),
    ("traces", Only(&["edge", "outgoing", "settings", "task", "trace"])),
    (
        "idempotency",
        Only(&[
            "access", "cache", "context", "json", "oauth", "refusal", "run", "settings", "store", "trace", "units",
            "v2",
        ]),
    ),
    // The parts that report on the gateway and prove it.
    (
        "metrics",
        Only(&[
            "access",
            "admin",
            "edge",
            "fresh",
            "hints",
            "index",
            "limits",
            "load",
            "oauth",
            "retirement",
            "run",
            "shadow",
            "store",
            "tally",
            "v1",
        ]),
    ),
    ("explain", Only(&["access", "edge", "index", "plan", "refusal", "run", "v2"])),
    ("leave", Only(&["catalogue", "outgoing", "plan", "printable", "settings", "store", "translate"])),
    ("migration", Only(&["amount", "plan", "printable", "store"])),
    ("retirement", Only(&["edge", "plan", "settings", "usage"])),
    ("native", Only(&["access", "context", "edge", "hop", "plan", "refusal", "settings", "store"])),
    (
        "shadow",
        Only(&[
            "amount",
            "hop",
            "migration",
            "plan",
            "printable",
            "settings",
            "store",
            "tally",
            "task",
            "units",
            "usage",
            "v1",
        ]),
    ),
    ("front", Only(&["context", "edge", "html", "plan", "refusal"])),
    ("board", Only(&["admin", "amount", "migration", "plan", "printable", "shadow", "store", "usage"])),
    ("usage", Only(&["access", "context", "edge", "plan", "settings", "store", "units", "v1"])),
    ("verify", Only(&["amount", "outgoing", "plan"])),
    // Composition.
    ("request", AllBut(&["app", "cli", "doctor", "mapping", "sandbox"])),
    ("app", AllBut(&["cli", "doctor", "sandbox"])),
    (
        "doctor",
        Only(&[
            "access",
            "admin",
            "amount",
            "app",
            "edge",
            "hints",
            "hop",
            "native",
            "oauth",
            "outgoing",
            "plan",
            "retirement",
            "settings",
            "shared",
            "store",
            "units",
            "v1",
        ]),
    ),
    ("cli", AllBut(&[])),
    ("main", AllBut(&[])),
    ("lib", AllBut(&[])),
];

/// Folders of which another folder may use only these names.
const NAMES: [(&str, &str, &[&str]); 19] = [
    // Messages are values; the client is not.
    ("translate", "v1", &["Method", "Object", "V1Request", "V1Response", "present"]),
    ("translate", "store", &["OverlayValue", "overlay_wins"]),
    // The typed item only; the index translates nothing.
    ("index", "translate", &["work_items"]),
    // The types in which gateway processes exchange changes through the store.
    ("index", "store", &["DeltaTurn", "StoredDelta", "TakenTurn"]),
    // The columns of the index's lists.
    ("index", "plan", &["Column"]),
    // A token stands for a v1 key; only `access` calls v1.
    ("oauth", "v1", &["V1Key"]),
    ("oauth", "plan", &["scopes"]),
    // `explain` predicts the outcome with the same checks, and carries nothing out.
    ("explain", "access", &["gate", "paths"]),
    ("explain", "edge", &["door"]),
    ("explain", "index", &["SetNeeds"]),
    ("explain", "run", &["outlook"]),
    ("doctor", "access", &["paths"]),
    ("doctor", "admin", &["has_token"]),
    ("doctor", "hints", &["HintSecrets"]),
    ("metrics", "hints", &["HintTally"]),
    ("doctor", "shared", &["Shared", "Unusable"]),
    ("doctor", "oauth", &["Keyring", "unopened_keys"]),
    ("doctor", "v1", &["NO_SUCH_PATH"]),
    // The store records which deployment it belongs to, and keeps the parts of v1's quota.
    ("store", "v1", &["BaseUrl", "BaseUrlError", "PartsChange", "PartsSeen"]),
];

/// The longest file, in lines; there are no exceptions.
const LONGEST: usize = 500;

/// Imports between folders: from, to, name, and the file.
fn edges() -> Vec<(String, Vec<String>, PathBuf)> {
    let sources = sources();
    let mut modules: BTreeSet<String> = sources.iter().map(|(path, _)| module_of(path)).collect();
    // A crate of its own that the root re-exports.
    modules.insert("sandbox".to_owned());
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
            faults.insert(format!("{}: `{from}` may not use `{to}`", path.display()));
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
            faults.insert(format!("{}: `{from}` may not use `{to}::{name}`", path.display()));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.into_iter().collect::<Vec<_>>().join("\n"));
}

#[test]
fn every_file_says_what_it_is_for() {
    let silent: Vec<_> = sources_of_all()
        .into_iter()
        .filter(|(_, text)| text.lines().count() > 1 && !text.starts_with("//!"))
        .map(|(path, _)| path)
        .collect();
    assert!(silent.is_empty(), "without a //! header: {silent:?}");
}

#[test]
fn every_header_says_what_the_file_may_use() {
    let silent: Vec<_> = sources_of_all()
        .into_iter()
        .filter(|(_, text)| text.lines().count() > 1 && !header_of(text).contains("May use: "))
        .map(|(path, _)| path)
        .collect();
    assert!(silent.is_empty(), "without `May use:` in the header: {silent:?}");
}

#[test]
fn no_file_outgrows_its_purpose() {
    let long: Vec<_> =
        sources_of_all().into_iter().filter(|(_, text)| text.lines().count() > LONGEST).map(|(p, _)| p).collect();
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

/// The header of a file, as one line.
fn header_of(text: &str) -> String {
    text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim).collect::<Vec<_>>().join(" ")
}

/// Returns all names in backticks behind `May use:` in a file's header. None where the header has no such list or
/// refers to another list.
fn allowed_by_header(text: &str) -> Option<BTreeSet<String>> {
    let header = header_of(text);
    let (_, rest) = header.split_once("May use: ")?;
    let sentence = rest.split(". ").next().unwrap_or(rest);
    if sentence.starts_with("what `") || sentence.starts_with("everything") {
        return None;
    }
    let names = sentence.split('`').skip(1).step_by(2);
    Some(names.map(|name| name.split("::").next().unwrap_or(name).to_owned()).collect())
}

#[test]
fn headers_name_what_their_files_use() {
    let texts: BTreeMap<PathBuf, String> = sources().into_iter().collect();
    let mut used: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in &texts {
        // Unit tests may use what they need.
        let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text);
        let names = imports(text, depth_of(path)).into_iter().map(|import| import[0].clone());
        used.insert(path.clone(), names.filter(|name| *name != module_of(path)).collect());
    }
    let known: BTreeSet<String> = texts.keys().map(|path| module_of(path)).collect();
    let mut faults = Vec::new();
    for (path, text) in &texts {
        let Some(allowed) = allowed_by_header(text) else { continue };
        for name in used[path].iter().filter(|name| known.contains(*name) && !allowed.contains(*name)) {
            faults.push(format!("{}: its header does not name `{name}`", path.display()));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn the_reader_of_headers_sees_names_and_references() {
    let names = |text| allowed_by_header(text).map(|names| names.into_iter().collect::<Vec<_>>());
    let header = "//! What it is.\n//!\n//! May use: `v2::record` (rows), `plan`,\n//! this folder. May not use: `v1`.\nuse x;";
    assert_eq!(names(header), Some(vec!["plan".to_owned(), "v2".to_owned()]));
    assert_eq!(names("//! May use: what `run` may use.\n"), None);
    assert_eq!(names("//! May use: nothing of this crate.\n"), Some(vec![]));
}
