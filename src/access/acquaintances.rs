//! Whom this process has seen in which workspaces, for what has to be told to a workspace about a person.
//!
//! v1 lists nobody's workspaces, so only those are known in which the person's own credential was let in.
//! Nothing is granted by this. May use: `cache`, this folder.

use super::User;
use crate::cache::{Bounds, Cache};
use foldhash::quality::RandomState;
use indexmap::IndexMap;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// How long somebody is remembered without being seen again.
const REMEMBERED: Duration = Duration::from_secs(24 * 3600);
/// Most workspaces remembered of one person.
const MOST: usize = 1000;

/// A person and where they were let in.
#[derive(Debug, Clone)]
pub struct Acquaintance {
    pub user: Arc<User>,
    /// Ids of workspaces by their slugs, in the order in which they were met.
    workspaces: IndexMap<Arc<str>, Uuid, RandomState>,
}

impl Acquaintance {
    /// The workspace with this slug.
    pub fn called(&self, slug: &str) -> Option<Uuid> {
        self.workspaces.get(slug).copied()
    }

    /// All of them.
    pub fn workspaces(&self) -> impl Iterator<Item = Uuid> {
        self.workspaces.values().copied()
    }
}

/// All of them, by person.
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
            // The one that was met first: somewhere the person is at work may be met for the first time.
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
