//! The project that a webhook delivery is about.
//!
//! May use: nothing of this crate.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_real_v1_sent_names_its_project() {
        let recorded: serde_json::Value =
            serde_json::from_str(include_str!("../../fixtures/webhooks.json")).expect("JSON");
        for delivery in recorded["deliveries"].as_array().expect("deliveries") {
            let raw = delivery["raw"].as_str().expect("a body");
            assert!(project_of(raw.as_bytes()).is_some(), "{raw}");
        }
    }

    #[test]
    fn the_project_is_found_in_each_kind_of_delivery() {
        let id = Uuid::from_u128(7);
        for (body, found) in [
            (format!(r#"{{"event": "issue", "data": {{"id": "{}", "project": "{id}"}}}}"#, Uuid::nil()), Some(id)),
            (format!(r#"{{"event": "issue", "data": {{"project": {{"id": "{id}", "name": "n"}}}}}}"#), Some(id)),
            (format!(r#"{{"event": "cycle", "data": {{"project_id": "{id}"}}}}"#), Some(id)),
            (format!(r#"{{"event": "project", "data": {{"id": "{id}"}}}}"#), Some(id)),
            (format!(r#"{{"event": "issue", "data": {{"id": "{id}"}}}}"#), None),
            ("[]".to_owned(), None),
            ("no JSON".to_owned(), None),
        ] {
            assert_eq!(project_of(body.as_bytes()), found, "{body}");
        }
    }
}
