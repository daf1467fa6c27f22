//! What a delivery of v1's webhooks is about. May use: nothing of this crate.

use serde::Deserialize;
use uuid::Uuid;

#[derive(Deserialize)]
struct Delivery {
    event: String,
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    id: Option<Uuid>,
    /// An id, or the record with its id.
    project: Option<Named>,
    project_id: Option<Uuid>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Named {
    Id(Uuid),
    Record { id: Uuid },
}

/// The project that a delivery is about; none for what is not understood, which is no fault.
pub(super) fn project_of(body: &[u8]) -> Option<Uuid> {
    let Delivery { event, data } = serde_json::from_slice(body).ok()?;
    match (data.project, data.project_id) {
        (Some(Named::Id(id) | Named::Record { id }), _) | (None, Some(id)) => Some(id),
        (None, None) if event == "project" => data.id,
        (None, None) => None,
    }
}
