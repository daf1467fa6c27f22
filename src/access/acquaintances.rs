//! The workspaces in which this process has seen each person, so that audit events about a person reach them.
//!
//! v1 does not list the workspaces of a person. So a workspace is known here only when the person's own credential was
//! admitted there. These entries grant no access. May use: `cache`, this folder.

use super::User;
use crate::cache::{Bounds, Cache};
use foldhash::quality::RandomState;
use indexmap::IndexMap;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Time for which a person is remembered after the last request.
const REMEMBERED: Duration = Duration::from_secs(24 * 3600);
/// Time after which a workspace counts as seen again.
const LATELY: Duration = Duration::from_secs(3600);
/// Most workspaces remembered per person.
const MOST: usize = 1000;

/// A person and the workspaces where they were admitted.
#[derive(Debug, Clone)]
pub struct Acquaintance {
    pub user: Arc<User>,
    /// Workspaces by their slugs, in the order in which they were first seen.
    workspaces: IndexMap<Arc<str>, Seen, RandomState>,
}

/// A workspace in which a person was seen.
#[derive(Debug, Clone, Copy)]
struct Seen {
    id: Uuid,
    /// Time of a request at most [`LATELY`] before the last one.
    at: Instant,
}

impl Acquaintance {
    /// Returns the workspace with this slug.
    pub fn called(&self, slug: &str) -> Option<Uuid> {
        self.workspaces.get(slug).filter(|seen| seen.at.elapsed() < REMEMBERED).map(|seen| seen.id)
    }

    /// Returns the ids of all workspaces.
    pub fn workspaces(&self) -> impl Iterator<Item = Uuid> {
        self.workspaces.values().filter(|seen| seen.at.elapsed() < REMEMBERED).map(|seen| seen.id)
    }
}

/// All acquaintances, by person.
pub(super) struct Acquaintances {
    known: Cache<Uuid, Arc<Acquaintance>>,
    /// Held during a change, so that two requests of one person do not undo each other's.
    changing: Mutex<()>,
}

impl Acquaintances {
    pub(super) fn new(capacity: u64) -> Self {
        Self { known: Cache::new(Bounds::of(capacity).for_time(REMEMBERED)), changing: Mutex::default() }
    }

    pub(super) fn note(&self, user: &Arc<User>, workspace: Uuid, slug: &str) {
        let is_noted = |known: &Acquaintance| {
            known.workspaces.get(slug).is_some_and(|seen| seen.id == workspace && seen.at.elapsed() < LATELY)
        };
        if self.known.get(&user.id).is_some_and(|known| is_noted(&known)) {
            return;
        }
        let _changing = self.changing.lock();
        let known = self.known.get(&user.id);
        let mut workspaces = known.map(|known| known.workspaces.clone()).unwrap_or_default();
        // A slug can be given to another workspace, and a workspace can get another slug.
        workspaces.retain(|name, seen| **name != *slug && seen.id != workspace);
        if workspaces.len() >= MOST {
            // Drop the workspace that was seen first: if the person still works there, it is soon seen and added again.
            workspaces.shift_remove_index(0);
        }
        workspaces.insert(slug.into(), Seen { id: workspace, at: Instant::now() });
        self.known.insert(user.id, Arc::new(Acquaintance { user: Arc::clone(user), workspaces }));
    }

    pub(super) fn of(&self, user: Uuid) -> Option<Arc<Acquaintance>> {
        self.known.get(&user)
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
