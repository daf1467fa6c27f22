//! `docs/v1-traps.md` names tests that exist, and every trap test is named there.

use std::collections::BTreeSet;
use std::path::Path;

fn text(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect(path)
}

/// Returns the names behind `before` in a text, up to the first character that cannot be in a name.
fn names(text: &str, before: &str) -> BTreeSet<String> {
    let ends = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    text.split(before).skip(1).map(|rest| format!("trap_{}", rest.split(ends).next().unwrap_or_default())).collect()
}

/// Returns the sources of all tests that may have the number of a trap in their names.
fn sources() -> String {
    let mut sources = String::new();
    for folder in ["traps", "comments", "work_items"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
        for entry in std::fs::read_dir(folder).expect("a folder of tests") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("page.rs") {
                sources.push_str(&std::fs::read_to_string(path).expect("a test file"));
            }
        }
    }
    sources
}

#[test]
fn the_page_of_traps_and_the_tests_name_each_other() {
    let page = names(&text("docs/v1-traps.md"), "`trap_");
    let tests = names(&sources(), "fn trap_");
    for named in &page {
        assert!(tests.iter().any(|test| test.starts_with(named.as_str())), "no test begins with {named}");
    }
    for test in &tests {
        assert!(page.iter().any(|named| test.starts_with(named.as_str())), "{test} is not on the page");
    }
}
