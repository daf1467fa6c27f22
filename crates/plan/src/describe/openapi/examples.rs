//! Examples, from `fixtures/examples/`: `<shape>.json` or `<operation>.json` for a record,
//! `bodies/<operation>.json` for a request, `problems.json` for refusals by code.
//!
//! May use: `plan`.

use super::security::STAND_IN;
use crate::plan::{Operation, codes};
use rust_embed::RustEmbed;
use serde_json::{Map, Value, json};

#[derive(RustEmbed)]
#[folder = "../../fixtures/examples/"]
struct Files;

fn file(name: &str) -> Option<Value> {
    let file = Files::get(&format!("{name}.json"))?;
    Some(serde_json::from_slice(&file.data).expect("the examples are JSON"))
}

/// Returns an example of an operation's request body.
pub(super) fn body(operation: &str) -> Option<Value> {
    file(&format!("bodies/{operation}"))
}

/// Returns `examples` of a success: a record, or a page of it in both styles.
pub(super) fn success(operation: &Operation, shape: &str) -> Option<Value> {
    let record = file(&operation.id).or_else(|| file(shape))?;
    if !operation.is_list() {
        return Some(json!({ "record": { "value": record } }));
    }
    let offset = json!({
        "data": [record], "next": null, "previous": null, "total_count": 1, "pagination": { "style": "offset" },
    });
    let cursor = json!({
        "data": [record], "next_cursor": null, "has_more": false, "pagination": { "style": "cursor" },
    });
    Some(json!({ "offset": { "value": offset }, "cursor": { "value": cursor } }))
}

/// Returns `components.examples`: a problem of each code.
pub(super) fn problems() -> Value {
    let told = file("problems").expect("problems.json is embedded");
    let example = |(status, code): (u16, &str)| {
        let mut value = json!({ "type": format!("{STAND_IN}/errors/{code}") });
        for (key, told) in told[code].as_object().into_iter().flatten() {
            value[key] = told.clone();
            if key == "title" {
                (value["status"], value["code"]) = (status.into(), code.into());
            }
        }
        (code.to_owned(), json!({ "value": value }))
    };
    codes::TABLE.into_iter().map(example).collect::<Map<_, _>>().into()
}

/// Returns references to the problems of some codes.
pub(super) fn of_problems(codes: &[&str]) -> Value {
    let reference = |code: &&str| ((*code).to_owned(), json!({ "$ref": format!("#/components/examples/{code}") }));
    codes.iter().map(reference).collect::<Map<_, _>>().into()
}
