//! Attachments of a work item. The sandbox has no object storage: there are no attachments, and a well-formed request
//! to upload one fails. May use: `door`, `records`.

use serde_json::json;

use crate::door::body::{Body, Datum};
use crate::door::call::Call;
use crate::door::http::{Answer, Reply};
use crate::records::store::World;

/// The file types that v1 stores.
const TYPES: [&str; 12] = [
    "image/jpeg",
    "image/png",
    "image/gif",
    "image/svg+xml",
    "image/webp",
    "application/pdf",
    "application/zip",
    "application/json",
    "text/plain",
    "text/csv",
    "text/markdown",
    "video/mp4",
];

/// `GET attachments/`: a bare array (`attachments_list_empty`).
pub(crate) fn list(_: &Call<'_>, _: &World) -> Answer {
    Ok(Reply::ok(json!([])))
}

/// Any method on one attachment: not found.
pub(crate) fn read(_: &Call<'_>, _: &World) -> Answer {
    Err(Reply::not_found())
}

/// `POST attachments/`: name, size and a known type are required (`attachments_create_missing_size`,
/// `attachments_create_bad_type`).
pub(crate) fn create(call: &Call<'_>, _: &mut World) -> Answer {
    let body: Body = call.body()?;
    let refuse = |message: &str| Reply::json(400, json!({ "error": message, "status": false }));
    if body.truthy("name").is_none() || body.truthy("size").is_none() {
        return Err(refuse("Invalid request."));
    }
    let kind = body.get("type").map(Datum::text).unwrap_or_default();
    if !TYPES.contains(&kind.as_str()) {
        return Err(refuse("Invalid file type."));
    }
    Err(Reply::crash())
}
