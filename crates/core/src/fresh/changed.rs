//! What may have changed: the one event by which what is kept becomes void.
//!
//! It is plain data, so that it can be sent to other processes. The same words say what a value is void after.
//!
//! May use: nothing of this crate.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Something that may have changed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Changed {
    /// Anything in the workspace with this slug, and not by a write that is carried over into what is kept.
    Workspace(Box<str>),
    /// Anything in this project, likewise.
    Project(Uuid),
    /// The work items of this project, likewise.
    WorkItems(Uuid),
    /// The collection at this v1 path.
    Collection(Box<str>),
    /// Any record of this project, by a write that collections and the index follow. Single answers do not.
    Written(Uuid),
    /// Records of this project that are read singly, by a delete that the index follows in all. Single answers do not.
    Answers(Uuid),
    /// Pages of work items of this project, likewise.
    Pages(Uuid),
    /// One record, likewise.
    Record(Uuid),
    /// Who may do what in the workspace with this slug and in its projects, and which workspace it is.
    WorkspaceAccess(Box<str>),
    /// Who may do what in this project.
    ProjectAccess(Uuid),
    /// Who may do what in any project; goes with each single one.
    AnyProjectAccess,
    /// What the owner of a key may do; a key is named by its SHA-256.
    KeyAccess([u8; 32]),
    /// Who the owner of a key is, and what they may do.
    Identity([u8; 32]),
    /// v1 has refused something asked with a key, so that nothing older than usual is taken for its word.
    Refused([u8; 32]),
    /// The gateway's own tokens and keys: one of them was revoked.
    Credentials,
    /// The counters that the store has of this project or workspace.
    Stored(Uuid),
    /// The counters that the store has of any project or workspace: nobody can say which.
    AnyStored,
}

impl Changed {
    /// What else has changed with it.
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
