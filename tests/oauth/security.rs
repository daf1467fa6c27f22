//! `docs/security.md` is true: every test it names exists, and every section of RFC 9700 is in it.

use std::collections::BTreeSet;
use std::path::Path;

/// Sections of RFC 9700 with requirements or attacks.
const SECTIONS: [&str; 28] = [
    "2.1", "2.1.1", "2.1.2", "2.2", "2.2.1", "2.2.2", "2.3", "2.4", "2.5", "2.6", "4.1", "4.2", "4.3", "4.4",
    "4.5", "4.6", "4.7", "4.8", "4.9", "4.10", "4.11", "4.12", "4.13", "4.14", "4.15", "4.16", "4.17", "4.18",
];

fn text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|fault| panic!("{}: {fault}", path.display()))
}

/// Returns the names of tests: functions, and entries of the tables that make them.
fn tests() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [
        "tests/oauth",
        "tests/hostile",
        "tests/faults",
        "tests/leaks",
        "tests/together",
        "tests/upstream",
        "tests/operators",
        "tests/work_items",
        "src",
        "crates",
    ];
    let mut folders: Vec<_> = folders.iter().map(|folder| root.join(folder)).collect();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("readable") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if path.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("readable");
            let lines: Vec<&str> = text.lines().map(str::trim).collect();
            for (at, line) in lines.iter().enumerate() {
                let function = line.strip_prefix("async fn ").or_else(|| line.strip_prefix("fn "));
                if let Some(name) = function.and_then(|rest| rest.split('(').next())
                    && at > 0
                    && ["test]", "::test("].iter().any(|mark| lines[at - 1].contains(mark))
                {
                    found.insert(name.to_owned());
                } else if let Some((name, rest)) = line.split_once(": ")
                    && (rest.starts_with('"') && rest.ends_with(';'))
                {
                    found.insert(name.to_owned());
                }
            }
        }
    }
    found
}

fn named(document: &str) -> BTreeSet<String> {
    let rows = document.lines().filter(|line| line.starts_with('|'));
    let cells = rows.filter_map(|line| line.trim_end_matches('|').rsplit('|').next());
    let words = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    words.map(str::to_owned).collect()
}

#[test]
fn every_test_that_the_document_names_exists() {
    let (named, tests) = (named(&text("docs/security.md")), tests());
    assert!(named.len() >= 40, "only {} tests are named", named.len());
    let missing: Vec<_> = named.difference(&tests).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn every_section_of_rfc_9700_has_a_row() {
    let document = text("docs/security.md");
    let missing: Vec<_> = SECTIONS
        .iter()
        .filter(|section| !document.lines().any(|line| line.starts_with(&format!("| {section} "))))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn there_are_at_least_120_tests_over_http() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oauth");
    let mut count = 0;
    for entry in std::fs::read_dir(root).expect("readable") {
        let text = std::fs::read_to_string(entry.expect("readable").path()).expect("readable");
        count += text
            .lines()
            .filter(|line| line.trim_start().starts_with("async fn ") && line.ends_with("() {"))
            .count();
        count += text
            .lines()
            .filter(|line| {
                line.starts_with("    ")
                    && line.ends_with(';')
                    && line.contains(": \"")
                    && !line.contains("let ")
                    && !line.contains("assert")
            })
            .count();
    }
    assert!(count >= 120, "{count}");
}
