//! The examples in the description of the mapping language are true: each is compiled.

use crate::plan::support::compiled;
use causeway::mapping::Texts;

/// Marks a code block that is a whole mapping file.
const MARK: &str = "```toml example";

fn examples() -> Vec<String> {
    let text = include_str!("../../mappings/README.md");
    let blocks = text.split(MARK).skip(1);
    blocks.map(|rest| rest.split("```").next().unwrap_or_default().trim_start().to_owned()).collect()
}

/// Name of the file an example declares.
fn file_name(example: &str) -> String {
    let table: toml::Table = example.parse().expect("TOML");
    format!("{}.toml", table["resource"].as_str().expect("a resource").trim_start_matches("{surface}_"))
}

#[test]
fn every_example_compiles() {
    let embedded = Texts::embedded();
    let examples = examples();
    assert!(examples.len() >= 2);
    for example in &examples {
        let mut texts = Texts::default();
        texts.insert("common.toml", embedded.get("common.toml").expect("common.toml"));
        texts.insert(&file_name(example), example.as_str());
        compiled(&texts, []);
    }
}
