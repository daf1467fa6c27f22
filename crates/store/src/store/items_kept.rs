//! What is recorded about the work items of projects, in memory, beside the counter of each project.
//!
//! May use: this folder.

use super::intent::Intent;
use super::recorded::{OwnWrite, TypeChange};
use parking_lot::{Mutex, MutexGuard};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;
use uuid::Uuid;

/// Projects kept in memory.
const PROJECTS: usize = 1024;

/// What is recorded about the work items of a project, as of one moment. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct ProjectItems {
    pub(super) version: i64,
    /// Types of items that have one.
    pub types: Arc<HashMap<Uuid, Uuid>>,
    /// Items anything is recorded about.
    pub known: Arc<HashSet<Uuid>>,
    /// Of them, those v1 did not show when they were last looked for.
    pub missing: Arc<HashSet<Uuid>>,
    /// Of them, those archived through the gateway.
    pub archived: Arc<HashSet<Uuid>>,
    /// Writes that are not settled, oldest first.
    pub open: Arc<Vec<Intent>>,
}

/// What is kept in memory, by project.
#[derive(Debug, Default)]
pub(super) struct ItemsKept {
    projects: Mutex<HashMap<Uuid, ProjectItems>>,
    looks: Mutex<HashMap<Uuid, Look>>,
}

/// When the last look at a project in the database began, and the counter it found. A crowd that asks at once shares the first
/// look that begins after it came, instead of each waiting for a connection.
type Look = Arc<tokio::sync::Mutex<Option<(Instant, i64)>>>;

impl ItemsKept {
    fn all(&self) -> MutexGuard<'_, HashMap<Uuid, ProjectItems>> {
        self.projects.lock()
    }

    pub(super) fn look(&self, project: Uuid) -> Look {
        let mut looks = self.looks.lock();
        if looks.len() >= PROJECTS && !looks.contains_key(&project) {
            looks.retain(|_, look| Arc::strong_count(look) > 1);
        }
        Arc::clone(looks.entry(project).or_default())
    }

    pub(super) fn at(&self, project: Uuid, version: i64) -> Option<ProjectItems> {
        if version == 0 {
            // Nothing was ever recorded.
            return Some(ProjectItems::default());
        }
        self.all().get(&project).filter(|kept| kept.version == version).cloned()
    }

    pub(super) fn put(&self, project: Uuid, items: ProjectItems) {
        let mut all = self.all();
        if all.get(&project).is_some_and(|kept| kept.version > items.version) {
            return;
        }
        if all.len() >= PROJECTS && !all.contains_key(&project) {
            all.clear();
        }
        all.insert(project, items);
    }

    /// Carries an own write into what is kept, when it is the very next one; else the next read loads anew.
    pub(super) fn carry(&self, project: Uuid, version: i64, change: impl FnOnce(&mut ProjectItems)) {
        let mut all = self.all();
        match all.get_mut(&project) {
            Some(kept) if kept.version + 1 == version => {
                change(kept);
                kept.version = version;
            }
            _ => {}
        }
    }
}

impl ProjectItems {
    pub(super) fn wrote(&mut self, item: Uuid, own: &OwnWrite) {
        Arc::make_mut(&mut self.known).insert(item);
        self.unmiss(&[item]);
        match own.type_id {
            TypeChange::Kept => {}
            TypeChange::Set(Some(type_id)) => drop(Arc::make_mut(&mut self.types).insert(item, type_id)),
            TypeChange::Set(None) => drop(Arc::make_mut(&mut self.types).remove(&item)),
        }
    }

    pub(super) fn purged(&mut self, item: Uuid) {
        Arc::make_mut(&mut self.types).remove(&item);
        for set in [&mut self.known, &mut self.missing, &mut self.archived] {
            if set.contains(&item) {
                Arc::make_mut(set).remove(&item);
            }
        }
    }

    fn unmiss(&mut self, items: &[Uuid]) {
        if items.iter().any(|item| self.missing.contains(item)) {
            let missing = Arc::make_mut(&mut self.missing);
            missing.retain(|item| !items.contains(item));
        }
    }
}
