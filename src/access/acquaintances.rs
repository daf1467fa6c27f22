//! The workspaces in which this process has seen each person, so that audit events about a person reach them.
//!
//! v1 does not list the workspaces of a person. So a workspace is known here only when the person's own credential was
//! admitted there. These entries grant no access. May use: `cache`, this folder.

use super::User;
use crate::cache::{Bounds, Cache};
use foldhash::quality::RandomState;
use indexmap::IndexMap;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// Time for which a person is remembered after the last request.
const REMEMBERED: Duration = Duration::from_secs(24 * 3600);
/// Most workspaces remembered per person.
const MOST: usize = 1000;

/// A person and the workspaces where they were admitted.
#[derive(Debug, Clone)]
pub struct Acquaintance {
    pub user: Arc<User>,
    /// Ids of workspaces by their slugs, in the order in which they were first seen.
    workspaces: IndexMap<Arc<str>, Uuid, RandomState>,
}

impl Acquaintance {
    /// Returns the workspace with this slug.
    pub fn called(&self, slug: &str) -> Option<Uuid> {
        self.workspaces.get(slug).copied()
    }

    /// Returns the ids of all workspaces.
    pub fn workspaces(&self) -> impl Iterator<Item = Uuid> {
        self.workspaces.values().copied()
    }
}

/// All acquaintances, by person.
pub(super) struct Acquaintances(Cache<Uuid, Arc<Acquaintance>>);

impl Acquaintances {
    pub(super) fn new(capacity: u64) -> Self {
        Self(Cache::new(Bounds::of(capacity).for_time(REMEMBERED)))
    }

    pub(super) fn note(&self, user: &Arc<User>, workspace: Uuid, slug: &str) {
        let known = self.0.get(&user.id);
        if known.as_deref().is_some_and(|known| known.called(slug) == Some(workspace)) {
            return;
        }
        let mut workspaces = known.map(|known| known.workspaces.clone()).unwrap_or_default();
        // A slug can be given to another workspace, and a workspace can get another slug.
        workspaces.retain(|name, id| **name != *slug && *id != workspace);
        if workspaces.len() >= MOST {
            // Drop the workspace that was seen first: if the person still works there, it is soon seen and added again.
            workspaces.shift_remove_index(0);
        }
        workspaces.insert(slug.into(), workspace);
        self.0.insert(user.id, Arc::new(Acquaintance { user: Arc::clone(user), workspaces }));
    }

    pub(super) fn of(&self, user: Uuid) -> Option<Arc<Acquaintance>> {
        self.0.get(&user)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_known_where_they_were_let_in() {
        let known = Acquaintances::new(10);
        let user = Arc::new(User { id: Uuid::from_u128(1), email: "a@b".into(), display_name: "ada".into() });
        assert!(known.of(user.id).is_none());
        for (id, slug) in [(7, "acme"), (8, "other"), (7, "acme"), (9, "acme")] {
            known.note(&user, Uuid::from_u128(id), slug);
        }
        let of = known.of(user.id).unwrap();
        let called = ["acme", "other"].map(|slug| of.called(slug).map(|id| id.as_u128()));
        assert_eq!(
            (called, of.workspaces().count()),
            ([Some(9), Some(8)], 2),
            "one workspace has a slug at a time"
        );
        let all = 100..100 + 2 * MOST as u128;
        for id in all.clone() {
            known.note(&user, Uuid::from_u128(id), &id.to_string());
        }
        let of = known.of(user.id).unwrap();
        let last = all.end - 1;
        assert_eq!((of.workspaces().count(), of.called("acme")), (MOST, None));
        assert_eq!(of.called(&last.to_string()), Some(Uuid::from_u128(last)), "what was met last is remembered");
    }
}
