//! Change events: each names data that may have changed, and so voids cached values.
//!
//! An event is plain data, so that it can be sent to other processes. The same type names the changes that void a
//! value.
//!
//! May use: nothing of this crate.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Data that may have changed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Changed {
    /// Anything in the workspace with this slug, except by a write that is carried over into the cached values.
    Workspace(Box<str>),
    /// Anything in this project, with the same exception.
    Project(Uuid),
    /// The work items of this project, with the same exception.
    WorkItems(Uuid),
    /// The collection at this v1 path.
    Collection(Box<str>),
    /// Any record of this project, by a write that collections and the index follow. Cached single answers do not.
    Written(Uuid),
    /// Records of this project that are read singly, by a delete that the index follows in full. Single answers do not.
    Answers(Uuid),
    /// Pages of work items of this project, by a write that the index follows. Cached single answers do not.
    Pages(Uuid),
    /// One record, by a write that collections and the index follow. Cached single answers do not.
    Record(Uuid),
    /// The permissions in the workspace with this slug and in its projects, and which workspace has this slug.
    WorkspaceAccess(Box<str>),
    /// The permissions in this project.
    ProjectAccess(Uuid),
    /// The permissions in any project. It is recorded together with each single project.
    AnyProjectAccess,
    /// The permissions of a key's owner. A key is named by its SHA-256.
    KeyAccess([u8; 32]),
    /// The identity of a key's owner, and the owner's permissions.
    Identity([u8; 32]),
    /// v1 has refused a request with this key, so that older data than usual must not stand in for its answer.
    Refused([u8; 32]),
    /// The gateway's own tokens and keys: one of them was revoked.
    Credentials,
    /// The store's counters of this project or workspace.
    Stored(Uuid),
    /// The store's counters of some project or workspace; it is unknown which.
    AnyStored,
}

impl Changed {
    /// Returns another change that always comes with this one.
    pub(super) fn with_it(&self) -> Option<Self> {
        match self {
            Self::ProjectAccess(_) => Some(Self::AnyProjectAccess),
            Self::Identity(key) => Some(Self::KeyAccess(*key)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_can_be_sent_and_read() {
        let (id, key) = (Uuid::from_u128(7), [7; 32]);
        for changed in [
            Changed::Workspace("acme".into()),
            Changed::Project(id),
            Changed::Collection("workspaces/acme/projects/".into()),
            Changed::AnyProjectAccess,
            Changed::KeyAccess(key),
        ] {
            let sent = serde_json::to_string(&changed).unwrap();
            assert_eq!(serde_json::from_str::<Changed>(&sent).unwrap(), changed, "{sent}");
        }
    }
}
