//! The corpora of the fuzz targets that read requests, answers of v1 and mapping files, through the same properties.

use std::path::Path;

#[path = "../../fuzz/reading.rs"]
mod reading;

/// Checks every input of a corpus, and `beginnings` prefixes of each.
#[track_caller]
fn replay(target: &str, beginnings: usize, holds: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut inputs = 0;
    for file in std::fs::read_dir(&folder).expect("a corpus") {
        let path = file.expect("a file").path();
        let input = std::fs::read(&path).expect("an input");
        let step = (input.len() / beginnings).max(1);
        for end in (0..input.len()).step_by(step).chain([input.len()]) {
            let outcome = std::panic::catch_unwind(|| holds(&input[..end]));
            assert!(outcome.is_ok(), "{} up to byte {end}", path.display());
        }
        inputs += 1;
    }
    assert!(inputs >= 8, "{target} has {inputs} inputs");
}

#[test]
fn query_strings_hold() {
    replay("query_string", 200, reading::query_string);
}

#[test]
fn request_bodies_hold() {
    replay("request_body", 200, reading::request_body);
}

#[test]
fn cursors_hold() {
    replay("cursor", 200, reading::cursor);
}

#[test]
fn answers_of_v1_hold() {
    replay("v1_answer", 100, reading::v1_answer);
}

/// All recorded answers of v1: whole, cut off, and with a member that stands twice or is of another kind.
#[test]
fn recorded_answers_say_in_one_pass_what_their_records_say() {
    let mut read = 0;
    for file in
        std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/v1")).expect("the recordings")
    {
        let text = std::fs::read_to_string(file.expect("a file").path()).expect("a file");
        let recording: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        for exchange in recording["exchanges"].as_array().into_iter().flatten() {
            let body = exchange["response"]["body"].to_string();
            let other = [
                body.replace("\"created_at\"", "\"created\\u005fat\""),
                body.replacen("\"name\":\"", "\"name\":null,\"name\":\"", 1),
                body.replacen("false", "0", 1),
                body.replace('{', "\t{ ").replace('}', " \n}").replace("\":", "\" : "),
            ];
            for resource in 0..reading::TRANSLATED.len() as u8 {
                let input = |text: &str| [&[resource], text.as_bytes()].concat();
                other.iter().chain([&body]).for_each(|text| reading::v1_answer(&input(text)));
                let cuts = (0..body.len()).step_by((body.len() / 10).max(1));
                cuts.for_each(|end| reading::v1_answer(&input(&body)[..end]));
            }
            read += 1;
        }
    }
    assert!(read > 1_500, "{read}");
}

#[test]
fn sanitised_html_holds() {
    replay("sanitised_html", 40, reading::sanitised_html);
}

#[test]
fn mapping_files_hold() {
    replay("mapping_file", 3, reading::mapping_file);
}

#[test]
fn heads_that_pass_through_hold() {
    replay("pass_through_head", 100, reading::pass_through_head);
}

#[test]
fn kept_answers_and_their_headers_hold() {
    replay("idempotency_record", 200, reading::idempotency_record);
}
