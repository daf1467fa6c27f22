//! The corpora of the fuzz targets, and every prefix of each input, through the same properties.

use std::path::Path;

#[path = "../../fuzz/properties.rs"]
mod properties;

#[track_caller]
fn replay(target: &str, holds: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut inputs = 0;
    for file in std::fs::read_dir(&folder).expect("a corpus") {
        let path = file.expect("a file").path();
        let input = std::fs::read(&path).expect("an input");
        for end in 0..=input.len() {
            let outcome = std::panic::catch_unwind(|| holds(&input[..end]));
            assert!(outcome.is_ok(), "{} up to byte {end}", path.display());
        }
        inputs += 1;
    }
    assert!(inputs >= 8, "{target} has {inputs} inputs");
}

#[test]
fn authorize_queries_hold() {
    replay("authorize_query", properties::authorize_query);
}

#[test]
fn token_forms_hold() {
    replay("token_form", properties::token_form);
}

#[test]
fn redirects_hold() {
    replay("redirect_matching", properties::redirect_matching);
}

#[test]
fn bearer_tokens_hold() {
    replay("bearer_parsing", properties::bearer_parsing);
}
