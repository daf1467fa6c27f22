//! Whom this process has seen in which workspaces, for what has to be told to a workspace about a person.
//!
//! v1 lists nobody's workspaces, so only those are known in which the person's own credential was let in.
//! Nothing is granted by this. May use: `cache`, this folder.

use super::User;
use crate::cache::{Bounds, Cache};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// How long somebody is remembered without being seen again.
const REMEMBERED: Duration = Duration::from_secs(24 * 3600);
/// Most workspaces remembered of one person.
const MOST: usize = 100;

/// A person and where they were let in.
#[derive(Debug, Clone)]
pub struct Acquaintance {
    pub user: Arc<User>,
    /// Slugs by id of the workspace.
    pub workspaces: BTreeMap<Uuid, Arc<str>>,
}

impl Acquaintance {
    /// The workspace with this slug.
    pub fn called(&self, slug: &str) -> Option<Uuid> {
        self.workspaces.iter().find(|(_, name)| ***name == *slug).map(|(id, _)| *id)
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
        // A slug can be given to another workspace.
        workspaces.retain(|_, name| **name != *slug);
        if workspaces.len() < MOST {
            workspaces.insert(workspace, slug.into());
        }
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
        let found: Vec<_> = of.workspaces.iter().map(|(id, slug)| (id.as_u128(), &**slug)).collect();
        assert_eq!(found, [(8, "other"), (9, "acme")], "one workspace has a slug at a time");
        for id in 100..300 {
            known.note(&user, Uuid::from_u128(id), &id.to_string());
        }
        assert_eq!(known.of(user.id).unwrap().workspaces.len(), MOST);
    }
}
