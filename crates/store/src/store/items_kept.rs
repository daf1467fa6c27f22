//! What is recorded about the work items of projects, in memory, beside the counter of each project.
//!
//! May use: `fresh`, `v2` (times), this folder.

use super::asked::Answers;
use super::intent::Intent;
use super::recorded::{OwnWrite, TypeChange};
use crate::fresh::{Changes, Fresh};
use crate::v2::time::Micros;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock};
use uuid::Uuid;

/// Projects kept in memory.
const PROJECTS: u64 = 1024;
/// How many projects without anything recorded weigh as much as one with it.
const FULL: u64 = 16;

/// What is recorded about the work items of a project, as of one moment.
#[derive(Debug, Clone, Default)]
pub struct ProjectItems {
    pub(super) version: i64,
    /// Types of items that have one.
    pub types: Arc<HashMap<Uuid, Uuid>>,
    /// Items anything is recorded about, and when that was last written.
    pub known: Arc<HashMap<Uuid, Micros>>,
    /// Of them, those v1 did not show when they were last looked for.
    pub missing: Arc<HashSet<Uuid>>,
    /// Of them, those archived through the gateway.
    pub archived: Arc<HashSet<Uuid>>,
    /// Writes that are not settled, oldest first.
    pub open: Arc<Vec<Intent>>,
}

/// What is recorded of a project of which nothing ever was.
pub(super) static NOTHING: LazyLock<Arc<ProjectItems>> = LazyLock::new(Arc::default);

/// Nothing in memory yet. A project of which nothing is recorded weighs next to nothing.
pub(super) fn none(changes: &Changes) -> Answers<Arc<ProjectItems>> {
    Fresh::new(changes, PROJECTS * FULL)
        .weighing(|_, items: &Arc<ProjectItems>| if items.version == 0 { 1 } else { FULL })
}

impl ProjectItems {
    /// Whether anything is recorded about an item.
    pub fn knows(&self, item: Uuid) -> bool {
        self.known.contains_key(&item)
    }

    /// Whether the same is recorded about an item as in `other`, and was all the time between the two.
    pub fn agrees_about(&self, item: Uuid, other: &Self) -> bool {
        self.known.get(&item) == other.known.get(&item)
    }

    pub(super) fn wrote(&mut self, item: Uuid, own: &OwnWrite, at: Micros) {
        Arc::make_mut(&mut self.known).insert(item, at);
        self.unmiss(&[item]);
        match own.type_id {
            TypeChange::Kept => {}
            TypeChange::Set(Some(type_id)) => drop(Arc::make_mut(&mut self.types).insert(item, type_id)),
            TypeChange::Set(None) => drop(Arc::make_mut(&mut self.types).remove(&item)),
        }
    }

    pub(super) fn purged(&mut self, item: Uuid) {
        Arc::make_mut(&mut self.types).remove(&item);
        Arc::make_mut(&mut self.known).remove(&item);
        for set in [&mut self.missing, &mut self.archived] {
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
