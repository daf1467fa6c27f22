//! `docs/v1-traps.md` names tests that exist, and every trap test is named there.

use std::collections::BTreeSet;
use std::path::Path;

fn text(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect(path)
}

/// Names behind `before` in a text, up to the first character that cannot be in one.
fn names(text: &str, before: &str) -> BTreeSet<String> {
    let ends = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    text.split(before).skip(1).map(|rest| format!("trap_{}", rest.split(ends).next().unwrap_or_default())).collect()
}

#[test]
fn the_page_of_traps_and_the_tests_name_each_other() {
    let page = names(&text("docs/v1-traps.md"), "`trap_");
    let files = ["access", "dates", "names", "reads", "writes"];
    let sources: Vec<String> = files.iter().map(|file| text(&format!("tests/traps/{file}.rs"))).collect();
    let tests = names(&sources.concat(), "fn trap_");
    for named in &page {
        assert!(tests.iter().any(|test| test.starts_with(named.as_str())), "no test begins with {named}");
    }
    for test in &tests {
        assert!(page.iter().any(|named| test.starts_with(named.as_str())), "{test} is not on the page");
    }
}
