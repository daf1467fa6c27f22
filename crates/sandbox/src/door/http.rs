//! Answers of the views, before the pipeline adds headers, and the query string. May use: `records`.

use percent_encoding::percent_decode;
use serde_json::{Map, Value, json};

/// The answer of a view.
#[derive(Debug)]
pub(crate) struct Reply {
    /// The status code.
    pub(crate) status: u16,
    /// The body.
    pub(crate) body: Payload,
}

/// A body of an answer.
#[derive(Debug)]
pub(crate) enum Payload {
    /// JSON.
    Json(Value),
    /// A page, sent as `text/html`.
    Html(&'static str),
    /// No body and no content type.
    Empty,
}

/// A view's result. Refusals are `Err`, so that `?` ends the view.
pub(crate) type Answer = Result<Reply, Reply>;

/// The page v1 shows when even its error answer fails (`errors_poison_float_overflow`).
pub(crate) const CRASH_PAGE: &str = "\n<!doctype html>\n<html lang=\"en\">\n<head>\n  <title>Server Error (500)</title>\n</head>\n<body>\n  <h1>Server Error (500)</h1><p></p>\n</body>\n</html>\n";

impl Reply {
    /// Any status, with a JSON body.
    pub(crate) fn json(status: u16, body: Value) -> Self {
        Self { status, body: Payload::Json(body) }
    }

    /// 200.
    pub(crate) fn ok(body: Value) -> Self {
        Self::json(200, body)
    }

    /// 201.
    pub(crate) fn created(body: Value) -> Self {
        Self::json(201, body)
    }

    /// 204.
    pub(crate) fn no_content() -> Self {
        Self { status: 204, body: Payload::Empty }
    }

    /// `{"error": …}`.
    pub(crate) fn error(status: u16, message: &str) -> Self {
        Self::json(status, json!({ "error": message }))
    }

    /// `{"detail": …}`.
    pub(crate) fn detail(status: u16, message: &str) -> Self {
        Self::json(status, json!({ "detail": message }))
    }

    /// 400 with messages by field.
    pub(crate) fn fields(errors: Map<String, Value>) -> Self {
        Self::json(400, Value::Object(errors))
    }

    /// 400 about one field.
    pub(crate) fn field(name: &str, message: &str) -> Self {
        Self::json(400, json!({ name: [message] }))
    }

    /// 400 about the record as a whole.
    pub(crate) fn non_field(message: &str) -> Self {
        Self::field("non_field_errors", message)
    }

    /// 404 of a record.
    pub(crate) fn not_found() -> Self {
        Self::error(404, "The requested resource does not exist.")
    }

    /// 404 of a route.
    pub(crate) fn no_page() -> Self {
        Self::error(404, "Page not found.")
    }

    /// 500 of a view.
    pub(crate) fn crash() -> Self {
        Self::error(500, "Something went wrong please try again later")
    }

    /// 500 when the error answer failed as well.
    pub(crate) fn crash_page() -> Self {
        Self { status: 500, body: Payload::Html(CRASH_PAGE) }
    }

    /// 400 for a broken database constraint.
    pub(crate) fn bad_payload() -> Self {
        Self::error(400, "The payload is not valid")
    }

    /// 400 for a value that only the database rejects.
    pub(crate) fn bad_detail() -> Self {
        Self::error(400, "Please provide valid detail")
    }

    /// 409 for an external pair that another record has.
    pub(crate) fn external_taken(kind: &str, id: crate::records::table::Id) -> Self {
        let message = format!("{kind} with the same external id and external source already exists");
        Self::json(409, json!({ "error": message, "id": id }))
    }

    /// 403 for lack of permission.
    pub(crate) fn forbidden() -> Self {
        Self::detail(403, "You do not have permission to perform this action.")
    }
}

/// A parsed query string.
#[derive(Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads a raw query string; broken UTF-8 becomes the replacement character
    /// (`errors_bad_utf8_in_query`).
    pub(crate) fn parse(raw: &str) -> Self {
        Self(form_pairs(raw.as_bytes()))
    }

    /// Returns a parameter's value; of a repeated parameter the last value counts (`lists_order_repeated_param`).
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Whether a value contains a NUL character.
    pub(crate) fn has_nul(&self) -> bool {
        self.0.iter().any(|(_, value)| value.contains('\0'))
    }
}

/// The pairs of a form-encoded text.
pub(crate) fn form_pairs(raw: &[u8]) -> Vec<(String, String)> {
    raw.split(|&b| b == b'&')
        .filter(|part| !part.is_empty())
        .map(|part| {
            let cut = part.iter().position(|&b| b == b'=').unwrap_or(part.len());
            let value = part.get(cut + 1..).unwrap_or_default();
            (form_text(&part[..cut]), form_text(value))
        })
        .collect()
}

fn form_text(raw: &[u8]) -> String {
    let spaced: Vec<u8> = raw.iter().map(|&b| if b == b'+' { b' ' } else { b }).collect();
    percent_decode(&spaced).decode_utf8_lossy().into_owned()
}
