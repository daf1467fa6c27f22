//! Only the reading of an input, once, for the targets that count its cost; `reading` has the properties.
//!
//! May use: `reading`, the public interface of the crate.

use crate::reading::{PLAN, TRANSLATED, chosen, headers};
use causeway::idempotency::{Key, answer};
use causeway::plan::{BodyRule, Operation, Rows};
use causeway::translate::{ReadShape, html, work_items};
use causeway::v2::cursor::Cursor;
use causeway::v2::query::{read_list, read_single};
use causeway::v2::{NamedVersions, Parameters, body};
use std::hint::black_box;

/// A query string.
pub fn query_string(data: &[u8]) {
    let Some((operation, rest)) = chosen(&PLAN.operations, data) else { return };
    let Some(parameters) = std::str::from_utf8(rest).ok().map(Parameters::parse) else { return };
    if operation.order.is_none() {
        let _ = black_box(read_single(operation, &parameters));
    } else {
        let _ = black_box(read_list(operation, PLAN.resource_of(operation), &parameters, true));
    }
}

/// A body.
pub fn request_body(data: &[u8]) {
    let writes: Vec<&Operation> =
        PLAN.operations.iter().filter(|operation| matches!(operation.body, BodyRule::Members(_))).collect();
    let Some((operation, rest)) = chosen(&writes, data) else { return };
    if let Ok(members) = body::parse(Some("application/json"), rest) {
        let _ = black_box(body::check(operation, &members));
    }
}

/// A cursor.
pub fn cursor(data: &[u8]) {
    black_box(std::str::from_utf8(data).ok().and_then(Cursor::decode));
}

/// An answer of v1: as a page, otherwise as a record.
pub fn v1_answer(data: &[u8]) {
    let Some((name, rest)) = chosen(&TRANSLATED, data) else { return };
    let Some(resource) = PLAN.resource(name) else { return };
    let shape = ReadShape::of(resource);
    match shape.read_page(Rows::Paged, rest) {
        Ok(rows) => drop(black_box(rows)),
        Err(_) => {
            if let Ok(row) = std::str::from_utf8(rest) {
                let _ = black_box((shape.read(row, &[]), work_items::read(row)));
            }
        }
    }
}

/// Rich text, sanitised and as plain text.
pub fn sanitised_html(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let _ = black_box((html::sanitise(text), html::strip(text)));
}

/// A stored answer, and the headers that request it.
pub fn idempotency_record(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        black_box(answer::read(text));
    }
    let headers = headers("idempotency-key", data);
    let _ = black_box(Key::read(&headers));
    let _ = black_box(NamedVersions::if_match(data.split(|byte| *byte == b'\n')));
}
