//! Work items in one pass against a plain slow reference (`fuzz/plain.rs`): both translate every recorded answer of v1
//! and damaged forms of it.

#[path = "../../fuzz/plain.rs"]
mod plain;

use crate::support::random::Random;
use crate::support::replay::{Recording, fixture};
use plain::{Members, item, page, reference_item, reference_page};
use serde_json::Value;

/// Returns any position between two characters.
fn position(text: &str, random: &mut Random) -> usize {
    let mut at = random.below(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Damages an answer, or writes its JSON in another way as a v1 might.
fn damaged(text: &str, random: &mut Random) -> String {
    let at = position(text, random);
    let (before, after) = text.split_at(at);
    let member = |value: &str| text.replacen('{', &format!("{{{value},"), 1);
    match random.below(12) {
        0 => before.to_owned(),
        1 => format!("{before}{}", after.chars().skip(1).collect::<String>()),
        2 => format!("{before}\\ud800{after}"),
        3 => text.replace('a', "\\u0061"),
        4 => member("\"sequence_id\":7"),
        5 => member(&format!("\"more\":{}{}", "[".repeat(300), "]".repeat(300))),
        6 => member("\"more\":1e400,\"more\":\"\\ud83d\\ude00\""),
        7 => text.replacen(":null", ":123456789012345678901234567890", 1 + random.below(3)),
        8 => text.replacen("\"", "\"\\u0000", 1 + random.below(40)),
        9 => format!("{text}{}", ["", " ", "x", "{}", "\n"][random.below(5)]),
        10 => text.replacen("false", ["true", "0", "null"][random.below(3)], 1),
        _ => reordered(text),
    }
}

/// Returns an object with its members in reverse order.
fn reordered(text: &str) -> String {
    let Ok(Members(mut members)) = serde_json::from_str::<Members>(text) else { return text.to_owned() };
    members.reverse();
    let members: Vec<String> =
        members.iter().map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), value.get())).collect();
    format!("{{{}}}", members.join(","))
}

#[test]
fn one_pass_says_what_the_plain_reference_says() {
    let mut random = Random::new(13);
    let (mut answers, mut items, mut pages) = (0, 0, 0);
    for entry in std::fs::read_dir(fixture("v1")).expect("the recordings") {
        let text = std::fs::read_to_string(entry.expect("a file").path()).expect("a file");
        let Ok(recording) = serde_json::from_str::<Recording>(&text) else { continue };
        for exchange in &recording.exchanges {
            answers += 1;
            let body = exchange.response.body.to_string();
            let rows = exchange.response.body["results"].as_array().into_iter().flatten();
            let mut texts: Vec<String> = rows.take(3).map(Value::to_string).chain([body]).collect();
            for index in 0..texts.len() {
                texts.extend((0..24).map(|_| damaged(&texts[index].clone(), &mut random)).collect::<Vec<_>>());
            }
            for text in texts {
                let (said, expected) = (item(&text), reference_item(&text));
                items += usize::from(said.is_some());
                assert_eq!(said, expected, "{}: {text}", exchange.name);
                let (said, expected) = (page(&text), reference_page(&text));
                pages += usize::from(said.is_some());
                assert_eq!(said, expected, "{}: {text}", exchange.name);
            }
        }
    }
    assert!(answers > 1_500 && items > 1_000 && pages > 100, "{answers} answers, {items} items, {pages} pages");
}

#[test]
fn the_inputs_of_the_fuzzer_are_read_alike() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/translated");
    let mut read = 0;
    for file in std::fs::read_dir(&folder).expect("a corpus") {
        let input = std::fs::read(file.expect("a file").path()).expect("an input");
        let text = std::str::from_utf8(&input).expect("text");
        read += usize::from(item(text).is_some() || page(text).is_some());
        for end in (0..=input.len()).step_by((input.len() / 100).max(1)) {
            plain::translated(&input[..end]);
        }
    }
    assert!(read >= 4, "{read} inputs are an item or a page");
}
