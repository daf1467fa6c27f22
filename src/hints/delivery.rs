//! The project that a delivery of v1's webhooks is about. May use: nothing of this crate.

use serde::Deserialize;
use serde::de::IgnoredAny;
use uuid::Uuid;

/// Events that change no work item.
const OF_OTHERS: [&str; 3] = ["project", "cycle", "module"];

#[derive(Deserialize)]
struct Delivery {
    event: String,
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    /// An id, or the record with its id.
    project: Option<ProjectReference>,
    project_id: Option<ProjectReference>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ProjectReference {
    Id(Uuid),
    Record { id: Uuid },
    Unknown(IgnoredAny),
}

impl ProjectReference {
    fn id(self) -> Option<Uuid> {
        match self {
            Self::Id(id) | Self::Record { id } => Some(id),
            Self::Unknown(_) => None,
        }
    }
}

/// Returns the project whose work items a delivery is about. Returns none for other records, and for a body that cannot
/// be read, which is no error.
pub(super) fn project_of(body: &[u8]) -> Option<Uuid> {
    let Delivery { event, data } = serde_json::from_slice(body).ok()?;
    let project =
        data.project.and_then(ProjectReference::id).or_else(|| data.project_id.and_then(ProjectReference::id));
    project.filter(|_| !OF_OTHERS.contains(&&*event))
}
